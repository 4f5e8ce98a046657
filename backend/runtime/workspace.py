"""Memory for the tensors in between of a call: those in use at different times share it.

The maps of a kernel run one after the other, each done before the next begins on any thread. So a tensor
needs its memory from the map that computes it to the last that reads it. When that is, is known when the
kernel is compiled; how large tensors are, when it is called.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tadc.backend.runtime.arrays import Parameter

ALIGNMENT = 64
"""Tensors start on cache lines of their own: no two threads write one line for two of them."""


@dataclass(frozen=True)
class Temporary:
    """A tensor that the map number `first` computes and the map number `last` is the last to read."""

    tensor: Parameter
    first: int
    last: int

    def at(self, sizes: Mapping[str, int]) -> Temporary:
        """The tensor where the sizes have these values."""
        return self if self.tensor.is_static else Temporary(self.tensor.at(sizes), self.first, self.last)


@dataclass(frozen=True)
class Workspace:
    """Where each tensor starts, in bytes, and how many bytes there are."""

    offsets: tuple[int, ...]
    bytes: int


def workspace(temporaries: Sequence[Temporary]) -> Workspace:
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
