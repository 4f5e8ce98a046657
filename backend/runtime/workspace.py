"""Where tensors in between stand in memory: those that are in use at different times share it.

The maps of a kernel run one after the other, each done before the next begins on any thread. So a tensor
needs its memory from the map that computes it to the last that reads it. When that is, is known when the
kernel is compiled; how large tensors are, when it is called. Where code has to lay them out that does not
know it, those that are in use at different times share a slot, which is as large as the largest of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Generic, NamedTuple

from tadc.backend.runtime.parameters import Parameter
from tadc.backend.runtime.size_list import Number

ALIGNMENT = 64
"""Tensors start with a line of the cache: a vector stored across two lines takes twice as long, and more
still where several tensors are written by turns."""


class Temporary(NamedTuple):
    """A tensor that the map number `first` computes and the map number `last` is the last to read.

    The program defines it, or what it is made for, at a `line` and `column`, from 1; 0 where nothing says.
    One that `has_steps` holds those of a recurrence.
    """

    tensor: Parameter
    first: int
    last: int
    line: int = 0
    column: int = 0
    cotangent_of: str = ""
    has_steps: bool = False

    def at(self, sizes: Mapping[str, int]) -> Temporary:
        """The tensor where the sizes have these values."""
        return self if self.tensor.is_static else self._replace(tensor=self.tensor.at(sizes))


class Workspace(NamedTuple, Generic[Number]):
    """Where each tensor starts, in bytes, and how many bytes there are."""

    offsets: tuple[Number, ...]
    bytes: Number


def workspace(temporaries: Sequence[Temporary]) -> Workspace[int]:
    """Room for tensors whose sizes are known.

    The largest first, each stands in the smallest gap that it fits into between those that it meets in time,
    or after them.
    """
    offsets = [0] * len(temporaries)
    placed: list[tuple[int, int, Temporary]] = []
    for n in sorted(range(len(temporaries)), key=lambda n: -temporaries[n].tensor.bytes):
        here = temporaries[n]
        size = -(-here.tensor.bytes // ALIGNMENT) * ALIGNMENT
        met = sorted([b[:2] for b in placed if b[2].first <= here.last and here.first <= b[2].last])
        offsets[n] = _best(met, size)
        placed.append((offsets[n], offsets[n] + size, here))
    return Workspace(tuple(offsets), max((end for _, end, _ in placed), default=0))


def _best(used: Sequence[tuple[int, int]], size: int) -> int:
    """The start of the smallest gap of this size between blocks in order, or where the last of them ends."""
    gaps: list[tuple[int, int]] = []
    begin = 0
    for first, end in used:
        if first - begin >= size:
            gaps.append((first - begin, begin))
        begin = max(begin, end)
    return min(gaps)[1] if gaps else begin


def slots_of(temporaries: Sequence[Temporary]) -> list[list[Temporary]]:
    """The tensors of each slot, no two in use at a time; those of one shape together if they can."""
    slots: list[list[Temporary]] = []
    for here in sorted(temporaries, key=lambda t: (t.first, t.last)):
        free = [slot for slot in slots if all(t.last < here.first or here.last < t.first for t in slot)]
        alike = [slot for slot in free if slot[0].tensor.shape == here.tensor.shape]
        if alike or free:
            (alike or free)[0].append(here)
        else:
            slots.append([here])
    return slots
