"""Derivatives with respect to some arguments, and what their texts and reads must hold."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

import tadc
from tests.reference.autodiff import Tensors
from tests.reference.checking import check

PAPER = """
a: f64[3, 5]
b: f64[4, 5]
c: f64[3, 3]
d: f64[8]
f[i, j] = exp(-sum{k}_0^4 ((a[i, k] + b[j, k])**2 * c[i, i] + d[i + k]**3))
"""


def paper(values: Tensors) -> dict[str, Array]:
    """The paper's example."""
    i, j, k = np.indices((3, 4, 5))
    a, b, c, d = (values[name] for name in "abcd")
    return {"f": jnp.exp(-((a[i, k] + b[j, k]) ** 2 * c[i, i] + d[i + k] ** 3).sum(axis=2))}


def random(**shapes: tuple[int, ...]) -> dict[str, np.ndarray]:
    """Arrays with elements in (-1, 1)."""
    rng = np.random.default_rng(3)
    return {name: rng.uniform(-1, 1, shape) for name, shape in shapes.items()}


@pytest.mark.parametrize("wrt", ["d", ("b", "d"), ("d", "a")])
def test_with_respect_to_some(wrt: str | tuple[str, ...]) -> None:
    """Only the gradients asked for, in the order asked."""
    inputs = random(a=(3, 5), b=(4, 5), c=(3, 3), d=(8,))
    check(PAPER, paper, inputs, order=1, wrt=wrt)
    g = tadc.vjp(tadc.function(PAPER), wrt=wrt)
    assert tuple(g.outputs) == tuple(f"d{name}" for name in wrt)


def test_third_order_of_one_argument() -> None:
    """Each order's names are its own."""

    def reference(values: Tensors) -> dict[str, Array]:
        x = values["x"]
        i, j = np.indices((3, 3))
        return {"f": x[i + j] ** 4 * values["y"][i] + jnp.sin(x[2 * i]) * x[0]}

    program = "x: f64[6]\ny: f64[3]\nf[i, j: 3] = x[i+j]**4 * y[i] + sin(x[2*i]) * x[0]"
    check(program, reference, random(x=(6,), y=(3,)), order=3, wrt="x", reprinted=3)


def test_strides_are_checked_over_the_integers() -> None:
    """Equation 46 of the paper drops this condition."""
    g = tadc.vjp(tadc.function("x: f64[6]\nf[i: 3, j: 5] = x[2*i]"))
    df = random(df=(3, 5))["df"]
    expected = np.zeros(6)
    expected[::2] = df.sum(axis=1)
    np.testing.assert_allclose(g(x=np.ones(6), df=df), expected, rtol=1e-14)


def test_a_full_rank_map_needs_its_range() -> None:
    """Elements that are never read get a zero gradient."""
    g = tadc.vjp(tadc.function("x: f64[10]\nf[i: 7] = x[i+2]"))
    df = random(df=(7,))["df"]
    np.testing.assert_array_equal(g(x=np.ones(10), df=df), [0, 0, *df, 0])


def test_value_and_vjp() -> None:
    """Value and gradients of one unit are those of two."""
    f = tadc.function(PAPER)
    arrays = random(a=(3, 5), b=(4, 5), c=(3, 3), d=(8,), df=(3, 4))
    both = tadc.value_and_vjp(f)(**arrays)
    cotangent = arrays.pop("df")
    np.testing.assert_allclose(both.f, f(**arrays), rtol=1e-14)
    apart = tadc.vjp(f)(**arrays, df=cotangent)
    for name in ("da", "db", "dc", "dd"):
        np.testing.assert_allclose(getattr(both, name), getattr(apart, name), rtol=1e-13)
