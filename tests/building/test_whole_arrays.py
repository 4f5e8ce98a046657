"""Whole arrays in kernels: each function of NumPy against NumPy, gradients against JAX."""

# A kernel takes what its annotations say, and is called with arrays.
# pyright: reportCallIssue=false, reportArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.numpy import sin
from scipy import special

import tadc

N, M, K = tadc.sizes("N M K")
RNG = np.random.default_rng(5)
#: Arguments by their names, with symbolic sizes and with numbers.
SHAPES: dict[str, tuple[Any, ...]] = {
    "x": (N, K),
    "y": (N, K),
    "w": (K, M),
    "v": (K,),
    "u": (N,),
    "s": (),
    "q": (4 * N, 6),
    "t": (N, 3, K),
    "f": (3, 5),
    "g": (3,),
    "r": (3, 3),
}
VALUES = {"N": 4, "M": 2, "K": 5}


def _number(size: Any) -> int:
    return eval(str(size), dict(VALUES))


ARRAYS = {name: RNG.normal(size=tuple(map(_number, shape))) for name, shape in SHAPES.items()}


def built(body: Callable[..., Any]) -> tadc.Function:
    """The function of a body, whose parameters are arguments by their names."""
    names = body.__code__.co_varnames[: body.__code__.co_argcount]
    arguments = [tadc.argument(name, "f64", SHAPES[name]) for name in names]
    return tadc.program(tadc.let("out_", [], body(np, *arguments[1:])), arguments=arguments[1:])


SHAPES["np"] = ()

#: Of one module, NumPy's or JAX's, and arrays.
BODIES: list[Callable[..., Any]] = [
    lambda np, x, w: np.tanh(x @ w) + 1,
    lambda np, x, y: x * y - y / (1 + x**2),
    lambda np, x, v: x + v,
    lambda np, x, u: x * u[:, None],
    lambda np, u: u[1:] - u[:-1],
    lambda np, u: u[::2] * u[::-2],
    lambda np, u: u[::-1] + u[-1] - u[-2],
    lambda np, f: f[1:5:2, ::-1],
    lambda np, f: f[-2:, 7:2:-1],
    lambda np, x: x[..., 0] + x[:, -1],
    lambda np, t: t[:, 1] + t[..., 1, :] * t[:, :, :][:, -1],
    lambda np, x: x.sum(axis=1) / x.shape[1],
    lambda np, x: x.mean() + x.sum() * x.size,
    lambda np, x: np.sum(x, axis=0, keepdims=True) * x,
    lambda np, t: np.sum(t, axis=(0, -1)),
    lambda np, x: np.max(x, axis=1) - np.min(x),
    lambda np, f: np.prod(f, axis=0),
    lambda np, x: np.var(x, axis=1) + np.std(x, ddof=1),
    lambda np, x: (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5),
    lambda np, x: np.exp(x - np.max(x, -1, keepdims=True)) / np.exp(x).sum(-1, keepdims=True),
    lambda np, x: x.T @ x,
    lambda np, t, w: t @ w,
    lambda np, t, v: t @ v,
    lambda np, u, x: u @ x,
    lambda np, u: u @ u,
    lambda np, t, w: np.einsum("nak,km->man", t, w),
    lambda np, r: np.einsum("ii->i", r) * np.einsum("ii", r),
    lambda np, t, v: np.einsum("...k,k->...", t, v),
    lambda np, t, x: np.tensordot(t, x, axes=([0, 2], [0, 1])),
    lambda np, u, v: np.outer(u, v) + np.inner(u, u),
    lambda np, x, w: np.dot(x, w) * 2,
    lambda np, f, r: np.kron(f, r),
    lambda np, f: np.linalg.norm(f, axis=1) + np.linalg.norm(f),
    lambda np, r: np.trace(r) + np.diagonal(r) + np.diag(r),
    lambda np, g: np.diag(g) + np.diag(g[1:], 1) + np.diag(g[:2], -1),
    lambda np, f: np.diagonal(f, 1) * np.trace(f, 2),
    lambda np, f, g: np.cross(f.T, g),
    lambda np, t: t.transpose(2, 0, 1),
    lambda np, t: np.swapaxes(t, 0, 2) + np.moveaxis(t, 0, -1).swapaxes(0, 1),
    lambda np, q: q.reshape(-1, 4, 3, 2).transpose(0, 2, 1, 3).reshape(-1, 8),
    lambda np, f: f.reshape(5, 3) + f.ravel()[:15].reshape(5, -1),
    lambda np, t: np.squeeze(t[:, :1]) + np.expand_dims(t, (0, 2))[0, :, 0, 1],
    lambda np, g: np.broadcast_to(g, (2, 3)) * np.broadcast_to(g[:, None], (3, 3))[1:],
    lambda np, f: np.flip(f) + np.flip(f, 1) * np.flipud(f) - np.fliplr(f),
    lambda np, x: np.roll(x, 1, axis=0) + np.roll(x, -2, axis=1),
    lambda np, f: np.roll(f, 7) - np.roll(f, (1, 2), (0, 1)),
    lambda np, x, y: np.concatenate([x, y, x[:1]]) * 2,
    lambda np, x, u: np.concatenate([x, u[:, None]], axis=1),
    lambda np, x, y: np.stack([x, y], axis=-1) + np.stack([y, x])[0][:, :, None],
    lambda np, f, g: np.vstack([f.T, g]) * np.hstack([g, g])[:, None],
    lambda np, u: np.column_stack([u, u**2]) @ np.array([[1.0, 2.0], [3.0, 4.0]]),
    lambda np, f: np.dstack([f, f])[..., 1] + np.split(f, 3)[1] + np.split(f.T, [2, 3])[1].T[:, :1],
    lambda np, f: np.tile(f, 2) + np.tile(f[0], (3, 2)),
    lambda np, f: np.repeat(f, 2, axis=1) + np.repeat(f.ravel(), 2).reshape(3, 10),
    lambda np, x: np.pad(x, 1) + np.pad(x, ((1, 1), (1, 1)), mode="edge"),
    lambda np, f: np.pad(f, ((1, 2), (2, 1)), mode="reflect") - np.pad(f, ((1, 2), (2, 1)), mode="symmetric"),
    lambda np, f: np.pad(f, ((2, 1), (0, 3)), mode="wrap") * np.pad(f, ((0, 3), (1, 2)), constant_values=2),
    lambda np, x: np.where(x > 0, x, 0.5 * x) + np.maximum(x, 0) * np.minimum(x, 1) + np.clip(x, -1, 0.5),
    lambda np, x, y: np.where((x > y) & (x < 1), x, y) * (x > 0),
    lambda np, r: np.tril(r) - np.triu(r, 1) + np.tril(r, -1),
    lambda np, x: np.diff(x, axis=0)[:, 1:] + np.diff(x, n=2)[1:, :1],
    lambda np, u: np.trapezoid(u) + np.trapezoid(u, dx=0.5),
    lambda np, x, v: np.trapezoid(x, v, axis=1),
    lambda np, f, g: np.convolve(f[0], g) * np.convolve(g, f[0]),
    lambda np, f, g: (
        np.convolve(f[0], g, "same") + np.convolve(f[0], g[:2], "same") + np.convolve(g, f[0], "same")
    ),
    lambda np, f, g: np.correlate(f[0], g, "full")[1:6] + np.correlate(f[0], g[:2], "same"),
    lambda np, f, g: np.correlate(f[0], g) * np.correlate(g, f[0]),
    lambda np, x: np.cumsum(x, axis=1) * np.cumprod(x, axis=0),
    lambda np, f: np.cumsum(f) ** 2,
    lambda np, x, u: np.average(x, axis=0, weights=u) + np.average(x),
    lambda np, x: np.zeros_like(x) + np.ones_like(x) * np.full_like(x, 3.0) + np.ptp(x),
    lambda np, x: (
        np.hypot(x, 2) + np.square(x) + np.abs(x) + np.sign(x) * np.arctan2(x, 1.5) - np.log1p(x**2)
    ),
    lambda np, x, s: np.logaddexp(x, s) + s**3 + np.sinc(x) + np.reciprocal(x) + np.heaviside(x, 0.5),
    lambda np, g: np.stack(np.meshgrid(g, g[:2])) + np.stack(np.meshgrid(g, g[:2], indexing="ij"))[:, :1, :1],
    lambda np, x, s: s * x + np.dot(s, x),
    lambda np, f: np.array([f[0, 1], f[1, 2]]) * np.array([1.0, 2.0]),
    lambda np, f: 2 - np.array([1.0, -2.0, 1.0])[:, None] * f,
    lambda np, x: ((x > 0) & (x < 1)).sum(axis=0) * x + (x > 0.5).mean() - (1 - (x > 0)) / 2,
    lambda np, u: np.expand_dims(u, 0).repeat(2, axis=0).mean(axis=0),
]


def _check(body: Callable[..., Any]) -> None:
    f = built(body)
    given = [ARRAYS[name] for name in f.inputs]
    named = {name: ARRAYS[name] for name in body.__code__.co_varnames[1 : body.__code__.co_argcount]}
    expected = body(np, **named)
    np.testing.assert_allclose(f(*given), expected, rtol=1e-11, atol=1e-12)
    value, pull = jax.vjp(lambda n: body(jnp, **n), named)
    assert value.shape == np.shape(expected)
    cotangent = RNG.normal(size=value.shape)
    g = tadc.vjp(f)
    at = {**named, "dout_": cotangent}
    sizes = {name: n for name, n in VALUES.items() if name in _sizes(g)}
    found = g(**{name: at[name] for name in g.inputs}, **sizes)
    (theirs,) = pull(cotangent)
    for name in g.outputs:
        mine = found if len(g.outputs) == 1 else getattr(found, name)
        np.testing.assert_allclose(mine, theirs[name[1:]], rtol=1e-9, atol=1e-11, err_msg=name)


def _sizes(f: tadc.Function) -> set[str]:
    import inspect

    return set(inspect.signature(f).parameters)


@pytest.mark.parametrize("body", BODIES, ids=[str(n) for n in range(len(BODIES))])
def test_numpy_and_jax(body: Callable[..., Any]) -> None:
    _check(body)


def _swish(x: Any) -> Any:
    return x * special.expit(x) + math.sqrt(2.0)


def test_libraries_that_a_kernel_names() -> None:
    offset = jnp.float64(0.5)

    @tadc.kernel
    def f(x: tadc.f64[N, K], i, k):
        return jnp.exp(x[i, k]) + math.atan2(x[i, k], 2) + sin(x[i, k]) * _swish(x[i, k]) - float(offset)

    x = ARRAYS["x"]
    swish = x * special.expit(x) + math.sqrt(2.0)
    np.testing.assert_allclose(f(x), np.exp(x) + np.arctan2(x, 2) + np.sin(x) * swish - 0.5, rtol=1e-12)
    assert math.exp(1) == pytest.approx(2.718281828459045)  # the modules themselves are as they were


def test_methods_of_ufuncs() -> None:
    @tadc.kernel
    def f(x: tadc.f64[N, K], u: tadc.f64[N]):
        running = np.maximum.accumulate(x, axis=1) + np.add.reduce(x)
        return np.subtract.outer(running, u).sum(axis=-1) + jnp.add.reduce(np.hypot.outer(u, x))

    x, u = ARRAYS["x"], ARRAYS["u"]
    running = np.maximum.accumulate(x, axis=1) + np.add.reduce(x)
    expected = np.subtract.outer(running, u).sum(axis=-1) + np.add.reduce(np.hypot.outer(u, x))
    np.testing.assert_allclose(f(x, u), expected, rtol=1e-12)


def test_functions_of_jax_outside_of_kernels_say_what_to_write() -> None:
    x = tadc.argument("x", "f64", 3)
    for call in (lambda: jnp.exp(x), lambda: jnp.exp(x[0]), lambda: jax.nn.softmax(x * 2)):
        with pytest.raises(tadc.UsageError, match=r"(?s)TAD0510.*functions of JAX.*np\.exp"):
            call()
    assert str(jnp.float32(2) * x) == str(2.0 * x)


def test_a_layer_as_jax_has_it() -> None:
    @tadc.kernel
    def g(x: tadc.f64[N, K], w: tadc.f64[K, M]):
        h = jax.nn.gelu(jnp.einsum("ik,km->im", x, w) + jnp.arange(M) + np.eye(N, M))
        return jax.nn.softmax(h, axis=0) * special.softmax(h) + jax.nn.log_softmax(h) + _swish(h)

    def expected(x: Any, w: Any) -> Any:
        h = jax.nn.gelu(jnp.einsum("ik,km->im", x, w) + jnp.arange(2) + np.eye(4, 2))
        soft = jax.nn.softmax(h, axis=0) * jax.nn.softmax(h, axis=None) + jax.nn.log_softmax(h)
        return soft + h * jax.nn.sigmoid(h) + math.sqrt(2.0)

    x, w = ARRAYS["x"], ARRAYS["w"]
    np.testing.assert_allclose(g(x, w), expected(x, w), rtol=1e-11)
    value, pull = jax.vjp(expected, x, w)
    for mine, theirs in zip(tadc.vjp(g)(x, w, dg=np.cos(value)), pull(jnp.cos(value)), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-12)


def test_what_a_library_has_and_a_kernel_has_not() -> None:
    def f(x: tadc.f64[N]):
        return jnp.sort(x)

    with pytest.raises(tadc.UsageError, match=r"`jax\.numpy\.sort` is no function of expressions"):
        tadc.kernel(f)


def test_definitions_are_named_after_variables() -> None:
    @tadc.kernel
    def f(x: tadc.f64[N, K], w: tadc.f64[K, M], b: tadc.f64[M], w2: tadc.f64[M, 2]):
        hidden = np.maximum(x @ w + b, 0)
        return hidden @ w2

    assert str(f).partition("\n\n")[2].strip() == (
        "let hidden[i: N, j: M] = max(sum{k}_0^(K - 1) (x[i, k] * w[k, j]) + b[j], 0)\n"
        "f[i, j] = sum{k}_0^(M - 1) (hidden[i, k] * w2[k, j])"
    )


def test_results_are_named_after_variables_and_rows_are_iterated_over() -> None:
    @tadc.kernel
    def f(x: tadc.f64[3, K]):
        first, second, third = x
        product = first * second + third * len(x)
        total = product.sum()
        return product, total

    a = ARRAYS["x"][:3]
    found = f(a)
    np.testing.assert_allclose(found.product, a[0] * a[1] + 3 * a[2])
    np.testing.assert_allclose(found.total, found.product.sum())


def test_rows_windows_and_gathers() -> None:
    i, n = tadc.indices("i n")
    x, w = tadc.argument("x", "f64", (N, K)), tadc.argument("w", "f64", 3)
    src = tadc.index_array("src", "E", N)
    rows = tadc.define("rows", [i], np.exp(x[i]) / np.sum(np.exp(x[i])))
    smooth = tadc.define("smooth", {i: K - 2}, np.sum(w * x[0, i : i + 3]))
    gathered = tadc.define("gathered", [], x[src] * x[0, None])
    named = tadc.define("named", [n, i], x.T * 2)
    states = tadc.define(
        "states", {n: 6, i: N}, lambda h: tadc.where(n == 0, x[:, 0], h[n - 1] / 2 + x[:, 1]), order=n
    )
    a = ARRAYS["x"]
    np.testing.assert_allclose(rows(a), np.exp(a) / np.exp(a).sum(1, keepdims=True))
    np.testing.assert_allclose(smooth(x=a, w=[1, 2, 4]), [a[0, j : j + 3] @ [1, 2, 4] for j in range(3)])
    np.testing.assert_allclose(gathered(x=a, src=[3, 0, 3]), a[[3, 0, 3]] * a[0])
    np.testing.assert_array_equal(named(a), a.T * 2)
    assert "named[n, i]" in str(named)
    expected = [a[:, 0]]
    for _ in range(5):
        expected.append(expected[-1] / 2 + a[:, 1])
    np.testing.assert_allclose(states(a), expected)


def test_many_steps_are_written_once_each() -> None:
    """A loop of Python over arrays: the program grows with its steps, not with their powers."""

    @tadc.kernel
    def f(u: tadc.f64[N]):
        for _ in range(60):
            u = u + 0.1 * (np.roll(u, 1) - 2 * u + np.roll(u, -1))
        return u

    expected = ARRAYS["u"]
    for _ in range(60):
        expected = expected + 0.1 * (np.roll(expected, 1) - 2 * expected + np.roll(expected, -1))
    np.testing.assert_allclose(f(ARRAYS["u"]), expected, rtol=1e-11)
    assert len(str(f)) < 40_000


def test_a_convolution_is_as_long_as_the_longer_array() -> None:
    @tadc.kernel
    def f(x: tadc.f64[N], w: tadc.f64[K]):
        return np.convolve(x[1:], w, "same")

    x, w = RNG.normal(size=8), RNG.normal(size=3)
    np.testing.assert_allclose(f(x, w), np.convolve(x[1:], w, "same"), rtol=1e-12)
    assert f(w[:2], w[:1]).shape == (1,)
    with pytest.raises(tadc.ArgumentError, match="N >= K"):
        f(w, x)


def test_sizes_that_do_not_fit_are_conditions() -> None:
    @tadc.kernel
    def f(x: tadc.f64[N]):
        return x[3:] - x[:-3]

    assert f([1.0, 2, 3, 5]).tolist() == [4.0]
    with pytest.raises(tadc.ArgumentError, match="N"):
        f([1.0, 2])
