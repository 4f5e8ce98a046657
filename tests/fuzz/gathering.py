"""Reductions over the lanes of a body, by JAX."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from tests.fuzz.forms import Integers

#: Of nothing, where it is neither 0 nor 1.
EMPTY = {"max": -np.inf, "min": np.inf, "logsumexp": -np.inf}


def reduction(kind: str, values: Array, parents: Integers, active: NDArray[np.bool_]) -> Array:
    """What the values of each parent reduce to: of an active parent without values, what the language says.

    A lane whose parent is the number of parents counts nowhere. What no active parent has is 0 or 1, so that
    derivatives of what is not evaluated stay finite.
    """
    lanes = len(active)
    if kind == "sum":
        return jnp.zeros(lanes).at[parents].add(values, mode="drop")
    rows, present = rows_of(parents, lanes)
    gathered = values[rows]
    if kind == "prod":
        return jnp.prod(jnp.where(present, gathered, 1.0), axis=1)
    some = np.asarray(present.any(axis=1))
    empty = np.where(active, EMPTY[kind], 0.0)
    if kind == "min":
        return jnp.where(some, -_maximum(-gathered, present, some), empty)
    highest = _maximum(gathered, present, some)
    if kind == "max":
        return jnp.where(some, highest, empty)
    fixed = jax.lax.stop_gradient(highest)
    total = jnp.where(present, jnp.exp(jnp.where(present, gathered - fixed[:, None], 0.0)), 0.0).sum(axis=1)
    return jnp.where(some, jnp.log(jnp.where(some, total, 1.0)) + fixed, empty)


def rows_of(parents: Integers, lanes: int) -> tuple[Integers, np.ndarray]:
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
