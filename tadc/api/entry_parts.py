"""Where the numbers of lists are added that are computed some rows at a time, in parts of the rows.

Threads take parts of the rows, whose number depends on nothing but sizes. A value of the matrix belongs to
the first part that adds to it; what another part adds to it is summed up for itself, and added after all
parts, in their order. So no two threads write to one number, and the order of each sum is always the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from tadc.backend.runtime.added_blocks import BlockKernel, Runs
from tadc.backend.runtime.added_entries import add_to
from tadc.backend.runtime.inspector import INDEX
from tadc.backend.runtime.new_arrays import new_array
from tadc.lattice.late_dataclasses import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

#: A part adds so many numbers, where there are.
PART = 1 << 18

MOST_PARTS = 64


@dataclass(frozen=True)
class EntryParts:
    """The runs of all lists, how many sums there are, and which of these are for others, in order."""

    runs: Runs
    count: int
    others: Array

    @staticmethod
    def of(slots: Sequence[Array], places: Sequence[int], count: int, rows: int) -> EntryParts:
        """The parts of lists: of each the slot of each number, rows first, and its place in the memory of a
        block of so many rows, in elements. There are `count` slots."""
        total = slots[0].shape[0]
        numbers = sum(own.size for own in slots)
        parts = max(1, min(MOST_PARTS, numbers // PART, total // rows))
        blocks = -(-total // rows)
        starts = np.array([min(total, rows * (blocks * n // parts)) for n in range(parts + 1)], np.int64)
        apart = [own.copy() for own in slots]
        others = _taken_apart(apart, starts, count)
        return EntryParts(_runs(apart, places, rows, starts), count, others)

    def sums(self, kernel: BlockKernel, inputs: dict[str, Array]) -> Array:
        """What all rows add up to at each slot."""
        (dtype,) = kernel.dtypes
        size = self.count + self.others.size
        made: Array = new_array((size,), dtype, size * dtype.itemsize)
        made.fill(0)
        work = int(self.runs.slots.size * self.runs.length)
        kernel.add(inputs, self.runs, made, 16 * work)
        add_to(made, made[self.count :], self.others)
        return made[: self.count]


def _taken_apart(slots: Sequence[Array], starts: Array, count: int) -> Array:
    """Give each part slots of its own for those that belong to another one; which those are of."""
    ranges = list(pairwise(starts))
    first = np.zeros(count, np.int32)
    for part, (begin, end) in reversed(list(enumerate(ranges))):
        for own in slots:
            first[own[begin:end]] = part
    found, used = [np.zeros(0, INDEX)], count
    place = np.arange(count, dtype=INDEX)
    for part, (begin, end) in enumerate(ranges):
        others = np.unique(np.concatenate([_of_others(own[begin:end], first, part) for own in slots]))
        place[others] = np.arange(used, used + others.size, dtype=INDEX)
        for own in slots:
            own[begin:end] = place[own[begin:end]]
        place[others] = others
        found.append(others)
        used += others.size
    return np.concatenate(found)


def _of_others(slots: Array, first: Array, part: int) -> Array:
    """The slots among some that belong to parts before one."""
    return slots[first[slots] < part].astype(INDEX)


def _runs(slots: Sequence[Array], places: Sequence[int], rows: int, starts: Array) -> Runs:
    """Numbers whose slots are side by side in every row, as many for all lists."""
    axes = [_axis(own) for own in slots]
    length = math.gcd(*(own.shape[axis] if axis else 1 for own, axis in zip(slots, axes, strict=True)))
    found: list[tuple[int, int]] = []
    firsts: list[Array] = []
    for own, axis, place in zip(slots, axes, places, strict=True):
        numbers = np.arange(math.prod(own.shape[1:])).reshape(own.shape[1:])
        step = math.prod(own.shape[axis + 1 :]) if axis else 1
        chosen = (slice(None),) * (axis - 1) + (slice(None, None, length),) if axis else ()
        first = numbers[chosen].reshape(-1)
        found += [(place + int(number) * rows, step * rows) for number in first]
        firsts.append(own.reshape(own.shape[0], -1)[:, first])
    joined = np.ascontiguousarray(np.concatenate(firsts, 1), INDEX)
    return Runs(starts, joined, tuple(found), length)


def _axis(slots: Array) -> int:
    """The longest axis along which slots are side by side in every row; 0 for none."""
    found = [
        n for n in range(1, slots.ndim) if slots.shape[n] > 1 and bool((np.diff(slots, axis=n) == 1).all())
    ]
    return max(found, key=lambda n: slots.shape[n], default=0)
