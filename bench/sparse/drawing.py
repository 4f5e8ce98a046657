"""Random numbers and patterns of the workloads, in f32 and int32."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int32]
Floats = NDArray[np.float32]


#: How indices are spread that a workload draws, `--pattern` of `python -m bench sparse`:
PATTERNS = {
    "even": "any index is as likely as any other",
    "power": "few indices are much more likely than others, as in graphs of the web",
    "banded": "indices are near the place that they stand at, as in meshes",
    "empty": "two indices of three are never drawn: empty rows, and nodes without edges",
}

#: How far from the diagonal those of a band are.
_BAND = 16

#: The pattern of all workloads that are drawn from now on.
chosen = "even"


class Drawn:
    """Numbers that are the same in every run."""

    def __init__(self) -> None:
        self.random = np.random.default_rng(0)

    def floats(self, *shape: int) -> Floats:
        """From -0.5 to 0.5."""
        return self.random.uniform(-0.5, 0.5, shape).astype(np.float32)

    def indices(self, below: int, *shape: int) -> Integers:
        """From 0 to `below` - 1, as the pattern says."""
        match chosen:
            case "power":
                order = np.random.default_rng(1).permutation(below)
                return order[(below * self.random.uniform(size=shape) ** 3).astype(np.intp)].astype(np.int32)
            case "banded":
                near = np.linspace(0, below - 1, shape[0]).astype(np.int32)
                near = near.reshape(-1, *[1] * (len(shape) - 1))
                found = near + self.random.integers(-_BAND, _BAND + 1, shape)
                return np.clip(found, 0, below - 1).astype(np.int32)
            case "empty":
                return (3 * self.random.integers(0, (below + 2) // 3, shape)).astype(np.int32)
            case _:
                return self.random.integers(0, below, shape).astype(np.int32)

    def places(self, rows: int, columns: int, entries: int) -> tuple[Integers, Integers]:
        """Places of a matrix, each once, in any order: so many, or fewer where the pattern has fewer."""
        count = entries + entries // 2 + 8
        if chosen == "even":
            drawn = np.unique(self.random.integers(0, rows * columns, count))
        else:
            count += 4 * entries * (chosen == "power")
            row = self.indices(rows, count).astype(np.int64)
            near = self.indices(columns, count)
            drawn = np.unique(row * columns + near)
        chosen_ones = self.random.permutation(drawn)[:entries]
        return (chosen_ones // columns).astype(np.int32), (chosen_ones % columns).astype(np.int32)


def by_row(row: Integers, column: Integers, rows: int) -> tuple[Integers, Integers]:
    """Where rows begin among the entries, and where the last ends; and the columns, row by row."""
    ends = np.cumsum(np.bincount(row, minlength=rows))
    return np.concatenate([[0], ends]).astype(np.int32), column[np.lexsort((column, row))]


def owners(ptr: Integers) -> Integers:
    """The row of every entry."""
    return np.repeat(np.arange(len(ptr) - 1, dtype=np.int32), np.diff(ptr))
