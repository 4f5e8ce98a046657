"""Distributions propagated by samples: JCGM 101 (GUM supplement 1)."""

from __future__ import annotations

import math
from math import erf, prod

import numpy as np

from tadc.apps.uncertainty.input_errors import raise_all
from tadc.apps.uncertainty.inputs import GivenInputs
from tadc.apps.uncertainty.measurements import Measurement, measurements
from tadc.apps.uncertainty.models import Model
from tadc.apps.uncertainty.stacking import Stacked
from tadc.apps.uncertainty.uncertain_numbers import Array
from tadc.toolkit.reporting import Diagnostic

#: So many numbers are drawn at once.
_BLOCK = 1 << 22
#: So many bytes of results are kept.
_LIMIT = 1 << 32


def draw(given: Stacked, samples: int, random: np.random.Generator) -> Array:
    """Deviations of the quantities: samples, quantities.

    Normal, or where the degrees of freedom are finite a scaled and shifted t (JCGM 101, 6.4.9); quantities
    that are correlated, or observed together, have a joint one. Raises ArgumentError (TAD0909) where
    correlations leave none.
    """
    size = len(given.dof)
    if given.undefined:
        message = "correlated inputs with different degrees of freedom have no joint distribution"
        raise_all([Diagnostic("TAD0909", message, helps=["leave `dof` out, or give these inputs the same"])])
    z = random.standard_normal((samples, size))
    if given.r is not None:
        values, vectors = np.linalg.eigh(given.r.reshape(size, size))
        z = z @ (vectors * np.sqrt(np.maximum(values, 0))).T
    for group in given.groups:
        nu = float(given.dof[group[0]].item())
        z[:, list(group)] *= np.sqrt(nu / random.chisquare(nu, (samples, 1)))
    return z * given.u.reshape(1, size)


def simulate(
    model: Model, given: GivenInputs, samples: int, random: np.random.Generator
) -> list[dict[str, Array]]:
    """Samples of the outputs at each measurement."""
    return [_samples(model, one, samples, random) for one in measurements(model, given)]


def _samples(model: Model, one: Measurement, samples: int, random: np.random.Generator) -> dict[str, Array]:
    found: dict[str, list[Array]] = {}
    block = max(1, min(samples, _BLOCK // max(1, one.layout.size)))
    for begin in range(0, samples, block):
        drawn = draw(one.stacked, min(block, samples - begin), random)
        for name, y in model.samples(one.values, one.by_name(one.vector + drawn)).items():
            found.setdefault(name, []).append(y)
            if begin == 0 and prod(y.shape[1:]) * samples * 8 > _LIMIT:
                message = f"{samples} samples of `{name}` do not fit into memory"
                raise_all([Diagnostic("TAD0506", message, helps=["take fewer `samples`"])])
    return {name: np.concatenate(parts) for name, parts in found.items()}


def coverage(samples: Array, k: float) -> tuple[Array, Array]:
    """The probabilistically symmetric interval (JCGM 101, 7.7) of the probability of k normal deviations."""
    p = erf(k / math.sqrt(2))
    low, high = np.quantile(samples, [(1 - p) / 2, (1 + p) / 2], axis=0)
    return low, high
