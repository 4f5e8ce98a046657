"""Shadows against projections by isl."""

from __future__ import annotations

import random

import islpy as isl
import pytest

from tadc.lattice.affine import Affine, Constraint
from tadc.lattice.polyhedron import NEVER
from tadc.lattice.shadow import shadow

NAMES = ("n", "m", "i", "j", "k")
KEPT = ("n", "m")


def rows(draw: random.Random) -> list[Constraint]:
    found: list[Constraint] = []
    for _ in range(draw.randint(2, 6)):
        terms: dict[str, int] = {name: draw.randint(-3, 3) for name in NAMES}
        form = Affine.of(terms, draw.randint(-5, 5))  # type: ignore[arg-type]
        if draw.random() < 0.2:
            form = form + Affine.of({"i": 1, "n": draw.randint(0, 1)}, 1).floordiv(draw.randint(2, 3))  # type: ignore[arg-type]
        found.append(Constraint(form, draw.random() < 0.1))
    for name in NAMES:
        found += [Constraint(Affine.var(name) + 2), Constraint(4 - Affine.var(name))]
    return found


def as_isl(constraints: list[Constraint], names: tuple[str, ...]) -> isl.Set:
    def spelled(form: Affine) -> str:
        parts = [f"{k}*({_atom(atom)})" for atom, k in form.terms]
        return " + ".join([*parts, str(form.constant)])

    def _atom(atom: object) -> str:
        return atom if isinstance(atom, str) else f"floor(({spelled(atom.numerator)})/{atom.denominator})"  # type: ignore[attr-defined]

    conditions = [f"{spelled(c.form)} {'=' if c.equality else '>='} 0" for c in constraints]
    return isl.Set(f"{{ [{', '.join(names)}] : {' and '.join(conditions) or 'true'} }}")


@pytest.mark.parametrize("seed", range(40))
def test_holds_the_projection(seed: int) -> None:
    """No point of the set is outside of its shadow."""
    draw = random.Random(seed)
    given = rows(draw)
    found = shadow(given, KEPT, ())
    projected = as_isl(given, NAMES).project_out(isl.dim_type.set, 2, 3)
    whole = isl.Set("{ [n, m] : false }") if found == [NEVER] else as_isl(found, KEPT)
    assert projected.is_subset(whole)
    assert all(c.form.variables <= set(KEPT) for c in found)


@pytest.mark.parametrize("seed", range(20))
def test_is_exact_for_unit_coefficients(seed: int) -> None:
    draw = random.Random(seed)
    given: list[Constraint] = []
    for _ in range(5):
        first, second = draw.sample(NAMES, 2)
        terms = {first: 1, second: -1}
        given.append(Constraint(Affine.of(terms, draw.randint(-2, 4))))  # type: ignore[arg-type]
    for name in NAMES:
        given += [Constraint(Affine.var(name)), Constraint(5 - Affine.var(name))]
    found = shadow(given, KEPT, ())
    projected = as_isl(given, NAMES).project_out(isl.dim_type.set, 2, 3)
    whole = isl.Set("{ [n, m] : false }") if found == [NEVER] else as_isl(found, KEPT)
    assert whole.is_equal(projected)
