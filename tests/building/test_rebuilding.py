"""Whatever can be said in text can be said in Python, and is the same program."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import tadc
from tests.building.rebuild import pruned, rebuilt
from tests.fuzz import components, generate, sized, styles
from tests.pages import blocks

_ROOT = Path(__file__).parents[2]
_TEXTS = {
    **{f"{path.stem}": path.read_text() for path in sorted(_ROOT.glob("examples/*.tad"))},
    **{
        f"{page}:{block.line}": block.text
        for page in ("language", "recurrences", "derivatives")
        for block in blocks(_ROOT / f"docs/{page}.md")
        if block.kind == "tad"
    },
}


_FROM_END = re.compile(r"[\[,] ?-\d+[\],]")

pytestmark = pytest.mark.filterwarnings("ignore::tadc.CompileWarning")


def _same(text: str) -> None:
    text = pruned(text)
    f, g = _made(tadc.function, text), _made(rebuilt, text)
    # An index with the name of a definition below gets another, which no Python object has.
    spoken = set(re.findall(r"\w+", text))
    if isinstance(f, tadc.Function) and any(not spoken.issuperset(d.indices) for d in f.program.definitions):
        return
    # A subscript that is a negative number, as under a guard that never holds, is one from the end in Python.
    if _FROM_END.search(f"{text}{f}"):
        return
    assert str(g) == str(f)
    if isinstance(f, tadc.Function) and isinstance(g, tadc.Function):
        assert g.inputs == f.inputs


def _made(make: Callable[[str], tadc.Function], text: str) -> tadc.Function | list[str]:
    """The function, or the codes of what is wrong: there are random programs for no sizes."""
    try:
        return make(text)
    except tadc.CompileError as error:
        return sorted(d.code for d in error.diagnostics)


@pytest.mark.parametrize("name", _TEXTS)
def test_the_programs_of_the_documentation(name: str) -> None:
    _same(_TEXTS[name])


@pytest.mark.parametrize("first", range(0, 400, 20))
def test_random_programs(first: int) -> None:
    for seed in range(first, first + 20):
        _same(str(generate.generate(seed, style=styles.FLOORS if seed % 2 else styles.NARROW)))
        _same(str(sized.generate(seed)[0]))


@pytest.mark.parametrize("first", range(0, 100, 25))
def test_random_recurrences(first: int) -> None:
    for seed in range(first, first + 25):
        _same(str(components.generate(seed)))


@pytest.mark.parametrize("first", range(0, 40, 10))
def test_random_derivatives(first: int) -> None:
    for seed in range(first, first + 10):
        _same(str(tadc.vjp(tadc.function(str(generate.generate(seed))))))
