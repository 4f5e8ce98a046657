"""Equations with elements of index arrays: solved, against the points that satisfy them, found one by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count, product

import numpy as np
import pytest

from tadc.lattice.affine import Affine, Constraint, Floor, Lookup, at_least_zero, box, equals_zero
from tadc.lattice.loop_nests import loop_nest
from tadc.lattice.points import find_point
from tadc.lattice.polyhedron import implied, irredundant
from tadc.lattice.solve import solve

SIZE = 4
ARRAYS = {name: np.random.default_rng(n).integers(0, SIZE, SIZE) for n, name in enumerate("ijp")}
b, c, e, k = map(Affine.var, "bcek")


def at(name: str, place: Affine) -> Affine:
    return Affine.atom(Lookup(name, (place,), Affine.const(SIZE)))


def value(form: Affine, point: Mapping[str, int]) -> int | None:
    """The value of a form; None where an element beyond its array is read."""
    total = form.constant
    for atom, factor in form.terms:
        match atom:
            case str():
                found = point[atom]
            case Floor():
                inner = value(atom.numerator, point)
                found = None if inner is None else inner // atom.denominator
            case Lookup():
                place = value(atom.at[0], point)
                inside = place is not None and 0 <= place < SIZE
                found = int(ARRAYS[atom.array][place]) if inside else None
        if found is None:
            return None
        total += factor * found
    return total


def holds(rows: tuple[Constraint, ...], point: Mapping[str, int]) -> bool:
    for row in rows:
        found = value(row.form, point)
        if found is None or (found != 0 if row.equality else found < 0):
            return False
    return True


CASES = {
    "fibre": ([at("i", e) - b], ["e"]),
    "shifted": ([at("i", e) + 1 - b], ["e"]),
    "two": ([at("i", e) - b, at("j", e) - c], ["e"]),
    "told": ([at("i", e) - b, at("j", e) - k], ["k", "e"]),
    "stride": ([at("i", e) * 2 + k - 1 - b], ["e", "k"]),
    "nested": ([at("i", at("p", e)) - b], ["e"]),
    "added": ([at("i", e) + at("j", e) - b], ["e"]),
    "beside its place": ([at("i", e) + e - b], ["e"]),
    "known": ([at("i", e) - b, e - c], ["e"]),
    "in a circle": ([at("j", at("p", e)) * 2 + at("p", e) - b - 2], ["e"]),
    "divided": ([at("i", e).floordiv(2) - b], ["e"]),
}


@pytest.mark.parametrize("name", CASES)
def test_solutions_are_the_points(name: str) -> None:
    equalities, unknowns = CASES[name]
    rows = (*map(equals_zero, equalities), *box(unknowns, [SIZE] * len(unknowns)))
    facts = box(["b", "c"], [2 * SIZE] * 2)
    numbers = count()
    found = solve(unknowns, rows, facts, lambda prefix: f"{prefix}{next(numbers)}")
    for outer in ({"b": x, "c": y} for x, y in product(range(2 * SIZE), repeat=2)):
        wanted = sorted(
            p
            for p in product(range(SIZE), repeat=len(unknowns))
            if holds(rows, {**outer, **_named(unknowns, p)})
        )
        assert sorted(_points(found, unknowns, facts, outer)) == wanted


def _named(names: list[str], point: tuple[int, ...]) -> dict[str, int]:
    return dict(zip(names, point, strict=True))


def _points(found, unknowns, facts, outer) -> Iterator[tuple[int, ...]]:  # type: ignore[no-untyped-def]
    if found is None or not holds(found.guards, outer):
        return
    # Rows with lookups are tested inside: loops have the bounds of the others.
    plain = tuple(row for row in found.domain if not row.form.has_lookups)
    levels = loop_nest(found.kernel, plain, (*facts, *found.guards)) if found.kernel else None
    for point in levels.points(outer) if levels else [outer]:
        if holds(found.domain, point):
            values = (value(found.substitution[name], point) for name in unknowns)
            yield tuple(v for v in values if v is not None)


def test_a_quotient_is_told_by_an_element() -> None:
    """Were it the other way, the quotient would be a loop, and the element asked for its value."""
    rows = [equals_zero(at("p", 2 - 2 * at("i", e)) * 2 + 1 - b), *box(["k"], [SIZE]), equals_zero(k.mod(2))]
    rows += [*box(["e"], [SIZE]), equals_zero(k.floordiv(2) + at("i", e) - 1)]
    numbers = count()
    found = solve(["k", "e"], rows, (), lambda prefix: f"{prefix}{next(numbers)}")
    assert found is not None
    assert found.kernel == ("e",)
    assert found.substitution["k"] == 2 - at("i", e) * 2


def test_bounds_stay_beside_what_is_asked_of_elements() -> None:
    rows = [at_least_zero(e), at_least_zero(3 - e), at_least_zero(e * 2 - at("p", e))]
    assert irredundant(rows, ()) == rows


def test_bounds_of_loops_stay_beside_what_is_asked_of_elements() -> None:
    """That `i[e]` is `b + 3*k` bounds k, but e is known inside of a loop over k alone."""
    rows = [at_least_zero(k), at_least_zero(SIZE - 1 - b - 3 * k), equals_zero(at("i", e) - b - 3 * k)]
    facts = box(["b"], [3])
    assert irredundant(rows, facts) == rows[-1:]
    assert irredundant(rows, facts, ["k"]) == rows


def test_elements_lie_between_their_bounds() -> None:
    assert implied(at("i", e), ())
    assert implied(SIZE - 1 - at("i", e), ())
    assert not implied(SIZE - 2 - at("i", e), ())
    assert find_point([equals_zero(at("i", e) - 3), equals_zero(e - 1)]) == {"i[e]": 3, "e": 1}
    assert find_point([equals_zero(at("i", e) - SIZE)]) is None
