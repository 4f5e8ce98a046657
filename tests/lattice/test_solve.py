from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from itertools import product

import islpy as isl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tadc.lattice.affine import Affine, Constraint, at_least_zero, box, equals_zero
from tadc.lattice.bounds import loop_bounds
from tadc.lattice.solve import Solution, solve
from tests.lattice.support import (
    brute_force,
    constraints,
    forms,
    fresh_names,
    isl_form,
    isl_row,
    isl_set,
    shapes,
    visit,
)

PARAMETERS = ["b", "c"]
UNKNOWNS = ["x", "y", "w"]
X, Y, W, B, C, N = map(Affine.var, ["x", "y", "w", "b", "c", "n"])

System = tuple[list[Constraint], tuple[Constraint, ...]]


@st.composite
def systems(draw: st.DrawFn) -> System:
    """What reverse mode makes: access maps equal to parameters, boxes, conditions of guards."""
    rows = [*box(UNKNOWNS, draw(shapes(UNKNOWNS, 6)))]
    rows += [
        equals_zero(draw(forms(UNKNOWNS)) - Affine.var(b)) for b in PARAMETERS[: draw(st.integers(1, 2))]
    ]
    rows += draw(st.lists(constraints([*UNKNOWNS, *PARAMETERS]), max_size=2))
    return rows, box(PARAMETERS, draw(shapes(PARAMETERS, 9)))


def image(
    solution: Solution, facts: tuple[Constraint, ...], parameters: Sequence[str] = tuple(PARAMETERS)
) -> isl.Set:
    """All (parameters, unknowns) that the solution describes."""
    values = [equals_zero(solution.substitution[name] - Affine.var(f"{name}_")) for name in UNKNOWNS]
    names = [*parameters, *(f"{name}_" for name in UNKNOWNS)]
    return isl_set(names, [*facts, *solution.guards, *solution.domain, *values], solution.kernel)


@given(systems())
@settings(max_examples=300, deadline=None)
def test_the_solution_is_the_set(system: System) -> None:
    rows, facts = system
    original = isl_set([*PARAMETERS, *UNKNOWNS], [*rows, *facts])
    solution = solve(UNKNOWNS, rows, facts, fresh_names())
    if solution is None:
        assert original.is_empty()
        return
    assert image(solution, facts).is_equal(original)
    kernel = [*PARAMETERS, *solution.kernel]
    where = " and ".join(map(isl_row, [*facts, *solution.guards, *solution.domain]))
    where = f" : {where}" if where else ""
    outputs = ", ".join([*PARAMETERS, *(isl_form(solution.substitution[name]) for name in UNKNOWNS)])
    assert isl.Map(f"{{ [{', '.join(kernel)}] -> [{outputs}]{where} }}").is_injective()


SIZES = st.sampled_from([Affine.const(3), N, N + 2, 2 * N, (N + 1).floordiv(2)])


@given(
    st.lists(SIZES, min_size=3, max_size=3),
    st.lists(forms(UNKNOWNS), min_size=1, max_size=2),
    st.lists(SIZES, min_size=2, max_size=2),
    st.integers(0, 2),
)
@settings(max_examples=80, deadline=None)
def test_symbolic_sizes(sizes: list[Affine], maps: list[Affine], shape: list[Affine], least: int) -> None:
    """One solution serves every size."""
    rows = [*box(UNKNOWNS, sizes)]
    rows += [equals_zero(form - Affine.var(b)) for form, b in zip(maps, PARAMETERS, strict=False)]
    facts = (*box(PARAMETERS, shape), at_least_zero(N - least))
    original = isl_set(["n", *PARAMETERS, *UNKNOWNS], [*rows, *facts])
    solution = solve(UNKNOWNS, rows, facts, fresh_names())
    if solution is None:
        assert original.is_empty()
    else:
        assert image(solution, facts, ["n", *PARAMETERS]).is_equal(original)


@given(systems())
@settings(max_examples=150, deadline=None)
def test_forms_and_loops(system: System) -> None:
    """Guards, loops, substitution, floors and exact quotients, all by evaluation."""
    rows, facts = system
    solution = solve(UNKNOWNS, rows, facts, fresh_names())
    if solution is None:
        return
    assert set(solution.atoms) == {
        atom for row in rows for atom in row.form.floors() if atom.variables & set(UNKNOWNS)
    }
    levels = loop_bounds(solution.kernel, solution.domain, [*facts, *solution.guards])
    for values in product(range(9), repeat=2):
        point = dict(zip(PARAMETERS, values, strict=True))
        if not all(fact.holds(point) for fact in facts):
            continue
        expected = brute_force(
            UNKNOWNS,
            [6, 6, 6],
            [row.substitute({n: Affine.const(v) for n, v in point.items()}) for row in rows],
        )
        if not all(guard.holds(point) for guard in solution.guards):
            assert expected == []
            continue
        assert all(form.evaluate(point) % divisor == 0 for form, divisor in solution.exact)
        found: list[tuple[int, ...]] = []
        for place in visit(levels, point):
            x = {name: solution.substitution[name].evaluate(place) for name in UNKNOWNS}
            found.append(tuple(x.values()))
            for atom, form in solution.atoms.items():
                assert form.evaluate(place) == Affine.atom(atom).evaluate({**point, **x})
        assert sorted(found) == expected


@given(systems())
@settings(max_examples=100, deadline=None)
def test_guards_say_something(system: System) -> None:
    rows, facts = system
    solution = solve(UNKNOWNS, rows, facts, fresh_names())
    if solution is None:
        return
    for guard in solution.guards:
        assert guard.form.variables <= set(PARAMETERS)
        if guard.form.is_linear:
            assert not isl_set(PARAMETERS, facts).is_subset(isl_set(PARAMETERS, [guard]))


ENUMERATIONS: list[tuple[list[list[int]], list[int]]] = [
    ([[1, 2, 3], [1, 2, 3], [1, 2, 3]], [11, 21, 51]),
    ([[1, 2, 3], [2, 4, 6], [3, 1, 6]], [11, 21, 51]),
    ([[2, 1, 3], [1, 2, 3], [5, 3, 6]], [11, 21, 51]),
    ([[1]], [11]),
    ([[-5]], [16]),
    ([[0]], [16]),
    ([[2], [3]], [16]),
    ([[2, 5], [3, 4]], [15, 12]),
    ([[0, 0, 1], [1, 0, 0], [0, 1, 0]], [10, 5, 7]),
    ([[0, 0, 0], [0, 0, 0], [0, 0, 0]], [10, 5, 7]),
    ([[1, 2, 4, 2], [2, 4, 1, 3], [3, 6, 2, 4], [4, 8, 3, 4]], [10, 5, 7, 8]),
    ([[0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 1], [4, 7, 3, 5]], [10, 5, 7, 8]),
]


@pytest.mark.parametrize(("matrix", "shape"), ENUMERATIONS, ids=lambda x: str(x).replace(" ", ""))
def test_conformance(matrix: list[list[int]], shape: list[int]) -> None:
    """{x in box : M x = y} for y that are hit and y that are not, y being parameters."""
    names = [f"x{j}" for j in range(len(shape))]
    sides = [f"y{i}" for i in range(len(matrix))]
    maps = [Affine.of({name: a for name, a in zip(names, row, strict=True) if a}) for row in matrix]
    rows = [*box(names, shape), *(equals_zero(f - Affine.var(y)) for f, y in zip(maps, sides, strict=True))]
    preimages: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    for x in product(*map(range, shape)):
        y = tuple(sum(a * v for a, v in zip(row, x, strict=True)) for row in matrix)
        preimages.setdefault(y, []).append(x)
    hit = sorted(preimages)[:: max(1, len(preimages) // 12)]
    near = [tuple(v + d for v, d in zip(y, (1, 0, -1, 2), strict=False)) for y in hit]
    solution = solve(names, rows, (), fresh_names())
    assert solution is not None
    levels = loop_bounds(solution.kernel, solution.domain, solution.guards)
    for y in dict.fromkeys([*hit, *near]):
        point = dict(zip(sides, y, strict=True))
        holds = all(guard.holds(point) for guard in solution.guards)
        found = [
            tuple(solution.substitution[name].evaluate(place) for name in names)
            for place in (visit(levels, point) if holds else [])
        ]
        assert sorted(found) == preimages.get(y, [])


def solved(rows: list[Constraint], facts: tuple[Constraint, ...], unknowns: list[str]) -> dict[str, object]:
    solution = solve(unknowns, rows, facts, fresh_names())
    assert solution is not None
    return {
        "guards": list(map(str, solution.guards)),
        "substitution": {name: str(form) for name, form in solution.substitution.items()},
        "kernel": list(solution.kernel),
        "domain": list(map(str, solution.domain)),
    }


def test_a_stride_reads_as_a_person_would_write_it() -> None:
    rows = [*box(["x"], [4]), equals_zero(2 * X - B)]
    assert solved(rows, box(["b"], [9]), ["x"]) == {
        "guards": ["b - 2*(b // 2) = 0", "6 - b >= 0"],
        "substitution": {"x": "(b // 2)"},
        "kernel": [],
        "domain": [],
    }


def test_guards_take_the_least_residue() -> None:
    def guard(form: Affine) -> list[str]:
        return solved([*box(["x"], [4]), equals_zero(form)], box(["b"], [13]), ["x"])["guards"][:1]  # type: ignore[index,return-value]

    assert guard(3 * X + B - 10) == ["b - 3*((b + 2) // 3) + 2 = 0"]
    assert guard(3 * X + B - 1) == ["b - 1 = 0"]
    assert guard(3 * X - 2 * B) == ["b - 3*(b // 3) = 0"]
    assert guard(4 * X - 2 * B) == ["b - 2*(b // 2) = 0"]
    assert guard(-5 * X + 13 * B) == ["b - 5*(b // 5) = 0"]


def test_a_convolution_keeps_its_own_sum_index() -> None:
    rows = [*box(["x", "w"], [3, 5]), equals_zero(X + W - B)]
    found = solved(rows, box(["b"], [7]), ["x", "w"])
    assert found["kernel"] == ["w"]
    assert found["substitution"] == {"x": "b - w", "w": "w"}
    assert found["guards"] == []


def test_upsampling_reads_the_plain_index() -> None:
    rows = [*box(["x"], [6]), equals_zero(X.floordiv(2) - B)]
    solution = solve(["x"], rows, box(["b"], [3]), fresh_names())
    assert solution is not None
    assert solution.kernel == ("x",)
    assert [str(form) for form in solution.atoms.values()] == ["b"]
    assert solution.guards == ()


def test_a_full_rank_map_gets_its_range_check() -> None:
    rows = [*box(["x"], [7]), equals_zero(X + 2 - B)]
    assert solved(rows, box(["b"], [10]), ["x"])["guards"] == ["b - 2 >= 0", "8 - b >= 0"]


def test_dependent_rows_make_a_guard() -> None:
    rows = [*box(["x", "y"], [9, 9]), equals_zero(2 * X + 3 * Y - B), equals_zero(4 * X + 6 * Y - 2 * C)]
    assert solved(rows, box(["b", "c"], [40, 40]), ["x", "y"])["guards"] == ["b - c = 0"]


def test_only_guarded_quotients_are_exact() -> None:
    rows = [*box(["x"], [9]), equals_zero(2 * X + 2 * B.floordiv(3) - C)]
    solution = solve(["x"], rows, box(["b", "c"], [9, 20]), fresh_names())
    assert solution is not None
    assert str(solution.substitution["x"]) == "(c // 2) - (b // 3)"
    assert solution.exact == ((C, 2),)


def test_tiling_needs_no_loop() -> None:
    rows = [*box(["x", "y"], [3, 7]), equals_zero(10 * X + Y - B)]
    assert solved(rows, box(["b"], [50]), ["x", "y"]) == {
        "guards": ["29 - b >= 0", "10*(b // 10) - b + 6 >= 0"],
        "substitution": {"x": "(b // 10)", "y": "b - 10*(b // 10)"},
        "kernel": [],
        "domain": [],
    }


def test_a_floor_of_a_loop_variable_is_no_loop_of_its_own() -> None:
    rows = [*box(["x", "y"], [7, 5]), equals_zero((X + Y.floordiv(2)).floordiv(3) - B)]
    assert solved(rows, box(["b"], [4]), ["x", "y"])["kernel"] == ["x", "y"]
    linear = solve(["x", "y"], rows, box(["b"], [4]), fresh_names(), linear=True)
    assert linear is not None
    assert len(linear.kernel) == 3
    assert all(row.form.is_linear for row in linear.domain)


def test_exact_quotients_are_one_division() -> None:
    rows = [*box(["x", "y"], [4, 3]), equals_zero(2 * X + 4 * Y - B), equals_zero(6 * X - 2 * Y + 4 - C)]
    assert solved(rows, box(["b", "c"], [16, 24]), ["x", "y"])["substitution"] == {
        "x": "((b + 2*c + 6) // 14) - 1",
        "y": "((3*b - c + 4) // 14)",
    }


def test_a_remainder_that_facts_bound_leaves_the_rows() -> None:
    rows = [*box(["x"], [9]), equals_zero(X.mod(3) - B)]
    assert solved(rows, box(["b"], [3]), ["x"])["domain"] == ["q_0 >= 0", "2 - q_0 >= 0"]


def test_no_guard_where_facts_hold() -> None:
    rows = [*box(["x"], [8]), equals_zero(2 * X - B)]
    facts = (*box(["b"], [15]), equals_zero(B.mod(4)))
    assert solved(rows, facts, ["x"])["guards"] == []


def test_implicit_equalities_are_solved() -> None:
    rows = [at_least_zero(X - Y), at_least_zero(Y - W), at_least_zero(W - X), *box(UNKNOWNS, [5, 5, 5])]
    assert len(solved(rows, (), UNKNOWNS)["kernel"]) == 1  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "rows",
    [
        [equals_zero(2 * X - 2 * Y - 1)],
        [
            equals_zero(6 * X + 10 * Y + 15 * W - B),
            equals_zero(B - 1),
            at_least_zero(-X),
            at_least_zero(-Y - 1),
        ],
        [equals_zero(2 * X - B), equals_zero(2 * Y - B - 1)],
        [equals_zero(X.mod(2) - 1), equals_zero(X - 2 * Y)],
        [equals_zero(X - B), at_least_zero(X - 9)],
        [Constraint(Affine.const(-1))],
    ],
    ids=lambda rows: "; ".join(map(str, rows)),
)
def test_no_solution(rows: list[Constraint]) -> None:
    boxes = box(UNKNOWNS, [9, 9, 9])
    assert solve(UNKNOWNS, [*boxes, *rows], box(["b"], [9]), fresh_names()) is None


PROGRAM = """
from tadc.lattice.affine import Affine, box, equals_zero
from tadc.lattice.bounds import loop_bounds
from tadc.lattice.solve import solve
from tests.lattice.support import fresh_names
i, j, k, l, b, c = map(Affine.var, "ijklbc")
facts = box("bc", [90, 9])
rows = [*box("ijkl", [9, 8, 5, 4]), equals_zero(6*i + 10*j + 15*k - b)]
rows += [equals_zero((i + l).floordiv(2) + k.mod(3) - c)]
solution = solve("ijkl", rows, facts, fresh_names())
print(solution)
print(loop_bounds(solution.kernel, solution.domain, [*facts, *solution.guards]))
"""


def test_results_do_not_depend_on_the_hash_seed() -> None:
    outputs = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": "."},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(outputs) == 1
