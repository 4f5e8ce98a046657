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
from tests.reference.sampling import slow_but_one_in

#: What values decide, and factors that are forms of indices, are no part of a pattern.
CHOICES = ("max", "min", "select", "%", "* k)", "* i;", "frac", "scan")


@pytest.mark.one_in(8)
@pytest.mark.parametrize("name", slow_but_one_in(6, CASES))
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


SCALARS = {name: case for name, case in PROGRAMS.items() if name == "pairs"} | {
    "window": (
        "x: f64[9]\nw: f64[3]\nf = sum{i: 7} (sin(sum{k} (w[k] * x[i + k]))**2)",
        lambda x, w: jnp.sum(jnp.sin(x[jnp.arange(7)[:, None] + jnp.arange(3)] @ w) ** 2),
        (9, 3),
    )
}


@pytest.mark.one_in(2)
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
