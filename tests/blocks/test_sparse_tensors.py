"""Blocks of programs with sparse tensors, of SciPy's arrays: against SciPy and the single run."""

from __future__ import annotations

from typing import Any, NamedTuple

import dask.array
import numpy as np
import pytest
import scipy.sparse
from dask.base import compute
from numpy.typing import NDArray

import tadc

#: Dask's and SciPy's own types are of no use here.
da: Any = dask.array
sparse: Any = scipy.sparse

HEAD = "row: index[E] in N\ncol: index[E] in M\nA: f64[N, M] at (row, col)\n"
PRODUCT = HEAD + "x: f64[M]\ny[i] = sum{j} (A[i, j]*x[j])\n"
SQUARES = HEAD + "x: f64[M]\ny[i] = sum{j} (A[i, j]**2*x[j])\n"
SAMPLED = HEAD + "u: f64[N, K]\nv: f64[M, K]\nC: at (row, col)\nC[i, j] = A[i, j]*sum{k} (u[i, k]*v[j, k])\n"
SCALED = HEAD + "d: f64[M]\nx: f64[M]\nlet B[i, j] = A[i, j]*d[j]\ny[i] = sum{j} (B[i, j]*x[j])\n"
OUTER = HEAD + "s[i: N, k: N] = sum{j} (A[i, j]*A[k, j])\n"
SECOND = "rowb: index[F] in M\ncolb: index[F] in L\nB: f64[M, L] at (rowb, colb)\n"
TIMES = HEAD + SECOND + "C[i, j] = sum{k} (A[i, k]*B[k, j])\n"
PATHS = HEAD.replace("M", "N") + "C: at (row, col)\nC[i, k] = A[i, k]*sum{j} (A[i, j]*A[j, k])\n"
ALIKE = HEAD + SECOND.replace("L", "M").replace("in M\ncolb", "in N\ncolb").replace("B: f64[M", "B: f64[N")
ALIKE += "C: at (row, col)\nC[i, j] = A[i, j]*B[i, j]\n"
BLOCKED = """
row: index[E] in N
col: index[E] in M
A: f64[N, M, 2, 2] at (row, col)
x: f64[M, 2]
y[i, a] = sum{j, b} (A[i, j, a, b]*x[j, b])
"""

RNG = np.random.default_rng(0)
A = sparse.random(20, 15, 0.2, "csr", rng=RNG)
X, DY = RNG.normal(size=15), RNG.normal(size=20)
B = sparse.random(15, 12, 0.2, "csr", rng=RNG)
#: Of a band, each block of rows reads the rows of its own, and one at each side.
BAND = sparse.diags_array(RNG.normal(size=(3, 50)), offsets=(-1, 0, 1), shape=(50, 50), format="csr")
U, V = RNG.normal(size=(20, 3)), RNG.normal(size=(15, 3))


class SparseCase(NamedTuple):
    text: str
    given: dict[str, Any]
    want: Any
    blocks: dict[str, int]


CASES = {
    "csr": SparseCase(PRODUCT, {"A": A, "x": X}, A @ X, {"i": 6}),
    "csc": SparseCase(PRODUCT, {"A": A.tocsc(), "x": X}, A @ X, {"i": 6}),
    "coo": SparseCase(PRODUCT, {"A": A.tocoo(), "x": X}, A @ X, {"i": 6}),
    "squares": SparseCase(SQUARES, {"A": A, "x": X}, A.power(2) @ X, {"i": 6}),
    "sampled": SparseCase(SAMPLED, {"A": A, "u": U, "v": V}, A.multiply(U @ V.T).toarray(), {"e": 17}),
    "in between": SparseCase(SCALED, {"A": A, "d": X, "x": X}, A @ X**2, {"i": 6}),
    "outer": SparseCase(OUTER, {"A": A}, (A @ A.T).toarray(), {"i": 6}),
    "times": SparseCase(TIMES, {"A": A, "B": B}, (A @ B).toarray(), {"i": 6}),
    "times, along both": SparseCase(TIMES, {"A": A, "B": B}, (A @ B).toarray(), {"i": 6, "j": 5}),
    "paths": SparseCase(PATHS, {"A": BAND}, BAND.multiply(BAND @ BAND).toarray(), {"e": 17}),
    "alike": SparseCase(ALIKE, {"A": A, "B": A.sign()}, abs(A).toarray(), {"e": 17}),
    "blocks": SparseCase(
        BLOCKED,
        {"A": A[:, :14].tobsr((2, 2)), "x": X[:14].reshape(7, 2)},
        (A[:, :14] @ X[:14]).reshape(10, 2),
        {"i": 3},
    ),
}


def dense(value: Any) -> NDArray[Any]:
    return value.toarray() if sparse.issparse(value) else np.asarray(value)


@pytest.mark.parametrize("name", CASES)
def test_blocks_are_those_of_scipy(name: str) -> None:
    case = CASES[name]
    f = tadc.function(case.text)
    block = f.block(**case.blocks)
    assert block.has_lists
    found, whole = block(**case.given), f(**case.given)
    assert type(found) is type(whole)
    np.testing.assert_array_equal(dense(found), dense(whole))
    np.testing.assert_allclose(dense(found), case.want, 1e-13, 1e-14)


def test_gradients() -> None:
    """What A stores is divided as well as x; a gradient by A is a sparse array of its kind."""
    f = tadc.function(PRODUCT)
    g = tadc.vjp(f)
    block = g.block(e=16, x_0=4)
    dA, dx = block(A, X, DY)
    assert type(dA) is type(A)
    np.testing.assert_array_equal(dA.toarray(), A.astype(bool).toarray() * np.outer(DY, X))
    np.testing.assert_allclose(dx, A.T @ DY, 1e-13)
    np.testing.assert_array_equal(dx, g(A, X, DY).dx)
    assert all("[E]" not in str(function) for function in block.functions)


def test_rows_of_a_block() -> None:
    """What the rows store, one after the other, and of x the columns where they do, each once."""
    boxes = tadc.function(PRODUCT).block(i=6).boxes(A=A)
    for n, box in enumerate(boxes):
        first, last = A.indptr[6 * n], A.indptr[min(6 * n + 6, 20)]
        assert box["A"] == (slice(first, last),)
        np.testing.assert_array_equal(np.arange(15)[box["x"][0]], np.unique(A.indices[first:last]))


def test_rows_of_the_other_factor() -> None:
    """Of B what is stored in the rows that elements of the block's rows of A meet; all of it nowhere."""
    block = tadc.function(TIMES).block(i=6)
    for n, box in enumerate(block.boxes(A=A, B=B)):
        met = np.unique(A[6 * n : 6 * n + 6].indices)
        want = np.flatnonzero(np.isin(B.tocoo().row, met))
        np.testing.assert_array_equal(np.arange(B.nnz)[box["B"][0]], want)
    band = tadc.function(TIMES).block(i=10)
    stage = band.traffic(A=BAND, B=BAND).stages[0]
    values = sum(8 * BAND[max(0, n - 1) : n + 11].nnz for n in range(0, 50, 10))
    # Index arrays are the row and the column of each element of both.
    assert (stage.copied, stage.moved) == (0, 2 * (values + 8 * BAND.nnz))
    np.testing.assert_array_equal(band(BAND, BAND), tadc.function(TIMES)(BAND, BAND))


@pytest.mark.sweep
def test_operations_of_products_without_arrays() -> None:
    """Counting takes too long: they are a bound, and said to be one."""
    sizes = {"N": 200, "E": 1000, "M": 200, "F": 900, "L": 200}
    (stage,) = tadc.function(TIMES).block(i=50).traffic(**sizes).stages
    assert (stage.counted, stage.operations > 9000) == ("at most", True)


@pytest.mark.parametrize(("text", "by"), [(TIMES, "A"), (TIMES, "B"), (OUTER, "A")])
def test_gradients_of_products(text: str, by: str) -> None:
    """Of the cotangent too a block has what it reads."""
    f = tadc.function(text)
    given = {"A": BAND, "B": BAND} if text == TIMES else {"A": BAND}
    dy = np.random.default_rng(1).normal(size=(50, 50))
    g = tadc.vjp(f, wrt=by)
    block = g.block(**{g.program.outputs[0].indices[0]: 40})
    full = BAND.toarray()
    want = {"A": dy @ full.T, "B": full.T @ dy}[by] if text == TIMES else (dy + dy.T) @ full
    found = block(*given.values(), dy)
    np.testing.assert_allclose(found.toarray(), want * BAND.astype(bool).toarray(), 1e-13, 1e-14)
    np.testing.assert_array_equal(found.data, g(*given.values(), dy).data)
    assert block.traffic(**given).stages[0].copied == 0


def test_dask() -> None:
    """Dask arrays beside a sparse array; results at its places are what is stored there."""
    f = tadc.function(PRODUCT)
    y = f.dask(A, da.from_array(X, chunks=4), chunks={"i": 6})
    g = tadc.vjp(f)
    found = g.dask(A, da.from_array(X, chunks=4), y, chunks={"e": 16, "x_0": 4})
    value, dA, dx = compute(y, found.dA, found.dx, scheduler="threads")
    np.testing.assert_array_equal(value, f(A, X))
    want = g(A, X, value)
    np.testing.assert_array_equal(dA, want.dA.data)
    np.testing.assert_array_equal(dx, want.dx)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"A": A.toarray(), "x": X}, "TAD0504.*csr_array"),
        ({"A": A, "x": A}, "TAD0504.*has all its elements"),
        ({"A": A, "x": X[:4]}, "TAD0503.*expected 15"),
        ({"A": A}, "TAD0501.*`x` is missing"),
        ({"A": A, "x": X, "z": 1}, "TAD0502"),
        ({"A": A, "x": da.from_array(X)}, "TAD0504.*f.dask"),
        ({"A": A, "x": X, "row": A.indices}, "TAD0502.*given twice"),
        ({"row": A.indices, "col": A.indices, "A": A.data, "x": X}, "TAD0501.*`N`"),
    ],
)
def test_what_is_no_call(given: dict[str, Any], message: str) -> None:
    with pytest.raises(tadc.ArgumentError, match=f"(?s){message}"):
        tadc.function(PRODUCT).block(i=6)(**given)
