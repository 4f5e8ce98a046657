"""Nests of loops and guards against brute force."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tadc.lattice.affine import Affine, Constraint, at_least_zero, box
from tadc.lattice.loop_nests import LoopNest, loop_nest
from tadc.lattice.polyhedron import irredundant
from tests.lattice.support import brute_force, constraints, shapes, visit

NAMES = ["i", "j"]


def visited(nest: LoopNest, point: dict[str, int]) -> list[tuple[int, ...]]:
    if not all(row.holds(point) for row in nest.outside):
        return []
    points = [found for found in visit(nest.levels, point) if all(row.holds(found) for row in nest.inside)]
    return [tuple(found[name] for name in NAMES) for found in points]


@given(shapes(NAMES, 5), st.lists(constraints([*NAMES, "b"]), max_size=3))
@settings(max_examples=150, deadline=None)
def test_a_nest_visits_the_set_once(shape: list[int], rows: list[Constraint]) -> None:
    """Also where rows that follow from others, which bounded an index, are left out."""
    facts = box(["b"], [3])
    domain = [*box(NAMES, shape), *rows]
    for kept in (domain, irredundant(domain, facts)):
        nest = loop_nest(NAMES, kept, facts)
        for b in range(3):
            exact = brute_force(NAMES, shape, [row.substitute({"b": Affine.const(b)}) for row in domain])
            assert sorted(visited(nest, {"b": b})) == exact


def test_a_bound_that_only_a_row_with_a_floor_says() -> None:
    """`j >= 1` follows from `j + (j + 1) // 2 >= 1`, which itself bounds no loop."""
    j = Affine.var("j")
    rows = [at_least_zero(1 - j), at_least_zero(j + (j + 1).floordiv(2) - 1)]
    (level,) = loop_nest(["j"], rows, []).levels
    assert [bound.ceil() for bound in level.lower] == [Affine.const(1)]
