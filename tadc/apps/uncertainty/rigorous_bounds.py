"""Method `interval`: bounds that hold for all inputs within limits of their values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tadc.apps.dual.lifting import lifted
from tadc.apps.uncertainty.enclosures import enclose
from tadc.apps.uncertainty.float_intervals import Interval
from tadc.apps.uncertainty.input_errors import raise_all, undefined
from tadc.apps.uncertainty.inputs import GivenInputs
from tadc.apps.uncertainty.models import Model, ProgramModel, PythonModel, measured, repeated_function
from tadc.apps.uncertainty.result import Result
from tadc.apps.uncertainty.stacking import stacked
from tadc.apps.uncertainty.subdivision import subdivided
from tadc.apps.uncertainty.uncertain_numbers import Array, plain_number
from tadc.toolkit.running import Function

Ends = Mapping[str, Array]
Bounded = Mapping[str, tuple[Array, Array]]


def interval(model: Model, given: GivenInputs, k: float, pieces: int) -> Result:
    """Bounds of all outputs, from at most so many pieces of the box of inputs.

    Raises ArgumentError (TAD0902) for a value that is not a number: nothing bounds what follows.
    """
    raise_all([undefined(name) for name, x in given.values.items() if np.any(np.isnan(np.asarray(x, float)))])
    if isinstance(model, PythonModel):
        return _of_python(model, given, k, pieces)
    assert isinstance(model, ProgramModel)
    return _of_program(model, given, k, pieces)


def _of_program(model: ProgramModel, given: GivenInputs, k: float, pieces: int) -> Result:
    u = given.u
    low: dict[str, Any] = {}
    high: dict[str, Any] = {}
    f, shapes = model.f, {name: np.shape(x) for name, x in given.values.items()}
    if f.per_value is not None:
        f = f.at(f.per_value.values(shapes, {}))
    value = model.slopes(given.values, ()).values
    layout = model.layout(given.values, given.names, whole=True)
    for slot in layout.slots:
        layout.spread(slot, u[slot.name])
    for name, x in given.values.items():
        middle = np.asarray(x, float)
        radius = np.broadcast_to(u.get(name, np.zeros(())), middle.shape)
        moved = radius > 0
        low[name] = np.asarray(np.where(moved, np.nextafter(middle - radius, -np.inf), middle))
        high[name] = np.asarray(np.where(moved, np.nextafter(middle + radius, np.inf), middle))
    bounds = _enclosed(f, measured(f, shapes), low, high, pieces)
    return _bounded({n: plain_number(y) for n, y in value.items()}, bounds, k)


def _enclosed(f: Function, several: tuple[str, ...], low: Ends, high: Ends, pieces: int) -> Bounded:
    """The bounds of a program; measurements are independent, so that each is cut by itself."""
    if pieces == 1:
        return enclose((repeated_function(f, several) if several else f).program, low, high)

    def at(low: Ends, high: Ends) -> Bounded:
        return enclose(f.program, low, high)

    if not several:
        return subdivided(at, low, high, pieces)

    def of(ends: Ends, n: int) -> dict[str, Array]:
        return {name: np.asarray(x[n]) if name in several else x for name, x in ends.items()}

    found = [subdivided(at, of(low, n), of(high, n), pieces) for n in range(len(low[several[0]]))]
    if not found:
        return enclose(repeated_function(f, several).program, low, high)
    return {
        name: (np.array([one[name][0] for one in found]), np.array([one[name][1] for one in found]))
        for name in found[0]
    }


def _of_python(model: PythonModel, given: GivenInputs, k: float, pieces: int) -> Result:
    names, points = given.names, model.points(given.values)
    one = stacked(given, model.layout(given.values, names), False)
    radius = np.broadcast_to(one.u, (len(names), *points)).reshape(len(names), -1)
    run = lifted(model.fn)
    lows: dict[str, list[float]] = {}
    highs: dict[str, list[float]] = {}
    middles: dict[str, list[float]] = {}
    for n, point in enumerate(model.each(given.values)):
        boxes = {name: Interval.around(point[name], float(radius[i, n])) for i, name in enumerate(names)}

        def at(low: Ends, high: Ends, point: Mapping[str, Any] = point) -> Bounded:
            inside = {name: Interval(float(x), float(high[name])) for name, x in low.items()}
            found = model.outputs(run(**{**point, **inside}))
            return {name: (_end(y, "lo"), _end(y, "hi")) for name, y in found.items()}

        low = {name: np.array(box.lo) for name, box in boxes.items()}
        high = {name: np.array(box.hi) for name, box in boxes.items()}
        for name, (lo, hi) in subdivided(at, low, high, pieces).items():
            lows.setdefault(name, []).append(float(lo))
            highs.setdefault(name, []).append(float(hi))
        for name, y in model.outputs(model.fn(**point)).items():
            middles.setdefault(name, []).append(float(y))
    bounds = {
        name: (np.array(x).reshape(points), np.array(highs[name]).reshape(points)) for name, x in lows.items()
    }
    middle = {n: plain_number(np.array(y).reshape(points)) for n, y in middles.items()}
    return _bounded(middle, bounds, k)


def _end(y: Any, end: str) -> Array:
    return np.array(getattr(y, end) if isinstance(y, Interval) else float(y))


def _bounded(value: dict[str, Any], bounds: Bounded, k: float) -> Result:
    half = {n: plain_number((np.asarray(hi) - np.asarray(lo)) / 2) for n, (lo, hi) in bounds.items()}
    ends = {n: (plain_number(lo), plain_number(hi)) for n, (lo, hi) in bounds.items()}
    return Result("interval", k, value, half, is_rigorous=True, _bounds=ends)
