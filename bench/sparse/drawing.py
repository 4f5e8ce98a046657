"""Random numbers and patterns of the workloads, in f32 and int32."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int32]
Floats = NDArray[np.float32]


class Drawn:
    """Numbers that are the same in every run."""

    def __init__(self) -> None:
        self.random = np.random.default_rng(0)

    def floats(self, *shape: int) -> Floats:
        """From -0.5 to 0.5."""
        return self.random.uniform(-0.5, 0.5, shape).astype(np.float32)

    def indices(self, below: int, *shape: int) -> Integers:
        """Any from 0 to `below` - 1."""
        return self.random.integers(0, below, shape).astype(np.int32)

    def places(self, rows: int, columns: int, entries: int) -> tuple[Integers, Integers]:
        """So many places of a matrix, each once, in any order."""
        drawn = np.unique(self.random.integers(0, rows * columns, entries + entries // 2 + 8))
        chosen = self.random.permutation(drawn)[:entries]
        return (chosen // columns).astype(np.int32), (chosen % columns).astype(np.int32)


def by_row(row: Integers, column: Integers, rows: int) -> tuple[Integers, Integers]:
    """Where rows begin among the entries, and where the last ends; and the columns, row by row."""
    ends = np.cumsum(np.bincount(row, minlength=rows))
    return np.concatenate([[0], ends]).astype(np.int32), column[np.lexsort((column, row))]


def owners(ptr: Integers) -> Integers:
    """The row of every entry."""
    return np.repeat(np.arange(len(ptr) - 1, dtype=np.int32), np.diff(ptr))
