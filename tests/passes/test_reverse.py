"""Reverse mode over whole programs."""

import time
from functools import reduce

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tadc
from tadc.frontend.terms import reachable


def size(f):
    """The number of distinct terms of a function."""
    return sum(1 for _ in reachable(d.body for d in f.program.definitions))


def squarings(n):
    """x squared n times, each square an intermediate that is read twice."""
    lines = ["x: f64[3]", "let v0[i] = 0.99 * x[i]"]
    lines += [f"let v{k}[i] = v{k - 1}[i] * v{k - 1}[i]" for k in range(1, n)]
    return tadc.function("\n".join([*lines, f"f[i] = v{n - 1}[i] * v{n - 1}[i]"]))


def test_squarings_cost_linear():
    """n squarings in a row: 2**n paths, O(n) terms."""
    sizes = [size(tadc.vjp(squarings(n))) for n in (10, 20, 40)]
    assert sizes[2] - sizes[1] == 2 * (sizes[1] - sizes[0])
    x = np.array([1.0, 0.5, 1.01])
    value, dx = tadc.value_and_vjp(squarings(12))(x, np.ones(3))
    np.testing.assert_allclose(dx, 2.0**12 * value / x, rtol=1e-12)


def test_nested_squares_cost_linear():
    """The same inside one expression, which may be a power of a higher exponent."""

    def nested(n):
        text = "x[i]"
        for _ in range(n):
            text = f"({text})**2"
        return tadc.function(f"x: f64[3]; f[i] = {text}")

    sizes = [size(tadc.vjp(nested(n))) for n in (10, 20, 40)]
    assert sizes[2] <= 2 * sizes[1]


def product(n, factor="sin(x{k}[i])"):
    """A product of n factors, each of an argument of its own."""
    arguments = "; ".join(f"x{k}: f64[N]" for k in range(n))
    return tadc.function(f"{arguments}\nf = sum{{i}} ({'*'.join(factor.format(k=k) for k in range(n))})")


@pytest.mark.parametrize("modes", [[tadc.vjp] * 2, [tadc.vjp] * 3, [tadc.jvp, tadc.vjp, tadc.vjp]])
def test_derivatives_of_products_cost_linear(modes):
    """All factors but one, and but two, are shared by the gradients that have them."""
    sizes = [size(reduce(lambda f, derive: derive(f), modes, product(n))) for n in (4, 8, 16)]
    assert sizes[2] - sizes[1] == 2 * (sizes[1] - sizes[0])


def test_third_derivatives_of_products_where_factors_are_zero():
    """None is divided by: of four products, none to three factors are 0."""
    x, v, w = np.random.default_rng(0).uniform(0.5, 1.5, (3, 5, 4))
    x[np.triu_indices(4, 1)] = 0
    wrt = [f"x{k}" for k in range(5)]
    f = tadc.vjp(tadc.vjp(tadc.grad(product(5)), wrt=wrt), wrt=wrt)
    first = jax.grad(lambda x: jnp.sum(jnp.prod(jnp.sin(x), 0)))
    second = jax.grad(lambda x: jnp.sum(first(x) * v))
    expected = jax.grad(lambda x: jnp.sum(second(x) * w))(x)
    np.testing.assert_allclose(np.array(f(*x, *v, *w)), expected, rtol=1e-12, atol=1e-14)


def test_long_chain_is_quick():
    """A definition of a thousand terms differentiates in linear time."""
    f = tadc.function("x: f64[4]; f[i] = " + " + ".join(f"sin({k} * x[i])" for k in range(1, 1001)))
    begin = time.process_time()
    g = tadc.vjp(f)
    assert time.process_time() - begin < 5
    x = np.linspace(-1, 1, 4)
    expected = sum(k * np.cos(k * x) for k in range(1, 1001))
    np.testing.assert_allclose(g(x, np.ones(4)), expected, rtol=1e-9)


def test_names():
    """Cotangents, gradients, and what becomes of names that are taken."""
    g = tadc.vjp(tadc.function("x: f64[3]; df: f64[3]; dx: f64; f[i] = x[i] * df[i] * dx"))
    assert g.inputs == ("x", "df", "dx", "df_1")
    assert g.outputs == ("dx_1", "ddf", "ddx")
    assert g.cotangents == {"f": "df_1"}
    assert g.gradients == {"x": "dx_1", "df": "ddf", "dx": "ddx"}


def test_names_of_a_second_derivative():
    """Only the last derivative's own cotangents count."""
    gg = tadc.vjp(tadc.vjp(tadc.function("x: f64[3]; f[i] = x[i]**3")))
    assert gg.cotangents == {"dx": "ddx"}
    assert gg.gradients == {"x": "dx_1", "df": "ddf"}


@pytest.mark.parametrize(
    ("text", "indices"),
    [
        ("x: f64[3, 4]; f[i, j] = x[i, j]", "[i, j]"),
        ("x: f64[3]; f[i: 3, j: 3] = x[i] * x[j]", "[x_0]"),
        ("x: f64[9]; f[i: 3] = x[i + 2]", "[x_0]"),
        ("x: f64[3, 3]; f[i] = x[i, i]", "[i, x_1]"),
        ("x: f64[3]; x_0: f64; f[i: 2] = x[i + 1] * x_0", "[x_0_1]"),
        ("x: f64[3]; y: f64[3]; f = sum{k} (x[k]); g[k] = x[k]", "[k]"),
    ],
)
def test_index_names(text, indices):
    """The user's name where it alone reads the dimension, else argument and dimension."""
    assert f"dx{indices} = " in str(tadc.vjp(tadc.function(text), "x"))


def test_never_read_and_zero_derivative():
    """Zeros of the argument's shape."""
    g = tadc.vjp(tadc.function("x: f64[3]; w: f64[2, 2]; f[i] = sign(x[i])"))
    dx, dw = g(np.ones(3), np.ones((2, 2)), np.ones(3))
    assert not dx.any()
    assert dx.shape == (3,)
    assert not dw.any()
    assert dw.shape == (2, 2)


def test_an_output_that_is_read_and_returned():
    """Its cotangent comes from the caller and from its readers."""
    f = tadc.function("x: f64[3]; f[i] = x[i]**2; g = sum{i} (f[i] * x[i])")
    x, df, dg = np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.2, 0.3]), np.array(2.0)
    np.testing.assert_allclose(tadc.vjp(f)(x, df, dg), 2 * x * df + 3 * x**2 * dg)


def test_grad_and_value_and_grad():
    loss = tadc.function("x: f64[3]; y: f64[3]; loss = sum{i} ((x[i] - y[i])**2)")
    x, y = np.array([1.0, 2.0, 3.0]), np.array([0.5, 0.0, 1.0])
    assert tadc.grad(loss).inputs == ("x", "y")
    np.testing.assert_allclose(tadc.grad(loss, "x")(x, y), 2 * (x - y))
    value, dx, dy = tadc.value_and_grad(loss)(x, y)
    assert value == ((x - y) ** 2).sum()
    np.testing.assert_allclose(dx, -dy)


def test_equal_gradients_both_come_back():
    """Equal tensors are one; both results are still there."""
    g = tadc.vjp(tadc.function("x: f64[3]; y: f64[3]; f[i] = x[i] + y[i]"))
    dx, dy = g(np.ones(3), np.ones(3), np.array([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(dx, [1, 2, 3])
    np.testing.assert_array_equal(dy, [1, 2, 3])
    assert dx is not dy


def test_types_of_gradients():
    """A gradient has the type of its argument."""
    g = tadc.vjp(tadc.function("x: f32[3]; y: f64[3]; f[i] = x[i] * y[i]"))
    dx, dy = g(np.ones(3, np.float32), np.full(3, 2.0), np.ones(3))
    assert dx.dtype == np.float32
    assert dy.dtype == np.float64


@pytest.mark.parametrize(
    ("wrt", "code"), [("z", "TAD0401"), (["x", "x"], "TAD0404"), ([], "TAD0401"), ("f", "TAD0401")]
)
def test_wrong_wrt(wrt, code):
    with pytest.raises(tadc.CompileError) as problem:
        tadc.vjp(tadc.function("x: f64[3]; f[i] = x[i]"), wrt)
    assert problem.value.diagnostics[0].code == code


def test_grad_needs_a_scalar():
    with pytest.raises(tadc.CompileError, match="one scalar output"):
        tadc.grad(tadc.function("x: f64[3]; f[i] = x[i]"))


def test_a_factor_cancels_what_it_is_divided_by() -> None:
    """The slope by g of g * exp(r / g) is no product of g and 1 / g**2, though r depends on g, too."""
    f = tadc.vjp(tadc.function("x: f64[N]; g: f64; let r = sum{i} (exp(-x[i]/g)); f = g*log(r)*exp(r/g)"))
    assert "* (r / g) / g" not in str(f)
    x, g = np.array([0.5, 1.0, 3.0]), np.float64(0.7)

    def value(x: jax.Array, g: jax.Array) -> jax.Array:
        r = jnp.sum(jnp.exp(-x / g))
        return g * jnp.log(r) * jnp.exp(r / g)

    with jax.enable_x64(True):
        expected = jax.grad(value, (0, 1))(jnp.asarray(x), jnp.asarray(g))
    for found, other in zip(f(x=x, g=g, df=1.0), expected, strict=True):
        np.testing.assert_allclose(found, other, rtol=1e-12)
