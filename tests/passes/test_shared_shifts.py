"""Values that are read at several shifts are computed once for each place, guards or not."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tadc

VARIATION = """u: f64[N, M]
f = sum{i: N - 1, j: M - 1} (sqrt((u[i + 1, j] - u[i, j])**2 + (u[i, j + 1] - u[i, j])**2 + 1e-3))"""


def variation(u: jax.Array) -> jax.Array:
    return jnp.sqrt((u[1:, :-1] - u[:-1, :-1]) ** 2 + (u[:-1, 1:] - u[:-1, :-1]) ** 2 + 1e-3).sum()


@pytest.mark.parametrize("shape", [(2, 2), (7, 5), (40, 33)])
@pytest.mark.parametrize("known", [True, False])
def test_variation(shape: tuple[int, int], known: bool) -> None:
    u = np.random.default_rng(0).normal(size=shape)
    f = tadc.function(VARIATION, sizes=dict(zip("NM", shape, strict=True)) if known else {})
    value, slope = tadc.value_and_grad(f)(u)
    expected, other = jax.value_and_grad(variation)(jnp.asarray(u))
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    np.testing.assert_allclose(slope, other, rtol=1e-10, atol=1e-12)


def test_one_root_for_a_place() -> None:
    f = tadc.value_and_grad(tadc.function(VARIATION, sizes={"N": 500, "M": 400}))
    assert f.lower().as_text("hoist").count("math.sqrt") == 1


def test_order_of_dimensions() -> None:
    """A tensor of coordinates lies in memory as the loops around it go, however its operands are written."""
    f = tadc.function("a: f32[90, 80]; b: f32[80]; f[i] = log(sum{j} (exp(b[j] - a[i, j])))")
    hoist = tadc.value_and_vjp(f).lower().as_text("hoist")
    assert "tensor<90x80xf32> {" in hoist
    assert "tensor<80x90xf32>" not in hoist
