"""Every function of the language: value, first and second derivative against JAX."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tadc
from tadc.frontend.functions import FUNCTIONS
from tadc.passes.derivatives.derivative_table import RULES

jax.config.update("jax_enable_x64", True)


def bessel(n):
    """Bessel's integral, by the trapezoidal rule, which is exact for a smooth period (DLMF 10.9.2)."""
    t = 2 * np.pi * np.arange(64) / 64
    return lambda x: jnp.mean(jnp.cos(n * t - jnp.asarray(x)[..., None] * np.sin(t)), axis=-1)


REFERENCE = {
    "exp": jnp.exp, "exp2": jnp.exp2, "expm1": jnp.expm1, "log": jnp.log, "log2": jnp.log2,
    "log10": jnp.log10, "log1p": jnp.log1p, "sqrt": jnp.sqrt, "cbrt": jnp.cbrt, "sin": jnp.sin,
    "cos": jnp.cos, "tan": jnp.tan, "asin": jnp.arcsin, "acos": jnp.arccos, "atan": jnp.arctan,
    "sinh": jnp.sinh, "cosh": jnp.cosh, "tanh": jnp.tanh, "asinh": jnp.arcsinh, "acosh": jnp.arccosh,
    "atanh": jnp.arctanh, "erf": jax.scipy.special.erf, "erfc": jax.scipy.special.erfc, "abs": jnp.abs,
    "sign": jnp.sign,
    "floor": jnp.floor, "ceil": jnp.ceil, "sigmoid": jax.nn.sigmoid, "relu": jax.nn.relu,
    "atan2": jnp.arctan2, "pow": jnp.power, "max": jnp.maximum, "min": jnp.minimum, "safe": jnp.multiply,
    "pinv": lambda x: jnp.where(x == 0, 0, 1 / jnp.where(x == 0, 1, x)),
    "lgamma": jax.scipy.special.gammaln, "digamma": jax.scipy.special.digamma,
    "trigamma": lambda x: jax.scipy.special.polygamma(1, x), "logaddexp": jnp.logaddexp, "sinc": jnp.sinc,
    "j0": bessel(0), "j1": bessel(1), "i0": jax.scipy.special.i0, "i1": jax.scipy.special.i1,
}  # fmt: skip

DOMAIN = {
    "log": (0.1, 3), "log2": (0.1, 3), "log10": (0.1, 3), "log1p": (-0.9, 3), "sqrt": (0.1, 3),
    "cbrt": (0.1, 3), "asin": (-0.9, 0.9), "acos": (-0.9, 0.9), "acosh": (1.1, 3), "atanh": (-0.9, 0.9),
    "pow": (0.2, 2), "pinv": (0.2, 2), "lgamma": (0.2, 9), "digamma": (0.2, 9), "trigamma": (0.2, 9),
    "j0": (-9, 9), "j1": (-9, 9),
}  # fmt: skip


def test_every_function_has_a_rule_and_a_reference():
    assert set(FUNCTIONS) == set(REFERENCE)
    assert set(FUNCTIONS) <= set(RULES)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_against_jax(name):
    """f, f' and f'' of every operand at random points."""
    reference, count = REFERENCE[name], FUNCTIONS[name].arity
    random = np.random.default_rng(3)
    low, high = DOMAIN.get(name, (-2, 2))
    arrays = [random.uniform(low, high, 40) for _ in range(count)]
    names = "xy"[:count]
    declared = "; ".join(f"{n}: f64[40]" for n in names)
    f = tadc.function(f"{declared}; f[i] = {name}({', '.join(n + '[i]' for n in names)})")
    g = tadc.vjp(f)
    df = random.uniform(-1, 1, 40)
    value, slopes = jax.jit(lambda df, *xs: (reference(*xs), jax.vjp(reference, *xs)[1](df)))(df, *arrays)
    np.testing.assert_allclose(f(*arrays), value, rtol=1e-13, atol=1e-14)
    found = g(*arrays, df)
    found = (found,) if count == 1 else found
    for one, expected in zip(found, slopes, strict=True):
        np.testing.assert_allclose(one, expected, rtol=1e-11, atol=1e-12)
    second(g, reference, arrays, df)


def second(g, reference, arrays, df):
    """The gradients of sum_n <v_n, g_n> for random v."""
    random = np.random.default_rng(4)
    weights = [random.uniform(-1, 1, 40) for _ in arrays]

    def paired(*inputs):
        *points, cotangent = inputs
        gradients = jax.vjp(reference, *points)[1](cotangent)
        return sum(jnp.sum(w * d) for w, d in zip(weights, gradients, strict=True))

    gradients = jax.jit(jax.grad(paired, argnums=tuple(range(len(arrays) + 1))))
    expected = gradients(*arrays, df)
    found = tadc.vjp(g)(*arrays, df, *weights)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-10)


def gradient(expression, x, df=1.0):
    """The gradient of a scalar function at one point."""
    g = tadc.vjp(tadc.function(f"x: f64; f = {expression}"))
    return float(g(np.float64(x), np.float64(df)))


@pytest.mark.parametrize(
    ("expression", "x", "expected"),
    [
        ("abs(x)", 0.0, 0.0),
        ("sign(x)", 0.3, 0.0),
        ("floor(x)", 0.3, 0.0),
        ("ceil(x)", 0.0, 0.0),
        ("relu(x)", 0.0, 0.0),
        ("max(x, 0)", 0.0, 0.5),
        ("min(x, 0)", 0.0, 0.5),
        ("max(x, x)", 0.7, 1.0),
        ("sqrt(x)", 0.0, np.inf),
        ("x**2", -3.0, -6.0),
        ("x**0", 0.0, 0.0),
        ("x**1", 0.0, 1.0),
        ("x**(-1)", 2.0, -0.25),
        ("x**2.5", 0.0, 0.0),
        ("sigmoid(x)", -800.0, 0.0),
        ("select(x > 0, log(x), 0)", 0.0, 0.0),
        ("select(x > 0, log(x), x**2)", -1.0, -2.0),
        ("select(x = 1, x**2, x**3)", 1.0, 2.0),
    ],
)
def test_conventions(expression, x, expected):
    """Points without a derivative, or where a careless rule gives NaN."""
    assert gradient(expression, x) == expected


@pytest.mark.parametrize(
    "expression",
    [
        "sqrt(x)",
        "cbrt(x)",
        "log(x)",
        "log2(x)",
        "log10(x)",
        "asin(1 - x)",
        "1 / x",
        "x**0.5",
        "atan2(x, 0)",
        "x**(-2)",
        "atanh(1 - x)",
        "acosh(1 + x)",
    ],
)
def test_zero_cotangent_times_infinite_partial(expression):
    """0 * inf is 0 in a derivative."""
    assert gradient(expression, 0.0, df=0.0) == 0.0


def test_zero_cotangent_through_an_intermediate():
    """The branch not taken contributes nothing, also where its cotangent is a tensor of zeros."""
    f = tadc.function("x: f64[2]; let y[i] = 1 / x[i]; f[i] = select(x[i] > 0, y[i], 0)")
    found = tadc.vjp(f)(np.array([0.0, 2.0]), np.ones(2))
    np.testing.assert_array_equal(found, [0.0, -0.25])


def test_no_select_where_the_partial_is_finite():
    """Only what the conventions need is printed."""
    for body in (
        "x[i] / (1 + x[i]**2)",
        "sqrt(1 + x[i]**2)",
        "log(2 + exp(x[i]))",
        "1 / 3 * x[i]",
        "x[i]**3",
    ):
        gradient = str(tadc.vjp(tadc.function(f"x: f64[3]; f[i] = {body}")))
        assert "select" not in gradient
        assert "safe" not in gradient


def test_safe_products_do_not_pile_up():
    """However long a chain of infinite partials is: they are for the cotangent from outside."""

    def length(depth):
        text = "x[i]"
        for k in range(depth):
            text = f"sqrt({text} / y[{k}])"
        g = tadc.vjp(tadc.function(f"x: f64[3]; y: f64[12]; f[i] = {text}"), "x")
        return str(g).count("safe(")

    assert length(3) == length(6) == length(12) <= 2
