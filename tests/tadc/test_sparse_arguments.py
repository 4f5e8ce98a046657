"""Sparse arrays of SciPy as arguments, and results at their places."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tadc

sparse = pytest.importorskip("scipy.sparse")

RANDOM = np.random.default_rng(0)
FORMATS = ["csr", "csc", "coo", "bsr", "lil", "dia", "dok"]
A = sparse.random_array((5, 7), density=0.3, rng=RANDOM, format="csr")
DENSE, X = A.toarray(), RANDOM.normal(size=7)
PLACES = "row: index[E] in N; col: index[E] in M"


@pytest.fixture(scope="module")
def product() -> tadc.Function:
    return tadc.function(f"{PLACES}; A: f64[N, M] at (row, col); x: f64[M]; z[i] = sum{{j}} (A[i, j] * x[j])")


@pytest.mark.parametrize("format", FORMATS)
def test_values_and_gradients_of_each_format(product: tadc.Function, format: str) -> None:
    given = A.asformat(format)
    np.testing.assert_allclose(product(given, X), DENSE @ X)
    dz = RANDOM.normal(size=5)
    found = tadc.vjp(product)(given, X, dz)
    assert type(found.dA) is type(given)
    np.testing.assert_allclose(found.dA.toarray(), np.outer(dz, X) * (DENSE != 0))
    np.testing.assert_allclose(found.dx, DENSE.T @ dz)


def test_matrices_and_names(product: tadc.Function) -> None:
    found = tadc.grad(tadc.function(f"{PLACES}; A: f64[N, M] at (row, col); s = sum{{e}} (A[at e]**2)"))
    np.testing.assert_allclose(product(x=X, A=sparse.csr_matrix(A)), DENSE @ X)
    made = found(A=sparse.csr_matrix(A))
    assert type(made) is sparse.csr_matrix
    np.testing.assert_allclose(made.toarray(), 2 * DENSE)


def test_what_is_stored_with_its_places_is_plain(product: tadc.Function) -> None:
    coo = A.tocoo()
    found = tadc.vjp(product)(coo.row, coo.col, coo.data, X, np.ones(5), N=5)
    np.testing.assert_allclose(found.dA, X[coo.col])


def test_places_that_occur_twice_are_added_up(product: tadc.Function) -> None:
    twice = sparse.coo_array(([1.0, 2.0, 4.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    np.testing.assert_array_equal(product(twice, [1.0, 10.0]), [30.0, 4.0])


def test_blocks() -> None:
    f = tadc.function(
        "row: index[E] in N; col: index[E] in M; A: f64[N, M, 2, 3] at (row, col); x: f64[M, 3]\n"
        "z[i: N, a] = sum{j, b} (A[i, j, a, b] * x[j, b])"
    )
    whole = np.kron(DENSE != 0, np.ones((2, 3))) * RANDOM.normal(size=(10, 21))
    blocks, x, dz = sparse.bsr_array(whole, blocksize=(2, 3)), RANDOM.normal(size=21), RANDOM.normal(size=10)
    np.testing.assert_allclose(f(blocks, x.reshape(7, 3)).reshape(-1), whole @ x)
    found = tadc.vjp(f, "A")(blocks, x.reshape(7, 3), dz.reshape(5, 2))
    assert type(found) is sparse.bsr_array
    np.testing.assert_allclose(found.toarray(), np.outer(dz, x) * (whole != 0))


def test_outputs_with_places_are_sparse() -> None:
    f = tadc.function(
        f"{PLACES}; A: f64[N, M] at (row, col); u: f64[N, K]; v: f64[M, K]\n"
        "C: at (row, col)\nC[i, j] = A[i, j] * sum{k} (u[i, k] * v[j, k])"
    )
    u, v = RANDOM.normal(size=(5, 4)), RANDOM.normal(size=(7, 4))
    found = f(A, u, v)
    assert type(found) is sparse.csr_array
    np.testing.assert_allclose(found.toarray(), DENSE * (u @ v.T))


def test_two_sparse_arrays_of_the_same_places() -> None:
    f = tadc.function(
        f"{PLACES}; A: f64[N, M] at (row, col); B: f64[N, M] at (row, col); s = sum{{e}} (A[at e] * B[at e])"
    )
    np.testing.assert_allclose(f(A, 2 * A), 2 * (DENSE**2).sum())
    with pytest.raises(tadc.ArgumentError, match="`B` and `A` store elements at other places"):
        f(A, A.T.tocsr().reshape(5, 7))


def test_an_array_whose_places_change_is_looked_at_again(product: tadc.Function) -> None:
    given = A.copy()
    for _ in range(3):
        np.testing.assert_allclose(product(given, X), given @ X)
        given.indices[:] = np.roll(given.indices, 1)


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_array])
@pytest.mark.parametrize(
    ("starts", "text"),
    [
        ([0, 10**7, 3, 3], "less than `indptr"),
        ([0, -3, 3, 3], "less than `indptr"),
        ([0, 2, 1, 3], r"`indptr\[2\]` is 1, less than `indptr\[1\]`, which is 2"),
        ([0, 1, 2, 99], "is from 0 to 99, must be from 0 to 3"),
        ([1, 1, 2, 3], "is from 1 to 3"),
        ([0, 3], "has 2 elements for 3 rows, must have 4"),
    ],
)
def test_starts_that_were_changed(product: tadc.Function, kind: Any, starts: list[int], text: str) -> None:
    given = kind(np.diag([1.0, 2, 3]))
    np.testing.assert_allclose(product(given, np.ones(3)), [1, 2, 3])
    given.indptr = np.array(starts, given.indptr.dtype)
    with pytest.raises(tadc.ArgumentError, match=text):
        product(given, np.ones(3))


def test_results_have_places_of_their_own(product: tadc.Function) -> None:
    given, before = A.copy(), A.indices.copy()
    found = tadc.vjp(product)(given, X, np.ones(5)).dA
    found.indices[:] = 0
    np.testing.assert_array_equal(given.indices, before)


def test_room_behind_what_is_stored(product: tadc.Function) -> None:
    given = sparse.csr_array((5, 7))
    given.indptr, given.indices, given.data = A.indptr, np.append(A.indices, 3), np.append(A.data, 9.0)
    np.testing.assert_allclose(product(given, X), DENSE @ X)
    assert tadc.vjp(product)(given, X, np.ones(5)).dA.nnz == A.nnz


def test_blocks_of_one_size_come_back(product: tadc.Function) -> None:
    given = sparse.bsr_array(np.ones((6, 4)), blocksize=(3, 2))
    made = tadc.vjp(product)(given, X[:4], np.ones(6)).dA
    assert (type(made), made.blocksize) == (sparse.bsr_array, (3, 2))


def test_sizes_are_told_by_forms_in_the_shape() -> None:
    f = tadc.function(
        "row: index[E] in N + 1; col: index[E] in 2*M; A: f64[N + 1, 2*M] at (row, col); y: f64[N]\n"
        "z[i] = sum{j} (A[i + 1, j] * y[i])"
    )
    np.testing.assert_array_equal(f(sparse.csr_array(np.ones((4, 6))), np.ones(3)), [6.0] * 3)
    with pytest.raises(tadc.ArgumentError, match="dimension 1 of `A` has 5 elements, expected 4"):
        f(sparse.csr_array(np.ones((4, 5))), np.ones(3))


def test_a_batch_of_gradients_is_what_is_stored(product: tadc.Function) -> None:
    dz = RANDOM.normal(size=(3, 5))
    found = tadc.batched(tadc.vjp(product), "dz")(A, X, dz)
    coo = A.tocoo()
    np.testing.assert_allclose(found.dA, dz[:, coo.row] * X[coo.col])
    np.testing.assert_allclose(found.dx, dz @ DENSE)


def test_no_element_is_stored(product: tadc.Function) -> None:
    np.testing.assert_array_equal(product(sparse.csr_array((5, 7)), X), np.zeros(5))


def test_products_with_what_stores_nothing() -> None:
    f = tadc.function(
        f"{PLACES}; A: f64[N, M] at (row, col)\n"
        "r2: index[F] in N; c2: index[F] in M; B: f64[N, M] at (r2, c2)\n"
        "z[i: N, k: N] = sum{j} (A[i, j] * B[k, j] + sin(A[i, j]) * B[i, j])"
    )
    for one, other in ((A, 0 * A), (A, sparse.csr_array((5, 7))), (sparse.csr_array((5, 7)), A)):
        assert not f(one, other).any()
    assert f(sparse.csr_array((0, 7)), sparse.csr_array((0, 7))).shape == (0, 0)
    np.testing.assert_allclose(f(A, A), DENSE @ DENSE.T + (np.sin(DENSE) * DENSE).sum(1)[:, None])


def test_jacobians_of_functions_of_sparse_arrays(product: tadc.Function) -> None:
    np.testing.assert_allclose(tadc.jacobian(product, "x").toscipy(A, X).toarray(), DENSE)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda f: f(A, X[:3]), "dimension 0 of `x` has 3 elements, expected 7"),
        (lambda f: f(A, A), "`x` is a sparse array, and the program has all its elements"),
        (lambda f: f(A, X, N=7), "dimension 0 of `A` has 5 elements, expected 7"),
        (lambda f: f(row=[1], A=A, x=X), "`row` is given twice: `A` tells it"),
        (lambda f: f(A), "argument `x` is missing"),
        (lambda f: f(A, X, X), "given twice"),
        (lambda f: f([0], [1], DENSE, X, N=5), "pass a sparse array, or what it stores"),
        (lambda f: f(A.astype(complex), X), "which f64 cannot hold without loss"),
    ],
)
def test_what_is_wrong(product: tadc.Function, call: Any, text: str) -> None:
    with pytest.raises(tadc.ArgumentError) as found:
        call(product)
    assert text in str(found.value)
