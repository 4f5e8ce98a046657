"""The tasks of the gallery: scripts in cells, and the pages and notebooks that are made of them.

A script of `examples/gallery/` is in the percent format, which editors and jupytext read: `# %% [markdown]`
begins a cell of comments, the first of which is the title, and `# %%` a cell of code. At its end a script has
a `figure` and, where it is timed, `times`: seconds of one call by names of libraries, its own first, each of
them `min(timeit.repeat(call, number=1, repeat=n))` with n from 10 to 50.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
SCRIPTS = ROOT / "examples" / "gallery"
PAGES = ROOT / "docs" / "gallery"

#: How the line of a page begins that says how long a call takes.
TIMED = "Time of one call: "

INDEX = """# Gallery
With this page you find a task similar to yours: a program, its gradient, a picture and mostly times.
Each page is a tested script of at most sixty lines in `examples/gallery`; the site also has it as
a notebook.

<div class="gallery" markdown>

"""


@dataclass(frozen=True)
class Cell:
    """A cell of a script: its text, of Markdown without the signs of comments, and the lines above it."""

    is_code: bool
    text: str
    line: int


@dataclass(frozen=True)
class Ran:
    """What a script printed, a text for each cell, and the names that it left."""

    printed: list[str]
    names: Mapping[str, Any]


def scripts() -> list[Path]:
    """All tasks, in the order of the gallery."""
    return sorted(SCRIPTS.glob("*.py"))


def cells(script: Path) -> list[Cell]:
    """The cells of a script; ValueError where it does not begin with one of Markdown that has a title."""
    text, found = script.read_text(encoding="utf-8"), list[Cell]()
    for each in re.finditer(r"^# %%(.*)\n((?:(?!# %%).*\n)*)", text, re.MULTILINE):
        is_code = not each[1].strip()
        body = each[2] if is_code else re.sub(r"^# ?", "", each[2], flags=re.MULTILINE)
        found.append(Cell(is_code, body.strip("\n"), text.count("\n", 0, each.start(2))))
    if not found or found[0].is_code or not found[0].text.startswith("# "):
        raise ValueError(f"{script}: it does not begin with `# %% [markdown]` and a title `# # …`")
    return found


def title(script: Path) -> str:
    """The first line, without its signs."""
    return cells(script)[0].text.partition("\n")[0].removeprefix("# ")


def run(script: Path) -> Ran:
    """Run a script, cell by cell, in one namespace. Raises what it raises."""
    names: dict[str, Any] = {"__name__": "__main__"}
    printed = list[str]()
    for cell in cells(script):
        stream = io.StringIO()
        if cell.is_code:
            with redirect_stdout(stream):
                exec(compile("\n" * cell.line + cell.text, str(script), "exec"), names)
        printed.append(stream.getvalue())
    return Ran(printed, names)


def page(script: Path, printed: list[str], timed: str) -> str:
    """The page of a script: its text, its code with what that printed, the picture, and the line of times."""
    parts = list[str]()
    for cell, shown in zip(cells(script), printed, strict=True):
        parts.append(f"```python\n{cell.text}\n```" if cell.is_code else cell.text)
        if shown:
            lines = (line.rstrip() for line in shown.strip("\n").splitlines())
            parts.append("```text\n" + "\n".join(lines) + "\n```")
    parts += [f"![{title(script)}]({script.stem}.png)", *([timed] if timed else [])]
    name = script.relative_to(ROOT).as_posix()
    return "\n\n".join([*parts, f"All of it is in [{name}](../../{name}).\n"])


def index() -> str:
    """The page with all pictures."""
    rows = list[str]()
    for script in scripts():
        picture = f'<img src="{script.stem}.png" width="300" alt="" />'
        rows.append(f"- [{picture} {title(script)}]({script.stem}.md)\n")
    return INDEX + "".join(rows) + "\n</div>\n"


def line_of_times(times: Mapping[str, float], made_on: str) -> str:
    """What a call takes, and how often the first of the libraries fits into the others."""
    (own, least), *others = times.items()
    found = [f"{own} {milliseconds(least)}"]
    found += [f"{name} {milliseconds(one)} ({one / least:.1f} times as long)" for name, one in others]
    return f"{TIMED}{'; '.join(found)}. Measured on {made_on}."


def milliseconds(seconds: float) -> str:
    """Three digits."""
    value = 1000 * seconds
    return f"{value:.3f} ms" if value < 1 else f"{value:.2f} ms" if value < 10 else f"{value:.0f} ms"


def notebook(script: Path) -> str:
    """The script as a notebook (nbformat 4.4), without outputs."""
    made = list[dict[str, Any]]()
    for cell in cells(script):
        kind = {"cell_type": "code", "execution_count": None, "outputs": []}
        if not cell.is_code:
            kind = {"cell_type": "markdown"}
        made.append({**kind, "metadata": {}, "source": cell.text.splitlines(keepends=True)})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    whole = {"cells": made, "metadata": metadata, "nbformat": 4, "nbformat_minor": 4}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"
