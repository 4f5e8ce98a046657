"""Jacobians, Hessians and Hessian-vector products against JAX."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tadc
from tadc.compiler.all_stages import compile_until
from tadc.compiler.compile_options import Options
from tadc.compiler.derive import read_back
from tadc.compiler.stages import Compilation
from tadc.passes.terms.operation_counts import count_program
from tests.conformance.test_forward import CASES, PROGRAMS, close, named

#: What values decide, and factors that are forms of indices, are no part of a pattern.
CHOICES = ("max", "min", "select", "%", "* k)", "* i;", "frac", "scan")


@pytest.mark.parametrize("name", CASES)
def test_of_all_arguments(name: str) -> None:
    """Every partial derivative of every output."""
    case = CASES[name]
    inputs = case.inputs()
    plain = tadc.function(case.program)
    function = tadc.jacobian(plain)
    assert function.inputs == plain.inputs
    found = named(function, dict(inputs))
    reference = jax.jacrev(case.outputs)
    if case.compiled:
        reference = jax.jit(reference)
    expected = reference({n: jnp.asarray(x) for n, x in inputs.items()})
    assert len(found) == len(plain.outputs) * len(plain.inputs)
    sparse = by_name(function, function.toscipy(**inputs))
    for output in plain.outputs:
        for argument in plain.inputs:
            name, wanted = f"d{output}_d{argument}", np.asarray(expected[output][argument])
            close(found[name], wanted, case.tolerance)
            flat = wanted.reshape(-1, inputs[argument].size) if wanted.size else np.zeros(sparse[name].shape)
            # What is stored is all that is not 0, and for values without a choice among them no more.
            close(sparse[name].toarray(), flat, case.tolerance)
            if not any(word in case.program for word in CHOICES):
                assert sparse[name].nnz == np.count_nonzero(wanted)


def by_name(function: tadc.Function, found: Any) -> dict[str, Any]:
    """What is given for each output, by name."""
    return dict(zip(function.outputs, found if len(function.outputs) > 1 else [found], strict=True))


#: An element of each Jacobian takes as many operations whatever the size: no sum over zeros is left.
CHOSEN = {
    "a value at one place": (
        "x: f64[N]\ny[i: N] = select(x[0] > 0, x[i]*x[0], 0)",
        lambda x: jnp.where(x[0] > 0, x * x[0], 0),
    ),
    "a condition inside": (
        "x: f64[N]\ny[i: N] = select(x[i] > 0, if {i >= 3} then (x[0]*x[i]) else (0), x[0])",
        lambda x: jnp.where(x > 0, jnp.where(jnp.arange(x.size) >= 3, x[0] * x, 0), x[0]),
    ),
}


@pytest.mark.parametrize("name", CHOSEN)
def test_choices_leave_no_sum(name: str) -> None:
    text, reference = CHOSEN[name]
    jacobian = tadc.jacobian(tadc.function(text))
    assert "sum" not in str(jacobian)
    assert "sum" not in str(jacobian.compressed())
    for x in (np.linspace(-1, 1, 6), np.linspace(1, -1, 7)):
        wanted = jax.jit(jax.jacobian(reference))(jnp.asarray(x))
        close(jacobian(x=x), wanted, 1e-12)
        close(jacobian.toscipy(x=x).toarray(), wanted, 1e-12)


def _logistic(p: jax.Array, u: float, t: jax.Array) -> jax.Array:
    def step(u: jax.Array, t: jax.Array) -> tuple[jax.Array, jax.Array]:
        new = u + 0.1 * p[0] * u * (1 - u / p[1]) + p[2] * t
        return new, new

    return jnp.concatenate([jnp.array([u]), jax.lax.scan(step, jnp.asarray(u), t[1:])[1]])


def _pairs(x: jax.Array) -> jax.Array:
    i, j = jnp.triu_indices(len(x), 1)
    r = ((x[i] - x[j]) ** 2).sum(1) + 0.1
    return (r**-6 - r**-3).sum()


#: Cotangents that are 0 but on one or two diagonals, and tangents for each of few parameters.
LAYERS: dict[str, tuple[str, Any, tuple[tuple[int, ...], ...]]] = {
    "radial basis functions": (
        "x: f64[N, D]; c: f64[K, D]; b: f64[K]\ny[n, k] = exp(-b[k]*sum{d} ((x[n, d] - c[k, d])**2))",
        lambda x, c, b: jnp.exp(-b * ((x[:, None] - c) ** 2).sum(2)),
        ((40, 3), (35, 3), (35,)),
    ),
    "a softmax": (
        "x: f64[N, M]\nlet m[i] = max{j} (x[i, j])\nlet e[i, j] = exp(x[i, j] - m[i])\n"
        "y[i, j] = e[i, j]/sum{k} (e[i, k])",
        lambda x: jax.nn.softmax(x, axis=1),
        ((36, 5),),
    ),
    "a softmax of a layer": (
        "x: f64[N, D]; w: f64[M, D]\nlet z[n: N, k: M] = sum{d} (w[k, d]*x[n, d])\n"
        "let e[n: N, k: M] = exp(z[n, k])\ny[n: N, k: M] = e[n, k]/sum{j} (e[n, j])",
        lambda x, w: jax.nn.softmax(x @ w.T, axis=1),
        ((4, 3), (6, 3)),
    ),
    "a softmax of a layer by its logarithm": (
        "x: f64[D]; w: f64[M, D]\nlet z[k: M] = sum{d} (w[k, d]*x[d])\n"
        "y[k: M] = exp(z[k] - logsumexp{j} (z[j]))",
        lambda x, w: jax.nn.softmax(w @ x),
        ((7,), (6, 7)),
    ),
    "two convolutions": (
        "x: f64[N]; w: f64[K]; v: f64[L]\nlet h[n: N - K + 1] = tanh(sum{k} (x[n + k]*w[k]))\n"
        "y[n: N - K - L + 2] = tanh(sum{l} (h[n + l]*v[l]))",
        lambda x, w, v: jnp.tanh(jnp.correlate(jnp.tanh(jnp.correlate(x, w, mode="valid")), v, mode="valid")),
        ((90,), (3,), (4,)),
    ),
    "a logistic equation by its parameters": (
        "p: f64[3]; u0: f64; t: f64[M]\nscan{i} u[i: M] = if {i = 0} then (u0) else (\n"
        "    u[i - 1] + 0.1*p[0]*u[i - 1]*(1 - u[i - 1]/p[1]) + p[2]*t[i])",
        _logistic,
        ((3,), (), (70,)),
    ),
    "forces of pairs": (
        "x: f64[N, 3]\nlet r[i: N, j: N] = sum{c} ((x[i, c] - x[j, c])**2) + 0.1\n"
        "u = sum{i, j: i < j} (1/r[i, j]**6 - 1/r[i, j]**3)",
        _pairs,
        ((40, 3),),
    ),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name: str) -> None:
    """Dense Jacobians by all arguments, of an energy the Hessian, for any sizes and for these."""
    text, reference, shapes = LAYERS[name]
    random = np.random.default_rng(5)
    arrays = [random.uniform(0.5, 1.5, shape) for shape in shapes]
    f = tadc.function(text)
    if f.program.outputs[0].shape:
        made, wanted = tadc.jacobian(f), jax.jit(jax.jacobian(reference, tuple(range(len(shapes)))))(*arrays)
    else:
        made, wanted = tadc.hessian(f), [jax.jit(jax.hessian(reference))(*arrays)]
    extents = [n for a in f.program.arguments for n in a.shape]
    sizes = {str(n): size for n, size in zip(extents, [n for s in shapes for n in s], strict=True)}
    for function in (made, made.at({name: sizes[name] for name in f.program.sizes})):
        found = function(*arrays)
        for one, other in zip(found if len(shapes) > 1 else [found], wanted, strict=True):
            close(one, other, 1e-11)


SCALARS = {name: case for name, case in PROGRAMS.items() if name == "pairs"} | {
    "window": (
        "x: f64[9]\nw: f64[3]\nf = sum{i: 7} (sin(sum{k} (w[k] * x[i + k]))**2)",
        lambda x, w: jnp.sum(jnp.sin(x[jnp.arange(7)[:, None] + jnp.arange(3)] @ w) ** 2),
        (9, 3),
    )
}


@pytest.mark.parametrize("name", SCALARS)
def test_hessians(name: str) -> None:
    """All blocks of second derivatives, and their product with a direction."""
    text, reference, shapes = SCALARS[name]
    random = np.random.default_rng(3)
    first, second, *moved = (random.uniform(-1, 1, n) for n in (*shapes, *shapes))
    function = tadc.function(text)
    blocks = tadc.hessian(function)(first, second)
    expected = jax.jit(jax.hessian(reference, argnums=(0, 1)))(first, second)
    for found, wanted in zip(blocks, [b for row in expected for b in row], strict=True):
        close(found, wanted, 1e-12)
    products = tadc.hvp(function)(first, second, *moved)
    for product, row in zip(products, expected, strict=True):
        close(product, sum(block @ v for block, v in zip(row, moved, strict=True)), 1e-12)
    # Of one argument it is an array.
    close(tadc.hessian(function, wrt=function.inputs[0])(first, second), expected[0][0], 1e-12)


def test_hessian_of_pairs_costs_its_elements() -> None:
    """The operations for n points grow with n squared, not with its cube."""
    counts = []
    for n in (10, 20, 40):
        function = tadc.hessian(tadc.function(f"x: f64[{n}]\nf = sum{{i, j}} (exp(-(x[i] - x[j])**2))"))
        state = Compilation(Options(), function.program.source, program=function.program)
        compile_until(state, "hoist", first="tad")
        counts.append(count_program(read_back(state)).operations)
    assert counts[2] < 4.5 * counts[1] < 4.5**2 * counts[0]


def test_sizes() -> None:
    """Of any size, also where an output has no elements."""
    function = tadc.jacobian(tadc.function("x: f64[N]\nf[i: N - 1] = x[i]**2 * x[i + 1]"))
    for n in (1, 2, 7):
        x = np.linspace(1, 2, n)
        expected = jax.jit(jax.jacrev(lambda x: x[:-1] ** 2 * x[1:]))(jnp.asarray(x))
        close(function(x), expected, 1e-14)


def test_no_element() -> None:
    """A scalar's Jacobian is its gradient."""
    function = tadc.function("x: f64[4]\nf = sum{i} (x[i]**3)")
    x = np.linspace(0, 1, 4)
    np.testing.assert_array_equal(tadc.jacobian(function)(x), tadc.grad(function)(x))


def test_hessian_needs_a_scalar() -> None:
    """As a gradient does."""
    with pytest.raises(tadc.CompileError, match="one scalar output"):
        tadc.hessian(tadc.function("x: f64[3]\nf[i] = x[i]**2"))
