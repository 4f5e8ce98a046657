"""Recurrences along diagonals, stored by their order: what they read more than once is stored so too."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tadc
from tadc.compiler.all_stages import compile_until
from tadc.compiler.compile_options import Options
from tadc.compiler.stages import Compilation
from tadc.frontend.source import Source
from tadc.passes.rewrites.wavefronts import skew_recurrences

ALIGNMENT = """s: f64[N, M]; g: f64
let scan{i + j} h[i: N, j: M] = max(0, max(s[i, j] + if {i >= 1 and j >= 1} then (h[i - 1, j - 1]) else (0),
    max(if {i >= 1} then (h[i - 1, j]) else (0), if {j >= 1} then (h[i, j - 1]) else (0)) - abs(g)))
f = sum{i, j} (h[i, j]**2)
"""


def alignment(s: jax.Array, g: jax.Array) -> jax.Array:
    """Row by row, cell by cell."""
    rows, columns = s.shape
    h = [[jnp.zeros(())] * (columns + 1) for _ in range(rows + 1)]
    for i in range(rows):
        for j in range(columns):
            side = jnp.maximum(h[i][j + 1], h[i + 1][j]) - abs(g)
            h[i + 1][j + 1] = jnp.maximum(0, jnp.maximum(s[i, j] + h[i][j], side))
    return sum((cell**2 for row in h[1:] for cell in row[1:]), jnp.zeros(()))


@pytest.mark.parametrize("shape", [(9, 12)])
@pytest.mark.parametrize("known", [True, False])
def test_gradients_of_a_table(shape: tuple[int, int], known: bool) -> None:
    random = np.random.default_rng(0)
    s, g = random.normal(size=shape), np.float64(0.3)
    f = tadc.value_and_vjp(tadc.function(ALIGNMENT))
    f = f.at({"N": shape[0], "M": shape[1]}) if known else f
    expected, pull = jax.vjp(alignment, jnp.asarray(s), jnp.asarray(g))
    for found, other in zip(f(s=s, g=g, df=1.0), (expected, *pull(jnp.ones(()))), strict=True):
        np.testing.assert_allclose(found, other, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("size", [64, 128])
def test_rows_of_any_number_of_bytes(size: int) -> None:
    """Rows of few sets of a cache are longer; sizes that are not known are as they are: the same bits."""
    random = np.random.default_rng(0)
    s = random.normal(size=(size, size))
    f = tadc.value_and_vjp(tadc.function(ALIGNMENT))
    for found, other in zip(
        f.at({"N": size, "M": size})(s=s, g=0.3, df=1.0), f(s=s, g=0.3, df=1.0), strict=True
    ):
        np.testing.assert_allclose(found, other, rtol=1e-12, atol=1e-12)


def shapes(text: str, mode: str = "vjp") -> dict[str, tuple[int, ...]]:
    """The tensors of a gradient that are stored by wavefronts."""
    state = Compilation(Options(mode), Source(text, "<test>"))
    compile_until(state, "hoist")
    assert state.form is not None
    made = skew_recurrences(state.form).definitions
    return {d.name: tuple(map(int, map(str, d.shape))) for d in made if d.shape and str(d.shape[0]) == "31"}


def test_what_is_stored_by_wavefronts() -> None:
    """The scores, which both recurrences read, once; rows of 128 bytes as they are."""
    text = ALIGNMENT.replace("N", "16").replace("M", "16")
    found = shapes(text)
    assert set(found.values()) == {(31, 16)}
    assert [name.split("_")[0] for name in found] == ["s", "h", "dh", "ds"]


def test_values_beside_a_table_are_stored_once() -> None:
    """Of neighbours too; what stands by one order is read so by tables of the other, without a copy."""
    text = """s: f64[N, N]
    let scan{i + j} r[i: N, j: N] = s[i, j] + tanh(if {i >= 1} then (r[i - 1, j]) else (0)
        + if {j >= 1} then (r[i, j - 1]) else (0))
    let e[i: N, j: N] = exp(if {j >= 1} then (r[i, j - 1]) else (0)) - r[i, j]
    let scan{-i - j} b[i: N, j: N] = (e[i, j] * (if {i < N - 1} then (b[i + 1, j]) else (1))
        + e[i, j] * (if {j < N - 1} then (b[i, j + 1]) else (0)))
    let scan{i + j} c[i: N, j: N] = (e[i, j] * (if {i >= 1} then (c[i - 1, j]) else (1))
        + b[i, j] * (if {j >= 1} then (c[i, j - 1]) else (0)))
    f[j] = c[N - 1, j]""".replace("N", "16")
    found = [name.split("_")[0] for name in shapes(text, "value")]
    assert sorted(found) == ["b", "c", "e", "r"]
