"""Which numbers are uncertain, and how they lie in the arrays of a model.

A model is evaluated at one or more points: measurements that do not depend on each other's values. At a
point it has quantities, the uncertain numbers, and outputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Slot:
    """An uncertain input: the shape of its quantities at a point, and where they begin among all."""

    name: str
    shape: tuple[int, ...]
    begin: int
    is_carried: bool  # each point has its own; else one for all points

    @property
    def size(self) -> int:
        """Its number of quantities."""
        return prod(self.shape)

    @property
    def labels(self) -> list[str]:
        """The names of its quantities: `x[0, 1]`."""
        if not self.shape:
            return [self.name]
        return [f"{self.name}[{', '.join(map(str, at))}]" for at in np.ndindex(self.shape)]


@dataclass(frozen=True)
class InputLayout:
    """The uncertain inputs in order, and the shape of the set of points."""

    slots: tuple[Slot, ...]
    points: tuple[int, ...]

    @property
    def size(self) -> int:
        """The number of quantities at a point."""
        return sum(slot.size for slot in self.slots)

    @property
    def labels(self) -> list[str]:
        """The names of the quantities."""
        return [label for slot in self.slots for label in slot.labels]

    def spread(self, slot: Slot, given: Array) -> Array:
        """A number for each element of an input, as an array of quantities, then points.

        Raises ValueError where it does not fit.
        """
        ones = (1,) * len(self.points)
        front = self.points if slot.is_carried and given.ndim else ones
        if slot.is_carried and given.ndim <= len(slot.shape) and given.ndim:
            # What has no axes of points is the same at all of them.
            if given.shape == slot.shape:
                given = given.reshape(ones + slot.shape)
        whole = np.broadcast_to(given, front + slot.shape)
        return whole.reshape(*front, slot.size).transpose(len(front), *range(len(front)))


def layout_of(inputs: list[tuple[str, tuple[int, ...], bool]], points: tuple[int, ...]) -> InputLayout:
    """The layout of inputs: name, shape at a point, whether each point has its own."""
    slots: list[Slot] = []
    begin = 0
    for name, shape, is_carried in inputs:
        slots.append(Slot(name, shape, begin, is_carried))
        begin += slots[-1].size
    return InputLayout(tuple(slots), points)


def plain_number(x: Any) -> Any:
    """Arrays as they are, single numbers as floats."""
    return float(x) if np.ndim(x) == 0 else x
