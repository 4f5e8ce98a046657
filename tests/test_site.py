"""The site: what is laid out for its generator, and what is found wrong with the pages that come out."""

import json
import re
from importlib import import_module
from pathlib import Path

import pytest

from docs.site import npm_packages
from docs.site.api_reference import api_pages, api_table, section
from docs.site.check_html import problems
from docs.site.page_heads import LENGTH, description_of, title_of
from docs.site.pictures import size_of, with_sizes
from docs.site.search_order import order_search
from docs.site.staging import error_pages, linked, mathml, pages_of_navigation, with_playground
from tadc.frontend.codes import CODES, explanation
from tests.pages import ROOT


def test_the_navigation_has_all_pages() -> None:
    """And the API all public names, which `api_table` looks at."""
    docs = ROOT / "docs"
    written = {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")} | {"contributing.md"}
    generated = {"api/index.md", "errors/index.md", *(f"api/{page.file}.md" for page in api_table())}
    assert sorted(pages_of_navigation()) == sorted(written | generated)


def test_each_code_has_a_page_with_the_text_of_explain() -> None:
    pages = error_pages()
    assert pages.keys() - {"errors/index.md"} == {f"errors/{code}.md" for code in CODES}
    assert all(pages[f"errors/{code}.md"].startswith(explanation(code)) for code in CODES)


def test_a_section_says_parameters_types_and_examples() -> None:
    def scaled(x: list[float], *, by: "int | None" = None) -> list[float]:
        """Twice as much.

        >>> scaled([1.0])
        [2.0]
        """
        return [by or 2 * element for element in x]

    text = section("tadc.scaled", scaled)
    assert text.startswith("## tadc.scaled { #tadc.scaled")
    assert "scaled(x, *, by=None)" in text
    assert "| `by` | `int | None` | `None` |" in text
    assert "```pycon\n>>> scaled([1.0])\n[2.0]\n```" in text


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("see TAD0302", "see [TAD0302](errors/TAD0302.md)"),
        ("`tadc.vjp`", "[`tadc.vjp`](api/derivatives.md#tadc.vjp)"),
        ("`tadc.nothing` and [`tadc.vjp`](x.md)", "`tadc.nothing` and [`tadc.vjp`](x.md)"),
        ("# `tadc.vjp`", "# `tadc.vjp`"),
        ("| `a \\| b` |", "| `a | b` |"),
        ("[it](../CONTRIBUTING.md)", "[it](contributing.md)"),
        ("[it](../frontend/explanations/TAD0302.md)", "[it](errors/TAD0302.md)"),
        ("[it](../examples/paper.tad)", "[it](files/paper.tad.md)"),
        (
            "[it](../../examples/gallery/flow.py)",
            "[it](../files/flow.py.md), as a notebook in [flow.ipynb](flow.ipynb)",
        ),
        ("```tad-wrong\nTAD0302\n```", "```tad\nTAD0302\n```"),
        ("```c main.c\nint a;\n```", '```c title="main.c"\nint a;\n```'),
    ],
)
def test_links_and_blocks_are_those_of_the_site(written: str, shown: str) -> None:
    assert linked(written, "page.md") == shown


def test_what_is_wrong_with_pages_is_found(tmp_path: Path) -> None:
    (tmp_path / "style.css").touch()
    (tmp_path / "a.html").write_text(
        '<link rel="stylesheet" href="style.css"><a href="https://a.org"></a><a href="b.html#there"></a>'
    )
    (tmp_path / "b.html").write_text('<h1 id="there"></h1><img src="a.html">')
    assert problems(tmp_path) == []
    (tmp_path / "b.html").write_text('<script src="https://example.org/x.js"></script><a href="c.html"></a>')
    assert sorted(problems(tmp_path)) == [
        "a.html: no place has the name of b.html#there",
        "b.html: https://example.org/x.js is loaded from a network",
        "b.html: there is no c.html",
    ]


def test_a_formula_becomes_mathml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of aligned rows; where nothing makes it, its LaTeX is shown."""
    text = "```math\n\\begin{aligned}\ny &= x \\\\\nz &= \\frac{x}{2}\n\\end{aligned}\n```"
    mathml.cache_clear()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert linked(text, "index.md") == text.replace("math", "latex")
    monkeypatch.undo()
    mathml.cache_clear()
    shown = linked(text, "index.md")
    if mathml(text) is None:
        pytest.skip("no node or no npm, which make MathML")
    assert re.fullmatch(r"<div class=formula tabindex=0><math.*</math></div>", shown, re.DOTALL)
    assert (shown.count("<mtr"), shown.count("<mfrac")) == (2, 1)


def test_a_site_without_npm_says_that_it_has_no_playground(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(npm_packages, "FOLDER", tmp_path)
    shown = with_playground(tmp_path / "playground")
    assert "built without the playground: there is no npm in PATH" in shown
    assert "page.js" not in shown
    assert "the site has no playground" in capsys.readouterr().out


def test_descriptions_and_titles_tell_pages_apart() -> None:
    docs = ROOT / "docs"
    pages = {
        path.relative_to(docs).as_posix(): path.read_text(encoding="utf-8") for path in docs.rglob("*.md")
    }
    pages |= error_pages() | api_pages()
    titles = [title_of(name, text) for name, text in pages.items()]
    described = [description_of(text) for text in pages.values()]
    assert len(set(titles)) == len(titles)
    assert len(set(described)) == len(described)
    assert all(10 < len(text) <= LENGTH for text in described)


@pytest.mark.parametrize(
    ("page", "described"),
    [
        ("# A\nWith this page you can do `x` in [b](c.md). More.", "Do x in b."),
        ("# A\n\nOne line\nand another: more.\n\nNext.", "One line and another: more."),
        (f"# A\n{'word ' * 50}", f"{'word ' * 33}…"),
    ],
)
def test_a_description_is_the_first_sentence(page: str, described: str) -> None:
    assert description_of(page) == described


def test_a_page_without_a_sentence_has_no_description() -> None:
    with pytest.raises(ValueError, match="no sentence below '# A'"):
        description_of("# A\n```text\nx\n```\n")


def test_pictures_say_their_sizes() -> None:
    text = '![one](blocks.png) ![two](benchmark.svg)\n<img src="preimages.png" width="300" alt="" />'
    (width, height), (_, tall) = (
        size_of(ROOT / "docs" / "preimages.png"),
        size_of(ROOT / "docs" / "benchmark.svg"),
    )
    one, two, three = re.split(r" !|\n", with_sizes(text, ROOT / "docs"))
    across, down = size_of(ROOT / "docs" / "blocks.png")
    assert one == f'![one](blocks.png){{ width="{across}" height="{down}" }}'
    assert two.endswith(f'height="{tall}" loading="lazy" }}')
    assert f'width="300" height="{round(300 * height / width)}" loading="lazy"' in three


def test_classes_do_not_repeat_members_of_public_bases() -> None:
    pages = api_pages()
    assert "It is a `tadc.Function`, with all members of that." in pages["api/derivatives.md"]
    assert "### Jacobian.toscipy" in pages["api/derivatives.md"]
    assert "### Jacobian.latex" not in pages["api/derivatives.md"]
    assert "### Function.latex" in pages["api/functions.md"]
    assert "### Function.at_call" not in pages["api/functions.md"]


def test_figures_of_pages_have_bounds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(ROOT / ".ci")
    figures = import_module("page_figures")
    found = figures.Figures(first=1.0, largest=2.0, blocked=3.0, requests=10, kib=400.0, shift=0.3)
    assert list(found.beyond(figures.Bounds(10, 400, 0.3))) == []
    assert list(found.beyond(figures.Bounds(9, 400))) == ["requests: 10, above 9", "shift: 0.3, above 0.02"]
    (tmp_path / "a.css").write_bytes(bytes(10_000))
    (tmp_path / "a.png").write_bytes(bytes(10_000))
    assert figures.sent_bytes(tmp_path / "a.css") < 100
    assert figures.sent_bytes(tmp_path / "a.png") == 10_000


def test_searches_show_pages_in_the_order_of_the_navigation(tmp_path: Path) -> None:
    locations = ["files/a.html", "passes.html#x", "errors/TAD0302.html", "tutorial.html#b", "tutorial.html"]
    index = {"config": {}, "items": [{"location": location} for location in locations]}
    (tmp_path / "search.json").write_text(json.dumps(index))
    order_search(tmp_path, ["tutorial.md", "passes.md"])
    found = json.loads((tmp_path / "search.json").read_text())
    assert [item["location"] for item in found["items"]] == [
        "tutorial.html#b",
        "tutorial.html",
        "passes.html#x",
        "errors/TAD0302.html",
        "files/a.html",
    ]
    assert json.loads((tmp_path / "search.js").read_text().removeprefix("var __index = ")) == found
