"""Forward mode against `jax.jvp`, and against reverse mode."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.typing import NDArray

import tadc
from tests.conformance import (
    test_index_maps,
    test_programs,
    test_quasi_affine,
    test_reductions,
    test_scan,
    test_tensor_algebra,
)
from tests.reference.cases import Case

MODULES = (test_index_maps, test_programs, test_quasi_affine, test_reductions, test_scan, test_tensor_algebra)
CASES = {f"{m.__name__.rpartition('.')[2]}: {c.name}": c for m in MODULES for c in m.CATALOGUE.cases}

Arrays = dict[str, NDArray[np.floating]]


def directions(case: Case) -> tuple[Arrays, Arrays]:
    """The case's inputs, and a random tangent for each."""
    inputs, random = case.inputs(), np.random.default_rng(case.seed + 7)
    return inputs, {name: random.uniform(-1, 1, x.shape).astype(x.dtype) for name, x in inputs.items()}


def named(function: tadc.Function, arrays: dict[str, Any]) -> Arrays:
    """All outputs by name."""
    found = function(**arrays)
    return {function.outputs[0]: found} if len(function.outputs) == 1 else dict(found._asdict())


def close(found: NDArray[np.floating], expected: Any, tolerance: float) -> None:
    """Equal up to a tolerance relative to the largest element."""
    expected = np.asarray(expected)
    assert found.shape == expected.shape
    scale = np.abs(expected).max(initial=1.0)
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * scale)


@pytest.mark.parametrize("name", CASES)
def test_value_and_tangent(name: str) -> None:
    """Both, in one unit; the value of a program without reductions has the bits of the plain one."""
    case = CASES[name]
    inputs, tangents = directions(case)
    plain = tadc.function(case.program)
    function = tadc.jvp(plain)
    assert set(function.tangents) == set(plain.inputs)
    given = {function.tangents[name]: tangent for name, tangent in tangents.items()}
    found = named(function, {**inputs, **given})
    held = {n: jnp.asarray(x) for n, x in inputs.items()}
    moved = {n: jnp.asarray(t) for n, t in tangents.items()}
    reference = partial(jax.jvp, case.outputs)
    values, dots = (jax.jit(reference) if case.compiled else reference)((held,), (moved,))
    for output in plain.outputs:
        close(found[output], values[output], case.tolerance)
        close(found[function.output_tangents[output]], dots[output], case.tolerance)
    if not any(word in case.program for word in ("sum", "prod", "max", "min", "logsumexp")):
        for output, value in named(plain, inputs).items():
            np.testing.assert_array_equal(found[output], value)
    pushed = {output: found[dot] for output, dot in function.output_tangents.items()}
    check_dot_product(case, plain, pushed)


def check_dot_product(case: Case, plain: tadc.Function, pushed: Arrays) -> None:
    """(J^T w) . v = w . (J v) for the random v of a case and a random w."""
    inputs, tangents = directions(case)
    random = np.random.default_rng(case.seed + 8)
    weights = {name: random.uniform(-1, 1, dot.shape).astype(dot.dtype) for name, dot in pushed.items()}
    reverse = tadc.vjp(plain)
    pulled = named(reverse, {**inputs, **{reverse.cotangents[o]: w for o, w in weights.items()}})
    outside = [np.vdot(w, pushed[name]) for name, w in weights.items()]
    inside = [np.vdot(pulled[reverse.gradients[n]], v) for n, v in tangents.items()]
    size = sum(np.abs(np.asarray(x)).sum() for x in pushed.values()) + 1
    assert abs(sum(outside) - sum(inside)) <= 100 * case.tolerance * size


PAIRS = "x: f64[5]\ny: f64[5]\nf = sum{i, j} (exp(-(x[i] - x[j])**2) * y[i] * y[j])"
WINDOWS = "x: f64[9]\nw: f64[3]\nlet h[i: 7] = sum{k} (w[k] * x[i + k])\nf[i: 3] = sin(h[2*i]) * h[i + 1]"


def pairs(x: jax.Array, y: jax.Array) -> jax.Array:
    """`PAIRS` in JAX."""
    return jnp.einsum("ij,i,j", jnp.exp(-((x[:, None] - x[None]) ** 2)), y, y)


def windows(x: jax.Array, w: jax.Array) -> jax.Array:
    """`WINDOWS` in JAX."""
    h = x[jnp.arange(7)[:, None] + jnp.arange(3)] @ w
    return jnp.sin(h[2 * jnp.arange(3)]) * h[jnp.arange(3) + 1]


PROGRAMS: dict[str, tuple[str, Callable[..., jax.Array], tuple[int, int]]] = {
    "pairs": (PAIRS, pairs, (5, 5)),
    "windows": (WINDOWS, windows, (9, 3)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_forward_over_reverse(name: str) -> None:
    """The tangent of the gradients."""
    text, reference, shapes = PROGRAMS[name]
    random = np.random.default_rng(0)
    first, second, *moved = (random.uniform(-1, 1, n) for n in (*shapes, *shapes))
    value = reference(first, second)
    weight = random.uniform(-1, 1, value.shape)
    function = tadc.function(text)
    gradients = tadc.vjp(function)
    found = tadc.jvp(gradients, wrt=function.inputs)(first, second, weight, *moved)

    def pulled(first: jax.Array, second: jax.Array) -> tuple[jax.Array, ...]:
        return jax.vjp(reference, first, second)[1](jnp.asarray(weight))

    expected, dots = jax.jit(partial(jax.jvp, pulled))((first, second), tuple(moved))
    for one, other in zip(found, (*expected, *dots), strict=True):
        close(one, other, 1e-12)


@pytest.mark.parametrize("name", PROGRAMS)
def test_reverse_over_forward_and_twice_forward(name: str) -> None:
    """The gradients of the tangent, and the tangent of the tangent."""
    text, reference, shapes = PROGRAMS[name]
    random = np.random.default_rng(1)
    first, second, v, w, *moved = (random.uniform(-1, 1, n) for n in (*shapes, *shapes, *shapes))
    forward = tadc.jvp(tadc.function(text))

    def dot(first: jax.Array, second: jax.Array) -> jax.Array:
        return jax.jvp(reference, (first, second), (v, w))[1]

    value, pull = jax.vjp(dot, first, second)
    weight = random.uniform(-1, 1, value.shape)
    output = forward.output_tangents["f"]
    back = tadc.vjp(forward, wrt=forward.inputs[:2])
    cotangents = {back.cotangents[output]: weight, back.cotangents["f"]: np.zeros(value.shape)}
    given = dict(zip(forward.inputs, (first, second, v, w), strict=True))
    for one, other in zip(back(**given, **cotangents), pull(jnp.asarray(weight)), strict=True):
        close(one, other, 1e-12)
    twice = tadc.jvp(forward, wrt=forward.inputs[:2])
    found = twice(**given, **dict(zip(twice.tangents.values(), moved, strict=True)))
    expected = jax.jit(partial(jax.jvp, dot))((first, second), tuple(moved))[1]
    close(getattr(found, twice.output_tangents[output]), expected, 1e-12)


def test_several_tangents_at_once() -> None:
    """A chunk is the same directions one by one."""
    random = np.random.default_rng(2)
    x, w = random.uniform(-1, 1, 9), random.uniform(-1, 1, 3)
    many = random.uniform(-1, 1, (4, 9))
    one = tadc.jvp(tadc.function(WINDOWS), wrt="x")
    chunk = tadc.jvp(tadc.function(WINDOWS), wrt="x", chunk=4)
    value, dots = chunk(x, w, many)
    for direction, dot in zip(many, dots, strict=True):
        expected = one(x, w, direction)
        np.testing.assert_array_equal(value, expected[0])
        np.testing.assert_allclose(dot, expected[1], rtol=1e-14, atol=1e-15)


def test_part_of_the_arguments() -> None:
    """What does not move has no tangent; an output that it alone makes has the tangent 0."""
    function = tadc.jvp(tadc.function("x: f64[3]\ny: f64[3]\nf[i] = x[i] * y[i]\ng[i] = y[i]**2"), wrt="x")
    assert function.inputs == ("x", "y", "x_dot")
    assert function.output_tangents == {"f": "f_dot", "g": "g_dot"}
    found = function(np.arange(3.0), np.full(3, 2.0), np.ones(3))
    np.testing.assert_array_equal(found.f_dot, [2, 2, 2])
    np.testing.assert_array_equal(found.g_dot, [0, 0, 0])


def test_sizes_and_pickle() -> None:
    """Of any size; a copy from a pickle knows its tangents."""
    function = tadc.jvp(tadc.function("x: f64[N]\nf[i: N - 1] = x[i] * x[i + 1]"))
    again = pickle.loads(pickle.dumps(function))
    assert again.tangents == function.tangents == {"x": "x_dot"}
    assert again.output_tangents == function.output_tangents
    for n in (1, 2, 50):
        x, v = np.linspace(0, 1, n), np.linspace(1, 2, n)
        np.testing.assert_allclose(again(x, v).f_dot, v[:-1] * x[1:] + x[:-1] * v[1:])


@pytest.mark.parametrize("chunk", [0, -1, 2.0, "2"])
def test_wrong_chunk(chunk: Any) -> None:
    """A chunk is a positive number."""
    with pytest.raises(ValueError, match="chunk"):
        tadc.jvp(tadc.function(WINDOWS), chunk=chunk)


def test_unknown_argument() -> None:
    """As for gradients."""
    with pytest.raises(tadc.CompileError, match="no argument `z`"):
        tadc.jvp(tadc.function(WINDOWS), wrt="z")
