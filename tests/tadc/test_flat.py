"""Functions of one vector: values and derivatives against NumPy, JAX and each other."""

from __future__ import annotations

import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import optimize

import tadc

LAYER = """x: f64[P, K]; w: f64[H, K]; b: f64[H]
y[p, j] = tanh(b[j] + sum{k} (w[j, k]*x[p, k]))
n[p] = sum{k} (x[p, k]**2 * b[0])"""

#: Of w, b and x, in this order.
SHAPES = {"w": (4, 3), "b": (4,), "x": (5, 3)}


def arrays(seed: int = 0) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    return {name: random.normal(size=shape) for name, shape in SHAPES.items()}


def in_jax(v: Any, x: Any) -> Any:
    w, b = v[:12].reshape(4, 3), v[12:]
    return jnp.concatenate([jnp.tanh(b + x @ w.T).reshape(-1), (x**2).sum(1) * b[0]])


def test_a_vector_of_several_inputs_to_one_of_several_results() -> None:
    given = arrays()
    g = tadc.flat(tadc.function(LAYER), {"w": given["w"], "b": given["b"]}, x=given["x"])
    v = g.pack()
    assert (g.size, g.names, g.shapes) == (16, ("w", "b"), {"w": (4, 3), "b": (4,)})
    np.testing.assert_array_equal(v, np.concatenate([given["w"].reshape(-1), given["b"]]))
    np.testing.assert_array_equal(v, g.pack([given["w"], given["b"]]))
    assert np.shares_memory(g.unpack(v)["w"], v)
    np.testing.assert_allclose(g(v), in_jax(v, given["x"]), rtol=1e-12)
    expected = jax.jacobian(in_jax)(v, given["x"])
    p, u = np.random.default_rng(1).normal(size=16), np.random.default_rng(2).normal(size=25)
    np.testing.assert_allclose(g.jac(v), expected, atol=1e-12)
    np.testing.assert_allclose(g.sparse_jac(v).todense(), expected, atol=1e-12)
    assert g.sparse_jac(v).nnz == 5 * 4 * 3 + 5 * 4 + 5
    np.testing.assert_allclose(g.jvp(v, p), expected @ p, atol=1e-12)
    np.testing.assert_allclose(g.vjp(v, u), u @ expected, atol=1e-12)
    operator = g.linear_operator(v)
    assert operator.shape == (25, 16)
    np.testing.assert_allclose(operator @ np.eye(16), expected, atol=1e-12)
    np.testing.assert_allclose(operator.T @ np.eye(25), np.asarray(expected).T, atol=1e-12)


def test_a_scalar_of_several_inputs() -> None:
    given = arrays()
    f = tadc.function(
        "x: f64[P, K]; w: f64[H, K]; b: f64[H]; s = sum{p, j} (exp(sin(b[j] + sum{k} (w[j, k]*x[p, k]))))"
    )
    g = tadc.flat(f, ["w", "b"], x=given["x"], H=4)
    v = g.pack(given)

    def reference(v: Any) -> Any:
        return jnp.exp(jnp.sin(v[12:] + given["x"] @ v[:12].reshape(4, 3).T)).sum()

    value, gradient = g(v)
    assert type(value) is float
    np.testing.assert_allclose(value, reference(v), rtol=1e-12)
    np.testing.assert_allclose(gradient, jax.grad(reference)(v), atol=1e-11)
    np.testing.assert_array_equal(g.jac(v), gradient)
    hessian = jax.hessian(reference)(v)
    found = np.stack([g.hessp(v, p) for p in np.eye(16)])
    np.testing.assert_allclose(found, hessian, atol=1e-10)
    np.testing.assert_allclose(g.linear_operator(v) @ np.eye(16), hessian, atol=1e-10)


def test_what_is_given_for_one_call() -> None:
    given, other = arrays(), arrays(3)
    g = tadc.flat(tadc.function(LAYER), ["w", "b"], x=given["x"], H=4)
    v = g.pack(given)
    np.testing.assert_allclose(g(v, x=other["x"]), in_jax(v, other["x"]), rtol=1e-12)
    np.testing.assert_allclose(
        g.jac(v, x=other["x"][:2]), jax.jacobian(in_jax)(v, other["x"][:2]), atol=1e-12
    )
    u = np.ones(10)
    np.testing.assert_allclose(g.vjp(v, u, x=other["x"][:2]), u @ g.jac(v, x=other["x"][:2]), atol=1e-12)
    later = tadc.flat(tadc.function(LAYER), {"w": given["w"], "b": given["b"]})
    np.testing.assert_array_equal(later(v, x=given["x"]), g(v))


def test_f32_is_computed_in_f32_and_given_in_f64() -> None:
    f = tadc.function("x: f32[3]; c: f64; y[i] = x[i]**2*c")
    g = tadc.flat(f, ["x", "c"])
    v = np.array([0.1, 2, 3, 0.5])
    assert g.unpack(v)["x"].dtype == np.float32
    assert g(v).dtype == g.jac(v).dtype == g.jvp(v, v).dtype == g.vjp(v, np.ones(3)).dtype == np.float64
    np.testing.assert_allclose(g(v), v[:3] ** 2 / 2, rtol=1e-6)
    np.testing.assert_allclose(g.jvp(v, v), 1.5 * v[:3] ** 2, rtol=1e-6)


def test_bf16_is_computed_in_bf16_and_given_in_f64() -> None:
    pytest.importorskip("ml_dtypes")
    g = tadc.flat(tadc.function("x: bf16[N]; y[i] = 2*x[i]"), "x", N=2)
    assert g([1.0, 1.001]).tolist() == [2.0, 2.0]
    assert g.vjp([1.0, 2.0], [1.0, 1.0]).tolist() == [2.0, 2.0]


def test_sizes_that_a_kernel_is_compiled_for() -> None:
    f = tadc.function("x: f64[N]; size K; y[i: N//K] = x[K*i]**2")
    g = tadc.flat(f, {"x": np.arange(6.0)}, K=2)
    np.testing.assert_array_equal(g(g.pack()), [0, 4, 16])
    np.testing.assert_array_equal(
        g.jac(g.pack()),
        np.diag([0.0, 1, 4, 9, 8, 25])[::2] * 0
        + np.array([[0, 0, 0, 0, 0, 0], [0, 0, 4, 0, 0, 0], [0, 0, 0, 0, 8, 0]]),
    )
    untold = tadc.function("size M; x: f64[N]; y[i: M] = x[0]*i; ")
    assert tadc.flat(untold, {"x": [2.0]}, M=3)([2.0]).tolist() == [0, 2, 4]
    assert tadc.flat(untold, {"x": [2.0]}, M=3).jac([2.0]).tolist() == [[0], [1], [2]]


def test_inputs_without_elements() -> None:
    f = tadc.function("x: f64[N]; z: f64[M]; s[i] = 2*x[i] + sum{k} (z[k])")
    g = tadc.flat(f, {"z": np.empty(0), "x": np.ones(2)})
    assert g.jac([1.0, 1.0]).tolist() == [[2, 0], [0, 2]]
    assert g.sparse_jac([1.0, 1.0]).todense().tolist() == [[2, 0], [0, 2]]


def test_bounds() -> None:
    g = tadc.flat(tadc.function("a: f64; w: f64[2, 2]; s = a + sum{i, j} (w[i, j])"))
    limits = g.bounds(w=([[0, 1], [2, 3]], None), a=(None, 7))
    assert limits.lb.tolist() == [-np.inf, 0, 1, 2, 3]
    assert limits.ub.tolist() == [7, *[np.inf] * 4]
    with pytest.raises(tadc.UsageError, match="there is no input `v` here"):
        g.bounds(v=(0, 1))


def test_scipy_takes_bounds_as_they_are() -> None:
    """The nearest point of a box is where a distance is least, however it is looked for."""
    there = np.array([-2.0, 0.5, 3.0])
    f = tadc.function("x: f64[3]; c: f64[3]; s = sum{i} ((x[i] - c[i])**2)")
    r = tadc.function("x: f64[3]; c: f64[3]; r[i] = x[i] - c[i]")
    g, h = tadc.flat(f, "x", c=there), tadc.flat(r, "x", c=there)
    limits, start = g.bounds(x=([0, 0, 0], [1, 1, np.inf])), np.full(3, 0.3)
    for method in ("L-BFGS-B", "TNC", "SLSQP", "trust-constr"):
        found = optimize.minimize(g, start, jac=True, method=method, bounds=limits)
        np.testing.assert_allclose(found.x, there.clip(0, [1, 1, np.inf]), atol=1e-3, err_msg=method)
    jac: Any = h.jac
    found = optimize.least_squares(h, start, jac=jac, bounds=h.bounds(x=(0, [1, 1, np.inf])))
    np.testing.assert_allclose(found.x, [0, 0.5, 3], atol=1e-6)


READ = tadc.function("i: index[E] in N; x: f64[N]; s[e] = x[i[e]]")
PLAIN = tadc.function("x: f64[2]; y[i] = x[i]")
F = tadc.function("x: f64[N]; w: f64[M]; s = sum{i} (x[i]**2) + sum{j} (w[j])")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tadc.flat(F, "y"), "there is no input `y`"),
        (lambda: tadc.flat(F, "x", y=3), "there is no input `y`"),
        (lambda: tadc.flat(F, 3), "what a vector stands for is named, not 3"),  # pyright: ignore[reportArgumentType]
        (lambda: tadc.flat(F, []), "what a vector stands for is named"),
        (lambda: tadc.flat(F, "x", x=[1.0]), "`x` is named twice"),
        (lambda: tadc.flat(F, ["x", "x"]), "`x` is named twice"),
        (lambda: tadc.flat(F, "x", w=[1.0]), "size `N` of `x` is not known"),
        (lambda: tadc.flat(F, "x", w=[1.0], N="a"), "size `N` must be an integer"),
        (lambda: tadc.flat("x: f64; y = x", "x"), "takes a function, not the text"),  # pyright: ignore[reportArgumentType]
        (lambda: tadc.flat(F, "x", w=[1.0], N=3)([1.0, 2]), "a vector of 3 elements is asked for"),
        (lambda: tadc.flat(F, "x", N=3)([1.0, 2, 3]), "argument `w` is missing"),
        (lambda: tadc.flat(F, "x", w=[1.0], N=3)([1.0, 2, 3], q=1), "there is no input `q`"),
        (lambda: tadc.flat(F, "x", w=[1.0], N=3).pack(), "there is no array for `x`"),
        (lambda: tadc.flat(F, "x", w=[1.0], N=3).pack([[1.0]]), r"`x` has shape \(1,\), expected \(3,\)"),
        (lambda: tadc.flat(F, {"x": [1.0], "w": [1.0]}, N=3), r"`x` has shape \(1,\), expected \(3,\)"),
        (lambda: tadc.flat(READ, "i"), "is an index array"),
        (lambda: tadc.flat(PLAIN)([1, 2j]), "the vector has elements of type complex128"),
        (lambda: tadc.flat(PLAIN)(["a", "b"]), "the vector is not an array of numbers"),
        (lambda: tadc.flat(PLAIN).pack([[1, "a"]]), "`x` is not an array of numbers"),
        (lambda: tadc.flat(PLAIN).bounds(x=3), "bounds of `x` are a pair, not 3"),  # pyright: ignore[reportArgumentType]
        (lambda: tadc.flat(PLAIN).bounds(x=([1, 2, 3], None)), r"a bound of `x` has shape \(3,\)"),
        (lambda: tadc.flat(PLAIN).hessp([1, 2], [1, 2]), "one scalar output"),
        (lambda: tadc.flat(PLAIN).vjp([1, 2], [1]), "a vector of 2 results"),
    ],
)  # fmt: skip
def test_mistakes(call: Any, message: str) -> None:
    with pytest.raises(tadc.CompileError, match=message):
        call()


def test_without_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    g = tadc.flat(PLAIN)
    for name in ("scipy.sparse", "scipy.sparse.linalg"):
        monkeypatch.setitem(sys.modules, name, None)
    for call in (g.sparse_jac, g.linear_operator):
        with pytest.raises(tadc.CompileError, match=r"pip install 'tadc-compiler\[scipy\]'"):
            call([1.0, 2])
    assert g.jac([1.0, 2]).tolist() == [[1, 0], [0, 1]]
