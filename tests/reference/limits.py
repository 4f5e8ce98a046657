"""Derivatives of functions of arrays by differences in many digits, beside a point as limits there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import mpmath
import numpy as np

MP: Any = mpmath.mp
DIGITS, STEP, ASIDE = 200, 40, 15


class Differences:
    """Of a function of arrays of mpmath's numbers by all elements of the arrays `wrt`, one after another.

    Where `aside`, at a point next to the one that is given, in a direction in which all elements grow.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        at: Mapping[str, Any],
        wrt: Sequence[str],
        aside: bool = False,
    ) -> None:
        self.function, self.wrt = function, wrt
        self.at = {name: np.vectorize(MP.mpf, otypes=[object])(np.asarray(x)) for name, x in at.items()}
        self.slots = [(name, place) for name in wrt for place in np.ndindex(np.shape(at[name]))]
        if aside:
            for n, (name, place) in enumerate(self.slots):
                self.at[name][place] += MP.mpf(10) ** -ASIDE * (1 + MP.mpf(n) / 7) ** 2

    def value(self, moved: Mapping[int, Any] | None = None) -> Any:
        """The value where some elements are moved by a number of steps."""
        step = MP.mpf(10) ** -STEP
        arrays = {name: x.copy() for name, x in self.at.items()}
        for n, steps in (moved or {}).items():
            name, place = self.slots[n]
            arrays[name][place] += step * steps
        return self.function(**{name: x if x.shape else x[()] for name, x in arrays.items()})

    def gradient(self) -> list[float]:
        """The first derivatives."""
        with mpmath.workdps(DIGITS):
            step = 2 * MP.mpf(10) ** -STEP
            return [float((self.value({n: 1}) - self.value({n: -1})) / step) for n in range(len(self.slots))]

    def hessian_times(self, v: Sequence[float]) -> list[float]:
        """The second derivatives, the second one along v."""
        with mpmath.workdps(DIGITS):
            return [float(self._mixed(n, v, (1, -1)) * MP.mpf(10) ** (2 * STEP) / 4) for n in range(len(v))]

    def third_times(self, v: Sequence[float]) -> list[float]:
        """The third derivatives, two of them along v."""
        with mpmath.workdps(DIGITS):
            return [
                float(self._mixed(n, v, (1, -2, 1)) * MP.mpf(10) ** (3 * STEP) / 2) for n in range(len(v))
            ]

    def _mixed(self, n: int, v: Sequence[float], weights: Sequence[int]) -> Any:
        """The difference by an element of one along v."""
        places = (1, -1) if len(weights) == 2 else (1, 0, -1)
        total = MP.mpf(0)
        for sign in (1, -1):
            for weight, place in zip(weights, places, strict=True):
                moved = {m: MP.mpf(c) * place for m, c in enumerate(v)}
                moved[n] += sign
                total += sign * weight * self.value(moved)
        return total
