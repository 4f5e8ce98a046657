"""Certificates of random systems: identities hold, proofs are found, and what is wrong is noticed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sympy import Matrix as SymPyMatrix

from tadc.lattice.affine import Affine, Constraint, box, equals_zero
from tadc.lattice.certificate import Certificate, renamed, untouched
from tadc.lattice.rational import combination, determinant, inverse, product
from tadc.lattice.solve import solve
from tadc.lattice.verify import CHECKS, verify
from tests.lattice.support import fresh_names
from tests.lattice.test_solve import UNKNOWNS, System, systems

X, Y, B, N = map(Affine.var, ["x", "y", "b", "n"])

Matrices = st.integers(0, 4).flatmap(
    lambda n: st.lists(st.lists(st.integers(-4, 4), min_size=n, max_size=n), min_size=n, max_size=n)
)


def certificate(
    unknowns: list[str], rows: list[Constraint], facts: tuple[Constraint, ...]
) -> Certificate | None:
    solution = solve(unknowns, rows, facts, fresh_names())
    return None if solution is None else Certificate(tuple(unknowns), tuple(rows), facts, solution)


def failing(c: Certificate) -> list[str]:
    return [check.what for check in verify(c) if not check.holds]


@given(systems())
@settings(max_examples=150, deadline=None)
def test_random_systems(system: System) -> None:
    """All identities of integers hold; the proofs are found for all but very few systems."""
    rows, facts = system
    c = certificate(UNKNOWNS, rows, facts)
    assume(c is not None)
    assert c is not None
    missing = failing(c)
    assert not {what for what, _ in CHECKS[:4]} & set(missing)
    assert missing == []


def test_sizes_are_parameters() -> None:
    """With `t[2*x + 4*y]` and 0 <= x < n every check is proven for every n."""
    rows = [equals_zero(2 * X + 4 * Y - B), *box("xy", [N, N])]
    c = certificate(["x", "y"], rows, (Constraint(B), Constraint(6 * N - B), Constraint(N - 1)))
    assert c is not None
    assert failing(c) == []
    assert c.matrix == [[2, 4]]
    assert c.kernel == [[-2], [1]]
    assert c.smith.right == [[1, -2], [0, 1]]
    assert c.smith.pseudo_inverse == [[Fraction(1, 2)], [0]]


def strided() -> Certificate:
    rows = [equals_zero(2 * X + 4 * Y - B), *box("xy", [4, 3])]
    c = certificate(["x", "y"], rows, box("b", [20]))
    assert c is not None
    return c


#: A wrong solution of the same system, and the checks that notice.
MISTAKES: dict[str, tuple[Callable[[Certificate], Certificate], set[int]]] = {
    "a guard is lost": (lambda c: _with(c, guards=()), {3, 4}),
    "a guard is too strict": (lambda c: _with(c, guards=(*c.solution.guards, Constraint(B - 1))), {5}),
    "a divisor is too large": (
        lambda c: _with(c, guards=(equals_zero(B.mod(4)), *c.solution.guards[1:])),
        {5},
    ),
    "a row of the domain is lost": (lambda c: _with(c, domain=c.solution.domain[1:]), {4}),
    "a row of the domain is too strict": (
        lambda c: _with(c, domain=(*c.solution.domain, Constraint(Y - 1))),
        {5},
    ),
    "an offset is wrong": (
        lambda c: _with(c, substitution={"x": c.solution.substitution["x"] + 1, "y": Y}),
        {4, 5},
    ),
    "a kernel vector is twice too long": (
        lambda c: _with(c, substitution={"x": B.floordiv(2) - 4 * Y, "y": 2 * Y}),
        {5, 6},
    ),
}


def _with(c: Certificate, **changes: object) -> Certificate:
    return replace(c, solution=replace(c.solution, **changes))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_noticed(name: str) -> None:
    """Each mistake fails at least these checks."""
    assert failing(strided()) == []
    mistake, expected = MISTAKES[name]
    assert {CHECKS[i][0] for i in expected} <= set(failing(mistake(strided())))


def test_wrong_loop_bounds_are_noticed() -> None:
    c = strided()
    nest = c.nest
    level = nest.levels[0]
    for wrong in (
        replace(level, upper=level.upper[1:]),
        replace(level, lower=(*level.lower, level.upper[0])),
    ):
        c.__dict__["nest"] = replace(nest, levels=(wrong,))
        assert CHECKS[-1][0] in failing(c)


def test_untouched_rows_are_their_own_solution() -> None:
    rows = (*box("xy", [4, 3]), Constraint(X - Y), Constraint(B - 2))
    c = Certificate(("x", "y"), rows, box("b", [9]), untouched("xy", rows))
    assert failing(c) == []
    assert c.solution.guards == (Constraint(B - 2),)
    assert c.solution.domain == rows[:-1]


@given(systems())
@settings(max_examples=30, deadline=None)
def test_other_names_change_nothing(system: System) -> None:
    rows, facts = system
    c = certificate(UNKNOWNS, rows, facts)
    assume(c is not None)
    assert c is not None
    # The names change places, which one substitution after the other would not do.
    names = {"x": "b", "b": "x", "y": "k"}
    other = renamed(c, names)
    assert other.unknowns == ("b", "k", "w")
    assert renamed(other, {new: old for old, new in names.items()}) == c
    assert other.matrix == c.matrix
    assert failing(other) == failing(c)


@given(Matrices)
def test_determinants(matrix: list[list[int]]) -> None:
    assert determinant(matrix) == (SymPyMatrix(matrix).det() if matrix else 1)


@given(Matrices)
def test_inverses(matrix: list[list[int]]) -> None:
    if abs(determinant(matrix)) == 1:
        size = len(matrix)
        assert product(matrix, inverse(matrix)) == [[int(i == j) for j in range(size)] for i in range(size)]
    else:
        with pytest.raises(ValueError, match="unimodular"):
            inverse(matrix)


@given(Matrices, st.lists(st.integers(-3, 3), min_size=4, max_size=4))
def test_combinations(matrix: list[list[int]], factors: list[int]) -> None:
    """What is a combination is found to be one; what raises the rank is none."""
    vectors = [[Fraction(x) for x in row] for row in matrix]
    target = [
        sum((f * x for f, x in zip(factors, column, strict=False)), Fraction(0))
        for column in zip(*vectors, strict=True)
    ]
    found = combination(vectors, target)
    assert found is not None
    again = [
        sum((f * x for f, x in zip(found, column, strict=True)), Fraction(0))
        for column in zip(*vectors, strict=True)
    ]
    assert again == target
    padded = [[*row, Fraction(0)] for row in vectors]
    if padded:
        assert combination(padded, [*target, Fraction(1)]) is None
