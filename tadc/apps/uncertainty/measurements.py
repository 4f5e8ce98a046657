"""Measurements one by one: the values of each, and its uncertain numbers in their places."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tadc.apps.uncertainty.inputs import GivenInputs
from tadc.apps.uncertainty.models import Model
from tadc.apps.uncertainty.stacking import Stacked, stacked
from tadc.apps.uncertainty.uncertain_numbers import Array, InputLayout


@dataclass(frozen=True)
class Measurement:
    """One measurement: its values, and its uncertain numbers in their places."""

    values: dict[str, Any]
    layout: InputLayout
    stacked: Stacked

    @property
    def vector(self) -> Array:
        """The values of all quantities."""
        parts = [np.ravel(np.asarray(self.values[slot.name], float)) for slot in self.layout.slots]
        return np.concatenate(parts) if parts else np.zeros(0)

    def by_name(self, vectors: Array) -> dict[str, Array]:
        """One vector of all quantities, or several, as arrays of the inputs."""
        front = vectors.shape[:-1]
        return {
            slot.name: vectors[..., slot.begin : slot.begin + slot.size].reshape(front + slot.shape)
            for slot in self.layout.slots
        }


def measurements(model: Model, given: GivenInputs) -> Iterator[Measurement]:
    """All of them, in order. Raises ArgumentError where what is given does not fit."""
    points = model.points(given.values)
    ranks = {name: len(model.shape(name, given.values)) for name in given.values}
    for at in np.ndindex(points):
        one = _at(given, ranks, points, at) if points else given
        layout = model.layout(one.values, one.names, whole=True)
        yield Measurement(one.values, layout, stacked(one, layout, True))


def _at(
    given: GivenInputs, ranks: Mapping[str, int], points: tuple[int, ...], at: tuple[int, ...]
) -> GivenInputs:
    """What is given of one measurement, of inputs of these ranks."""

    def here(name: str, x: Any) -> Any:
        if np.ndim(x) <= ranks[name]:
            return x
        return np.broadcast_to(x, points + np.shape(x)[np.ndim(x) - ranks[name] :])[at]

    values = {name: here(name, x) for name, x in given.values.items()}
    u = {name: np.asarray(here(name, x)) for name, x in given.u.items()}
    pairs = {
        (a, b): x[at] if x.shape[: len(points)] == points and not ranks[a] + ranks[b] else x
        for (a, b), x in given.correlations.items()
    }
    dof = {name: np.asarray(here(name, x)) for name, x in given.dof.items()}
    return GivenInputs(values, u, pairs, dof, given.ensembles)
