"""Blocks of two or three numbers at each point of a batch: what formulas make of them, against JAX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tadc
from tests.inversion.checking import compare, dense_by_jax, flat
from tests.inversion.programs import Case


@dataclass(frozen=True)
class Blocks:
    """A case, and the classes of its plan."""

    case: Case
    kinds: dict[str, int]


def net(w: Any, x: Any) -> Any:
    """A small network of a number at each point, which has one layer of `tanh`."""
    return jnp.sum(w[0] * jnp.tanh(w[1] * x[..., None] + w[2]), axis=-1)


def in_text(w: str, x: str) -> str:
    """The same in the language."""
    return f"sum{{k}} ({w}[0, k]*tanh({w}[1, k]*{x} + {w}[2, k]))"


def coupled(fixed: Any, moved: Any, s: Any, t: Any) -> Any:
    return moved * jnp.exp(net(s, fixed)) + net(t, fixed)


WEIGHTS = "s: f64[3, 4]; t: f64[3, 4]"
LAYER = f"x[b, 1]*exp({in_text('s', 'x[b, 0]')}) + {in_text('t', 'x[b, 0]')}"


def one_layer(x: Any, s: Any, t: Any) -> Sequence[Any]:
    return (jnp.stack([x[:, 0], coupled(x[:, 0], x[:, 1], s, t)], -1),)


def two_layers(x: Any, s: Any, t: Any) -> Sequence[Any]:
    """The second takes the coordinates in the other order."""
    a = coupled(x[:, 0], x[:, 1], s, t)
    return (jnp.stack([a, coupled(a, x[:, 0], s, t)], -1),)


def many_layers(x: Any, s: Any, t: Any) -> Sequence[Any]:
    for n in range(3):
        x = jnp.stack([coupled(x[:, 0], x[:, 1], s[n], t[n]), x[:, 0]], -1)
    return (x,)


def autoregressive(x: Any, w: Any, v: Any) -> Sequence[Any]:
    hidden = jnp.tanh(jnp.einsum("ijk,bj->bik", w * jnp.tril(jnp.ones((3, 3)), -1)[..., None], x))
    return (x * jnp.exp(jnp.sum(v * hidden, -1)),)


def autoregressive_steps(x: Any, w: Any, v: Any) -> Sequence[Any]:
    for n in range(3):
        x = autoregressive(x, w[n], v[n])[0][:, ::-1]
    return (x,)


def mixed(x: Any, a: Any) -> Sequence[Any]:
    return (x + 0.3 * jnp.tanh(x @ a.T),)


def mixed_steps(x: Any, a: Any) -> Sequence[Any]:
    for each in a:
        (x,) = mixed(x, each)
    return (x,)


def permuted(x: Any, g: Any, s: Any, t: Any) -> Sequence[Any]:
    x = (x * jnp.exp(g))[:, jnp.array([2, 0, 1])]
    h = net(s, x[:, 0]) + net(t, x[:, 1])
    return (jnp.stack([x[:, 0], x[:, 1], x[:, 2] * jnp.exp(h) + h], -1),)


MIXED = "x[b, i] + .3*tanh(sum{j} (a[i, j]*x[b, j]))"
MASKED = "x[b, i]*exp(sum{k} (v[i, k]*tanh(sum{j: j < i} (w[i, j, k]*x[b, j]))))"

BLOCKS = {
    "a layer": Blocks(
        Case(
            f"x: f64[5, 2]; {WEIGHTS}\ny[b: 5, i: 2] = if {{i = 0}} then (x[b, 0]) else ({LAYER})",
            ("x",),
            one_layer,
        ),
        {"permutation": 2, "diagonal": 1},
    ),
    "layers that swap": Blocks(
        Case(
            f"""x: f64[5, 2]; {WEIGHTS}
            let y[b: 5, i: 2] = if {{i = 1}} then (x[b, 0]) else ({LAYER})
            let h[b: 5, k: 4] = tanh(s[1, k]*y[b, 0] + s[2, k])
            let r[b: 5] = exp(sum{{k}} (s[0, k]*h[b, k]))
            z[b: 5, i: 2] = if {{i = 0}} then (y[b, 0]) else (y[b, 1]*r[b] + {in_text("t", "y[b, 0]")})""",
            ("x",),
            two_layers,
        ),
        {"permutation": 2, "diagonal": 2},
    ),
    "coordinates in front": Blocks(
        Case(
            f"x: f64[2, 5]; {WEIGHTS}\ny[i: 2, b: 5] = if {{i = 0}} then (x[0, b]) else "
            f"(x[1, b]*exp({in_text('s', 'x[0, b]')}) + {in_text('t', 'x[0, b]')})",
            ("x",),
            lambda x, s, t: (one_layer(x.T, s, t)[0].T,),
        ),
        {"permutation": 2, "diagonal": 1},
    ),
    "layers as a recurrence": Blocks(
        Case(
            f"""x: f64[5, 2]; s: f64[3, 3, 4]; t: f64[3, 3, 4]
            let scan{{n}} u[n: 4, b: 5, i: 2] = if {{n = 0}} then (x[b, i]) else (
                if {{i = 1}} then (u[n - 1, b, 0]) else (u[n - 1, b, 1]
                    *exp({in_text("s", "u[n - 1, b, 0]").replace("s[", "s[n - 1, ")})
                    + {in_text("t", "u[n - 1, b, 0]").replace("t[", "t[n - 1, ")}))
            y[b: 5, i: 2] = u[3, b, i]""",
            ("x",),
            many_layers,
        ),
        {"3 steps, each diagonal": 1},
    ),
    "three numbers, each of those before": Blocks(
        Case(
            f"x: f64[5, 3]; w: f64[3, 3, 4]; v: f64[3, 4]\ny[b: 5, i: 3] = {MASKED}", ("x",), autoregressive
        ),
        {"permutation": 2, "diagonal": 3},
    ),
    "the same through a value in between": Blocks(
        Case(
            "x: f64[5, 3]; w: f64[3, 3, 4]; v: f64[3, 4]\n"
            "let h[b: 5, i: 3, k: 4] = tanh(sum{j: j < i} (w[i, j, k]*x[b, j]))\n"
            "y[b: 5, i: 3] = x[b, i]*exp(sum{k} (v[i, k]*h[b, i, k]))",
            ("x",),
            autoregressive,
        ),
        {"permutation": 2, "diagonal": 3},
    ),
    "the same as a recurrence": Blocks(
        Case(
            """x: f64[5, 3]; w: f64[3, 3, 3, 4]; v: f64[3, 3, 4]
            let scan{n} u[n: 4, b: 5, i: 3] = if {n = 0} then (x[b, i]) else (u[n - 1, b, 2 - i]*exp(sum{k} (
                v[n - 1, 2 - i, k]*tanh(sum{j: j < 2 - i} (w[n - 1, 2 - i, j, k]*u[n - 1, b, j])))))
            y[b: 5, i: 3] = u[3, b, i]""",
            ("x",),
            autoregressive_steps,
        ),
        {"3 steps, each permutation and diagonal": 1},
    ),
    "scaled, permuted and coupled": Blocks(
        Case(
            f"""x: f64[5, 3]; g: f64[3]; {WEIGHTS}
            let n[b: 5, i: 3] = x[b, i]*exp(g[i]); let p[b: 5, i: 3] = n[b, (i + 2) % 3]
            let h[b: 5] = {in_text("s", "p[b, 0]")} + {in_text("t", "p[b, 1]")}
            y[b: 5, i: 3] = if {{i < 2}} then (p[b, i]) else (p[b, 2]*exp(h[b]) + h[b])""",
            ("x",),
            permuted,
        ),
        {"permutation": 2, "diagonal": 4},
    ),
    "two numbers mixed": Blocks(
        Case(f"x: f64[5, 2]; a: f64[2, 2]\ny[b: 5, i: 2] = {MIXED}", ("x",), mixed),
        {"permutation": 2, "block-diagonal, 5 of 2x2": 1},
    ),
    "three numbers mixed": Blocks(
        Case(f"x: f64[5, 3]; a: f64[3, 3]\ny[b: 5, i: 3] = {MIXED}", ("x",), mixed),
        {"permutation": 2, "block-diagonal, 5 of 3x3": 1},
    ),
    "no batch": Blocks(
        Case(f"x: f64[3]; a: f64[3, 3]\ny[i: 3] = {MIXED.replace('b, ', '')}", ("x",), mixed),
        {"permutation": 2, "dense": 1},
    ),
    "mixed step by step": Blocks(
        Case(
            """x: f64[5, 2]; a: f64[3, 2, 2]
            let scan{n} u[n: 4, b: 5, i: 2] = if {n = 0} then (x[b, i]) else (
                u[n - 1, b, i] + .3*tanh(sum{j} (a[n - 1, i, j]*u[n - 1, b, j])))
            y[b: 5, i: 2] = u[3, b, i]""",
            ("x",),
            mixed_steps,
        ),
        {"3 steps, each permutation and block-diagonal, 15 of 2x2": 1},
    ),
}


def inputs(f: tadc.Function, seed: int) -> list[Any]:
    random = np.random.default_rng(seed)
    return [0.5 * random.standard_normal(a.shape) for a in f.program.arguments]  # type: ignore[arg-type]


@pytest.mark.parametrize("name", BLOCKS)
def test_products(name: str) -> None:
    """All products, as calls and as programs."""
    case = BLOCKS[name].case
    f = tadc.function(case.text)
    inverse, arguments = tadc.inverse(f, case.wrt), inputs(f, 0)
    assert inverse.plan.kinds == BLOCKS[name].kinds
    matrix = dense_by_jax(case, f, arguments)
    compare(inverse, arguments, matrix)
    v = np.random.default_rng(1).standard_normal(arguments[0].shape)
    for product, dense in ((inverse.jinv, matrix), (inverse.jinvT, matrix.T)):
        found = tadc.function(str(product))(*arguments, v)
        np.testing.assert_allclose(flat(found), np.linalg.solve(dense, flat(v)), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", BLOCKS)
def test_gradient_of_log_determinant(name: str) -> None:
    case = BLOCKS[name].case
    f = tadc.function(case.text)
    arguments = inputs(f, 2)

    def volume(x: Any, *rest: Any) -> Any:
        matrix = jax.jacobian(lambda v: jnp.ravel(case.function(v.reshape(x.shape), *rest)[0]))(x.ravel())
        return jnp.linalg.slogdet(matrix)[1]

    expected = jax.grad(volume, tuple(range(len(arguments))))(*arguments)
    found = tadc.grad(tadc.inverse(f, case.wrt).logabsdet)(*arguments)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10)


def test_zero_names_the_element() -> None:
    """Of a value of the program, where parts of it are solved for."""
    f = tadc.function(
        "x: f64[5, 2]; w: f64[5]\ny[b: 5, i: 2] = if {i = 0} then (x[b, 1]) else (w[b]*x[b, 0])"
    )
    g = tadc.function("x: f64[5, 2]; w: f64[5, 2]\ny[b: 5, i: 2] = w[b, i]*x[b, 0] + x[b, 1]*w[b, 0]")
    step = "(if {i = 0} then (u[n - 1, b, 1]) else (w[n]*u[n - 1, b, 0] + u[n - 1, b, 1]**2))"
    h = tadc.function(f"""x: f64[5, 2]; w: f64[4]
        let scan{{n}} u[n: 4, b: 5, i: 2] = if {{n = 0}} then (x[b, i]) else {step}
        y[b: 5, i: 2] = u[3, b, i]""")
    x, w = np.ones((5, 2)), np.ones(5)
    w[3] = 0
    for call in (tadc.inverse(f, "x").jinv, tadc.inverse(f, "x").jinvT):
        with pytest.raises(tadc.ArgumentError, match=r"the derivative of `y` at element \[3, 1\] is 0.0"):
            call((x, w), x)
    with pytest.raises(tadc.ArgumentError, match=r"the determinant by `x` at element \[0\] is 0.0") as error:
        tadc.inverse(g, "x").jinv((x, np.ones((5, 2))), x)
    (found,) = error.value.diagnostics
    assert (found.message[:4], found.primary is not None) == ("`y` ", True)
    with pytest.raises(tadc.ArgumentError, match=r"the derivative of `u` at element \[3, 0, 1\] is 0.0"):
        tadc.inverse(h, "x").jinv((x, w[:4]), x)
    assert tadc.inverse(f, "x").logabsdet((x, w)) == -np.inf


@pytest.mark.parametrize("first", ["x[b, 0]", "x[b, 0]**2"])
def test_parts_that_are_singular(first: str) -> None:
    """A block that has no inverse whatever the values are is an error before values are there."""
    f = tadc.function(f"x: f64[5, 2]; y[b: 5, i: 2] = if {{i = 0}} then ({first}) else (2*x[b, 0])")
    with pytest.raises(tadc.CompileError) as error:
        tadc.inverse(f)
    (found,) = error.value.diagnostics
    assert (found.code, found.primary is not None) == ("TAD0911", True)
    assert "through `x[:, 0]`: 5 numbers for 10" in found.notes[0]


FULL = "x: f64[5, 3]; a: f64[5, 3, 3]; y[b: 5, i: 3] = sum{j} (a[b, i, j]*x[b, j])"


@pytest.mark.parametrize("size", [1e-3, 1e-5])
def test_three_rows_nearly_of_rank_one(size: float) -> None:
    """The error is that of elimination, not larger by the condition number."""
    random = np.random.default_rng(0)
    a, v = 1 + size * random.standard_normal((5, 3, 3)), random.standard_normal((5, 3))
    inverse = tadc.inverse(tadc.function(FULL), "x")
    exact = np.linalg.solve(a, v[..., None])[..., 0]
    found, volume = inverse.jinv((v, a), v), inverse.logabsdet((v, a))
    np.testing.assert_allclose(found, exact, rtol=0, atol=3e-15 / size * abs(exact).max())
    np.testing.assert_allclose(volume, np.linalg.slogdet(a)[1].sum(), atol=3e-14 / size)


def test_three_rows_with_pivots_that_are_zero() -> None:
    """Rows change places; a matrix of which no element of the first column is left has determinant 0."""
    a = np.array(
        [np.eye(3)[list(order)] for order in ((1, 0, 2), (2, 1, 0), (1, 2, 0), (2, 0, 1), (0, 2, 1))]
    )
    v = np.random.default_rng(0).standard_normal((5, 3))
    inverse = tadc.inverse(tadc.function(FULL), "x")
    np.testing.assert_allclose(inverse.jinv((v, a), v), np.linalg.solve(a, v[..., None])[..., 0])
    np.testing.assert_allclose(inverse.jinvT((v, a), v), np.linalg.solve(a.mT, v[..., None])[..., 0])
    assert inverse.logabsdet((v, a)) == 0
    a[2, :, 0] = 0
    assert inverse.logabsdet((v, a)) == -np.inf
    with pytest.raises(
        tadc.ArgumentError, match=r"`y` cannot be [^$]*determinant by `x` at element \[2\] is 0\.0"
    ):
        inverse.jinv((v, a), v)


def test_logarithm_of_an_exponential() -> None:
    """The determinant may be no number where its logarithm is one."""
    text = (
        "x: f64[5, 2]; s: f64\ny[b: 5, i: 2] = if {i = 0} then (x[b, 0]) else (3*x[b, 1]*exp(s)/exp(x[b, 0]))"
    )
    volume = tadc.inverse(tadc.function(text), "x").logabsdet
    for s in (-2000.0, 2000.0):
        np.testing.assert_allclose(volume(np.ones((5, 2)), s), 5 * (s - 1 + np.log(3)), rtol=1e-15)


@pytest.mark.parametrize("name", ["layers as a recurrence", "the same as a recurrence"])
def test_states_backwards(name: str) -> None:
    """Gradients read states that are made from the last one on."""
    case = BLOCKS[name].case
    f = tadc.function(case.text)
    arguments = inputs(f, 3)
    seed = np.random.default_rng(4).standard_normal(arguments[0].shape)
    *found, residual = tadc.vjp(f, reverse="invert")(*arguments, seed)
    assert residual < 1e-12
    for one, other in zip(found, tadc.vjp(f)(*arguments, seed), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
