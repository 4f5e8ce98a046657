"""Weights of the cost, fitted to times by descent along one weight after the other."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Protocol

from tadc.passes.schedule.cpu_machine import CpuMachine

FITTED = (
    "broadcast", "load", "unaligned", "reversed", "gather", "gather_far", "short", "shuffle", "scatter",
    "scatter_far", "interleaved", "switch", "join_lanes", "latency", "miss", "afar", "scattered_lines",
    "again", "lost", "copy", "copy_transposed", "copy_row", "copy_far_row",
)  # fmt: skip
"""The fields of a machine that are weights: what takes how long."""

FACTORS = 0.7, 0.88, 1.14, 1.43
"""What a weight is tried times."""

ROUNDS = 4
"""So often each weight is looked at."""

SPREAD = 0.25
"""What the spread of costs against times counts beside the loss: it is smooth, and the loss is not."""


class TimedNest(Protocol):
    """What is asked of a nest."""

    @property
    def seconds(self) -> Sequence[float]:
        """The times of its tilings."""
        ...

    def costs(self, weights: Mapping[str, float]) -> list[float]:
        """What its tilings cost with these weights."""
        ...

    def loss_by(self, costs: Sequence[float]) -> float:
        """The time of the cheapest over the best."""
        ...


def fitted(nests: Sequence[TimedNest]) -> dict[str, float]:
    """The weights by which nests are chosen best."""
    weights = {name: float(getattr(CpuMachine(), name)) for name in FITTED}
    best = _badness(nests, weights)
    for _ in range(ROUNDS):
        before = best
        for name in FITTED:
            for factor in FACTORS:
                tried = {**weights, name: weights[name] * factor}
                found = _badness(nests, tried)
                if found < best - 1e-5:
                    weights, best = tried, found
        if best == before:
            break
    return weights


def _badness(nests: Sequence[TimedNest], weights: Mapping[str, float]) -> float:
    """The mean loss, and how far the costs of a nest are from being its times, but for a factor."""
    total = 0.0
    for nest in nests:
        costs = nest.costs(weights)
        errors = [math.log(c / s) for c, s in zip(costs, nest.seconds, strict=True)]
        total += math.log(nest.loss_by(costs)) + SPREAD * statistics.pstdev(errors)
    return total / len(nests)
