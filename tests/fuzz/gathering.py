"""Reductions over the lanes of a body, by JAX."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tests.fuzz.forms import Integers


def reduction(kind: str, values: Array, parents: Integers, lanes: int) -> Array:
    """What the values of each parent reduce to; 0 for a parent without values, of a product 1.

    A lane whose parent is `lanes` counts nowhere.
    """
    if kind == "sum":
        return jnp.zeros(lanes).at[parents].add(values, mode="drop")
    rows, present = _rows(parents, lanes)
    gathered = values[rows]
    if kind == "prod":
        return jnp.prod(jnp.where(present, gathered, 1.0), axis=1)
    some = np.asarray(present.any(axis=1))
    if kind == "min":
        return -_maximum(-gathered, present, some)
    highest = _maximum(gathered, present, some)
    if kind == "max":
        return highest
    fixed = jax.lax.stop_gradient(highest)
    total = jnp.where(present, jnp.exp(jnp.where(present, gathered - fixed[:, None], 0.0)), 0.0).sum(axis=1)
    return jnp.where(some, jnp.log(jnp.where(some, total, 1.0)) + fixed, 0.0)


def _rows(parents: Integers, lanes: int) -> tuple[Integers, np.ndarray]:
    """The lanes of every parent side by side, and which of these places hold one."""
    kept = np.flatnonzero(parents < lanes)
    kept = kept[np.argsort(parents[kept], kind="stable")]
    counts = np.bincount(parents[kept], minlength=lanes)
    width = 4
    while width < counts.max(initial=0):
        width *= 2
    first = np.cumsum(counts) - counts
    places = np.arange(len(kept)) - first[parents[kept]]
    rows, present = np.zeros((lanes, width), np.int64), np.zeros((lanes, width), bool)
    rows[parents[kept], places] = kept
    present[parents[kept], places] = True
    return rows, present


def _maximum(values: Array, present: np.ndarray, some: np.ndarray) -> Array:
    """The largest value that is present, 0 where none is; ties share a derivative evenly."""
    return jnp.where(some, jnp.max(jnp.where(present, values, -jnp.inf), axis=1), 0.0)
