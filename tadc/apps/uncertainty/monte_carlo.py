"""Distributions propagated by samples: JCGM 101 (GUM supplement 1)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from math import erf, prod
from typing import Any

import numpy as np

from tadc.apps.uncertainty.input_errors import raise_all
from tadc.apps.uncertainty.inputs import GivenInputs
from tadc.apps.uncertainty.models import Model, ProgramModel, PythonModel, measured, plain, repeated_function
from tadc.apps.uncertainty.stacking import Stacked, stacked
from tadc.apps.uncertainty.uncertain_numbers import Array, InputLayout
from tadc.toolkit.reporting import Diagnostic
from tadc.toolkit.running import numpy_type

#: So many numbers are drawn at once.
_BLOCK = 1 << 22
#: So many bytes of results are kept.
_LIMIT = 1 << 32


def draw(given: Stacked, samples: int, random: np.random.Generator) -> Array:
    """Deviations of the quantities: samples, quantities.

    Normal, or where the degrees of freedom are finite a scaled and shifted t (JCGM 101, 6.4.9); quantities
    that are correlated, or observed together, have a joint one. Raises ArgumentError (TAD0909) where
    correlations leave none.
    """
    size = len(given.dof)
    if given.undefined:
        message = "correlated inputs with different degrees of freedom have no joint distribution"
        raise_all([Diagnostic("TAD0909", message, helps=["leave `dof` out, or give these inputs the same"])])
    z = random.standard_normal((samples, size))
    if given.r is not None:
        values, vectors = np.linalg.eigh(given.r.reshape(size, size))
        z = z @ (vectors * np.sqrt(np.maximum(values, 0))).T
    for group in given.groups:
        nu = float(given.dof[group[0]].item())
        z[:, list(group)] *= np.sqrt(nu / random.chisquare(nu, (samples, 1)))
    return z * given.u.reshape(1, size)


def simulate(
    model: Model, given: GivenInputs, samples: int, random: np.random.Generator
) -> tuple[list[dict[str, Array]], tuple[int, ...]]:
    """Samples of the outputs at each measurement, and the shape of the set of measurements."""
    if isinstance(model, PythonModel):
        points = model.points(given.values)
        return [_python(model, one, samples, random) for one in _each(model, given, points)], points
    assert isinstance(model, ProgramModel)
    points = _measurements(model, given.values)
    return [_program(model, one, samples, random) for one in _each(model, given, points)], points


def _measurements(model: ProgramModel, values: Mapping[str, Any]) -> tuple[int, ...]:
    several = measured(model.f, {name: np.shape(x) for name, x in values.items()})
    return np.shape(values[several[0]])[:1] if several else ()


def _each(model: Model, given: GivenInputs, points: tuple[int, ...]) -> Iterator[GivenInputs]:
    """What is given of each measurement."""
    if not points:
        yield given
        return
    for at in np.ndindex(points):

        def here(name: str, x: Any, at: tuple[int, ...] = at) -> Any:
            rank = len(model.shape(name, given.values))
            return (
                x if np.ndim(x) <= rank else np.broadcast_to(x, points + np.shape(x)[np.ndim(x) - rank :])[at]
            )

        values = {name: here(name, x) for name, x in given.values.items()}
        u = {name: np.asarray(here(name, x)) for name, x in given.u.items()}
        pairs = {
            (a, b): x[at] if x.shape[: len(points)] == points and not _ranks(model, given, a, b) else x
            for (a, b), x in given.correlations.items()
        }
        dof = {name: np.asarray(here(name, x)) for name, x in given.dof.items()}
        yield GivenInputs(values, u, pairs, dof, given.ensembles)


def _ranks(model: Model, given: GivenInputs, a: str, b: str) -> int:
    return len(model.shape(a, given.values)) + len(model.shape(b, given.values))


def _python(
    model: PythonModel, given: GivenInputs, samples: int, random: np.random.Generator
) -> dict[str, Array]:
    layout = model.layout(given.values, given.names)
    drawn = draw(stacked(given, layout, False), samples, random)
    fixed = {name: plain(x) for name, x in given.values.items()}
    columns = [(float(fixed[name]) + drawn[:, k]).tolist() for k, name in enumerate(given.names)]
    rows = [
        model.outputs(model.fn(**{**fixed, **dict(zip(given.names, row, strict=True))}))
        for row in zip(*columns, strict=True)
    ]
    return {name: np.array([row[name] for row in rows], float) for name in rows[0]}


def _program(
    model: ProgramModel, given: GivenInputs, samples: int, random: np.random.Generator
) -> dict[str, Array]:
    f = model.f
    shapes = {name: np.shape(x) for name, x in given.values.items()}
    if f.per_value is not None:
        f = f.at(f.per_value.values(shapes, {}))
    layout = model.layout(given.values, given.names, whole=True)
    one = stacked(given, layout, True)
    names = tuple(given.names)
    sampled = repeated_function(f, names)
    types = f.program.types()
    found: dict[str, list[Array]] = {name: [] for name in f.outputs}
    block = max(1, min(samples, _BLOCK // max(1, layout.size)))
    for begin in range(0, samples, block):
        drawn = draw(one, min(block, samples - begin), random)
        arrays = {**given.values, **_moved(given, layout, drawn, types)}
        results = sampled(**arrays)
        for name, y in zip(f.outputs, results if len(f.outputs) > 1 else (results,), strict=True):
            found[name].append(np.asarray(y, float))
            if begin == 0 and prod(y.shape[1:]) * samples * 8 > _LIMIT:
                message = f"{samples} samples of `{name}` do not fit into memory"
                raise_all([Diagnostic("TAD0506", message, helps=["take fewer `samples`"])])
    return {name: np.concatenate(parts) for name, parts in found.items()}


def _moved(given: GivenInputs, layout: InputLayout, drawn: Array, types: Mapping[str, str]) -> dict[str, Any]:
    """Samples of the uncertain inputs."""
    found: dict[str, Any] = {}
    for slot in layout.slots:
        deviations = drawn[:, slot.begin : slot.begin + slot.size].reshape(-1, *slot.shape)
        moved = np.asarray(given.values[slot.name], float) + deviations
        found[slot.name] = moved.astype(numpy_type(types[slot.name]), copy=False)
    return found


def coverage(samples: Array, k: float) -> tuple[Array, Array]:
    """The probabilistically symmetric interval (JCGM 101, 7.7) of the probability of k normal deviations."""
    p = erf(k / math.sqrt(2))
    low, high = np.quantile(samples, [(1 - p) / 2, (1 + p) / 2], axis=0)
    return low, high
