"""Random systems, and islpy's view of ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count, product

import islpy as isl
from hypothesis import strategies as st

from tadc.lattice.affine import Affine, Constraint, Lookup
from tadc.lattice.bounds import Level

Point = dict[str, int]


def fresh_names() -> Callable[[str], str]:
    numbers = count()
    return lambda prefix: f"{prefix}_{next(numbers)}"


def isl_form(form: Affine) -> str:
    parts = [str(form.constant)]
    for atom, k in form.terms:
        assert not isinstance(atom, Lookup)
        inner = atom if isinstance(atom, str) else f"floor(({isl_form(atom.numerator)})/{atom.denominator})"
        parts.append(f"{k}*{inner}")
    return " + ".join(parts)


def isl_row(row: Constraint) -> str:
    return f"{isl_form(row.form)} {'=' if row.equality else '>='} 0"


def isl_set(names: Sequence[str], rows: Sequence[Constraint], hidden: Sequence[str] = ()) -> isl.Set:
    """The points of `names` for which values of `hidden` exist that satisfy all rows."""
    text = " and ".join(map(isl_row, rows)) or "0 = 0"
    if hidden:
        text = f"exists {', '.join(hidden)} : {text}"
    return isl.Set(f"{{ [{', '.join(names)}] : {text} }}")


def isl_points(names: Sequence[str], rows: Sequence[Constraint]) -> set[tuple[int, ...]]:
    points: list[tuple[int, ...]] = []

    def take(point: isl.Point) -> None:
        coordinates = (point.get_coordinate_val(isl.dim_type.set, i) for i in range(len(names)))
        points.append(tuple(int(str(value)) for value in coordinates))

    isl_set(names, rows).foreach_point(take)
    return set(points)


def brute_force(
    names: Sequence[str], shape: Sequence[int], rows: Sequence[Constraint]
) -> list[tuple[int, ...]]:
    return [
        values
        for values in product(*map(range, shape))
        if all(row.holds(dict(zip(names, values, strict=True))) for row in rows)
    ]


def visit(levels: Sequence[Level], point: Point) -> Iterator[Point]:
    """Run the loops as a compiler would: greatest lower bound to least upper bound."""
    if not levels:
        yield point
        return
    level, *inner = levels
    lower = max(bound.ceil().evaluate(point) for bound in level.lower)
    upper = min(bound.floor().evaluate(point) for bound in level.upper)
    for value in range(lower, upper + 1):
        yield from visit(inner, {**point, level.name: value})


COEFFICIENTS = st.sampled_from([1, 1, 1, -1, -1, 2, 3, -2, 4, 5, 6])


@st.composite
def linear_forms(draw: st.DrawFn, names: Sequence[str], reach: int = 3) -> Affine:
    chosen = draw(st.lists(st.sampled_from(list(names)), min_size=1, max_size=3, unique=True))
    return Affine.of({name: draw(COEFFICIENTS) for name in chosen}, draw(st.integers(-reach, reach)))


@st.composite
def forms(draw: st.DrawFn, names: Sequence[str]) -> Affine:
    """Quasi-affine forms, floors of floors among them."""
    form = draw(linear_forms(names))
    divisor = draw(st.integers(2, 4))
    match draw(st.integers(0, 7)):
        case 0:
            return form.floordiv(divisor)
        case 1:
            return form.mod(divisor)
        case 2:
            return form + draw(COEFFICIENTS) * draw(linear_forms(names)).floordiv(divisor)
        case 3:
            return (form + 2 * draw(linear_forms(names)).mod(3)).floordiv(divisor)
        case _:
            return form


@st.composite
def constraints(draw: st.DrawFn, names: Sequence[str]) -> Constraint:
    return Constraint(draw(forms(names)), draw(st.booleans()) and draw(st.booleans()))


def shapes(names: Sequence[str], largest: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(1, largest), min_size=len(names), max_size=len(names))
