"""Lays out what the site is built from: the pages of `docs/`, generated pages, and links between them.

Pages are written for readers of the repository, and the site shows the same text. So links out of `docs/` are
led to copies, a file's name behind a fence becomes the title of its block, LaTeX becomes MathML, and public
names and codes of diagnostics in the text become links.
"""

from __future__ import annotations

import functools
import html
import json
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

from docs.gallery.scripts import notebook, scripts
from docs.site.api_reference import api_pages, places_of_names
from docs.site.npm_packages import PATIENCE, TEMML, NoPackage
from docs.site.page_heads import with_head
from docs.site.pictures import with_sizes
from docs.site.playground_files import write_files
from tadc.frontend.codes import CODES

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
HERE = Path(__file__).parent

#: What the tests call a block, and what it is coloured as.
LANGUAGES = {"tad-wrong": "tad", "diagram": "text", "sh": "console", "math": "latex"}
#: What pages say of the site, and what it says in that place.
OWN_WORDS = {
    "the Python API of the site (`make site`)": "the [Python API](api/index.md)",
    "the site's list of errors": "the [list of errors](errors/index.md)",
}
#: A link to a file that is no page of the site: it gets one, with its text.
TO_FILE = re.compile(r"\]\(\.\./((?!\.\./|files/|frontend/explanations/|CONTRIBUTING)[\w./-]+)\)")
#: The script that a page of the gallery is made of.
TO_SCRIPT = re.compile(r"\]\(\.\./\.\./(examples/gallery/(\w+)\.py)\)")


def stage(folder: Path) -> None:
    """Write all pages into a folder, with pictures, styles and scripts."""
    written = (*DOCS.glob("*.md"), *DOCS.glob("gallery/*.md"))
    files = {path.relative_to(DOCS).as_posix(): path.read_text(encoding="utf-8") for path in written}
    files["contributing.md"] = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    files |= error_pages() | api_pages() | dict(shown_files("".join(files.values())))
    missing = {name for name in files if not name.startswith(("errors/TAD", "files/"))} - {
        *pages_of_navigation()
    }
    if missing:
        raise SystemExit(f"docs/site/zensical.toml: no line of `nav` has {', '.join(sorted(missing))}")
    for words, shown in OWN_WORDS.items():
        files["index.md"] = files["index.md"].replace(words, shown)
    files["playground.md"] += with_playground(folder / "playground")
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        page = with_sizes(linked(text, name), DOCS / Path(name).parent)
        path.write_text(with_head(name, page), encoding="utf-8")
    for script in scripts():
        (folder / "gallery" / f"{script.stem}.ipynb").write_text(notebook(script), encoding="utf-8")
        shutil.copy(DOCS / "gallery" / f"{script.stem}.png", folder / "gallery")
    for path in (*DOCS.glob("*.png"), *DOCS.glob("*.svg"), *HERE.glob("*.css"), *HERE.glob("*.js")):
        shutil.copy(path, folder)


def configuration() -> str:
    """What the generator of the site reads: zensical.toml, with the pages of the gallery behind its first."""
    text = (HERE / "zensical.toml").read_text(encoding="utf-8")
    first = '"gallery/index.md"'
    return text.replace(first, ", ".join([first, *(f'"gallery/{script.stem}.md"' for script in scripts())]))


def with_playground(folder: Path) -> str:
    """Write the files of the playground; what its page says at the end to load them.

    Where there is no Python for browsers, the page says so instead, and so does the build.
    """
    try:
        write_files(folder)
    except NoPackage as reason:
        print(f"the site has no playground: {reason}")
        note = json.dumps(html.escape(f"This copy of the site was built without the playground: {reason}."))
        return f"\n<script>document.getElementById('tadc-playground').innerHTML = {note}</script>\n"
    return (
        '\n<link rel="stylesheet" href="playground/page.css">\n<script src="playground/page.js"></script>\n'
    )


def pages_of_navigation() -> list[str]:
    """The pages that stand in the site's navigation, in order."""
    nav = tomllib.loads(configuration())["project"]["nav"]

    def pages(item: object) -> Iterator[str]:
        match item:
            case str():
                yield item
            case dict():
                yield from pages([*item.values()])
            case list():
                for inner in item:
                    yield from pages(inner)

    return [*pages(nav)]


def error_pages() -> dict[str, str]:
    """A page for each code, of the text of `tadc explain`, and a table of all."""
    rows = [f"| [{code}]({code}.md) | {title} |" for code, title in CODES.items()]
    head = (
        "# Errors and warnings\nFind the code of a message here, and read what it means and how to mend it; "
    )
    head += "`tadc explain TAD0302` prints the same text.\n\n| code | what it says |\n|---|---|\n"
    pages = {"errors/index.md": head + "\n".join(rows) + "\n"}
    for path in (ROOT / "frontend" / "explanations").glob("*.md"):
        pages[f"errors/{path.name}"] = (
            path.read_text(encoding="utf-8") + "\n[All errors and warnings](index.md)\n"
        )
    return pages


def shown_files(pages: str) -> Iterator[tuple[str, str]]:
    """A page with the text of each file that pages lead to."""
    scripts = (name for name, _ in TO_SCRIPT.findall(pages))
    for name in dict.fromkeys([*TO_FILE.findall(pages), *scripts]):
        text = (ROOT / name).read_text(encoding="utf-8")
        language = {"py": "python"}.get(name.rpartition(".")[2], name.rpartition(".")[2])
        head = f"# {name}\nThe file `{name}` of the repository, to which pages of this site lead.\n"
        yield f"files/{Path(name).name}.md", f"{head}\n`````{language}\n{text}`````\n"


def linked(text: str, page: str) -> str:
    """The text of a page with the links that it has on the site."""
    up = "../" * page.count("/")
    made, last = list[str](), 0
    for block in re.finditer(r"^(`{3,})(\S*) ?(\S*)$(.*?)^\1$", text, flags=re.MULTILINE | re.DOTALL):
        formula = mathml(block[4]) if block[2] == "math" else None
        shown = (
            f"<div class=formula tabindex=0>{formula}</div>"
            if formula
            else f"{fence(block)}{block[4]}{block[1]}"
        )
        made += [with_links(text[last : block.start()], page, up), shown]
        last = block.end()
    return "".join([*made, with_links(text[last:], page, up)])


@functools.cache
def mathml(latex: str) -> str | None:
    """A formula as MathML, which browsers show without a script; None where nothing here makes it."""
    node = shutil.which("node")
    if node is None:
        return None
    try:
        module = TEMML.folder() / "dist" / "temml.cjs"
    except NoPackage:
        return None
    script = (
        "process.stdout.write(require(process.argv[1]).renderToString(process.argv[2], {displayMode: true}))"
    )
    command = [node, "-e", script, str(module), latex]
    return subprocess.run(
        command, check=True, capture_output=True, text=True, encoding="utf-8", timeout=PATIENCE
    ).stdout


def fence(found: re.Match[str]) -> str:
    """The first line of a block as the site's Markdown has it."""
    language = LANGUAGES.get(found[2], found[2])
    name = found[3] if found[3] not in ("", "wrong", "right") else ""
    return f"{found[1]}{language}" + (f' title="{name}"' if name else "")


def with_links(text: str, page: str, up: str) -> str:
    """Text outside of blocks: links out of `docs/` led to what is on the site, names and codes made links."""
    text = re.sub(r"\]\((?:\.\./)?(?:docs/)?CONTRIBUTING\.md", f"]({up}contributing.md", text)
    text = re.sub(r"\]\(\.\./frontend/explanations/", f"]({up}errors/", text)
    text = TO_SCRIPT.sub(r"](../files/\2.py.md), as a notebook in [\2.ipynb](\2.ipynb)", text)
    text = TO_FILE.sub(lambda found: f"]({up}files/{Path(found[1]).name}.md)", text)
    if page.startswith("files/"):
        return text
    return "\n".join(
        line if line.startswith("#") else linked_line(line, page, up) for line in text.split("\n")
    )


def linked_line(line: str, page: str, up: str) -> str:
    """A line with links at codes and at public names."""
    if line.startswith("|"):  # GitHub wants a bar in code escaped, and Python's Markdown shows the escape
        line = re.sub(r"`[^`]*`", lambda found: found[0].replace("\\|", "|"), line)
    line = re.sub(
        r"(?<![\w\[`/])(`?)(TAD\d{4})\1(?![\w\]`.])", lambda found: code_link(found, page, up), line
    )
    return re.sub(r"(?<!\[)`(tadc(?:\.\w+)+)`(?!\])", lambda found: name_link(found, up), line)


def code_link(found: re.Match[str], page: str, up: str) -> str:
    """A code of a diagnostic with a link to its page."""
    if found[2] not in CODES or page.endswith(f"{found[2]}.md"):
        return found[0]
    return f"[{found[0]}]({up}errors/{found[2]}.md)"


def name_link(found: re.Match[str], up: str) -> str:
    """A public name with a link to where its docstring is."""
    place = places_of_names().get(found[1])
    return f"[`{found[1]}`]({up}{place})" if place else found[0]
