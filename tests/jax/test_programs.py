"""Many programs in JAX against the same by gathers: those of the conformance tests, and random ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tadc
from tests.conformance import test_programs, test_science, test_tensor_algebra
from tests.fuzz.evaluate import Evaluator, Flat
from tests.fuzz.generate import generate
from tests.fuzz.tree import Program
from tests.reference.cases import Case

pytestmark = pytest.mark.as_shipped

CASES = [
    case
    for module in (test_programs, test_tensor_algebra, test_science)
    for case in module.CATALOGUE.cases
    if all(tensor.dtype == "float64" for tensor in case.tensors.values())
]

Named = dict[str, Any]


def weighted(h: Callable[[Named], Named]) -> Callable[[Named], Any]:
    """One number of all results, each element with a weight of its own."""

    def loss(values: Named) -> Any:
        found = h(values)
        waves = (jnp.sin(jnp.arange(v.size) + 1.0).reshape(v.shape) * v for _, v in sorted(found.items()))
        return sum((wave.sum() for wave in waves), jnp.zeros(()))

    return loss


def by_tadc(text: str) -> Callable[[Named], Named]:
    f = tadc.function(text)

    def run(values: Named) -> Named:
        found = f.jax(**{name: values[name] for name in f.inputs})
        return dict(zip(f.outputs, found if isinstance(found, tuple) else (found,), strict=True))

    return run


def compare(
    text: str, reference: Callable[[Named], Named], inputs: Named, order: int, tolerance: float
) -> None:
    """The value and the gradients up to an order, along one direction from the second on."""
    one, other = by_tadc(text), reference
    for name, value in jax.jit(other)(inputs).items():
        np.testing.assert_allclose(one(inputs)[name], value, tolerance, tolerance, err_msg=name)
    if not inputs:
        return
    direction = {
        n: jnp.cos(jnp.arange(v.size) * 1.7).reshape(v.shape).astype(v.dtype) for n, v in inputs.items()
    }

    def slope(of: Callable[[Named], Any]) -> Callable[[Named], Any]:
        return lambda values: sum((g * direction[n]).sum() for n, g in jax.grad(of)(values).items())

    first, second = weighted(one), weighted(other)
    for _ in range(order):
        found, expected = (jax.jit(jax.grad(loss))(inputs) for loss in (first, second))
        for name in inputs:
            scale = max(1.0, float(jnp.abs(expected[name]).max(initial=0)))
            np.testing.assert_allclose(
                found[name], expected[name], tolerance, tolerance * scale, err_msg=name
            )
        first, second = slope(first), slope(second)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.filterwarnings("ignore::tadc.CompileWarning")
def test_conformance(case: Case) -> None:
    inputs = {name: jnp.asarray(value) for name, value in case.inputs().items()}
    compare(case.program, case.outputs, inputs, min(case.order, 2), max(case.tolerance, 1e-8))


def evaluated(program: Program) -> Callable[[Named], Named]:
    """A random program by gathers; its tensors are padded and flat there."""
    run = Evaluator(program)

    def padded(values: Named) -> Named:
        flat: Named = {}
        for name, value in values.items():
            size = Flat().encode(np.zeros(value.shape)).size
            flat[name] = jnp.pad(value.reshape(-1), (0, size - value.size))
        found = run(flat)
        return {n: v[: math.prod(program.outputs[n])].reshape(program.outputs[n]) for n, v in found.items()}

    return padded


@pytest.mark.parametrize("seed", range(24))
@pytest.mark.filterwarnings("ignore::tadc.CompileWarning")
def test_random_programs(seed: int) -> None:
    program = generate(seed, small=True)
    random = np.random.default_rng(seed)
    types = program.types
    inputs = {
        name: jnp.asarray(random.uniform(-1, 1, shape), types[name].replace("f", "float"))
        for name, shape in program.arguments.items()
    }
    tolerance = 1e-3 if "f32" in types.values() else 1e-8
    compare(str(program), evaluated(program), inputs, 2, tolerance)
