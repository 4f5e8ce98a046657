"""Inputs of a bundle with the results to expect, on disk beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

#: Beside a bundle; `ANY` is a folder, the bundle for any sizes.
CASE, WORK, ANY = "case.npz", "work.json", "any"


@dataclass
class Case:
    """Arrays in the order of the program, and the sizes of one whose sizes are not known."""

    inputs: list[np.ndarray]
    outputs: list[np.ndarray]
    sizes: dict[str, int] = field(default_factory=dict[str, int])

    def save(self, path: Path) -> None:
        """Write it."""
        named = {f"in_{n}": a for n, a in enumerate(self.inputs)}
        named |= {f"out_{n}": a for n, a in enumerate(self.outputs)}
        named |= {f"size_{name}": np.array(size) for name, size in self.sizes.items()}
        np.savez_compressed(path, allow_pickle=False, **named)

    @staticmethod
    def load(path: Path) -> Case:
        """Read what `save` wrote."""
        with np.load(path) as file:

            def listed(group: str) -> list[np.ndarray]:
                return [
                    file[f"{group}_{n}"] for n in range(sum(name.startswith(f"{group}_") for name in file))
                ]

            sizes = {name[5:]: int(file[name]) for name in file if name.startswith("size_")}
            return Case(listed("in"), listed("out"), sizes)


def is_among(name: str, only: Sequence[str] | None) -> bool:
    """Whether a name is asked for: `matmul` asks for `matmul-f32` too."""
    return only is None or any(name == one or name.startswith(f"{one}-") for one in only)


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
