"""Iteration domains, point by point."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tests.fuzz.forms import Form, Integers, Relation
from tests.fuzz.tree import Sum


@dataclass(frozen=True)
class Lanes:
    """Points: the value of every index in every lane, and which lanes are points at all."""

    count: int
    env: Mapping[str, Integers]
    active: NDArray[np.bool_]

    def form(self, form: Form) -> Integers:
        """The value of a form in every lane."""
        return form.at(self.env, np.zeros(self.count, np.int64))

    def where(self, conditions: Sequence[Relation]) -> NDArray[np.bool_]:
        """The active lanes in which all of the conditions hold."""
        holds = self.active.copy()
        for condition in conditions:
            holds &= condition.holds(self.env, np.zeros(self.count, np.int64))
        return holds

    def only(self, lanes: NDArray[np.bool_]) -> Lanes:
        """The same lanes, of which only these are active."""
        return replace(self, active=lanes)


def padded(count: int) -> int:
    """The number of lanes for so many points: few numbers, so that XLA compiles few kernels."""
    lanes = 16
    while lanes < count:
        lanes *= 4
    return lanes


def box(names: Sequence[str], shape: Sequence[int]) -> Lanes:
    """All points of an index space, in row-major order."""
    count = math.prod(shape)
    points = np.indices(shape).reshape(len(shape), count)
    return _pad(dict(zip(names, points, strict=True)), count)


def below(lanes: Lanes, node: Sum) -> tuple[Lanes, Integers]:
    """The points of a sum's body, and the lane of the sum to which each adds.

    A lane that is no point adds to the lane after the last one.
    """
    lower = np.max([lanes.form(f) for f in node.lower], axis=0)
    upper = np.min([lanes.form(f) for f in node.upper], axis=0)
    trips = np.where(lanes.active, np.maximum(upper - lower + 1, 0), 0)
    parents = np.repeat(np.arange(lanes.count), trips)
    first = np.cumsum(trips) - trips
    index = np.arange(len(parents)) - first[parents] + lower[parents]
    env = {name: values[parents] for name, values in lanes.env.items()} | {node.name: index}
    inner = _pad(env, len(parents))
    padding = np.full(inner.count - len(parents), lanes.count)
    inner = inner.only(inner.where(node.where))
    return inner, np.where(inner.active, np.concatenate([parents, padding]), lanes.count)


def _pad(env: dict[str, Integers], count: int) -> Lanes:
    lanes = padded(count)
    wide = {name: np.pad(values, (0, lanes - count)) for name, values in env.items()}
    return Lanes(lanes, wide, np.arange(lanes) < count)
