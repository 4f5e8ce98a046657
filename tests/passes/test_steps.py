"""How recurrences are visited: what that takes grows with the text of a recurrence, not exponentially."""

from __future__ import annotations

import pytest

from tadc.dialect.ops import indices_of
from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine
from tadc.lattice.polyhedron import implied
from tadc.passes.maps.steps import MOST_CASES, OwnReads, steps_of
from tadc.passes.terms import checked_reads as ranges
from tests.dialect.support import operations, program, written


def components(count: int) -> str:
    """A recurrence of components that read each other, one `else` in another."""
    body = "0"
    for c in range(count):
        body = f"if {{t >= 1 and c = {c}}} then (x[t] + h[t - 1, {(c + 1) % count}]) else ({body})"
    return f"x: f64[6]\nscan{{t}} h[t: 6, c: {count}] = {body}"


@pytest.mark.parametrize("count", [4, 16])
def test_every_read_of_components_is_looked_at_twice_at_most(count: int) -> None:
    """Where a read stands in n branches of `else`, most of the 2^n cases have no point."""
    module = written(components(count))
    (scan,) = operations(module, "tad.scan")
    found = OwnReads(scan).found
    assert count <= len(found) <= 2 * count
    assert steps_of(scan).ordered == (0,)


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
    module = written(text)
    (scan,) = operations(module, "tad.scan")
    found = OwnReads(scan).found
    assert len(indices_of(scan)) == 2
    assert len(found) <= 14 * MOST_CASES
    assert steps_of(scan).ordered == (0,)
