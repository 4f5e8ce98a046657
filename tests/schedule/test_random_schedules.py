"""Random schedules: each gives the same results, or says which step does not fit."""

from __future__ import annotations

import random

import numpy as np
import pytest

import tadc
from tadc.frontend.source import Source
from tadc.passes.nest.plain import plain_nest
from tadc.passes.nest.primitives.apply import apply_steps
from tadc.passes.schedule.given import given_schedule
from tests.nest.in_parts import assert_same_in_parts, random_arrays
from tests.nest.programs import maps_of_program
from tests.schedule.random_schedules import random_schedule

PROGRAMS = (
    "a: f32[9, 6]\nb: f32[6, 13]\nc[i, j] = sum{k} (a[i, k] * b[k, j])",
    "a: f64[N, K]\nb: f64[K, M]\nc[i, j] = sum{k} (a[i, k] * b[k, j])",
    "x: f32[9, 12]\ny[i: 7, j: 11] = x[i, j + 1] + x[i + 2, j + 1] + x[i + 1, j]",
    "x: f32[20]\nd[i: 24] = sum{k}_(max [0; i - 19])^(min [4; i]) (x[i - k])",
    "x: f64[6, 9]\nscan{t} p[b, t] = if {t > 0} then (p[b, t - 1] + x[b, t]) else (x[b, t])",
    "x: f32[5, 7]\ny[i: 10, j: 14] = x[i // 2, j // 2]",
    "x: f32[3, 14]\nw: f32[4, 3, 3]\ny[o, i: 12] = sum{c, k} (x[c, i + k] * w[o, c, k])",
    "x: f64[N]\ny[i: N] = sum{k}_(max [0; i - N + 1])^(min [3; i]) (x[i - k])",
)
SIZES = {"N": 7, "K": 5, "M": 10}


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_the_same_results_or_a_diagnostic(number: int) -> None:
    function = maps_of_program(PROGRAMS[number], "value")
    (item,), sizes = function.maps, {name: SIZES[name] for name in function.sizes}
    arrays, plain, taken = random_arrays(function.arguments, sizes), plain_nest(function, item), 0
    for seed in range(48):
        text = random_schedule(random.Random(1000 * number + seed), item)
        try:
            steps = given_schedule(Source(text, "<random>"), [function])[item.tensors[0].name]
        except tadc.CompileError as error:
            (found,) = error.diagnostics
            assert found.code == "TAD0612"
            assert found.primary is not None
            assert found.helps
            continue
        taken += 1
        assert_same_in_parts(plain, apply_steps(plain, steps), steps, item, arrays, sizes, reads_more=True)
    assert taken


#: What once gave wrong results, or a traceback.
ONCE_WRONG = (
    (6, "map y stage %0 inside i over o, c"),
    (6, "map y split o 3 -> o0, o1 split i 4 overlap -> i0, i1 reorder i0, o0, o1, i1 jam i1 lane o1 "
     "stage %0 inside o0 over c, k, i1, o1"),
    (6, "map y stage %0 over o, c by gather"),
    (0, "map c split i 2 -> a, b fits a 2"),
    (0, "map c stage %0 inside i over i"),
    (0, "map c reorder k, i"),
    (0, "map c unroll k unroll k"),
    (1, "map c stream c"),
    (1, "map c stage %0 inside i over j, k"),
    (2, "map y split j 4 guard -> j0, j1 lane j1"),
    (1, "map c threads j 4 split j 4 -> j0, j1 cut %3 k 1 -> k0"),
    (0, "map c split i 3 -> i0, i1 split j 1 -> j0, j1 reorder i0, j0, i1, j1 jam i1 lane j1 "
     "stage %1 inside j0 over k, i1, j1 by gather"),
)  # fmt: skip


@pytest.mark.parametrize(("number", "steps"), ONCE_WRONG)
def test_what_does_not_fit_is_refused(number: int, steps: str) -> None:
    function = maps_of_program(PROGRAMS[number], "value")
    with pytest.raises(tadc.CompileError) as caught:
        given_schedule(Source(steps, "<given>"), [function])
    assert [found.code for found in caught.value.diagnostics] == ["TAD0612"]


#: Vectors that are stored far apart or joined by residue, lanes some values apart, a buffer for all.
ONCE_OTHER_BITS = (
    (5, "map y split i 2 -> i0, i1 split j 4 overlap -> j0, j1 "
     "reorder i0, j0, i1, j1 jam j1 lane i1 stream y"),
    (6, "map y peel i where 1 <= i <= 5 by 2 cut %3 c 3 -> c0 residues i 2 -> ig, ir split ig 3 -> ig0, ig1 "
     "reorder c0, o, ig0, ir, ig1 lane ig1"),
    (4, "map p split b 2 overlap -> l1, l2 lane l1"),
    (0, "map c stage %0 over k, j"),
    (0, "map c split i 3 rest -> i0, i1 reorder i0, j, i1 lane i1 "
     "stage %1 inside i0 over k, i1 by transpose"),
    (0, "map c threads i 2 split i 4 rest -> i0, i1 reorder j, i0, i1"),
)  # fmt: skip


@pytest.mark.parametrize(("number", "steps"), ONCE_OTHER_BITS)
def test_code_of_given_steps_has_the_same_bits(number: int, steps: str) -> None:
    f = tadc.function(PROGRAMS[number])
    arrays = random_arrays(maps_of_program(PROGRAMS[number], "value").arguments, SIZES)
    np.testing.assert_array_equal(tadc.compile(f, schedule=steps)(**arrays), f(**arrays))
