"""How recurrences are visited: what that takes grows with the text of a recurrence, not exponentially."""

from __future__ import annotations

import numpy as np
import pytest

import tadc
from tadc.dialect.program_reader import tad_functions
from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine
from tadc.lattice.polyhedron import implied
from tadc.passes.maps.map import Map
from tadc.passes.maps.read_maps import read_maps
from tadc.passes.maps.recurrence import own_reads, recurrence_of
from tadc.passes.terms import checked_reads as ranges
from tadc.passes.terms.costs import LONGEST
from tests.dialect.support import program, written


def components(count: int) -> str:
    """A recurrence of components that read each other, one `else` in another."""
    body = "0"
    for c in range(count):
        body = f"if {{t >= 1 and c = {c}}} then (x[t] + h[t - 1, {(c + 1) % count}]) else ({body})"
    return f"x: f64[6]\nscan{{t}} h[t: 6, c: {count}] = {body}"


def recurrence(text: str) -> Map:
    """The one recurrence of a program."""
    module = written(text)
    (function,) = tad_functions(module.operation)
    (found,) = (item for item in read_maps(function).maps if item.order is not None)
    return found


@pytest.mark.parametrize("count", [4, 16])
def test_every_read_of_components_is_looked_at_twice_at_most(count: int) -> None:
    """Where a read stands in n branches of `else`, most of the 2^n cases have no point."""
    item = recurrence(components(count))
    assert count <= len(own_reads(item)) <= 2 * count
    found = recurrence_of(item)
    assert found is not None
    assert found.ordered == ("t",)


def test_ranges_of_components_are_proven_once_for_each_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same of IR, whose reads are proven again."""
    asked: list[Affine] = []

    def counted(form: Affine, facts: Domain) -> bool:
        asked.append(form)
        return implied(form, facts)

    monkeypatch.setattr(ranges, "implied", counted)
    assert not ranges.reads_out_of_range(program(components(12)))
    assert len(asked) < 10 * 2 * 12


def test_of_many_cases_what_is_known_is_less_but_true() -> None:
    """Conditions that have nothing to do with each other leave every case a point."""
    body = "x[0]"
    for k in range(2, 9):
        body = f"if {{i + {k}*j = {3 * k} and j > 0}} then (h[i - 1, j]) else ({body} + h[i - 1, 0])"
    text = f"x: f64[6]\nscan{{i}} h[i: 40, j: 9] = if {{i = 0}} then (1) else ({body})"
    item = recurrence(text)
    assert len(item.indices) == 2
    assert len(own_reads(item)) <= 14 * LONGEST
    found = recurrence_of(item)
    assert found is not None
    assert found.ordered == ("i",)


@pytest.mark.parametrize(
    "body",
    [
        "sum{k}_1^(min [2; t]) (a[k - 1]*y[t - k]) + x[t]",
        "x[t] - sum{k}_1^(min [2; t]) (-a[k - 1]*y[t - k])",
        "x[t] + if {t >= 1} then (sum{k}_1^(min [2; t]) (a[k - 1]*y[t - k])) else (0)",
    ],
)
def test_a_short_sum_begins_with_what_is_added_and_ends_with_the_last_step(body: str) -> None:
    """(1 + 2**53) - 1 is 2**53 - 1; adding up from the last step on, it would be 2**53."""
    f = tadc.function(f"x: f64[4]; a: f64[2]; scan{{t}} y[t: 4] = {body}")
    found = f([1.0, 2.0, 1.0, 0.0], [-1.0, 2.0**53])
    np.testing.assert_array_equal(found[:3], [1, 1, 2.0**53 - 1])
