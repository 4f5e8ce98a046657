from __future__ import annotations

import random
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy import ZZ
from sympy import Matrix as SymPyMatrix
from sympy.matrices.normalforms import smith_normal_form

from tadc.lattice.reduction import dot, lll, nearest_plane
from tadc.lattice.smith import SmithForm, smith

Matrix = list[list[int]]

CONFORMANCE: list[Matrix] = [
    [[2, 4, 4], [-6, 6, 12], [10, -4, -16]],
    [[2, 1, -3, -1], [1, -1, -3, 1], [4, -4, 0, 16]],
    [[1, 2, 3], [4, 5, 6], [7, 8, 9]],
    [[-6, 111, -36, 6], [5, -672, 210, 74], [0, -255, 81, 24], [-7, 255, -81, -10]],
    [[9, -36, 30], [-36, 192, -180], [30, -180, 180]],
    [[13, 5, 7], [17, 31, 39]],
    [[0, 0, 0], [0, 0, 0], [0, 0, 0]],
    [[2, 2, 2], [2, 2, 2], [2, 2, 2]],
]

matrices = st.integers(1, 8).flatmap(
    lambda width: st.lists(
        st.lists(st.integers(-30, 30), min_size=width, max_size=width), min_size=1, max_size=8
    )
)


def check(matrix: Matrix) -> SmithForm:
    """All that the normal form promises, by SymPy's exact arithmetic."""
    form = smith(matrix)
    a, s = SymPyMatrix(matrix), SymPyMatrix(form.diagonal)
    u, v = SymPyMatrix(form.left), SymPyMatrix(form.right)
    assert u * a * v == s
    assert u.det() in (1, -1)
    assert v.det() in (1, -1)
    assert form.rank == a.rank()
    diagonal = [s[i, i] for i in range(min(s.shape))]
    assert s == SymPyMatrix(*s.shape, lambda i, j: diagonal[i] if i == j else 0)
    assert diagonal == form.factors + [0] * (len(diagonal) - form.rank)
    assert all(factor > 0 for factor in form.factors)
    assert all(after % before == 0 for before, after in zip(form.factors, form.factors[1:], strict=False))
    assert len(form.kernel) == a.shape[1] - form.rank
    assert all((a * SymPyMatrix(vector)).is_zero_matrix for vector in form.kernel)
    inverse = SymPyMatrix(form.pseudo_inverse)
    assert a * inverse * a == a
    return form


def sympy_factors(matrix: Matrix) -> list[int]:
    oracle = smith_normal_form(SymPyMatrix(matrix), domain=ZZ)
    return sorted(abs(int(str(oracle[i, i]))) for i in range(min(oracle.shape)) if oracle[i, i] != 0)


@pytest.mark.parametrize("matrix", CONFORMANCE, ids=str)
def test_conformance(matrix: Matrix) -> None:
    form = check(matrix)
    assert sympy_factors(matrix) == form.factors


@given(matrices)
@settings(max_examples=40, deadline=None)
def test_random(matrix: Matrix) -> None:
    form = check(matrix)
    if max(len(matrix), len(matrix[0])) <= 4:
        assert sympy_factors(matrix) == form.factors


def test_known_factors() -> None:
    assert smith(CONFORMANCE[0]).factors == [2, 6, 12]
    assert smith([[2, 0], [0, 3]]).factors == [1, 6]
    assert smith([[6, 10, 15]]).factors == [1]


def test_empty_shapes() -> None:
    assert smith([]).rank == 0
    assert smith([[], []]).left == [[1, 0], [0, 1]]
    assert smith([[0, 0]]).kernel == [[1, 0], [0, 1]]


def test_pseudo_inverse_is_the_inverse_of_a_regular_matrix() -> None:
    assert smith([[2, 1], [4, 4]]).pseudo_inverse == [
        [Fraction(1), Fraction(-1, 4)],
        [Fraction(-1), Fraction(1, 2)],
    ]


def test_entries_do_not_explode() -> None:
    """The textbook form needs 4195 digits at 5x5 and does not end at 8x8."""
    numbers = random.Random(3)
    for _ in range(50):
        form = smith([[numbers.randint(-30, 30) for _ in range(8)] for _ in range(8)])
        entries = [x for part in (form.left, form.right, form.diagonal) for row in part for x in row]
        assert max(len(str(abs(x))) for x in entries) < 60


def same_lattice(a: Matrix, b: Matrix) -> bool:
    """Whether two bases differ by a unimodular matrix: each expresses the other in integers."""
    x = SymPyMatrix(a).T.gauss_jordan_solve(SymPyMatrix(b).T)[0]
    return all(entry.is_integer for entry in x) and abs(x.det()) == 1


def independent(rows: Matrix) -> bool:
    return SymPyMatrix(rows).rank() == len(rows)


bases = st.integers(1, 4).flatmap(
    lambda size: st.lists(
        st.lists(st.integers(-40, 40), min_size=5, max_size=5), min_size=size, max_size=size
    ).filter(independent)
)


@given(bases)
@settings(max_examples=40, deadline=None)
def test_lll_is_a_reduced_basis_of_the_same_lattice(rows: Matrix) -> None:
    reduced = lll(rows)
    assert same_lattice(rows, reduced)
    vectors = [SymPyMatrix(row) for row in reduced]
    orthogonal: list[SymPyMatrix] = []
    for i, vector in enumerate(vectors):
        mu = [vector.dot(q) / q.dot(q) for q in orthogonal]
        assert all(abs(m) <= Fraction(1, 2) for m in mu)
        rest = vector - sum((m * q for m, q in zip(mu, orthogonal, strict=True)), SymPyMatrix([0] * 5))
        if i:
            last = orthogonal[-1]
            assert rest.dot(rest) >= (Fraction(3, 4) - mu[-1] ** 2) * last.dot(last)
        orthogonal.append(rest)


def test_lll_finds_short_vectors() -> None:
    assert lll([[1, 1000], [0, 1]]) == [[0, 1], [1, 0]]
    assert sorted(dot(v, v) for v in lll([[1, 0, 0, 12345], [0, 1, 0, 6789], [0, 0, 1, 1357]])) < [900] * 3


def test_lll_rejects_dependent_rows() -> None:
    with pytest.raises(ValueError, match="dependent"):
        lll([[1, 2], [2, 4]])


@given(bases, st.lists(st.integers(-500, 500), min_size=5, max_size=5))
@settings(max_examples=30, deadline=None)
def test_nearest_plane_stays_in_the_coset_and_gets_short(rows: Matrix, vector: list[int]) -> None:
    basis = lll(rows)
    short = nearest_plane(vector, basis)
    moved = SymPyMatrix([x - y for x, y in zip(vector, short, strict=True)])
    solution = SymPyMatrix(basis).T.gauss_jordan_solve(moved)[0]
    assert all(entry.is_integer for entry in solution)
    assert nearest_plane(short, basis) == short
