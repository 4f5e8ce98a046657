"""Index arrays, conditions of reductions and sparse tensors in programs of Python."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

import tadc

N, E = tadc.sizes("N E")
e, n, m = tadc.indices("e n m")
row, col = tadc.index_array("row", E, N), tadc.index_array("col", E, N)
A = tadc.argument("A", "f64", (N, N), at=(row, col))
x = tadc.argument("x", "f64", N)

ROW, COL = np.array([0, 1, 1, 2]), np.array([1, 0, 2, 1])
STORED, X = np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 2.0, 4.0])
DENSE = np.zeros((3, 3))
DENSE[ROW, COL] = STORED


def last(function: tadc.Function) -> str:
    """The last definition of a program."""
    return str(function).rstrip().splitlines()[-1]


def test_declarations() -> None:
    ptr = tadc.index_array("ptr", N + 1, E + 1, increasing=True)
    s = tadc.index_array("s", (), 7)
    text = str(tadc.define("f", {n: N}, x[n] * ptr[n] + s))
    assert text.startswith("size E\nx: f64[N]\nptr: index[N + 1] in E + 1 increasing\ns: index in 7\n")
    assert repr(A) == "<tadc.Argument A: f64[N, N] at (row, col)>"
    assert repr(tadc.argument("v", "f32", N, at=row)) == "<tadc.Argument v: f32[N] at (row)>"


def test_conditions_of_reductions() -> None:
    f = tadc.define("f", {n: N}, tadc.sum(e, x[col[e]], where=(row[e] == n) & (col[e] >= 1)))
    assert last(f) == "f[n] = sum{e: row[e] = n and col[e] >= 1} (x[col[e]])"
    np.testing.assert_allclose(f(ROW, COL, X), [2, 4, 2])
    g = tadc.define("g", [], tadc.max({e: E - 1}, x[row[e]], where=col[e + 1] < 2))
    assert last(g) == "g = max{e: E - 1: col[e + 1] <= 1} (x[row[e]])"
    h = tadc.define("h", {n: N}, tadc.prod(e, 1, E - 1, x[row[e]], where=col[e] == n))
    assert last(h) == "h[n] = prod{e: col[e] = n}_1^(E - 1) (x[row[e]])"
    np.testing.assert_allclose(h(ROW, COL, X), [2, 4, 2])


def test_elements_are_compared_by_index() -> None:
    f = tadc.define("f", [e], tadc.where(row[e] < col[e], x[row[e]], 0))
    assert last(f) == "f[e] = if {col[e] > row[e]} then (x[row[e]]) else (0)"


def test_sparse_tensors() -> None:
    f = tadc.define("f", [n], tadc.sum(m, A[n, m] * x[m]))
    assert last(f) == "f[n] = sum{e: row[e] = n} (A[at e] * x[col[e]])"
    np.testing.assert_allclose(f(ROW, COL, STORED, X), DENSE @ X)
    c = tadc.define("c", [n, m], A[n, m] * x[m] + 1, at=(row, col))
    assert last(c) == "c[at e] = A[at e] * x[col[e]] + 1"
    d = tadc.let("d", {n: N, m: N}, x[n], dtype="f32", at=(row, col))
    assert "d: f32[N, N] at (row, col)" in str(tadc.program(d))
    assert last(tadc.define("s", {e: E - 3}, A.at[3 - e + e * 2])) == "s[e] = A[at e + 3]"
    assert last(tadc.define("s", {e: 3}, A.at[-e + 2])) == "s[e] = A[at 2 - e]"


def test_places_stand_where_they_are_made_or_given() -> None:
    f = tadc.let("f", [n], tadc.sum(m, A[n, m] * x[m]))
    assert tadc.program(f, arguments=[x, A]).inputs == ("x", "A", "row", "col")
    assert tadc.program(f).inputs == ("row", "col", "A", "x")


def test_wrong_uses() -> None:
    for make, words in (
        (lambda: tadc.sum(e, x[e], where=x[e] > 0), "compares indices, not values"),
        (lambda: tadc.sum(e, x[e], where=cast("Any", 3)), "is a comparison of indices"),
        (lambda: tadc.argument("B", "f64", N, at="row"), "an index array says where"),
        (lambda: tadc.argument("B", "f64", N, at=[x]), "an index array says where"),
        (lambda: tadc.index_array("B", N, n), "cannot depend on an index"),
        (lambda: tadc.index_array("B", N, cast("Any", 3.5)), "a size is an integer"),
        (
            lambda: tadc.define("f", [n], tadc.let("h", [n, m], x[n], at=(row, col))[n, n]),
            "sparse and no result",
        ),
    ):
        with pytest.raises(tadc.UsageError, match=words):
            make()
    with pytest.raises(tadc.CompileError) as caught:
        tadc.define("C", [n], tadc.sum(m, tadc.exp(A[n, m])))
    assert "`A.at[e]`" in str(caught.value)
    assert "test_index_arrays.py" in str(caught.value)


def test_types_of_index_arrays_in_kernels() -> None:
    @tadc.kernel({n: N})
    def rows(
        ptr: tadc.IndexArray[N + 1, E + 1, "increasing"],  # noqa: F821, UP037
        k: tadc.IndexArray[(), 7],
        v: tadc.f64[E, 7],
    ):
        return tadc.sum(e, ptr[n], ptr[n + 1] - 1, v[e, k])

    assert str(rows).startswith("ptr: index[N + 1] in E + 1 increasing\nk: index in 7\nv: f64[E, 7]\n")
    assert rows([0, 2, 2, 3], 1, np.eye(3, 7)).tolist() == [1, 0, 0]

    @tadc.kernel
    def corners(face: tadc.IndexArray[(E, 3), N], x: tadc.f64[N], e, n):
        return tadc.sum(n, x[face[e, n]])

    assert corners([[0, 1, 1]], [2, 3]).tolist() == [8]


@pytest.mark.parametrize("told", [int, np.int32, row])
def test_other_types_are_errors_that_say_the_type_of_an_index_array(told: Any) -> None:
    def f(row: Any, x: Any) -> Any:
        return x[row[e]]

    f.__annotations__ = {"row": told, "x": tadc.f64[N]}
    with pytest.raises(tadc.UsageError, match=r"`row: tadc\.IndexArray\[E, N\]`"):
        tadc.kernel(e)(f)


@pytest.mark.parametrize(
    "make", [lambda: tadc.index[E], lambda: tadc.IndexArray[E], lambda: tadc.IndexArray[E, 3, N]]
)
def test_what_is_no_type_of_an_index_array(make: Any) -> None:
    with pytest.raises(tadc.UsageError, match=r"write `tadc\.IndexArray\[E, N\]`"):
        make()
