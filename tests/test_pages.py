"""The README and the pages of docs/: what they show runs, prints what they say, and leads where they say."""

import re
from pathlib import Path

import pytest

from tadc.commands.command_table import COMMANDS
from tadc.frontend.functions import FUNCTIONS, REDUCTIONS
from tests.pages import ROOT, Runner, alike, blocks, folder_of_a_page

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
#: `tests/test_gallery.py` runs their code.
GALLERY = sorted((ROOT / "docs" / "gallery").glob("*.md"))
#: Their examples take seconds.
LONG = {"c", "inverses", "jax", "passes", "python-programs", "scipy"}


@pytest.mark.as_shipped
@pytest.mark.filterwarnings("ignore::tadc.CompileWarning")
@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.sweep] if page.stem in LONG else []) for page in PAGES],
    ids=lambda page: page.stem,
)
def test_page(page: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if "\nimport torch\n" in page.read_text(encoding="utf-8"):
        pytest.importorskip("torch", reason="PyTorch is not installed: `make frameworks` installs it")
    runner = Runner(page, lambda: "".join(capsys.readouterr()))
    with folder_of_a_page(tmp_path):
        for block in blocks(page):
            assert block.text == runner.run(block), f"{page.name}:{block.line}; see tests/pages.py"


@pytest.mark.parametrize("page", [*PAGES, *GALLERY], ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for name, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)]*))?\)", text):
        target = page.parent / name if name else page
        assert target.exists(), name
        if anchor:
            heads = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in [re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads]


def test_pages_begin_with_what_one_can_do_after_reading_them() -> None:
    pages = [page for page in (*PAGES, *GALLERY) if page.stem not in ("README", "index")]
    texts = {page.name: page.read_text(encoding="utf-8").partition("\n")[2].lstrip() for page in pages}
    assert [name for name, text in texts.items() if not text.startswith("With this page you ")] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_stand_in_fences(page: Path) -> None:
    """An indented block would not be run."""
    assert re.findall(r"^    (?:\$ )?tadc .*$", page.read_text(encoding="utf-8"), re.MULTILINE) == []


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


def test_links_lead_from_the_readme_to_every_page() -> None:
    reached, new = set[Path](), {ROOT / "README.md"}
    while new:
        reached |= new
        links = [(page, link) for page in new for link in re.findall(r"\]\((\S+?\.md)", page.read_text())]
        new = {(page.parent / link).resolve() for page, link in links} - reached
    assert [page.name for page in (*PAGES, *GALLERY) if page.resolve() not in reached] == []


def test_command_page_names_all_commands() -> None:
    page = (ROOT / "docs" / "command.md").read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"`tadc {name}" not in page] == []


def test_language_page_names_all_functions_and_reductions() -> None:
    page = (ROOT / "docs" / "language.md").read_text(encoding="utf-8")
    prose = re.sub(r"their inverses|and\s+theirs", "", page)
    inverses = {"asin", "acos", "atan", "asinh", "acosh", "atanh"}
    for name in (*FUNCTIONS, *REDUCTIONS):
        assert name in inverses or re.search(rf"\b{name}\b", prose), name


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("a\n...\nc", "a\nb\nc\n", True),
        ("a\n...", "a\n", True),
        ("...\nb", "a\nc\n", False),
        ("a.", "ab", False),
    ],
)
def test_dots_stand_for_any_lines(shown: str, printed: str, same: bool) -> None:
    assert alike(shown, printed) is same
