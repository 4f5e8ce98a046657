"""Inputs of a bundle with the results to expect, on disk beside it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

CASE, WORK = "case.npz", "work.json"


@dataclass
class Case:
    """Arrays in the order of the program."""

    inputs: list[np.ndarray]
    outputs: list[np.ndarray]

    def save(self, path: Path) -> None:
        """Write it."""
        groups = {"in": self.inputs, "out": self.outputs}
        named = {f"{name}_{n}": a for name, arrays in groups.items() for n, a in enumerate(arrays)}
        np.savez(path, allow_pickle=False, **named)

    @staticmethod
    def load(path: Path) -> Case:
        """Read what `save` wrote."""
        with np.load(path) as file:
            groups = [
                [file[f"{name}_{n}"] for n in range(_count(file.files, name))] for name in ("in", "out")
            ]
        return Case(*groups)


def _count(names: list[str], group: str) -> int:
    return sum(name.startswith(f"{group}_") for name in names)


def worst_error(found: list[np.ndarray], expected: list[np.ndarray]) -> float:
    """The largest error of all arrays, each relative to its largest element; infinite for a wrong shape."""
    if [a.shape for a in found] != [a.shape for a in expected]:
        return float("inf")
    errors = [
        np.abs(np.asarray(a, np.float64) - b).max(initial=0) / (np.abs(b).max(initial=0) or 1)
        for a, b in zip(found, expected, strict=True)
    ]
    return float(np.max(errors, initial=0))


#: The largest error that counts as agreement.
TOLERANCE = {4: 1e-4, 8: 1e-10}
