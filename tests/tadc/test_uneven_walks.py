"""Statistics say what they count as even, and what takes more steps where it is not."""

from __future__ import annotations

import pytest

import tadc

GRAPH = "s: index[E] in N; d: index[E] in N; x: f64[E]; z: f64[N];"
ROWS = "v: f64[E]; y[n: N] = prod{e}_(ptr[n])^(ptr[n + 1] - 1) (v[e])"
PAIRS = "for each place of `d` all places with the same element"
CASES = {
    f"{GRAPH} y[n: N] = sum{{e: d[e] = n}} (x[e] * z[s[e]])": ((), ()),
    f"{GRAPH} y[n: N] = z[n] * sum{{e: d[e] = n}} (sum{{g: d[g] = n}} (sin(x[e]*z[s[g]])))": (
        (f"y_0: {PAIRS}",),
        (f"y_1: {PAIRS}", f"dx: {PAIRS}"),
    ),
    f"ptr: index[N + 1] in E + 1 increasing; {ROWS}": ((), ()),
    f"ptr: index[N + 1] in E + 1; {ROWS}": ((), ("dv: for each element all places of `ptr`",)),
}


@pytest.mark.filterwarnings("ignore::tadc.CompileWarning")
@pytest.mark.parametrize("text", CASES)
def test_walks(text: str) -> None:
    found = tadc.statistics(tadc.function(text).at({"N": 10, "E": 60}))
    value, gradients = CASES[text]
    assert found.value.walks == value
    assert set(gradients) <= set(found.gradients.walks)
    assert bool(gradients) == bool(found.gradients.walks)
    assert "are counted as equally frequent" in str(found)
    assert ("of value and gradients are walked\n  " in str(found)) == bool(gradients)


def test_programs_without_index_arrays_are_counted_exactly() -> None:
    found = str(tadc.statistics(tadc.function("x: f64[8]; f = sum{i} (x[i]**2)")))
    assert "frequent" not in found
    assert "walked" not in found
