"""Parts of the loops of reductions are steps: a person may write them or leave them out."""

from __future__ import annotations

import numpy as np
import pytest

import tadc
from tests.nest.in_parts import random_arrays
from tests.nest.programs import maps_of_program
from tests.schedule.test_each_step import loops

BELOW = "x: f64[N]\ny[i: N] = sum{k}_0^i (x[k] * x[i])"
SPLIT = "x: f64[210]\ny = sum{k} (x[k] * x[k])"
EQUAL = "x: f32[40, 40]\ny[i: 40] = sum{k: 40} (if {k = i} then (2*x[i, k]) else (exp(x[i, k])))"
BAND = "x: f64[N]\ny[i: N] = sum{k}_(max [0; i - 9])^i (x[k] * x[i])"
LANES = "split i 4 overlap -> i0, i1 lane i1 fits i 4"

CASES = {
    "middle": (BELOW, f"map y {LANES} peel k", 23),
    "copies": (BELOW, f"map y {LANES.replace('lane', 'jam')} peel k", 23),
    "shift": (BAND, f"map y {LANES} shift k", 23),
    "shift of copies": (BAND, f"map y {LANES.replace('lane', 'jam')} shift k", 23),
    "shift and middle": (BAND, f"map y {LANES} shift k peel k", 23),
    "blocks": (SPLIT, "map y split k 32 clip -> k0, k1 peel k0", 0),
    "equality": (EQUAL, "map y split i 8 -> i0, i1 lane i1 peel k where k = i", 0),
    "equality of lanes of the sum": (
        EQUAL,
        "map y split k 8 -> k0, k1 lane k1 peel k0 where i - 8*k0 - k1 = 0",
        0,
    ),
    "equality of copies": (EQUAL, "map y split i 8 -> i0, i1 jam i1 peel k where k = i", 0),
}


def _reference(program: str, arrays: dict[str, np.ndarray]) -> np.ndarray:
    x = next(iter(arrays.values())).astype("f8")
    if program == SPLIT:
        return (x * x).sum()
    if program == EQUAL:
        return np.where(np.eye(40) == 1, 2 * x, np.exp(x)).sum(1)
    most = 10 if program == BAND else len(x)
    return np.array([x[max(0, i + 1 - most) : i + 1].sum() * x[i] for i in range(len(x))])


@pytest.mark.parametrize("name", CASES)
def test_a_part_changes_loops_and_no_bits(name: str) -> None:
    program, steps, size = CASES[name]
    arrays = random_arrays(maps_of_program(program, "value").arguments, {"N": size})
    without = steps[: max(steps.rfind(" peel"), steps.rfind(" shift"))]
    f = tadc.function(program)
    made, plain = tadc.compile(f, schedule=steps)(**arrays), tadc.compile(f, schedule=without)(**arrays)
    np.testing.assert_array_equal(made, plain)
    np.testing.assert_allclose(made, _reference(program, arrays), rtol=1e-5 if program == EQUAL else 1e-12)
    texts = {loops(f.lower(), each, "loops") for each in (steps, without)}
    assert len(texts - {None}) == 2


def test_what_runs_stands_in_the_nest() -> None:
    """The parts over all lanes, and the index counted from where each lane's own begins."""
    cases = ((BELOW, "peel k"), (BAND, "shift k peel k"))
    first, second = (
        loops(tadc.function(program).lower(), f"map y {LANES} {steps}", "scheduled-nest") or ""
        for program, steps in cases
    )
    assert "where 0 <= k <= i parts k <= i0_at then k >= i0_at + 1 {" in first
    assert "where k >= -i1 and i0_at - 9 <= k <= i0_at parts k <= -1 then k >= 0 {" in second
    assert "= x[i1 + k]" in second


REFUSED = ("peel nowhere", "peel k by 2", "peel k where k >= 2", "peel k peel k", "shift nowhere", "shift i")
AFTER = ("split k 4 clip -> ka, kb", "cut %1 k 8 -> kc", "peel k", "shift k")
REFUSED += tuple(f"{LANES} peel k {step}" for step in AFTER)


@pytest.mark.parametrize("step", REFUSED)
def test_parts_that_are_none_are_refused(step: str) -> None:
    with pytest.raises(tadc.CompileError) as caught:
        tadc.compile(tadc.function(BELOW), schedule=f"map y {step}")
    assert [found.code for found in caught.value.diagnostics] == ["TAD0612"]


def test_results_by_logsumexp_do_not_join() -> None:
    f = tadc.function("x: f64[8, 12]; y[i] = logsumexp{k} (x[i, k])")
    with pytest.raises(tadc.CompileError) as caught:
        tadc.compile(f, schedule="map y cut %1 k 4 -> kc")
    assert [found.code for found in caught.value.diagnostics] == ["TAD0612"]


def test_a_reduction_with_much_code_keeps_vectors() -> None:
    """Less code is worth compiling than its four parts make, with two lower bounds: it has fewer parts."""
    f = tadc.function(
        "d: f32[977, 102]; f: f32[977, 102]\ng[o: 2] = sum{t}_(o + 1)^976 (sum{b} (d[t, b]*f[t - o - 1, b]))"
    )
    d, x = (np.random.default_rng(n).standard_normal((977, 102)).astype("f4") for n in range(2))
    found = tadc.compile(f)(d=d, f=x)
    wanted = [(d[o + 1 :].astype("f8") * x[: 976 - o]).sum() for o in range(2)]
    np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-3)
    assert "lane" in f.lower().as_text("schedule")
