"""Sums whose bounds move with an element count from its first value, where they have no others."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tadc

UPSAMPLED = """x: f64[2, 3, H, W]; w: f64[3, 5, S, T]
y[b, o, i: S*H, j: T*W] = sum{c} (x[b, c, i//S, j//T]*w[c, o, i%S, j%T])"""


@pytest.mark.parametrize(("height", "width", "down", "right"), [(8, 8, 2, 2), (5, 21, 3, 2), (9, 4, 1, 4)])
def test_gradients_of_strided_reads(height: int, width: int, down: int, right: int) -> None:
    text = UPSAMPLED
    for name, size in {"H": height, "W": width, "S": down, "T": right}.items():
        text = text.replace(name, str(size))
    f = tadc.function(text)
    g = tadc.value_and_vjp(f)
    draw = np.random.default_rng(0)
    x, w = draw.standard_normal((2, 3, height, width)), draw.standard_normal((3, 5, down, right))
    dy = draw.standard_normal((2, 5, down * height, right * width))

    def upsampled(x: jax.Array, w: jax.Array) -> jax.Array:
        return jnp.einsum("bchw,cors->bohrws", x, w).reshape(dy.shape)

    with jax.enable_x64(True):
        y, pull = jax.vjp(upsampled, jnp.asarray(x), jnp.asarray(w))
        expected = (y, *pull(jnp.asarray(dy)))
        found = g(x=x, w=w, dy=dy)
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=1e-12, atol=1e-12)


def test_operands_of_strided_gradients_are_packed() -> None:
    text = "x: f32[2, 64, 32, 32]; w: f32[64, 32, 2, 2]\n"
    text += "y[b, o, i: 64, j: 64] = sum{c} (x[b, c, i//2, j//2]*w[c, o, i%2, j%2])"
    steps = tadc.vjp(tadc.function(text), wrt="x").lower("cpu:x86-64-v3").schedule
    assert "stage" in steps
    assert "shift" not in steps


def test_indices_with_edges_keep_their_bounds() -> None:
    f = tadc.function("x: f64[9]; y[i: 20] = sum{j}_(max [0; i - 3])^(min [8; i]) (x[j])")
    assert "i - 3" in f.lower().as_text("nest")
    x = np.arange(9.0)
    expected = [x[max(0, i - 3) : i + 1].sum() for i in range(20)]
    np.testing.assert_allclose(f(x), expected, rtol=1e-15)
