"""First-order propagation: JCGM 100 (GUM), equations 10, 13, 16 and G.2b.

A contribution d is a sensitivity c times a standard uncertainty u, both summed over all reads of a quantity
before anything is squared; then u(y)**2 = sum over k, l of d_k r_kl d_l.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from tadc.apps.uncertainty.stacking import Stacked
from tadc.apps.uncertainty.uncertain_numbers import Array


def contributions(slopes: Mapping[str, Any], u: Array) -> dict[str, Array]:
    """`c * u` by output: quantities, points, output. What has no uncertainty contributes nothing."""
    found: dict[str, Array] = {}
    certain = not u.all()
    for name, slope in slopes.items():
        wide = u.reshape(*u.shape, *[1] * (slope.ndim - u.ndim))
        with np.errstate(invalid="ignore"):
            product = slope * wide
        # An infinite slope times no uncertainty.
        found[name] = np.where(wide == 0, 0.0, product) if certain else product
    return found


def related(d: Array, r: Array | None, points: int) -> Array:
    """`sum over l of r_kl d_l`."""
    if r is None:
        return d
    if r.ndim == 2:
        return np.tensordot(r, d, axes=1)
    wide = r.reshape(*r.shape, *[1] * (d.ndim - 1 - points))
    return np.einsum("kl...,l...->k...", wide, d)


def variance(d: Array, r: Array | None, points: int) -> Array:
    """The variance of outputs from their contributions; never negative."""
    return np.maximum(np.einsum("k...,k...->...", d, related(d, r, points)), 0.0)


def covariance(d: Mapping[str, Array], r: Array | None, points: int) -> Array:
    """The covariances of all outputs, in order, at each point: points, output, output."""
    rows = [x.reshape(*x.shape[: points + 1], -1) for x in d.values()]
    flat = np.concatenate(rows, axis=-1)
    return np.einsum("k...i,k...j->...ij", flat, related(flat, r, points))


def degrees_of_freedom(d: Array, given: Stacked, points: int) -> Array:
    """Welch-Satterthwaite (GUM G.2b), correlated quantities of equal numbers counted as one.

    R. Willink, Metrologia 44 (2007) 340, result 2. NaN where correlations join quantities of other numbers of
    degrees of freedom; infinite where no number is finite, and where nothing contributes.
    """
    shape = d.shape[1:]
    if not given.groups:
        return np.full(shape, math.inf)
    total = variance(d, given.r, points)
    weighted = np.zeros(shape)
    for group in given.groups:
        members = list(group)
        part = d[members]
        r = None if given.r is None else given.r[np.ix_(members, members)]
        nu = np.asarray(given.dof[members[0]])
        weighted += variance(part, r, points) ** 2 / nu.reshape(nu.shape + (1,) * (part.ndim - 1 - points))
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(weighted > 0, total**2 / weighted, math.inf)
    for k, m in given.undefined:
        found = np.where((d[k] != 0) & (d[m] != 0), math.nan, found)
    return found
