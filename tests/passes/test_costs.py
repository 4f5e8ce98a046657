"""What terms cost, and that it is remembered only where the same holds."""

from __future__ import annotations

import pytest

import tadc
from tadc.analysis.statistics import compiled_work
from tadc.frontend.terms import Reduce
from tadc.lattice.affine import Affine
from tadc.passes.terms.costs import Costs
from tadc.passes.terms.index_ranges import Range

ARGUMENTS = "x: f64[2, 40]; y: f64[40, 40]; z: f64[40, 1000]\n"
CHAIN = "sum{a: 40, b: 40} (x[i, a]*y[a, b]*z[b, k])"


def test_a_reduction_under_indices_of_other_ranges() -> None:
    """Its steps are as many as its bounds say there."""
    (definition,) = tadc.function("x: f64[9]; f[i: 9] = sum{k}_0^(i) (x[k]**2)").program.definitions
    assert isinstance(definition.body, Reduce)
    costs = Costs(frozenset())
    ranges = [{"i": Range(Affine.const(0), Affine.const(n))} for n in (3, 8, 3)]
    assert [costs.term(definition.body, around) for around in ranges] == [12, 27, 12]
    few, many = ({"i": Range(Affine.const(0), Affine.const(n - 1))} for n in (1, 9))
    assert costs.total(definition.body, few) < costs.total(definition.body, many)


@pytest.mark.parametrize("p", [f"p[i: 2, k: 1] = {CHAIN}\n", f"p[k: 1, i: 2] = {CHAIN}\n"])
def test_a_definition_before_leaves_the_cost(p: str) -> None:
    """The product of the two small matrices comes first, whatever is best for a single column."""
    both, first, second = (
        compiled_work(tadc.function(ARGUMENTS + text).program, "value").weighted
        for text in (f"{p}q[i: 2, k: 1000] = {CHAIN}", p, f"q[i: 2, k: 1000] = {CHAIN}")
    )
    assert both == first + second
