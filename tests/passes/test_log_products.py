"""Products of exponentials in log-domain sums: with fallbacks where these are out of range."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.special import logsumexp

import tadc
from tadc.passes.terms.fallbacks import LOGS, POWERS

Arrays = list[np.ndarray[Any, Any]]


def steps(z: jax.Array, a: jax.Array, e: jax.Array) -> jax.Array:
    for t in range(9):
        z = e[t] + logsumexp(z[:, None] + a, axis=0)
    return z


#: Programs, the shapes of their arguments, and the same in JAX.
CASES: dict[str, tuple[str, list[tuple[int, ...]], Callable[..., jax.Array]]] = {
    "product": (
        "u: T[24, 20]; v: T[20, 18]\nf[i, j] = logsumexp{r} (u[i, r] + v[r, j])",
        [(24, 20), (20, 18)],
        lambda u, v: logsumexp(u[:, :, None] + v, axis=1),
    ),
    "groups of several": (
        "u: T[24, 20]; v: T[20, 18]; w: T[20]; c: T[24, 18]\n"
        "f[i, j] = logsumexp{r} (c[i, j] - (w[r] - u[i, r]) + v[r, j])",
        [(24, 20), (20, 18), (20,), (24, 18)],
        lambda u, v, w, c: logsumexp(c[:, None] - (w[:, None] - u[:, :, None]) + v, axis=1),
    ),
    "steps": (
        "z: T[24]; a: T[24, 24]; e: T[9, 24]\n"
        "let scan{t} x[t: 10, s: 24] = if {t = 0} then (z[s]) "
        "else (e[t - 1, s] + logsumexp{r} (x[t - 1, r] + a[r, s]))\n"
        "f[s] = x[9, s]",
        [(24,), (24, 24), (9, 24)],
        steps,
    ),
    "weights": (
        "u: T[24, 20]; v: T[20, 18]; w: T[24, 18]; c: T[24, 18]\n"
        "f[i, r] = sum{j} (c[i, j] * exp(u[i, r] + v[r, j] - w[i, j]))",
        [(24, 20), (20, 18), (24, 18), (24, 18)],
        lambda u, v, w, c: jnp.einsum("ij,irj->ir", c, jnp.exp(u[:, :, None] + v - w[:, None])),
    ),
    "chosen weights": (
        "u: T[24, 20]; v: T[20, 18]; c: T[24, 18]\n"
        "f[i, r] = sum{j} (select(c[i, j] > 0, c[i, j] * exp(u[i, r] + v[r, j]), 0))",
        [(24, 20), (20, 18), (24, 18)],
        lambda u, v, c: jnp.where(c[:, None] > 0, c[:, None] * jnp.exp(u[:, :, None] + v), 0).sum(2),
    ),
}


#: Programs without such products, or with too few terms for them.
KEPT = [
    "u: f64[24, 20]; v: f64[20, 18]\nf[i, j] = max{r} (u[i, r] + v[r, j])",
    "u: f64[240, 20]; v: f64[20, 2]\nf[i, j] = logsumexp{r} (u[i, r] + v[r, j])",
    "u: f64[24, 20]; v: f64[20]\nf[i] = logsumexp{r} (u[i, r] + v[r])",
    "u: f64[24, 24]; v: f64[24, 24]\nf[i, j] = logsumexp{r}_0^i (u[i, r] + v[r, j])",
    "u: f64[24, 20]; v: f64[20, 18]\nf[i, j] = sum{r} (sqrt(exp(u[i, r] + v[r, j]) + 1))",
    "z: f64[8]; a: f64[8, 8]\nlet scan{t} x[t: 90, s: 8] = if {t = 0} then (z[s]) "
    "else (logsumexp{r} (x[t - 1, r] + a[r, s]))\nf[s] = x[89, s]",
    "u: f64[12, 20]; v: f64[20, 16]\nf[i, j] = logsumexp{r} (u[i, r] + v[r, j])",
]


def has_products(f: tadc.Function) -> bool:
    """Whether there are choices with the term as it is written."""
    text = f.lower().as_text("hoist")
    return any(f"constant {limit}" in text for limit in (LOGS["f64"], POWERS["f64"]))


@pytest.mark.parametrize("text", [text.replace("T[", "f64[") for text, *_ in CASES.values()])
def test_values_and_gradients_have_products(text: str) -> None:
    f = tadc.function(text)
    assert has_products(f)
    assert has_products(tadc.vjp(f))


@pytest.mark.parametrize("text", KEPT)
def test_what_stays_as_it_is_written(text: str) -> None:
    assert not has_products(tadc.function(text))


def written(arrays: Arrays, large: float) -> Iterator[Arrays]:
    """Arguments whose exponentials are in range, and others: too large or too small, infinite, NaN."""

    def changed(**values: float) -> Arrays:
        made = [array.copy() for array in arrays]
        for place, value in values.items():
            array, at = made[int(place[1])], place[3:]
            array[{"row": 3, "column": (..., 2), "all": ..., "one": (-1,) * array.ndim}[at]] = value
        return made

    yield arrays
    yield [large * array for array in arrays]
    yield [array + 2000 * (-1) ** n for n, array in enumerate(arrays)]
    for value in (np.inf, -np.inf, np.nan, -1e35):
        for at in ("row", "column", "all", "one"):
            for n in range(len(arrays)):
                yield changed(**{f"a{n}_{at}": value})
    yield changed(a0_row=np.inf, a1_column=-np.inf)
    yield changed(a0_one=-np.inf, a1_row=np.inf)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(("type", "exact"), [("f64", 1e-14), ("f32", 4e-6)])
def test_values_and_gradients(name: str, type: str, exact: float) -> None:
    text, shapes, reference = CASES[name]
    random = np.random.default_rng(1)
    f = tadc.function(text.replace("T[", f"{type}["))
    g, dtype = tadc.vjp(f), np.dtype(type.replace("f", "float"))
    value, gradient = tadc.compile(f), tadc.compile(g)
    large = 300 if "logsumexp" in text else 100 if type == "f64" else 10
    with jax.enable_x64(True), np.errstate(all="ignore"):
        for n, arrays in enumerate(written([random.normal(size=shape) for shape in shapes], large)):
            arrays = [array.astype(dtype) for array in arrays]
            wide = [array.astype("f8") for array in arrays]
            wanted, pull = jax.vjp(reference, *wide)
            ordinary = (np.abs(array[np.abs(array) < 1e30]).max(initial=1) for array in wide)
            _close(value(*arrays), wanted, exact * max(ordinary))
            if n == 0 or (n == 1 and large == 300):
                df = random.normal(size=wanted.shape).astype(dtype)
                for made, known in zip(gradient(*arrays, df), pull(df.astype("f8")), strict=True):
                    _close(made, known, 8 * exact * large**n)


def _close(made: Any, wanted: Any, error: float) -> None:
    """Check that numbers differ by so much of the largest one at most, and others not at all."""
    wanted = np.asarray(wanted)
    is_finite = np.isfinite(wanted)
    np.testing.assert_array_equal(made[~is_finite], wanted[~is_finite])
    largest = np.abs(wanted[is_finite]).max(initial=1)
    np.testing.assert_allclose(made[is_finite], wanted[is_finite], rtol=0, atol=error * largest)


def test_gradients_store_no_exponential_of_all_indices() -> None:
    f = tadc.function(CASES["product"][0].replace("T[", "f64["))
    text = tadc.vjp(f).lower().as_text("hoist")
    assert "tensor<24x20x18" not in text
    assert "tensor<24x18x20" not in text
