"""The programs of docs/language.md: each differentiates, and is what it prints."""

import re
from pathlib import Path

import pytest

import tadc
import tadc.cli
from tadc.frontend.functions import FUNCTIONS, REDUCTIONS

PAGE = (Path(__file__).parent.parent / "docs" / "language.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```tad(-wrong)?\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
RIGHT = [text for wrong, text in BLOCKS if not wrong]
WRONG = [text for wrong, text in BLOCKS if wrong]


@pytest.mark.parametrize("text", RIGHT, ids=lambda text: text.splitlines()[0])
def test_program_differentiates(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "page.tad"
    path.write_text(text, encoding="utf-8")
    sizes = ["--size", "M=3"] if "size M" in text else []
    assert tadc.cli.main([str(path), "--check-gradient", *sizes]) == 0
    checked = capsys.readouterr().out
    assert all(name in checked for name in tadc.function(text).inputs)


@pytest.mark.parametrize("text", RIGHT, ids=lambda text: text.splitlines()[0])
def test_program_is_what_it_prints(text: str) -> None:
    printed = [line for line in str(tadc.function(text)).splitlines() if not line.startswith("#")]
    again = str(tadc.function("\n".join(printed)))
    assert again.splitlines() == printed


@pytest.mark.parametrize("text", WRONG, ids=lambda text: text[2:9])
def test_wrong_program_gets_its_code(text: str) -> None:
    with pytest.raises(tadc.CompileError) as refused:
        tadc.function(text)
    assert f"[{text[2:9]}]" in str(refused.value)


def test_page_names_all_functions_and_reductions() -> None:
    prose = re.sub(r"their inverses|and\s+theirs", "", PAGE)
    inverses = {"asin", "acos", "atan", "asinh", "acosh", "atanh"}
    for name in (*FUNCTIONS, *REDUCTIONS):
        assert name in inverses or re.search(rf"\b{name}\b", prose), name
