"""Identities between modes on random programs: forward against reverse, and symmetric second derivatives."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from numpy.typing import NDArray

import tadc
from tests.fuzz.generate import generate

Arrays = Mapping[str, NDArray[np.floating]]

pytestmark = pytest.mark.filterwarnings("ignore::tadc.CompileWarning")


def by_name(function: tadc.Function, arrays: Arrays) -> dict[str, NDArray[np.floating]]:
    """All results of a call."""
    found = function(**{name: arrays[name] for name in function.inputs})
    results = found if len(function.outputs) > 1 else (found,)
    return {name: np.asarray(x, float) for name, x in zip(function.outputs, results, strict=True)}


def drawn(rng: np.random.Generator, like: Arrays) -> dict[str, NDArray[np.floating]]:
    """Random arrays of the same shapes and types."""
    return {name: rng.uniform(-1, 1, x.shape).astype(x.dtype) for name, x in like.items()}


def dot(x: Arrays, y: Arrays) -> tuple[float, float]:
    """The inner product, and the size of what is added up."""
    products = [np.asarray(x[name], float) * y[name] for name in x]
    return sum(float(p.sum()) for p in products), 1 + sum(float(np.abs(p).sum()) for p in products)


@pytest.mark.parametrize("seed", range(400, 420))
def test_forward_and_reverse(seed: int) -> None:
    """(J^T w) . v = w . (J v), and u . (H v) = v . (H u) for the Hessian H of w . f."""
    program = generate(seed, small=True)
    types = program.types
    function, rng = tadc.function(str(program)), np.random.default_rng(seed)
    x = {
        n: rng.uniform(-1, 1, s).astype(types[n].replace("f", "float")) for n, s in program.arguments.items()
    }
    forward, reverse = tadc.jvp(function), tadc.vjp(function)
    limit = 1e-4 if "f32" in types.values() else 1e-10
    v, u = drawn(rng, x), drawn(rng, x)
    pushed = by_name(forward, {**x, **{forward.tangents[n]: t for n, t in v.items()}})
    tangents = {o: pushed[dotted] for o, dotted in forward.output_tangents.items()}
    w = drawn(rng, {o: t.astype(types[o].replace("f", "float")) for o, t in tangents.items()})
    seeds = {reverse.cotangents[o]: c for o, c in w.items()}
    pulled = {n: by_name(reverse, {**x, **seeds})[g] for n, g in reverse.gradients.items()}
    (one, size), (other, more) = dot(w, tangents), dot(pulled, v)
    assert abs(one - other) <= limit * (size + more)
    second = tadc.jvp(reverse, wrt=function.inputs)

    def curved(t: Arrays) -> Arrays:
        found = by_name(second, {**x, **seeds, **{second.tangents[n]: d for n, d in t.items()}})
        return {n: found[second.output_tangents[g]] for n, g in reverse.gradients.items()}

    (one, size), (other, more) = dot(curved(v), u), dot(curved(u), v)
    assert abs(one - other) <= limit * (size + more)
