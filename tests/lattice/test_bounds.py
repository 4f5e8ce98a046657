from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tadc.lattice import bounds
from tadc.lattice.affine import Affine, Constraint, at_least_zero, box, equals_zero
from tadc.lattice.bounds import Bound, EliminationLimit, Level, Unbounded, loop_bounds
from tadc.lattice.solve import solve
from tests.lattice.support import brute_force, forms, fresh_names, isl_points, linear_forms, shapes, visit

NAMES = ["i", "j", "k"]
i, j, k, a, b, c, n = map(Affine.var, ["i", "j", "k", "a", "b", "c", "n"])

Values = list[tuple[int, ...]]


def visited(levels: tuple[Level, ...], point: dict[str, int], names: list[str] = NAMES) -> Values:
    return [tuple(found[name] for name in names) for found in visit(levels, point)]


def text(levels: tuple[Level, ...]) -> list[str]:
    lower = {level.name: [str(bound.ceil()) for bound in level.lower] for level in levels}
    upper = {level.name: [str(bound.floor()) for bound in level.upper] for level in levels}
    return [f"{name}: max {lower[name]} min {upper[name]}" for name in lower]


@given(
    shapes(NAMES, 7), st.lists(linear_forms([*NAMES, "b"], 8).map(Constraint), max_size=4), st.integers(1, 6)
)
@settings(max_examples=150, deadline=None)
def test_loops_visit_the_set_in_order(shape: list[int], rows: list[Constraint], size: int) -> None:
    facts = box(["b"], [size])
    own = [*box(NAMES, shape), *(row for row in rows if row.form.variables & set(NAMES))]
    levels = loop_bounds(NAMES, own, facts)
    for value in range(size):
        exact = isl_points(NAMES, [row.substitute({"b": Affine.const(value)}) for row in own])
        assert visited(levels, {"b": value}) == sorted(exact)


@given(shapes(NAMES, 6), linear_forms(["j", "k"], 6), forms(["i"]), st.sampled_from([1, -1, 2, -3]))
@settings(max_examples=100, deadline=None)
def test_floors_of_outer_loops(shape: list[int], inner: Affine, outer: Affine, factor: int) -> None:
    rows = [*box(NAMES, shape), at_least_zero(inner + factor * outer)]
    assert visited(loop_bounds(NAMES, rows, []), {}) == brute_force(NAMES, shape, rows)


@given(shapes(["i", "j"], 7), linear_forms(["j"], 6), st.integers(2, 4), st.sampled_from([1, -1, 2, -2, 3]))
@settings(max_examples=100, deadline=None)
def test_floor_of_the_innermost_loop(shape: list[int], numerator: Affine, divisor: int, factor: int) -> None:
    rows = [*box(["i", "j"], shape), at_least_zero(factor * numerator.floordiv(divisor) + i - 1)]
    assert visited(loop_bounds(["i", "j"], rows, []), {}, ["i", "j"]) == brute_force(["i", "j"], shape, rows)


def test_outer_bounds_know_no_inner_loop() -> None:
    """Projecting one floor can bring back another that holds the loop."""
    draw = random.Random(4)

    def floor(atoms: list[Affine], divisor: int) -> Affine:
        terms = (atom * draw.choice([-3, -2, -1, 1, 2, 3]) for atom in atoms if draw.random() < 0.7)
        return sum(terms, Affine.const(draw.randint(-3, 3))).floordiv(divisor)

    def rows_of_nested_floors() -> list[Constraint]:
        inner = floor([i, j], draw.randint(2, 4))
        outer = (inner * draw.choice([-2, -1, 1, 3]) + floor([i, j], 3) + i * draw.randint(-2, 2)).floordiv(2)
        first = inner * draw.choice([1, -1]) + k * draw.choice([-1, 1]) + i * draw.randint(-2, 2)
        return [at_least_zero(first), at_least_zero(outer + k * draw.choice([-2, -1, 1]) + inner + 3)]

    for _ in range(200):
        rows = [*box(NAMES, [4, 4, 7]), *rows_of_nested_floors()]
        levels = loop_bounds(NAMES, rows, [])
        for number, level in enumerate(levels):
            used = {name for bound in (*level.lower, *level.upper) for name in bound.form.variables}
            assert used <= set(NAMES[:number])
        assert visited(levels, {}) == brute_force(NAMES, [4, 4, 7], rows)


MATRICES = [
    ([[3, 5, 7, 8], [-5, 5, 2, 3], [0, 1, 2, 3], [1, 2, 3, 4]], [2, 3, 4, 0]),
    ([[3, 5, 7, 8], [-5, 5, 2, 3], [0, 1, 2, 3], [0, 0, 0, 1], [0, 0, 0, -1]], [2, 3, 4, 10, 9]),
]


@pytest.mark.parametrize(("matrix", "least"), MATRICES, ids=["cone", "contradiction"])
@pytest.mark.parametrize("shift", [0, -4])
def test_conformance(matrix: list[list[int]], least: list[int], shift: int) -> None:
    names, shape = ["x0", "x1", "x2", "x3"], [7, 6, 6, 6]
    rows = [
        at_least_zero(Affine.of({name: a for name, a in zip(names, row, strict=True)}, -b))
        for row, b in zip(matrix, least, strict=True)
    ]
    moved = {name: Affine.var(name) + shift for name in names}
    rows = [*box(names, shape), *(row.substitute(moved) for row in rows)]
    expected = brute_force(names, shape, rows)
    assert visited(loop_bounds(names, rows, []), {}, names) == expected
    assert bool(expected) == (len(least) == 4)


def test_bounds_read_as_a_person_would_write_them() -> None:
    facts = box(["b"], [8])
    rows = [*box(["k"], [5]), at_least_zero(b - k), at_least_zero(k - b + 3), at_least_zero(2 * k - b + 4)]
    assert text(loop_bounds(["k"], rows, facts)) == ["k: max ['0', 'b - 3'] min ['4', 'b']"]
    strided = [*box(["k"], [5]), at_least_zero(2 * k - b), at_least_zero(b + 3 - 2 * k)]
    assert text(loop_bounds(["k"], strided, facts)) == [
        "k: max ['-((-b) // 2)'] min ['4', '((b + 1) // 2) + 1']"
    ]


def test_what_facts_or_outer_loops_imply_is_gone() -> None:
    triangle = [*box(["i", "j"], [n, n]), at_least_zero(i - j)]
    assert text(loop_bounds(["i", "j"], triangle, [])) == [
        "i: max ['0'] min ['n - 1']",
        "j: max ['0'] min ['i']",
    ]
    rows = [*box(["j"], [9]), at_least_zero(b - j)]
    assert text(loop_bounds(["j"], rows, box(["b"], [5]))) == ["j: max ['0'] min ['b']"]


def test_constants_then_plain_forms_then_divisions() -> None:
    rows = [
        at_least_zero(2 * k - b),
        at_least_zero(k - c),
        at_least_zero(k - a),
        at_least_zero(k + 3),
        at_least_zero(9 - k),
    ]
    facts = [at_least_zero(20 - a - b - c), at_least_zero(30 + a + b + c)]
    assert text(loop_bounds(["k"], rows, facts)) == ["k: max ['-3', 'a', 'c', '-((-b) // 2)'] min ['9']"]


def test_remainders_of_outer_loops_leave_the_bounds() -> None:
    rows = [*box(["i", "k"], [3, 9]), at_least_zero(3 * k + i - 6)]
    assert text(loop_bounds(["i", "k"], rows, []))[1] == "k: max ['2'] min ['8']"


def test_exact_divisions_are_one_division() -> None:
    facts = [*box(["b"], [40]), equals_zero(b.mod(2))]
    rows = [*box(["i"], [9]), at_least_zero(b.floordiv(2) - 3 * i)]
    assert text(loop_bounds(["i"], rows, facts)) == ["i: max ['0'] min ['(b // 6)']"]


def test_symbolic_sizes() -> None:
    rows = [*box(["i", "j"], [n, n]), at_least_zero(i + j - n)]
    levels = loop_bounds(["i", "j"], rows, [])
    for size in range(6):
        assert visited(levels, {"n": size}, ["i", "j"]) == [
            (i, j) for i in range(size) for j in range(size) if i + j >= size
        ]


def test_rounding() -> None:
    bound = Bound(b - 1, 3)
    for value in range(-7, 8):
        assert bound.floor().evaluate({"b": value}) == (value - 1) // 3
        assert bound.ceil().evaluate({"b": value}) == -((1 - value) // 3)


def test_an_empty_set_gives_loops_that_do_not_run() -> None:
    for rows in (
        [at_least_zero(i - 4), at_least_zero(3 - i), *box(["j"], [3])],
        [*box(["i", "j"], [9, 9]), equals_zero(2 * i - 2 * j - 1)],
        [*box(["i", "j"], [2, 0])],
    ):
        levels = loop_bounds(["i", "j"], rows, [])
        assert [level.name for level in levels] == ["i", "j"]
        assert visited(levels, {}, ["i", "j"]) == []


def test_unbounded_loops_are_named() -> None:
    with pytest.raises(Unbounded, match="`j` has no upper bound"):
        loop_bounds(["i", "j"], [*box(["i"], [3]), at_least_zero(j - i)], [])


def test_rows_that_are_no_bound_are_rejected() -> None:
    with pytest.raises(ValueError, match="`b - 3 >= 0` has no loop variable"):
        loop_bounds(["i"], [*box(["i"], [3]), at_least_zero(b - 3)], [])
    with pytest.raises(ValueError, match="does not bound its innermost loop variable"):
        loop_bounds(["i"], [*box(["i"], [3]), at_least_zero(i - 3 * i.floordiv(2))], [])


def test_the_limit_names_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "LIMIT", 5)
    rows = [*box(NAMES, [9, 9, 9]), at_least_zero(i + 2 * j - 3 * k + 2), at_least_zero(7 + 2 * k - i - j)]
    with pytest.raises(EliminationLimit, match=r"more than 5 rows of: .*i \+ 2\*j - 3\*k \+ 2 >= 0"):
        loop_bounds(NAMES, rows, [])


def test_elimination_stays_small_in_six_kernel_dimensions() -> None:
    """Without pruning the last elimination makes tens of thousands of rows."""
    numbers = random.Random(7)
    names = [f"x{i}" for i in range(8)]
    for _ in range(3):
        maps = [[numbers.choice([2, 3, 5, 4, -3]) for _ in names] for _ in range(2)]
        forms = [Affine.of(dict(zip(names, row, strict=True)), 40) for row in maps]
        rows = [*box(names, [numbers.randint(2, 7) for _ in names])]
        rows += [equals_zero(form - Affine.var(f"b{i}")) for i, form in enumerate(forms)]
        facts = box(["b0", "b1"], [200, 200])
        solution = solve(names, rows, facts, fresh_names(), linear=True)
        assert solution is not None
        assert len(solution.kernel) == 6
        levels = loop_bounds(solution.kernel, solution.domain, [*facts, *solution.guards])
        assert sum(len(level.lower) + len(level.upper) for level in levels) <= 129
