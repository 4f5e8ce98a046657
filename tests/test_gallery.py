"""The gallery: each script runs and says what its page shows, and its notebook is one."""

import io
import json
import re
from importlib import import_module
from pathlib import Path

import pytest
from rich.console import Console

from docs.gallery.scripts import TIMED, cells, index, line_of_times, notebook, page, run, scripts
from tests.pages import ROOT

PAGES = ROOT / "docs" / "gallery"
#: Scripts that take less than a second, which `make test` runs too.
QUICK = {"gauge_block"}
#: Bytes of a picture: a page with one loads at once.
MOST = 60_000


def shown(script: Path) -> tuple[str, str]:
    """The committed page without the line of times, and that line."""
    text = (PAGES / f"{script.stem}.md").read_text(encoding="utf-8")
    timed = re.search(rf"^{TIMED}.*\n\n", text, re.MULTILINE)
    return (text.replace(timed[0], ""), timed[0]) if timed else (text, "")


@pytest.mark.as_shipped
@pytest.mark.parametrize(
    "script",
    [pytest.param(path, marks=[] if path.stem in QUICK else [pytest.mark.sweep]) for path in scripts()],
    ids=lambda path: path.stem,
)
def test_a_script_runs_and_prints_what_its_page_shows(script: Path) -> None:
    if "\nimport torch\n" in script.read_text(encoding="utf-8"):
        pytest.importorskip("torch", reason="PyTorch is not installed: `make frameworks` installs it")
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    try:
        ran = run(script)
        assert ran.names["figure"].axes
    finally:
        plt.close("all")
    text, timed = shown(script)
    assert text == page(script, ran.printed, ""), f"`python -m docs.gallery {script.stem}` writes the page"
    times = ran.names.get("times", {})
    assert all(seconds > 0 for seconds in times.values())
    assert [name for name in times if name not in timed] == []


@pytest.mark.parametrize("script", scripts(), ids=lambda path: path.stem)
def test_a_script_is_short_and_its_page_has_its_code(script: Path) -> None:
    """And the printed gradient, and a picture that is small; it says when its times were measured."""
    lines = script.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 60
    assert "".join(lines).count("assert ") >= 1
    text, timed = shown(script)
    outputs = iter(re.findall(r"(?<=\n```\n\n)```text\n(.*?)\n```\n", text, re.DOTALL))
    code = "".join(f"```python\n{cell.text}\n```\n" for cell in cells(script) if cell.is_code)
    assert "".join(re.findall(r"```python\n.*?\n```\n", text, re.DOTALL)) == code
    assert any(re.search(r"^d\w+(?:\[.*\])? = ", output, re.MULTILINE) for output in outputs)
    assert 1000 < (PAGES / f"{script.stem}.png").stat().st_size < MOST
    assert not timed or re.search(r"times as long.* cores, \d{4}-\d\d-\d\d\.$", timed.strip())


@pytest.mark.parametrize("script", scripts(), ids=lambda path: path.stem)
def test_a_notebook_has_the_cells_of_its_script(script: Path) -> None:
    made = json.loads(notebook(script))
    assert (made["nbformat"], made["nbformat_minor"]) == (4, 4)
    assert [cell["cell_type"] == "code" for cell in made["cells"]] == [c.is_code for c in cells(script)]
    assert made["cells"][0]["source"][0].startswith("# ")
    for cell in made["cells"]:
        if cell["cell_type"] == "code":
            assert (cell["execution_count"], cell["outputs"]) == (None, [])
            compile("".join(cell["source"]), "cell", "exec")


def test_the_first_page_has_all_pictures() -> None:
    written = (PAGES / "index.md").read_text(encoding="utf-8")
    assert written == index(), "`python -m docs.gallery --index` writes it"
    assert {path.stem for path in PAGES.glob("*.md")} == {"index", *(path.stem for path in scripts())}
    assert {path.stem for path in PAGES.glob("*.png")} == {path.stem for path in scripts()}


def test_a_script_has_cells_with_lines(tmp_path: Path) -> None:
    script = tmp_path / "two.py"
    script.write_text("# %% [markdown]\n# # Two\n# With this page\n\n# %%\nprint(1)\n\n# %%\nprint(1)\n")
    first, *code = cells(script)
    assert (first.is_code, first.text) == (False, "# Two\nWith this page")
    assert [(cell.text, cell.line) for cell in code] == [("print(1)", 5), ("print(1)", 8)]
    assert run(script).printed == ["", "1\n", "1\n"]
    script.write_text("# %%\nprint(1)\n")
    with pytest.raises(ValueError, match="does not begin with"):
        cells(script)


def test_times_say_how_often_one_fits_into_others() -> None:
    found = line_of_times({"tadc": 2e-4, "JAX": 3e-3, "NumPy": 0.05}, "a box, today")
    assert found == (
        "Time of one call: tadc 0.200 ms; JAX 3.00 ms (15.0 times as long); NumPy 50 ms (250.0 times as "
        "long). Measured on a box, today."
    )


@pytest.mark.as_shipped
def test_the_demo_compares_with_numpy_where_jax_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("matplotlib", "scipy"):
        pytest.importorskip(name)
    monkeypatch.syspath_prepend(ROOT / "examples")
    demo = import_module("demo")
    monkeypatch.setattr(demo, "find_spec", lambda name: None)
    console = Console(file=io.StringIO())
    demo.sharpen(console, tmp_path)
    assert isinstance(console.file, io.StringIO)
    said = console.file.getvalue()
    assert [line.rpartition(" ms with ")[2] for line in said.splitlines()[:2]] == ["tadc", "NumPy"]
    assert (tmp_path / "deblurring.png").stat().st_size > 10_000
