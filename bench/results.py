"""What a run of the benchmark found, as it is kept in JSON."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench.contenders import TADC


@dataclass
class Cell:
    """A workload in an element type on so many threads. All times are seconds, all sizes bytes."""

    workload: str
    dtype: str
    threads: int
    seconds: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    """Of each contender: its times, interleaved with those of the others."""
    errors: dict[str, float] = field(default_factory=dict[str, float])
    """The largest error of a contender's results, relative to the largest element of each."""
    skipped: dict[str, str] = field(default_factory=dict[str, str])
    """Why a contender was not timed."""
    compile_seconds: dict[str, float] = field(default_factory=dict[str, float])
    temporaries: dict[str, int] = field(default_factory=dict[str, int])
    arrays: int = 0
    """Arguments and results: what must be read and written."""

    def median(self, name: str = TADC) -> float | None:
        """The median time of a contender."""
        return statistics.median(self.seconds[name]) if name in self.seconds else None

    def best_peer(self) -> tuple[str, float] | None:
        """The fastest peer and its median time."""
        peers = [(statistics.median(times), name) for name, times in self.seconds.items() if name != TADC]
        if not peers:
            return None
        seconds, name = min(peers)
        return name, seconds

    def ratio(self) -> float | None:
        """The best peer's time over ours."""
        ours, best = self.median(), self.best_peer()
        return best[1] / ours if ours and best else None


@dataclass
class Roofline:
    """What the machine can do with so many threads in an element type, a second."""

    dtype: str
    threads: int
    flops: float
    """A fused multiply-add counts two."""
    exponentials: float
    bandwidth: float
    """Bytes from and to memory."""


@dataclass
class Results:
    """A run."""

    machine: dict[str, Any]
    rooflines: list[Roofline] = field(default_factory=list[Roofline])
    counts: dict[str, dict[str, int]] = field(default_factory=dict[str, dict[str, int]])
    """Operations of each workload as tadc compiles it, by kind."""
    cells: list[Cell] = field(default_factory=list[Cell])

    def roofline(self, cell: Cell) -> Roofline | None:
        """What bounds a cell."""
        return next((r for r in self.rooflines if (r.dtype, r.threads) == (cell.dtype, cell.threads)), None)

    def floor(self, cell: Cell) -> tuple[float, float] | None:
        """The least seconds for a cell's operations, and for its arguments and results."""
        roofline = self.roofline(cell)
        counts = self.counts.get(cell.workload)
        if roofline is None or counts is None:
            return None
        exponentials = counts["transcendental"]
        by_operations = (
            counts["operations"] - exponentials
        ) / roofline.flops + exponentials / roofline.exponentials
        return by_operations, cell.arrays / roofline.bandwidth

    def reached(self, cell: Cell) -> float | None:
        """The share of the roofline that tadc reaches: the larger floor over its time."""
        floor, ours = self.floor(cell), cell.median()
        return max(floor) / ours if floor and ours else None

    def overhead(self, workload: str) -> float | None:
        """Operations of value and gradients over those of the value as written."""
        counts = self.counts.get(workload)
        return counts["weighted"] / counts["written"] if counts else None

    def of(self, dtype: str, threads: int) -> list[Cell]:
        """The cells of a type and a number of threads."""
        return [cell for cell in self.cells if (cell.dtype, cell.threads) == (dtype, threads)]

    def settings(self) -> list[tuple[str, int]]:
        """The types and numbers of threads that were run, in order."""
        return list(dict.fromkeys((cell.dtype, cell.threads) for cell in self.cells))

    def first_setting(self) -> tuple[str, int]:
        """The one that the chart and the table show."""
        return min(self.settings(), key=lambda s: (s[0], -s[1]))

    def write(self, path: Path) -> None:
        """As JSON."""
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")


def read(path: Path) -> Results:
    """What `write` wrote."""
    found = json.loads(path.read_text(encoding="utf-8"))
    return Results(
        found["machine"],
        [Roofline(**item) for item in found["rooflines"]],
        found["counts"],
        [Cell(**item) for item in found["cells"]],
    )


def geometric_mean(cells: Iterable[Cell]) -> float | None:
    """The mean ratio of the cells that have one, Hessians apart."""
    ratios = [r for cell in cells if not cell.workload.startswith("hessian") and (r := cell.ratio())]
    return statistics.geometric_mean(ratios) if ratios else None
