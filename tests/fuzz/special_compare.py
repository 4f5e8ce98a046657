"""One program at points where factors are exactly 0, by sequences of modes, against Taylor arithmetic."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tadc
from tests.fuzz.compare import Skipped, failing
from tests.fuzz.jets import Long, Precise
from tests.fuzz.options import ON_CPU
from tests.fuzz.special import Special, inputs
from tests.fuzz.taylor import Chain, Singular, TaylorEvaluator
from tests.fuzz.tree import Program

Arrays = Mapping[str, NDArray[np.floating]]

TOLERANCE = 1e-8

#: Points tried for one that has all derivatives, and sequences of modes tried at it.
POINTS, SEQUENCES = 8, 4


def generate(seed: int, *, branches: bool) -> Program:
    """The program of a seed."""
    return replace(Special(random.Random(seed), branches).program(), narrow=frozenset())


def failure(seed: int, order: int, *, branches: bool) -> str | None:
    """What is wrong with the program of a seed; Skipped if it has no point with all derivatives."""
    program = generate(seed, branches=branches)
    point = next((p for p in range(seed, seed + POINTS) if is_regular(program, order, p)), None)
    if point is None:
        raise Skipped("no point with all derivatives")
    sequences = list(itertools.product(("vjp", "jvp"), repeat=order))
    random.Random(seed).shuffle(sequences)
    for modes in sequences[:SEQUENCES]:

        def wrong(candidate: Program, modes: Sequence[str] = modes) -> None:
            compare(candidate, modes, point)

        title = f"seed {seed}, point {point}, {', then '.join(modes) or 'the value'}"
        if found := failing(program, wrong, title):
            return found
    return None


def is_regular(program: Program, order: int, point: int) -> bool:
    """Whether all derivatives are finite there."""
    evaluator = TaylorEvaluator(program, Long(), order, program.arguments)
    parts = {name: np.zeros((2**order, a.size), np.longdouble) for name, a in inputs(program, point).items()}
    for name, array in inputs(program, point).items():
        parts[name][0] = array.reshape(-1)
    try:
        evaluator.outputs(parts)
    except Singular:
        return False
    return True


def compare(program: Program, modes: Sequence[str], point: int) -> None:
    """Assert one derivative, as a sum of all of its outputs with random weights.

    At every second point it is by the arguments alone, else by the cotangents and tangents too; the point
    also says how it is compiled.
    """
    if not is_regular(program, len(modes), point):
        raise Skipped("a derivative that is not finite")
    rng = np.random.default_rng(point)
    arrays, shapes = dict(inputs(program, point)), dict(program.outputs)
    functions = [tadc.function(str(program))]
    for mode in modes:
        wrt = [name for name in functions[0].inputs] if point % 2 else None
        function = (tadc.vjp if mode == "vjp" else tadc.jvp)(functions[-1], wrt=wrt)
        functions.append(function)
        for output, name in function.cotangents.items():
            arrays[name] = _drawn(rng, shapes[output])
        for argument, name in function.tangents.items():
            arrays[name] = _drawn(rng, arrays[argument].shape)
        if function.gradients:
            shapes = {gradient: arrays[name].shape for name, gradient in function.gradients.items()}
        shapes |= {name: shapes[output] for output, name in function.output_tangents.items()}
    weights = {name: _drawn(rng, shape) for name, shape in shapes.items()}
    compiled = ON_CPU[point % len(ON_CPU)](functions[-1])
    products = _products(compiled, functions[-1], arrays, weights)
    got, size = math.fsum(products), 1 + math.fsum(map(abs, products))
    for numbers in (Long(), Precise()):
        want = float(Chain(program, functions, numbers).contracted(arrays, weights))
        if abs(got - want) <= TOLERANCE * size:
            return
    raise AssertionError(f"{got!r}, not {want!r}\n{_shown(arrays)}\n{functions[-1]}")


def _products(compiled: Any, function: tadc.Function, arrays: Arrays, weights: Arrays) -> list[float]:
    """All elements of all results of a compiled function, each with its weight."""
    found: Any = compiled(**{name: arrays[name] for name in function.inputs})
    results = found if len(function.outputs) > 1 else (found,)
    products: list[float] = []
    for name, result in zip(function.outputs, results, strict=True):
        array = np.asarray(result, float)
        assert array.shape == weights[name].shape, name
        assert np.isfinite(array).all(), f"not finite: {name} is {array}\n{_shown(arrays)}\n{function}"
        products += (array * weights[name]).reshape(-1).tolist()
    return products


def _drawn(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    return np.round(rng.uniform(-1, 1, shape), 3)


def _shown(arrays: Arrays) -> str:
    return "\n".join(f"{name} = {array.tolist()}" for name, array in arrays.items())
