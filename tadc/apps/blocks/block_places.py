"""Places of a dimension, in order, as blocks read them: a run, or a list; and what an array has there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, overload

import numpy as np

from tadc.apps.blocks.domain_points import Numbers
from tadc.toolkit.language import bytes_of_type


@dataclass(frozen=True)
class PlaceList(Sequence[int]):
    """Some places of a dimension, in order: those that a block reads through index arrays."""

    array: Numbers

    def __len__(self) -> int:
        return len(self.array)

    @overload
    def __getitem__(self, n: int) -> int: ...
    @overload
    def __getitem__(self, n: slice) -> Sequence[int]: ...
    def __getitem__(self, n: int | slice) -> int | Sequence[int]:
        return PlaceList(self.array[n]) if isinstance(n, slice) else int(self.array[n])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PlaceList) and np.array_equal(self.array, other.array)

    def __hash__(self) -> int:
        return hash(self.array.tobytes())


#: Places of a dimension, in order.
Places = range | PlaceList

#: Of each dimension the places.
Box = tuple[Places, ...]


def places_in(found: Numbers) -> Places:
    """The places of an array in order, a run where they are one."""
    if len(found) and found[-1] - found[0] + 1 == len(found):
        return range(int(found[0]), int(found[-1]) + 1)
    return PlaceList(found) if len(found) else range(0)


def moved(places: Places, by: int) -> Places:
    """Places so many farther."""
    if isinstance(places, range):
        return range(places.start + by, places.stop + by)
    return PlaceList(places.array + by)


def within(places: Places, start: int, stop: int) -> Places:
    """Those places that are from a start up to a stop."""
    if isinstance(places, range):
        return range(max(places.start, start), min(places.stop, stop))
    first, last = np.searchsorted(places.array, (start, stop))
    return PlaceList(places.array[first:last])


def subscripts(box: Box) -> tuple[Any, ...]:
    """A box as NumPy takes it: of each dimension a slice, or an array of places."""
    return tuple(p.array if isinstance(p, PlaceList) else slice(p.start, p.stop) for p in box)


def cut(array: Any, box: Box) -> Any:
    """What an array has in a box, as an array of NumPy: a view where all places are runs."""
    hull = tuple(slice(p[0], p[-1] + 1) if p else slice(0, 0) for p in box)
    found = np.asarray(array[hull])
    for d, places in enumerate(box):
        if isinstance(places, PlaceList):
            found = np.take(found, places.array - places[0], d)
    return found


def bytes_of(box: Box, type: str) -> int:
    """What a box takes in memory."""
    return prod(map(len, box)) * bytes_of_type(type)
