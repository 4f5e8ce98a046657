"""Recurrences run backwards from their last states, against the states of a run forwards."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tadc
from tadc.apps.undoing.inverse_steps import InverseSteps, inverse_steps
from tadc.apps.undoing.solutions.undone import NoFormula
from tadc.frontend.printer import print_program
from tests.inversion.flows import FLOWS

STEPS = {
    "coupling": FLOWS["coupling"].case.text,
    "leapfrog": FLOWS["leapfrog"].case.text,
    "leapfrog in full": FLOWS["leapfrog in full"].case.text,
    "second order, downwards": FLOWS["second order"].case.text,
    "bidiagonal, not linear": FLOWS["bidiagonal"].case.text,
    "shifted": FLOWS["shifted"].case.text,
    "rotation": FLOWS["rotation"].case.text.replace("+ .1*u[t - 1, 1, i]**3", ""),
    "a function of each": "x: f64[4]; w: f64[6, 4]; let scan{t} u[t: 6, i: 4] = if {t = 0} then (x[i]) else ("
    "3*tanh(.7*u[t - 1, i] + w[t, i]) - .2); y[i: 4] = u[5, i]",
    "sums over elements before": "x: f64[4]; w: f64[6, 4, 4]; let scan{t} u[t: 6, i: 4] = if {t = 0} then ("
    "x[i]) else (2*u[t - 1, i] + sum{j} (if {j < i} then (w[t, i, j]*sin(u[t - 1, j])) else (0)))"
    "; y[i: 4] = u[5, i]",
    "a product with the element before": "x: f64[9]; let scan{t} u[t: 6, i: 9] = if {t = 0} then (x[i]) else "
    "(tanh(if {i >= 1} then (u[t - 1, i]*exp(u[t - 1, i - 1])) else (2*u[t - 1, i]))); y[i: 9] = u[5, i]",
}

#: Recurrences whose steps formulas do not undo, and what the reason says.
OTHERS = {
    "x: f64[9]; let scan{t} u[t: 6, i: 9] = if {t = 0} then (x[i]) else (u[t - 1, i] + sin(u[t - 1, i]))"
    "; y[i: 9] = u[5, i]": "its `add` reads it twice",
    "x: f64[9]; let scan{t} u[t: 6, i: 9] = if {t = 0} then (x[i]) else (sin(u[t - 1, i]))"
    "; y[i: 9] = u[5, i]": "its `sin` has no inverse",
    "x: f64[9]; w: f64[9, 9]; let scan{t} u[t: 6, i: 9] = if {t = 0} then (x[i]) else ("
    "sum{j} (w[i, j]*u[t - 1, j])); y[i: 9] = u[5, i]": "solved as a system",
    "x: f64[9]; let scan{t} u[t: 6, i: 9] = if {t = 0} then (x[i]) else ("
    "if {i >= 1} then (u[t - 1, i - 1]) else (0)); y[i: 9] = u[5, i]": "does not depend on the one that it",
    **{
        f"x: f64[9]; let scan{{t}} u[t: 6, i: 9] = if {{t = 0}} then (x[i]) else ({step}); y = u[5, 0]": why
        for step, why in {
            "select(u[t - 1, i] < 0, 2*u[t - 1, i], 2*u[t - 1, i] + 1)": "neither affine",
            "u[t - 1, i] - 3*floor(u[t - 1, i])": "its `sub` reads it twice",
            "u[t - 1, i] % 3.0": "its `mod` has no inverse",
        }.items()
    },
    "x: f64[9]; let scan{t} u[t: 9] = if {t = 0} then (x[0]) else (sum{k}_0^(t - 1) (u[k]))"
    "; y = u[8]": "alike",
}


def states(text: str) -> tuple[list[Any], Any]:
    """Random inputs, and all states that they lead to."""
    f = tadc.function(text.replace("let scan", "scan"))
    random = np.random.default_rng(0)
    arguments = [0.4 * random.standard_normal(a.shape) for a in f.program.arguments]  # type: ignore[misc]
    found = f(*arguments)
    return arguments, found[f.outputs.index("u")]


def last_states(made: InverseSteps, u: Any) -> dict[str, Any]:
    """The arguments of the program backwards."""
    layout = made.layout
    along = np.moveaxis(u, layout.axis, 0)
    along = along[::-1] if layout.down else along
    found: dict[str, Any] = {}
    for back in range(layout.depth):
        for part, values in enumerate(layout.parts):
            state = along[layout.length - 1 - back]
            # The last of the split dimensions first: those in front keep their numbers.
            for n, value in reversed(list(zip(layout.split, values, strict=True))):
                state = np.take(state, value, n if n < layout.axis else n - 1)
            found[f"l{back}_{part}"] = state
    return found


@pytest.mark.parametrize("name", STEPS)
def test_states_backwards(name: str) -> None:
    f = tadc.function(STEPS[name])
    made = inverse_steps(f.program, "u")
    assert isinstance(made, InverseSteps)
    arguments, u = states(STEPS[name])
    back = tadc.function(print_program(made.program))
    given = last_states(made, u)
    given |= {n: a for n, a in zip(f.inputs, arguments, strict=True) if n in back.inputs}
    np.testing.assert_allclose(back(**given), u, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("text", OTHERS)
def test_steps_without_formula(text: str) -> None:
    with pytest.raises(NoFormula, match=re.escape(OTHERS[text])):
        inverse_steps(tadc.function(text).program, "u")


def test_what_is_no_recurrence() -> None:
    program = tadc.function("x: f64[N]; y[i] = 2*x[i]").program
    with pytest.raises(NoFormula, match=r"^`y` is no recurrence$"):
        inverse_steps(program, "y")
