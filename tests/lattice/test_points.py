from __future__ import annotations

import islpy as isl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tadc.lattice import points
from tadc.lattice.affine import Affine, Constraint, at_least_zero, box, equals_zero
from tadc.lattice.points import SearchLimit, find_point
from tests.lattice.support import constraints, isl_set, linear_forms, shapes

NAMES = ["i", "j", "k"]
i, j, k = map(Affine.var, NAMES)


@given(shapes(NAMES, 9), st.lists(constraints(NAMES), max_size=5))
@settings(max_examples=300, deadline=None)
def test_a_point_where_there_is_one(shape: list[int], drawn: list[Constraint]) -> None:
    rows = [*box(NAMES, shape), *drawn]
    point = find_point(rows)
    assert (point is None) == isl_set(NAMES, rows).is_empty()
    if point is not None:
        assert sorted(point) == NAMES
        assert all(row.holds(point) for row in rows)


@given(shapes(NAMES, 9), st.lists(linear_forms(NAMES, 6).map(Constraint), max_size=4))
@settings(max_examples=100, deadline=None)
def test_the_least_point_of_linear_inequalities(shape: list[int], drawn: list[Constraint]) -> None:
    rows = [*box(NAMES, shape), *drawn]
    point = find_point(rows)
    if point is not None:
        found = isl_set(NAMES, rows).lexmin().sample_point()
        least = {name: found.get_coordinate_val(isl.dim_type.set, i) for i, name in enumerate(NAMES)}
        assert point == {name: int(str(value)) for name, value in least.items()}


def test_parity_ends_at_once() -> None:
    huge = box(["i", "j"], [10**12, 10**12])
    assert find_point([*huge, equals_zero(2 * i - 2 * j - 1)]) is None
    assert find_point([*huge, equals_zero(6 * i + 10 * j - 7)]) is None
    assert find_point([*huge, equals_zero(i.mod(4) - 1), equals_zero(i.mod(2))]) is None


def test_large_boxes_do_not_matter() -> None:
    side = 10**9
    rows = [*box(["i", "j"], [side, side]), at_least_zero(i + j - side), equals_zero(3 * i - 7 * j + 5)]
    point = find_point(rows)
    assert point is not None
    assert all(row.holds(point) for row in rows)


def test_small_points_first() -> None:
    assert find_point([*box(["i", "k"], [3, 5]), at_least_zero(i + k - 6)]) == {"i": 2, "k": 4}
    assert find_point([*box(["i", "j"], [50, 50]), equals_zero(i.mod(7) - 3), at_least_zero(i - 10)]) == {
        "i": 10,
        "j": 0,
    }


def test_outer_variables_are_small_before_inner_ones() -> None:
    assert find_point([*box(["i", "j"], [50, 50]), equals_zero(i + j - 7)]) == {"i": 0, "j": 7}


def test_an_upper_bound_alone_is_searched_downwards() -> None:
    gaps = [at_least_zero(-2 - i), at_least_zero(5 * k - 2 * i - 1), at_least_zero(2 * i + 2 - 5 * k)]
    assert find_point(gaps) == {"i": -3, "k": -1}


def test_without_bounds() -> None:
    assert find_point([]) == {}
    assert find_point([equals_zero(i - j)]) == {"i": 0, "j": 0}
    assert find_point([at_least_zero(i - 3), at_least_zero(-5 - j)]) == {"i": 3, "j": -5}
    assert find_point([Constraint(Affine.const(-1))]) is None
    point = find_point([equals_zero(3 * i - 5 * j - 1)])
    assert point is not None
    assert 3 * point["i"] - 5 * point["j"] == 1


def test_names_that_the_solver_makes_do_not_clash() -> None:
    q, z = Affine.var("q0"), Affine.var("z1")
    rows = [*box(["q0", "z1"], [9, 9]), equals_zero(q.mod(3) - 2), equals_zero(2 * q + 6 * z - 10 * i)]
    point = find_point([*rows, *box(["i"], [9])])
    assert point is not None
    assert all(row.holds(point) for row in rows)


def test_the_search_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    gaps = [at_least_zero(i), at_least_zero(100 * j - 37 * i - 1), at_least_zero(37 * i + 3 - 100 * j)]
    assert find_point(gaps) == {"i": 27, "j": 10}
    monkeypatch.setattr(points, "BUDGET", 5)
    with pytest.raises(SearchLimit, match="first 5 tried"):
        find_point(gaps)
