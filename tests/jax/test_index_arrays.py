"""Functions with index arrays in JAX, against the same functions written in JAX."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import sparse
from scipy.sparse import csr_array

import tadc
from tadc.api.execute import unit_of
from tadc.compiler.compile_options import Options
from tadc.native.framed_kernels import Framed

E, N = 20, 7
RANDOM = np.random.default_rng(0)
SRC, DST = RANDOM.integers(0, N, (2, E))
X, W = RANDOM.normal(size=(N, 3)), RANDOM.normal(size=E)

MESSAGES = tadc.function("""
src: index[E] in N; dst: index[E] in N; x: f64[N, 3]; w: f64[E]
m[n: N, c] = sum{e: dst[e] = n} (w[e] * x[src[e], c]**2)
""").jax


def plain(src: Any, dst: Any, x: Any, w: Any) -> Any:
    return jnp.zeros_like(x).at[dst].add(w[:, None] * jnp.asarray(x)[src] ** 2)


def alike(one: Any, other: Any) -> None:
    for found, expected in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def total(h: Any) -> Any:
    return lambda x, w: jnp.sin(h(SRC, DST, x, w)).sum()


@pytest.mark.parametrize("kind", [np.int8, np.uint16, np.int32, np.uint32, np.int64, np.uint64, list])
def test_integers_of_any_type_are_taken(kind: Any) -> None:
    src = SRC.tolist() if kind is list else SRC.astype(kind)
    alike(MESSAGES(src, DST, X, W), plain(SRC, DST, X, W))


def test_derivatives_of_any_order() -> None:
    alike(jax.grad(total(MESSAGES), (0, 1))(X, W), jax.grad(total(plain), (0, 1))(X, W))
    alike(jax.hessian(total(MESSAGES))(X, W), jax.hessian(total(plain))(X, W))
    alike(jax.jvp(total(MESSAGES), (X, W), (X, W)), jax.jvp(total(plain), (X, W), (X, W)))


def test_index_arrays_have_no_derivative() -> None:
    found, _ = jax.grad(lambda s, x: MESSAGES(s, DST, x, W).sum(), (0, 1), allow_int=True)(SRC, X)
    assert found.dtype == jax.dtypes.float0


def test_index_arrays_are_traced() -> None:
    def gradient(h: Any) -> Any:
        return jax.jit(jax.grad(lambda s, d, x, w: jnp.cos(h(s, d, x, w)).sum(), (2, 3)))

    alike(gradient(MESSAGES)(SRC, DST, X, W), gradient(plain)(SRC, DST, X, W))


def test_index_arrays_may_change() -> None:
    h = jax.jit(MESSAGES)
    for shift in (0, 1, 1, 0):
        alike(h(SRC, (DST + shift) % N, X, W), plain(SRC, (DST + shift) % N, X, W))


def test_long_fibres() -> None:
    """They are for kernels that cut them."""
    src, dst = RANDOM.integers(0, N, (2, 40_000))
    dst[:30_000], w = 3, RANDOM.normal(size=40_000) / 200

    def both(h: Any) -> Any:
        return jax.jit(jax.value_and_grad(lambda x: jnp.sin(h(src, dst, x, w)).sum()))(X)

    alike(both(MESSAGES), both(plain))


@pytest.mark.parametrize("axes", [(None, None, 0, None), (0, None, 0, None), (0, 0, None, 0)])
def test_batches_of_floats_and_of_indices(axes: Any) -> None:
    shapes = [(E,), (E,), (N, 3), (E,)]
    args = [
        (RANDOM.integers(0, N, (4, *shape)) if n < 2 else RANDOM.normal(size=(4, *shape)))
        if axes[n] == 0
        else (SRC, DST, X, W)[n]
        for n, shape in enumerate(shapes)
    ]
    alike(jax.vmap(MESSAGES, axes)(*args), jax.vmap(plain, axes)(*args))


@pytest.mark.parametrize(
    ("bad", "text"),
    [
        (np.where(np.arange(E) == 5, -1, SRC), r"`src\[5\]` is -1, but must be at least 0"),
        (np.where(np.arange(E) == 3, N, SRC), r"`src\[3\]` is 7, but must be below N = 7"),
        (SRC + 2**40, r"`src\[0\]` is \d+, but must be"),
    ],
)
def test_an_index_out_of_range_is_an_error(bad: Any, text: str) -> None:
    with pytest.raises(tadc.ArgumentError, match=rf"TAD0511\]: {text}"):
        MESSAGES(bad, w=W, x=X, dst=DST)
    with pytest.raises(Exception, match=r"TAD0511\]: `src` has an element that is out of range") as caught:
        jax.jit(MESSAGES)(bad, DST, X, W)
    assert "= help: call the function outside of compiled code" in str(caught.value)


def test_indices_are_tested_where_no_result_has_elements() -> None:
    """XLA leaves calls out whose results have none."""
    assert MESSAGES(SRC[:0], DST[:0], X[:0], W[:0]).shape == (0, 3)
    for f in (MESSAGES, jax.jit(MESSAGES)):
        with pytest.raises(Exception, match=r"TAD0511\]: `src"):
            f(SRC, DST, X[:0], W)


def test_a_relation_stands_for_its_elements() -> None:
    src, dst = tadc.relation(SRC, N), tadc.relation(DST, N)
    alike(MESSAGES(src, DST, w=W, x=X), plain(SRC, DST, X, W))
    alike(jax.jit(lambda x: MESSAGES(src, dst, x, W))(X), plain(SRC, DST, X, W))


def test_jax_transforms_functions_of_relations() -> None:
    f = tadc.function("size N; d: index[E] in N; x: f64[E]; y[n: N] = sum{e: d[e] = n} (x[e])")
    d, x, expected = tadc.relation([2, 0, 2], 4), np.ones(3), np.array([1.0, 0.0, 2.0, 0.0])
    found, same = jax.jit(lambda d, x: (f.jax(d, x), d))(d, x)
    alike(found, expected)
    assert (same.array.tolist(), same.below) == ([2, 0, 2], 4)
    alike(jax.jit(lambda d: jax.grad(lambda x: f.jax(x=x, d=d)[2] ** 2)(x))(d), np.array([4.0, 0.0, 4.0]))
    both = jax.tree.map(lambda a: np.stack([a, 3 - a]), d)
    alike(jax.vmap(f.jax, (0, None))(both, x), np.stack([expected, [0.0, 2.0, 0.0, 1.0]]))
    with pytest.raises(tadc.ArgumentError, match="must be below 4"):
        jax.tree.map(lambda a: a + 2, d)
    with pytest.raises(tadc.ArgumentError, match=r"`d` cannot be read: it is a traced array of JAX"):
        jax.jit(lambda d: f(d, x))(d)


PRODUCT = tadc.function("""
row: index[E] in N; col: index[E] in M; A: f64[N, M] at (row, col); x: f64[M]
z[i] = sum{j} (A[i, j] * x[j])
""")
DENSE = np.where(RANDOM.random((5, 7)) < 0.4, RANDOM.normal(size=(5, 7)), 0.0)


def stored() -> sparse.BCOO:
    """Of DENSE; `fromdense` compiles."""
    return sparse.BCOO((jnp.asarray(DENSE[DENSE != 0]), jnp.asarray(np.argwhere(DENSE))), shape=DENSE.shape)


def test_a_sparse_array() -> None:
    x = RANDOM.normal(size=7)
    alike(jax.jit(PRODUCT.jax)(stored(), x), DENSE @ x)
    with pytest.raises(tadc.ArgumentError, match="dimension 0 of `A` has 5 elements, expected 9"):
        PRODUCT.jax(A=stored(), x=x, N=9)


def test_gradients_of_a_sparse_array() -> None:
    given, x = stored(), RANDOM.normal(size=7)
    found = sparse.grad(lambda a: jnp.sin(PRODUCT.jax(A=a, x=x)).sum())(given)
    expected = jax.grad(lambda a: jnp.sin(a @ x).sum())(DENSE) * (DENSE != 0)
    alike(found.todense(), expected)
    found = tadc.vjp(PRODUCT, "A").jax(given, x, jnp.cos(DENSE @ x))
    assert isinstance(found, sparse.BCOO)
    alike(found.todense(), expected)


def ones(shape: Any) -> jax.Array:
    return jnp.ones(shape)


def ints(shape: Any) -> jax.Array:
    return jnp.zeros(shape, int)


def padded() -> sparse.BCOO:
    return sparse.BCOO((ones(2), jnp.array([[0, 0], [2, 7]])), shape=(2, 7))


def test_the_function_itself_says_what_takes_sparse_arrays_of_jax() -> None:
    with pytest.raises(tadc.ArgumentError, match=r"`A` is a sparse array of JAX .BCOO.\n.*\n.*call `f.jax`"):
        PRODUCT(padded(), np.ones(7))


@pytest.mark.parametrize(
    ("text", "make", "help"),
    [
        ("is of type csr_array", csr_array, "BCOO.from_scipy_sparse(A)"),
        ("is of type BCSR", lambda _: sparse.BCSR((ones(2), ints(2), ints(3)), shape=(2, 2)), "A.to_bcoo()"),
        ("`A` is a dense array", np.asarray, "sparse.BCOO.fromdense(A)"),
        (
            r"`row\[1\]` is 2, but",
            lambda _: padded(),
            "`A` has padding, which `A.sum_duplicates()` leaves out",
        ),
        ("1 dimensions", lambda _: sparse.BCOO((ones(2), ints((2, 1))), shape=(2,)), ""),
    ],
)
def test_other_sparse_arrays_are_errors_that_say_what_to_pass(text: str, make: Any, help: str) -> None:
    with pytest.raises(tadc.ArgumentError, match=text) as caught:
        PRODUCT.jax(make(DENSE), np.ones(7))
    assert help in str(caught.value)


TWO = tadc.function("""
row: index[E] in N; col: index[E] in N; A: f64[N, N] at (row, col); B: f64[N, N] at (row, col); x: f64[N]
z[i] = sum{j} ((A[i, j] + B[i, j]) * x[j])
""")


def test_sparse_arrays_that_do_not_fit() -> None:
    def ring(shift: int, size: int = 5) -> sparse.BCOO:
        at = np.stack([np.arange(5), (np.arange(5) + shift) % 5], 1)
        return sparse.BCOO((jnp.arange(5.0), jnp.asarray(at)), shape=(size, size))

    alike(TWO.jax(ring(1), ring(1), np.ones(5)), 2 * np.arange(5.0))
    for args, text in (
        ((ring(1), ring(2), np.ones(5)), "`B` may store elements at other places"),
        ((ring(1), ring(1, 6), np.ones(5)), "dimension 0 of `B` has 6 elements, expected 5"),
        ((ring(1), ring(1), np.ones(6)), "`N` is 5, as `A` or its name tells"),
        ((ring(1), ring(1), ring(1)), "`x` is a sparse array, and the program has all"),
    ):
        with pytest.raises(tadc.ArgumentError, match=text):
            TWO.jax(*args)


def test_one_places_as_rows_and_as_columns() -> None:
    """Where an element's column is read as the row of another tensor, the places are other ones."""
    turned = tadc.function("""
row: index[E] in N; col: index[E] in N; A: f64[N, N] at (row, col); B: f64[N, N] at (col, row); x: f64[N]
z[i] = sum{j} ((A[i, j] + B[j, i]) * x[j])
""")
    at = np.stack([np.arange(5), (np.arange(5) + 1) % 5], 1)
    a, b = (
        sparse.BCOO((jnp.arange(5.0), indices), shape=(5, 5))
        for indices in (jnp.asarray(at), jnp.asarray(at[:, ::-1]))
    )
    alike(turned.jax(a, b, np.ones(5)), 2 * np.arange(5.0))
    with pytest.raises(tadc.ArgumentError, match="`B` may store elements at other places"):
        turned.jax(a, sparse.BCOO((jnp.arange(5.0), a.indices), shape=(5, 5)), np.ones(5))


def test_a_relation_tells_a_size() -> None:
    f = tadc.function("size N; d: index[E] in N; x: f64[E]; y[n: N] = sum{e: d[e] = n} (x[e])").jax
    alike(f(tadc.relation([2, 0, 2], 4), np.ones(3)), np.array([1.0, 0.0, 2.0, 0.0]))


@pytest.mark.parametrize("bad", [SRC.astype(float), SRC > 2])
def test_what_are_no_integers(bad: Any) -> None:
    with pytest.raises(tadc.ArgumentError, match="indices are integers"):
        MESSAGES(bad, DST, X, W)


def test_an_index_that_no_type_holds() -> None:
    with pytest.raises(tadc.ArgumentError, match=r"`src\[0\]` is 10{30}, but must be below N"):
        MESSAGES([10**30] * E, DST, X, W)


PROGRAMS = {
    "pairs": (
        "size N; a: index[E] in N; b: index[E] in N; x: f64[E]\n"
        "s[i: N, j: N] = sum{e: a[e] = i and b[e] = j} (x[e])",
        (np.arange(7) % 3, np.arange(7) // 3, np.arange(7.0)),
        lambda a, b, x: jnp.zeros((7, 7)).at[a, b].add(x),
    ),
    "rows": (
        "p: index[N + 1] in E + 1 increasing; c: index[E] in M; v: f64[E]; x: f64[M]\n"
        "y[i: N] = sum{e}_(p[i])^(p[i + 1] - 1) (v[e] * x[c[e]])",
        (np.array([0, 2, 2, 5]), np.array([1, 0, 3, 3, 2]), np.arange(5.0), np.arange(4.0) + 1),
        lambda p, c, v, x: jnp.array([v[:2] @ x[c[:2]], 0.0, v[2:] @ x[c[2:]]]),
    ),
    "two dimensions": (
        "t: index[F, 3] in N; w: f64[F]; x: f64[N]; y = sum{f} (w[f] * x[t[f, 0]] * x[t[f, 1]]*x[t[f, 2]])",
        (np.array([[0, 1, 2], [2, 1, 3]]), np.array([2.0, 3.0]), np.arange(4.0) + 1),
        lambda t, w, x: (w * x[t].prod(1)).sum(),
    ),
    "a scalar": (
        "s: index in N; x: f64[N]; y = x[s]**2",
        (np.int64(2), np.arange(4.0)),
        lambda s, x: x[s] ** 2,
    ),
    "no edges": (
        "d: index[E] in N; x: f64[E]; z: f64[N]; y[n: N] = z[n] + sum{e: d[e] = n} (x[e])",
        (np.zeros(0, np.int32), np.zeros(0), np.ones(3)),
        lambda d, x, z: jnp.asarray(z).at[d].add(x),
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_and_their_gradients(name: str) -> None:
    text, args, reference = PROGRAMS[name]
    f = tadc.function(text).jax
    floats = tuple(n for n, a in enumerate(args) if np.asarray(a).dtype.kind == "f")
    sizes = {"N": 7} if name == "pairs" else {}
    alike(f(*args, **sizes), reference(*args))
    alike(
        jax.grad(lambda *a: jnp.sin(f(*a, **sizes)).sum(), floats)(*args),
        jax.grad(lambda *a: jnp.sin(reference(*a)).sum(), floats)(*args),
    )


@pytest.mark.parametrize(
    ("text", "arrays", "kind"),
    [
        ("y[n: 3*N] = sum{e: s[e] + 2*d[e] = n} (x[e])", (SRC + 2 * DST,), "values"),
        ("y[n: N, m: N] = sum{e: s[e] = n and d[e] = m} (x[e])", (SRC, DST), "ptr"),
        ("y[n: N] = sum{e: d[e] = n} (x[e])", (DST,), "perm"),
    ],
)
def test_what_is_made_of_index_arrays_within_the_call(text: str, arrays: Any, kind: str) -> None:
    f = tadc.function(f"size N; s: index[E] in N; d: index[E] in N; x: f64[E]\n{text}")
    made = unit_of(f.program, Options()).interface.made
    assert kind in {p.inspected.kind for p in made if p.inspected is not None}
    found = f.jax(SRC, DST, W, N=N)
    alike(found, jnp.zeros(found.shape).at[arrays].add(W))


def test_what_kernels_keep_ends_with_the_function(monkeypatch: pytest.MonkeyPatch) -> None:
    forgotten: list[str] = []
    monkeypatch.setattr(Framed, "forget", lambda made: forgotten.append(made.interface.arguments[0].name))
    f = tadc.function("end: index[E] in N; x: f64[E]; u: f64[N]; y[n: N] = u[n] + sum{e: end[e] = n} (x[e])")
    f.jax(DST, W, X[:, 0])
    assert "end" not in forgotten
    f = weakref.ref(f)
    jax.clear_caches()
    gc.collect()
    assert f() is None
    assert forgotten.count("end") == 1
