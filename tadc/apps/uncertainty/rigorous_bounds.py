"""Method `interval`: bounds that hold for all inputs within limits of their values."""

from __future__ import annotations

from typing import Any

import numpy as np

from tadc.apps.uncertainty.input_errors import raise_all, undefined
from tadc.apps.uncertainty.inputs import GivenInputs
from tadc.apps.uncertainty.measurements import Measurement, measurements
from tadc.apps.uncertainty.models import Model
from tadc.apps.uncertainty.result import Result
from tadc.apps.uncertainty.subdivision import Bounded, subdivided
from tadc.apps.uncertainty.uncertain_numbers import Array, plain_number


def interval(model: Model, given: GivenInputs, k: float, pieces: int) -> Result:
    """Bounds of all outputs, from at most so many pieces of the box of the inputs of each measurement.

    Raises ArgumentError (TAD0902) for a value that is not a number: nothing bounds what follows.
    """
    raise_all([undefined(name) for name, x in given.values.items() if np.any(np.isnan(np.asarray(x, float)))])
    found = [_bounded(model, one, pieces) for one in measurements(model, given)]
    value = {name: plain_number(y) for name, y in model.slopes(given.values, ()).values.items()}
    ends: dict[str, tuple[Any, Any]] = {}
    for name, y in value.items():
        low, high = (np.array([one[name][n] for one in found]).reshape(np.shape(y)) for n in (0, 1))
        ends[name] = plain_number(low), plain_number(high)
    half = {name: (high - low) / 2 for name, (low, high) in ends.items()}
    return Result("interval", k, value, half, is_rigorous=True, _bounds=ends)


def _bounded(model: Model, one: Measurement, pieces: int) -> Bounded:
    """The bounds of one measurement; measurements are independent, so that each is cut by itself."""
    middle, u = one.vector, one.stacked.u
    low, high = (
        np.where(u > 0, np.nextafter(end, outwards), middle)
        for end, outwards in ((middle - u, -np.inf), (middle + u, np.inf))
    )

    def at(low: Array, high: Array) -> Bounded:
        return model.enclosed(one.values, one.by_name(low), one.by_name(high))

    return subdivided(at, low, high, pieces)
