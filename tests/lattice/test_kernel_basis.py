"""Kernel bases: short, orientated, and loops that are not entered for nothing."""

from __future__ import annotations

import random
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from tadc.lattice.affine import Affine, Constraint, box
from tadc.lattice.emptiness import tight
from tadc.lattice.kernel_basis import short_basis, tight_order
from tadc.lattice.loop_nests import loop_nest
from tadc.lattice.smith import smith
from tadc.lattice.solve import solve
from tests.lattice.support import brute_force, fresh_names, shapes, visit

NAMES = ["i", "j", "k"]
i, j, k, b = map(Affine.var, ["i", "j", "k", "b"])


def empty_ranges(binders: Sequence[str], rows: Sequence[Constraint], sizes: Sequence[int]) -> int:
    """How many inner ranges of the nest are empty, over all values of b."""
    facts = box(["b"], sizes)
    nest = tight(loop_nest(binders, rows, facts), facts)
    count = 0
    for value in range(*sizes):
        point = {"b": value}
        if not all(row.holds(point) for row in nest.outside):
            continue
        for depth in range(1, len(nest.levels)):
            for outer in visit(nest.levels[:depth], point):
                count += not list(visit(nest.levels[depth : depth + 1], outer))
    return count


@given(
    shapes(NAMES, 5),
    st.lists(st.lists(st.sampled_from([-1, 0, 1]), min_size=4, max_size=4), max_size=3),
    st.integers(-3, 5),
)
@settings(max_examples=100)
def test_intervals_of_differences_have_no_empty_range(
    shape: list[int], rows: list[list[int]], reach: int
) -> None:
    """Rows with one 1 and one -1 at most have a totally unimodular matrix (Heller and Tompkins 1956)."""
    taken = list(box(NAMES, shape))
    for row in rows:
        signs = [s for s in row if s]
        if len(signs) <= 2 and abs(sum(signs)) <= 1:
            taken.append(
                Constraint(sum((x * s for x, s in zip((i, j, k, b), row, strict=True)), Affine.const(reach)))
            )
    own = [row for row in taken if row.form.variables & set(NAMES)]
    assert empty_ranges(NAMES, own, [6]) == 0


def test_a_loop_with_unit_coefficients_goes_inside() -> None:
    rows = [Constraint(2 * j - i + 2), Constraint(i - 2 * j)]
    assert tight_order(["i", "j"], rows) == ("j", "i")
    own = [*rows, *box(["i", "j"], [7, 4]), Constraint(b - 2 * j), Constraint(2 * j + 2 - b)]
    assert empty_ranges(["j", "i"], own, [7]) == 0 < empty_ranges(["i", "j"], own, [7])


def test_the_order_stays_where_nothing_is_won() -> None:
    assert tight_order(["i", "j"], [Constraint(j - i), Constraint(b - 3 * i)]) == ("i", "j")
    assert tight_order(["i", "j"], [Constraint(2 * j - i.floordiv(2))]) == ("i", "j")


@given(st.lists(st.integers(-9, 9), min_size=3, max_size=4))
@settings(max_examples=100)
def test_kernel_vectors_are_short_inside_and_move_upwards(row: list[int]) -> None:
    if not any(row):
        return
    basis = short_basis(smith([row]).kernel)
    assert all(next(x for x in vector if x) > 0 for vector in basis)
    lengths = [sum(x * x for x in vector) for vector in basis]
    assert lengths == sorted(lengths, reverse=True)
    assert all(sum(x * y for x, y in zip(row, vector, strict=True)) == 0 for vector in basis)


def test_of_equal_vectors_the_one_inside_moves_the_inner_unknowns() -> None:
    assert short_basis([[0, 0, 1, 1], [1, 1, 0, 0]]) == [[1, 1, 0, 0], [0, 0, 1, 1]]


def test_loops_over_quotients_move_upwards() -> None:
    """`(i + 2*j) % 3 = 1` leaves a loop over a floor's value, which the caller never named."""
    rows = [
        *box(["i", "j"], [5, 5]),
        Constraint((i + 2 * j).mod(3) - 1, equality=True),
        Constraint(i - b, equality=True),
    ]
    facts = box(["b"], [5])
    solution = solve(["i", "j"], rows, facts, fresh_names())
    assert solution is not None
    (loop,) = solution.kernel
    assert solution.substitution["j"].coefficient(loop) == 3
    for value in range(5):
        at = {"b": value}
        levels = loop_nest(solution.kernel, solution.domain, facts).levels
        found = {
            tuple(solution.substitution[n].evaluate(point) for n in ("i", "j"))
            for point in visit(levels, at)
            if all(guard.holds(at) for guard in solution.guards)
        }
        expected = brute_force(
            ["i", "j"], [5, 5], [row.substitute({"b": Affine.const(value)}) for row in rows]
        )
        assert found == set(expected)


def test_random_orders_lose_no_point() -> None:
    """The order of the loops never changes the set."""
    rng = random.Random(3)
    for _ in range(40):
        rows = [*box(NAMES, [4, 4, 4])]
        for _ in range(rng.randint(1, 3)):
            form = sum(
                (x * rng.choice([-3, -2, -1, 0, 1, 2]) for x in (i, j, k)), Affine.const(rng.randint(-2, 4))
            )
            rows.append(Constraint(form))
        rows = [row for row in rows if row.form.variables]
        order = tight_order(NAMES, rows)
        nest = tight(loop_nest(order, rows, []), [])
        points = list(visit(nest.levels, {})) if all(row.holds({}) for row in nest.outside) else []
        found = [tuple(point[name] for name in NAMES) for point in points]
        assert sorted(found) == brute_force(NAMES, [4, 4, 4], rows)
