"""Gradients with `reverse="invert"`: of gradients with all states kept, in the memory of a few steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tadc
from tadc.backend.runtime.workspace import workspace
from tests.backend.kernels import on_host
from tests.inversion.test_inverse_steps import OTHERS, STEPS

LEAPFROG = """
x: f64[N]; v: f64[N]; k: f64[N]
size T
let scan{t} u[t: T, c: 2, i: N] = if {t = 0} then (if {c = 0} then (x[i]) else (v[i])) else (
    if {c = 0} then (u[t - 1, 0, i] + 0.01*u[t - 1, 1, i])
    else (u[t - 1, 1, i] - 0.01*k[i]*sin(u[t - 1, 0, i] + 0.01*u[t - 1, 1, i])))
let e[t: T, i: N] = u[t, 1, i]**2
s = sum{c, i} (u[T - 1, c, i]**2) + sum{t, i} (0.001*e[t, i]*cos(u[t, 0, i]))
"""


def arguments(f: tadc.Function, scale: float = 0.3) -> dict[str, Any]:
    """Random arrays."""
    random = np.random.default_rng(0)
    return {a.name: scale * random.standard_normal([*a.shape]) for a in f.program.arguments}  # type: ignore[misc]


def bytes_in_between(f: tadc.Function) -> int:
    """The bytes of all tensors in between."""
    return workspace(on_host(f.compiled().kernel).temporaries).bytes


@pytest.mark.parametrize("name", STEPS)
def test_gradients(name: str) -> None:
    f = tadc.function(STEPS[name])
    g, h = tadc.vjp(f), tadc.vjp(f, reverse="invert")
    assert h.outputs == (*g.outputs, "residual")
    given = arguments(g)
    *found, residual = h(**given)
    wanted = g(**given)
    for one, other in zip(found, wanted if isinstance(wanted, tuple) else [wanted], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)
    assert 0 <= residual < 1e-9


def test_memory_does_not_grow_with_steps() -> None:
    """Ten times the steps take the same memory; values come along, and second derivatives are right."""
    sizes = [{"N": 10, "T": steps} for steps in (1000, 10_000)]
    few, many = (tadc.grad(tadc.function(LEAPFROG, sizes=s), reverse="invert") for s in sizes)
    assert bytes_in_between(few) == bytes_in_between(many) < 80_000  # the states of 10,000 steps take 1.6 MB
    f = tadc.function(LEAPFROG, sizes={"N": 10, "T": 200})
    given = arguments(f)
    value, *_, residual = tadc.value_and_grad(f, reverse="invert")(**given)
    np.testing.assert_allclose(value, f(**given), rtol=1e-14)
    assert 0 < residual < 1e-12
    given["k"] = abs(given["k"])  # else it explodes
    direction = {"x_dot": np.ones(10)}
    second = tadc.jvp(tadc.grad(f, wrt="x", reverse="invert"), wrt="x")(**given, **direction)
    wanted = tadc.hvp(f, wrt="x")(**given, **direction)
    np.testing.assert_allclose(second[second._fields.index("dx_dot")], wanted, rtol=1e-9)


def test_residual_says_what_rounding_loses() -> None:
    """Steps that shrink states by a tenth lose one digit each on the way back."""
    text = "x: f64[4]; let scan{t} u[t: 12, i: 4] = if {t = 0} then (x[i]) else (.1*u[t - 1, i] + 1)"
    f = tadc.function(text + "; s = sum{t, i} (u[t, i]**2)")
    *_, residual = tadc.grad(f, reverse="invert")(x=np.ones(4) / 3)
    assert 1e-8 < residual < 1e-3


@pytest.mark.parametrize("text", OTHERS)
def test_refusals_say_why(text: str) -> None:
    nonlinear = (
        text.rpartition(";")[0]
        + "; s = "
        + ("sum{t, i} (u[t, i]**3)" if "i: 9" in text else "sum{t} (u[t]**3)")
    )
    with pytest.raises(tadc.CompileError) as caught:
        tadc.vjp(tadc.function(nonlinear), reverse="invert")
    (problem,) = caught.value.diagnostics
    assert problem.code == "TAD0410"
    assert OTHERS[text] in problem.notes[0]


def test_sizes_must_have_values() -> None:
    f = tadc.function(LEAPFROG)
    with pytest.raises(tadc.CompileError, match="needs the values of `N`, `T`"):
        tadc.grad(f, reverse="invert")
    with pytest.raises(tadc.UsageError, match="reverse"):
        tadc.grad(f, reverse="back")
