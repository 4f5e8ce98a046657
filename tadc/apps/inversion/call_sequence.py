"""Kernels that run one after another, on arrays by role."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from tadc.apps.inversion.plan_kernels import Arrays, Call, RoledKernel
from tadc.apps.undoing.solutions.roles import LEAST, Role

#: Pivots are near 0 below this many units in the last place of the greatest, or of 1.
_NEAR = 64


def is_good(least: Any, most: float = 1.0) -> bool:
    """Whether pivots between these magnitudes are far from 0; not so if one is no number."""
    return float(least) > _NEAR * float(np.finfo(least.dtype).eps) * max(1.0, most)


class CallSequence:
    """Calls in order, each of what later ones read, or what is a result; what none reads more is let go."""

    def __init__(self, calls: Sequence[Call], results: Iterable[Role]) -> None:
        later = set(results)
        self.kernels: list[RoledKernel] = []
        self._ends: list[list[Role]] = []
        for call in reversed(calls):
            kernel = call(later)
            self._ends.insert(0, [role for role in (*kernel.inputs, *kernel.outputs) if role not in later])
            self.kernels.insert(0, kernel)
            later = later.difference(kernel.outputs).union(kernel.inputs)

    def run(self, arrays: Arrays, doubt: Callable[[], object]) -> Arrays:
        """What is left; `doubt` is called where pivots may be 0."""
        for kernel, ends in zip(self.kernels, self._ends, strict=True):
            arrays.update(zip(kernel.outputs, kernel.results(arrays), strict=True))
            if not all(is_good(arrays[role]) for role in kernel.outputs if role.kind == LEAST):
                doubt()
            for role in ends:
                arrays.pop(role, None)
        return arrays
