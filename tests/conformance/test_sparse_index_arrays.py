"""Sparse Jacobians and Hessians of programs with index arrays, entry by entry, against JAX's dense ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tadc
import tadc.api.jacobians
from tadc.api.entry_lists import values_of
from tadc.lattice.affine import Affine, Lookup

sparse = pytest.importorskip("scipy.sparse")

RANDOM = np.random.default_rng(3)
N, E, T = 9, 14, 11
SRC = RANDOM.integers(0, N, E)
DST = (SRC + RANDOM.integers(1, N, E)) % N
MESH = np.array([RANDOM.permutation(N)[:3] for _ in range(T)])
PTR = np.array([0, 3, 3, 8, 12, 14])

Case = tuple[str, str, tuple[Any, ...], int, Callable[..., Any]]


def triangles(t: Any, p: Any, u: Any) -> Any:
    a, b = p[t[:, 1]] - p[t[:, 0]], p[t[:, 2]] - p[t[:, 0]]
    det = a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]
    x, y = u[t[:, 1]] - u[t[:, 0]], u[t[:, 2]] - u[t[:, 0]]
    g = jnp.stack([x * b[:, 1] - y * a[:, 1], y * a[:, 0] - x * b[:, 0]], 1) / det[:, None]
    q = (g**2).sum(1)
    return (det * q * (1 + q)).sum()


def springs(s: Any, d: Any, x: Any, k: Any, r: Any) -> Any:
    length = jnp.sqrt(((x[s] - x[d]) ** 2).sum(1))
    return (k * (length - r) ** 2).sum()


HESSIANS: dict[str, Case] = {
    "springs": (
        "s: index[E] in N; d: index[E] in N; x: f64[N, 2]; k: f64[E]; r: f64[E]\n"
        "let l[e] = sqrt(sum{c} ((x[s[e], c] - x[d[e], c])**2)); u = sum{e} (k[e] * (l[e] - r[e])**2)",
        "x",
        (SRC, DST, RANDOM.normal(size=(N, 2)), *RANDOM.normal(size=(2, E))),
        2,
        springs,
    ),
    "finite elements": (
        "t: index[T, 3] in N; p: f64[N, 2]; u: f64[N]\n"
        "let J[k: T, i: 2, j: 2] = p[t[k, i + 1], j] - p[t[k, 0], j]\n"
        "let det[k: T] = J[k, 0, 0]*J[k, 1, 1] - J[k, 0, 1]*J[k, 1, 0]\n"
        "let d[k: T, i: 2] = u[t[k, i + 1]] - u[t[k, 0]]\n"
        "let gx[k: T] = (d[k, 0]*J[k, 1, 1] - d[k, 1]*J[k, 0, 1]) / det[k]\n"
        "let gy[k: T] = (d[k, 1]*J[k, 0, 0] - d[k, 0]*J[k, 1, 0]) / det[k]\n"
        "let q[k: T] = gx[k]**2 + gy[k]**2\n"
        "U = sum{k} (det[k] * q[k] * (1 + q[k]))",
        "u",
        (MESH, RANDOM.normal(size=(N, 2)), RANDOM.normal(size=N)),
        2,
        triangles,
    ),
    "a loop over corners": (
        "t: index[T, 3] in N; w: f64[T]; u: f64[N]; U = sum{k} (w[k] * exp(sum{i} (u[t[k, i]])))",
        "u",
        (MESH, *(RANDOM.normal(size=n) for n in (T, N))),
        2,
        lambda t, w, u: (w * jnp.exp(u[t].sum(1))).sum(),
    ),
    "a graph's Laplacian": (
        "s: index[E] in N; d: index[E] in N; w: f64[E]; x: f64[N]; q = sum{e} (w[e]*(x[s[e]] - x[d[e]])**2)",
        "x",
        (SRC, DST, *(RANDOM.normal(size=n) for n in (E, N))),
        3,
        lambda s, d, w, x: (w * (x[s] - x[d]) ** 2).sum(),
    ),
    "shifted lookups": (
        "s: index[E] in N; x: f64[2*N + 1]; q = sum{e} (x[2*s[e]]**2 * x[2*s[e] + 1])",
        "x",
        (SRC, RANDOM.normal(size=2 * N + 1)),
        1,
        lambda s, x: (x[2 * s] ** 2 * x[2 * s + 1]).sum(),
    ),
    "lookups of lookups": (
        "s: index[E] in N; t: index[N] in M; x: f64[M]; q = sum{e} (x[t[s[e]]]**3)",
        "x",
        (SRC, RANDOM.integers(0, 4, N), RANDOM.normal(size=4)),
        2,
        lambda s, t, x: (x[t[s]] ** 3).sum(),
    ),
    "a scalar index": (
        "s: index in N; x: f64[N]; q = x[s]**3 + sum{i} (x[i]**2)",
        "x",
        (np.int64(4), RANDOM.normal(size=N)),
        1,
        lambda s, x: x[s] ** 3 + (x**2).sum(),
    ),
    "no edges": (
        "s: index[E] in N; x: f64[N]; q = sum{e} (x[s[e]]**3)",
        "x",
        (np.zeros(0, np.int32), RANDOM.normal(size=N)),
        1,
        lambda s, x: (x[s] ** 3).sum(),
    ),
}

JACOBIANS: dict[str, Case] = {
    "a gather": (
        "s: index[E] in N; x: f64[N, 2]; y[e, c] = x[s[e], c]**2",
        "x",
        (SRC, RANDOM.normal(size=(N, 2))),
        1,
        lambda s, x: x[s] ** 2,
    ),
    "messages": (
        "s: index[E] in N; d: index[E] in N; w: f64[E]; x: f64[N]\n"
        "y[n: N] = sum{e: d[e] = n} (w[e] * x[s[e]]**2)",
        "x",
        (SRC, DST, *(RANDOM.normal(size=n) for n in (E, N))),
        3,
        lambda s, d, w, x: jnp.zeros(N).at[d].add(w * x[s] ** 2),
    ),
    "messages, by weights": (
        "s: index[E] in N; d: index[E] in N; x: f64[N]; w: f64[E]\n"
        "y[n: N] = sum{e: d[e] = n} (w[e]**2 * x[s[e]])",
        "w",
        (SRC, DST, *(RANDOM.normal(size=n) for n in (N, E))),
        3,
        lambda s, d, x, w: jnp.zeros(N).at[d].add(w**2 * x[s]),
    ),
    "rows": (
        "p: index[R + 1] in E + 1 increasing; c: index[E] in N; v: f64[E]; x: f64[N]\n"
        "y[i: R] = sum{e}_(p[i])^(p[i + 1] - 1) (v[e] * x[c[e]]**2)",
        "x",
        (PTR, SRC, *(RANDOM.normal(size=n) for n in (E, N))),
        3,
        lambda p, c, v, x: jnp.zeros(5).at[np.repeat(np.arange(5), np.diff(p))].add(v * x[c] ** 2),
    ),
    "rows, by values": (
        "p: index[R + 1] in E + 1 increasing; c: index[E] in N; x: f64[N]; v: f64[E]\n"
        "y[i: R] = sum{e}_(p[i])^(p[i + 1] - 1) (v[e]**2 * x[c[e]])",
        "v",
        (PTR, SRC, *(RANDOM.normal(size=n) for n in (N, E))),
        3,
        lambda p, c, x, v: jnp.zeros(5).at[np.repeat(np.arange(5), np.diff(p))].add(v**2 * x[c]),
    ),
}


def check(made: Any, dense: Any, args: tuple[Any, ...], expected: Any) -> None:
    found = made.toscipy(*args)
    assert isinstance(found, sparse.csr_array)
    expected = np.asarray(expected).reshape(found.shape)
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-10, atol=1e-10)
    assert np.count_nonzero(expected) <= found.nnz
    np.testing.assert_allclose(np.reshape(dense(*args), found.shape), expected, rtol=1e-10, atol=1e-10)
    again = sparse.csr_array(found)
    again.sum_duplicates()
    assert again.nnz == found.nnz
    assert found.has_sorted_indices


@pytest.mark.parametrize("name", HESSIANS)
def test_hessians(name: str) -> None:
    text, by, args, place, reference = HESSIANS[name]
    h = tadc.hessian(tadc.function(text), by)
    check(h, h, args, jax.hessian(reference, place)(*map(jnp.asarray, args)))


@pytest.mark.parametrize("name", JACOBIANS)
def test_jacobians(name: str) -> None:
    text, by, args, place, reference = JACOBIANS[name]
    j = tadc.jacobian(tadc.function(text), by)
    given = [a if np.asarray(a).dtype.kind == "i" else jnp.asarray(a) for a in args]
    check(j, j, args, jax.jacobian(reference, place)(*given))


def test_nothing_of_dense_shape_is_stored() -> None:
    text, by, _, _, _ = HESSIANS["springs"]
    made = tadc.hessian(tadc.function(text), by).compressed()
    sizes = {"N": 10**6, "E": 3 * 10**6}
    for tensor in made.program.definitions:
        count = np.prod([n if isinstance(n, int) else n.evaluate(sizes) for n in tensor.shape])
        assert count <= 4 * sizes["E"]


def test_pairs_of_stored_elements_at_one_place() -> None:
    text = "row: index[E] in N; col: index[E] in N; A: f64[N, N] at (row, col); f = sum{i, j} (A[i, j]**2)"
    found = tadc.hessian(tadc.function(text), "A").toscipy(SRC % 3, DST % 3, np.ones(E), N=N)
    place = SRC % 3 + N * (DST % 3)
    expected = 2.0 * (place[:, None] == place)
    np.testing.assert_array_equal(found.toarray(), expected)
    assert found.nnz == np.count_nonzero(expected)


def test_one_place_of_a_tensor_is_one_entry() -> None:
    """Of what is read at a number, where another branch is read at elements."""
    text = "s: index[E] in N; d: index[E] in N; u: f64[N]\n"
    text += "f = sum{e} (if {s[e] < d[e]} then (u[s[e]] * u[d[e]]) else (u[0]**2))"
    found = tadc.hessian(tadc.function(text)).toscipy(SRC, DST, np.ones(N))
    expected = np.zeros((N, N))
    for i, j in zip(SRC, DST, strict=True):
        expected[([i, j], [j, i]) if i < j else ([0], [0])] += 1 if i < j else 2
    np.testing.assert_array_equal(found.toarray(), expected)
    assert found.nnz == np.count_nonzero(expected)


def test_a_relation_that_changes_is_looked_at_again() -> None:
    j = tadc.jacobian(tadc.function("s: index[E] in N; x: f64[N]; y[e] = x[s[e]]**2"), "x")
    x, fixed = np.arange(1.0, 5.0), np.array([1, 0, 3])
    fixed.flags.writeable = False
    for given in (tadc.relation([3, 3], 4), tadc.relation([0, 2], 4), fixed, fixed, np.array([2, 1])):
        for _ in range(2):
            s = np.asarray(given)
            expected = np.zeros((len(s), 4))
            expected[np.arange(len(s)), s] = 2 * x[s]
            np.testing.assert_array_equal(j.toscipy(given, x).toarray(), expected)


def added(values: Any, at: Any, count: int = N) -> Any:
    return jnp.zeros((count, *values.shape[1:])).at[at].add(values)


LAPLACIAN = """s: index[E] in N; d: index[E] in N; x: f64[N]
let l[n: N] = sum{e: d[e] = n} (x[s[e]] - x[n])
"""


def laplacian(s: Any, d: Any, x: Any) -> Any:
    return added(x[s] - x[d], d)


def test_pairs_of_places_of_one_value() -> None:
    """The Hessian of a squared Laplacian: an entry for each pair of edges to one node."""
    h = tadc.hessian(tadc.function(LAPLACIAN + "q = sum{n} (l[n]**2)"), "x")
    args = SRC, DST, RANDOM.normal(size=N)
    expected = jax.hessian(lambda s, d, x: (laplacian(s, d, x) ** 2).sum(), 2)(*args)
    for given in (args, (tadc.relation(SRC, N), tadc.relation(DST, N), args[2]), args):
        for _ in range(2):
            found = h.toscipy(*given)
            np.testing.assert_allclose(found.toarray(), expected, rtol=1e-12, atol=1e-12)
            assert found.nnz == np.count_nonzero(found.toarray())
    listed = h.compressed()
    pairs = int((np.bincount(DST) ** 2).sum())
    assert sorted(values.size for values in listed(*args)) == [E, E, E, pairs]
    assert sorted(mask.sum() for mask, _ in listed.coordinates(*args).values()) == [E, E, E, pairs]
    none = h.toscipy(np.zeros(0, int), np.zeros(0, int), args[2])
    assert (none.shape, none.nnz) == ((N, N), 0)
    # What would not fit is not tried: a node that everything leads to.
    many = np.zeros(200_000, np.int32)
    with pytest.raises(tadc.ArgumentError, match="pairs of places of one value, as many as 40000000000"):
        h.toscipy(many, many, args[2])
    with pytest.raises(tadc.ArgumentError, match=r"`d\[1\]` is 9, but must be below N = 9"):
        h.toscipy([1, 2], [0, 9], args[2])
    with pytest.raises(tadc.ArgumentError, match="argument `x` is missing"):
        h.toscipy([1, 2], [0, 9])


def rows_of(ptr: Any) -> Any:
    return np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))


#: Rows of which some are empty, with elements before the first and behind the last.
GAPS = np.array([1, 3, 3, 8, 8, 9, 12, 12, 13, 13])

PAIRS: dict[str, Case] = {
    "a bi-Laplacian": (
        LAPLACIAN + "let b[n: N] = sum{e: d[e] = n} (l[s[e]]**2 - l[n]); q = sum{n} (b[n]**2)",
        "x",
        (SRC, DST, RANDOM.normal(size=N)),
        2,
        lambda s, d, x: (lambda y: (added(y[s] ** 2 - y[d], d) ** 2).sum())(laplacian(s, d, x)),
    ),
    "a norm at each node": (
        "s: index[E] in N; d: index[E] in N; w: f64[E]; x: f64[N, 2]\n"
        "let l[n: N, c] = sum{e: d[e] = n} (w[e] * (x[s[e], c] - x[n, c]))\n"
        "q = sum{n} (sqrt(1 + sum{c} (l[n, c]**2)))",
        "x",
        (SRC, DST, RANDOM.normal(size=E), RANDOM.normal(size=(N, 2))),
        3,
        lambda s, d, w, x: jnp.sqrt(1 + (added(w[:, None] * (x[s] - x[d]), d) ** 2).sum(1)).sum(),
    ),
    "rows with gaps": (
        "p: index[N + 1] in E + 1 increasing; c: index[E] in N; x: f64[N]\n"
        "let l[n: N] = sum{e}_(p[n])^(p[n + 1] - 1) (x[c[e]] - x[n]); q = sum{n} (l[n]**4)",
        "x",
        (GAPS, SRC, RANDOM.normal(size=N)),
        2,
        lambda p, c, x: (added(x[c[1:13]] - x[rows_of(GAPS)], rows_of(GAPS)) ** 4).sum(),
    ),
    "corners of elements": (
        "t: index[T, 3] in N; u: f64[N]\n"
        "let l[n: N] = sum{k, i: t[k, i] = n} (u[t[k, 0]] + u[t[k, 1]] + u[t[k, 2]] - 3*u[n])\n"
        "q = sum{n} (l[n]**2)",
        "u",
        (MESH, RANDOM.normal(size=N)),
        1,
        lambda t, u: (added((u[t].sum(1)[:, None] - 3 * u[t]).reshape(-1), t.reshape(-1)) ** 2).sum(),
    ),
    "two arrays at once": (
        "size N; a: index[E] in N; b: index[E] in N; v: f64[E]\n"
        "let m[i: N, j: N] = sum{e: a[e] = i and b[e] = j} (v[e]); q = sum{i, j} (m[i, j]**3)",
        "v",
        (SRC % 3, DST % 3, RANDOM.normal(size=E)),
        2,
        lambda a, b, v: (jnp.zeros((N, N)).at[a, b].add(v) ** 3).sum(),
    ),
    "bending": (
        "h: index[K, 4] in N; x: f64[N, 3]\n"
        "let q[k: K, a: 3] = x[h[k, 0], a] + x[h[k, 1], a] - x[h[k, 2], a] - x[h[k, 3], a]\n"
        "u = sum{k} (log(1 + sum{a} (q[k, a]**2)))",
        "x",
        (np.array([RANDOM.permutation(N)[:4] for _ in range(6)]), RANDOM.normal(size=(N, 3))),
        1,
        lambda h, x: jnp.log(1 + ((x[h] * np.array([1, 1, -1, -1])[:, None]).sum(1) ** 2).sum(1)).sum(),
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_hessians_by_pairs(name: str) -> None:
    text, by, args, place, reference = PAIRS[name]
    sizes = {"N": N} if "size N" in text else {}
    found = tadc.hessian(tadc.function(text), by).toscipy(*args, **sizes)
    expected = jax.hessian(reference, place)(*(a if a.dtype.kind == "i" else jnp.asarray(a) for a in args))
    np.testing.assert_allclose(found.toarray(), np.reshape(expected, found.shape), rtol=1e-10, atol=1e-10)


def test_lists_of_one_place_in_an_element_are_one() -> None:
    """A corner and the corners, a diagonal and the whole: each entry of an element is computed once."""
    text, by, _, _, _ = HESSIANS["springs"]
    assert len(tadc.hessian(tadc.function(text), by).compressed().outputs) == 4
    text = "t: index[T, 3] in N; u: f64[N, 2]\nlet v[k: T, i: 3, c] = u[t[k, i], c]\n"
    text += "q = sum{k} (exp(sum{i: 2, c} ((v[k, i + 1, c] - v[k, 0, c])**2)))"
    (only,) = tadc.hessian(tadc.function(text), "u").compressed().program.outputs
    assert [size for size in only.shape if isinstance(size, int)] == [2, 2, 3, 3]


def test_what_recurrences_hand_on() -> None:
    """Of each edge for itself; among nodes it may be anything."""
    h = tadc.hessian(
        tadc.function(
            "s: index[E] in N; x: f64[N]\nlet scan{t} h[e: E, t: 4] = "
            "if {t = 0} then (x[s[e]]) else (h[e, t - 1]*sin(x[s[e]])); u = sum{e} (h[e, 3])"
        )
    )
    x = RANDOM.normal(size=N)
    found = h.toscipy(SRC, x)
    expected = jax.hessian(lambda x: (x[SRC] * jnp.sin(x[SRC]) ** 3).sum())(x)
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-12, atol=1e-12)
    assert found.nnz == len(np.unique(SRC))
    j = tadc.jacobian(
        tadc.function(
            "s: index[E] in N; d: index[E] in N; x: f64[N]\nlet scan{t} h[t: 3, n: N] = "
            "if {t = 0} then (x[n]) else (sum{e: d[e] = n} (sin(h[t - 1, s[e]]))); y[n: N] = h[2, n]"
        )
    )
    step = lambda x: added(jnp.sin(x[SRC]), DST)  # noqa: E731
    expected = jax.jacobian(lambda x: step(step(x)))(x)
    np.testing.assert_allclose(j.toscipy(SRC, DST, x).toarray(), expected, rtol=1e-12, atol=1e-12)


def test_lists_are_kept_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call in another process differentiates nothing, and lists nothing."""
    monkeypatch.setenv("TADC_CACHE", "1")
    monkeypatch.setenv("TADC_CACHE_DIR", str(tmp_path))
    text = "p: index[R + 1] in E + 1 increasing; x: f64[E]\n"
    text += "let y[i: R] = sum{e}_(p[i])^(p[i + 1] - 1) (x[e]); q = sum{i} (y[i]**3)"
    x = RANDOM.normal(size=E)
    first = tadc.hessian(tadc.function(text)).toscipy(PTR, x)
    again = tadc.hessian(tadc.function(text))
    monkeypatch.setattr(tadc.api.jacobians.Jacobian, "program", property(lambda self: pytest.fail("derived")))
    second = again.toscipy(PTR, x)
    assert (first != second).nnz == 0
    assert second.nnz == (np.diff(PTR) ** 2).sum()


def test_an_index_out_of_range_is_an_error() -> None:
    j = tadc.jacobian(tadc.function("s: index[E] in N; x: f64[N]; y[e] = x[s[e]]**2"), "x")
    with pytest.raises(tadc.ArgumentError, match=r"`s\[1\]` is 4, but must be below N = 4"):
        j.toscipy([0, 4], np.ones(4))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint64])
def test_indices_of_any_type_are_multiplied(dtype: type) -> None:
    form = Affine.atom(Lookup("s", (Affine.var("e"),), Affine.var("N"))) * -2 + 7
    found = values_of(form, {"e": np.arange(3)}, {"s": np.array([0, 97, 201], dtype)})
    assert found.tolist() == [7, -187, -395]


def test_coordinates_of_an_index_out_of_range_are_an_error() -> None:
    j = tadc.jacobian(tadc.function("s: index[E] in N; x: f64[N]; y[e] = x[s[e]]**2"), "x")
    with pytest.raises(tadc.ArgumentError, match=r"`s\[1\]` is -1, but must be at least 0"):
        j.compressed().coordinates([0, -1], np.ones(4))
