"""Bounds of operations, for what takes too long to count."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial

import pytest

import tadc
from bench.operations import programs
from tadc.analysis import statistics
from tadc.passes.terms.operation_counts import Counting, count_program
from tadc.passes.terms.work_regions import Regions
from tests.passes.test_counted_pieces import Random

#: Conditions in which no period of one index is shorter than its range.
UNEVEN = (
    "x: f64[N]; f[i: N, k: N] = sum{j: N, l: N: (i + j) % 7 = (3*k + l) % 5} ("
    "if {(2*i + l) % 11 = (j + k) % 13} then (sin(x[j])) else (x[l]))"
)


@pytest.mark.parametrize("seed", range(20))
def test_no_count_exceeds_its_bound(seed: int) -> None:
    program = tadc.function(Random(seed).text).program
    exact, bound = count_program(program), count_program(program, limit=0)
    assert exact.exact
    assert not bound.exact
    assert all(asdict(bound)[name] >= count for name, count in asdict(exact).items() if name != "exact")


@pytest.mark.parametrize("name", ["matmul", "conv1d", "mttkrp"])
def test_bounds_of_boxes_are_exact(name: str) -> None:
    program = programs([name])[name]
    assert count_program(program, limit=0).operations == count_program(program).operations


def test_what_equalities_tell_is_not_walked() -> None:
    f = tadc.function("x: f64[100, 100]; f[i: 100] = sum{j: 100, k: 100: j + k = i and j >= 2} (x[j, k])")
    assert count_program(f.program, limit=0).operations == 100 * 98
    f = tadc.function(
        "x: f64[100, 100]; f[i: 100] = sum{j: 100, k: 100: j + k = i and j + k = 2*i} (x[j, k])"
    )
    assert count_program(f.program, limit=0).operations == 100 * 100


def test_small_tensors_are_counted_beside_large_ones() -> None:
    """There is some of the limit left for them, whatever stands before them."""
    small = "g = sum{i}_0^(N // 3) (x[i]**2)"
    both, one = (
        tadc.function(t).at({"N": 500}).program for t in (f"{UNEVEN}; {small}", f"x: f64[N]; {small}")
    )
    counting = Counting(100_000, Regions(both.terms))
    first, second = map(counting.definition, both.definitions)
    assert not first.exact
    assert second == count_program(one)


def test_statistics_say_that_they_are_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics, "count_program", partial(count_program, limit=0))
    found = tadc.statistics(tadc.function("x: f64[20]; f[i: 10] = sum{j}_0^i (x[j]**2)"))
    assert not found.written.work.exact
    assert "operations, weighted            <= 200" in str(found)
    assert "`<=` stands before upper bounds" in str(found)
    assert "times the program as written" not in str(found)
    assert '"exact": false' in found.as_json()
    monkeypatch.undo()
    assert "<=" not in str(tadc.statistics(tadc.function("x: f64[9]; f[i] = x[i]**2")))
