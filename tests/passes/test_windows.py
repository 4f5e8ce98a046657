"""Recurrences that keep their last steps alone: the same bits, in memory for few steps."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import tadc
from bench.switches import SWITCHES
from tadc.backend.runtime.workspace import workspace
from tadc.compiler.all_stages import compile_until
from tadc.compiler.compile_options import Options
from tadc.compiler.kernel_interface import interface_of
from tadc.compiler.stages import Compilation
from tadc.frontend.extents import shape_at
from tadc.frontend.source import Source
from tests.fuzz.stepwise import generate
from tests.reference.counting import Run

(OFF,) = (switch for switch in SWITCHES if switch.name == "windows")


@contextmanager
def always(rows: int) -> Iterator[None]:
    """Windows however small tensors are; so many steps of a sweep at a time where sizes are known."""
    with (
        patch("tadc.passes.maps.windows.LEAST_BYTES", 0),
        patch("tadc.passes.terms.long_steps.LEAST_ROW", 0),
        patch("tadc.passes.terms.long_steps.LEAST_SWEPT", 0),
        patch("tadc.passes.terms.long_steps.LARGE_BYTES", 0),
        patch("tadc.passes.maps.sweeps.MOST_ROWS", rows),
    ):
        yield


@pytest.mark.parametrize("seed", range(80))
def test_random_recurrences(seed: int) -> None:
    """Values, tangents and gradients: those of an element-by-element run, the very bits of all steps kept.

    Sums that are added up in another order are left out of the latter.
    """
    case = generate(seed)
    f = tadc.function(case.text)
    # Sums over steps are added up in the order of these; vectors go on from row to row where all are kept.
    in_other_order = ("sum{t}" in case.text and "scan{-t}" in case.text) or "sum{i, b}" in case.text
    outputs = [d.name for d in f.program.outputs]
    random = np.random.default_rng(seed)
    shapes = {d.name: shape_at(d.shape, case.sizes) for d in f.program.outputs}
    inputs = dict(case.inputs)
    cotangents = {f"d{name}": random.uniform(-1, 1, shapes[name]) for name in outputs}
    tangents = {"x_dot": random.uniform(-1, 1, inputs["x"].shape)}
    for g, more in ((f, {}), (tadc.vjp(f), cotangents), (tadc.jvp(f), tangents)):
        arrays = {**inputs, **more}
        run = Run(g.at(case.sizes).program, arrays, 40)
        for each in (g, g.at(case.sizes)):
            with OFF.off():
                kept = values(fresh(each)(**arrays))
            with always(seed % 5 + 1):
                found = values(fresh(each)(**arrays))
            for name, one, other in zip((d.name for d in g.program.outputs), found, kept, strict=True):
                if not in_other_order:
                    np.testing.assert_array_equal(one, other)
                np.testing.assert_allclose(one, run.arrays[name], rtol=1e-9, atol=1e-9)


def values(found: Any) -> list[Any]:
    """The results of a call, one or several."""
    return [*found] if isinstance(found, tuple) else [found]


def fresh(f: tadc.Function) -> tadc.Function:
    """The same function, of which no kernel is known."""
    return tadc.function(str(f))


HEAT = """
u0: f64[N]
k: f64
size T
let scan{t} u[t: T, i: N] = if {t = 0} then (u0[i]) else (
    if {i >= 1 and i <= N - 2} then (u[t - 1, i] + k*(u[t - 1, i - 1] - 2*u[t - 1, i] + u[t - 1, i + 1]))
    else (u[t - 1, i]))
"""

READERS = {
    "y[i: N] = u[T - 1, i]": 2,
    "y[i: N] = if {T >= 4} then (u[T - 4, i]) else (0)": 4,
    "y[t: T] = sum{i} (u[t, i]**2)": 2,
    "y[s: T // 10, i: N] = u[10*s, i] + u[T - 1, i]": None,
    "y[s: T // 10, i: N] = u[10*s, i]": 2,
    "y[t: T, i: N] = if {t >= 3} then (u[t - 3, i]) else (0)": 2,
    "y[t: T] = sum{i} (if {t >= 3} then (u[t, i]*u[t - 3, i]) else (0))": 4,
    "y[i: N] = sum{t} (u[t, i])": 4,
    "y[t: T] = sum{s}_0^t (u[s, 0])": None,
    "let v[t: T, i: N] = sin(u[t, i])\n"
    "y[t: T] = sum{i} (v[t, i]*(if {t >= 1} then (v[t - 1, i]) else (0)))": 4,
}
"""How many steps in all are kept of tensors in between; None for all of them."""


@pytest.mark.parametrize("reader", READERS)
def test_memory_is_that_of_the_steps_that_are_read(reader: str) -> None:
    """For sizes that are not known: the bytes of tensors in between are those of few rows."""
    steps, rows = 40, READERS[reader]
    state = Compilation(Options(), Source(HEAT + reader, "<string>"))
    compile_until(state, "loops")
    assert state.form is not None
    sizes = {"N": 1000, "T": steps}
    room = workspace([t.at(sizes) for t in interface_of(state, state.form).temporaries])
    assert room.bytes == pytest.approx((steps if rows is None else rows) * 8000, rel=0.05)


def test_tangents_take_twice_the_memory() -> None:
    """Of a step that is linear in the state and a parameter, two states and two tangents are kept."""
    state = Compilation(Options("jvp"), Source(HEAT + "y[i: N] = u[T - 1, i]", "<string>"))
    compile_until(state, "loops")
    assert state.form is not None
    temporaries = interface_of(state, state.form).temporaries
    assert sum(t.at({"N": 1000, "T": 40}).tensor.bytes for t in temporaries) == 4 * 8000


def test_recurrences_of_the_same_steps_run_along() -> None:
    """The tangent of u does not read u, but is read where the tangent of v is, which reads v."""
    text = """
x: f64[T, N]
let scan{t} u[t, i] = if {t >= 1 and i >= 1} then (x[t, i] + 0.5*u[t - 1, i - 1]) else (x[t, i])
let scan{t} v[t, i] = if {t >= 1 and i >= 1} then (u[t, i] + sin(v[t - 1, i - 1])) else (u[t, i])
y[i: N] = if {T >= 1} then (v[T - 1, i]) else (0)
"""
    state = Compilation(Options("jvp"), Source(text, "<string>"))
    compile_until(state, "loops")
    assert state.form is not None
    temporaries = interface_of(state, state.form).temporaries
    assert [t.at({"N": 1000, "T": 40}).tensor.bytes for t in temporaries] == [16000] * 4


def test_what_is_kept_is_said() -> None:
    """In the certificate, with how far back each read is."""
    f = tadc.function(HEAT + "y[i: N] = sum{t} (u[t, i]**3)")
    text = str(tadc.certificate(f, "k"))
    # The cotangent reads all states in the reverse order, and is itself read at its own step.
    assert "du: 2 steps in memory" in text
    assert re.search(r"du\[\w+ \+ 1, i\] for du: at most 1 step before its own step", text)
    assert "\n  u: " not in text


#: Sums whose index leaves the steps, or that read several steps, and the same of all states.
SUMS = {
    "past the end": ("sum{s: T + 2} (if {s <= T - 1} then (u[s, i]) else (2))", lambda u: u.sum(0) + 4),
    "before the start": ("sum{s}_(-2)^(T - 1) (if {s >= 0} then (u[s, i]) else (2))", lambda u: u.sum(0) + 4),
    "two steps": (
        "sum{t: T} (u[t, i] + (if {t <= T - 3} then (u[t + 2, i]) else (0)))",
        lambda u: u.sum(0) + u[2:].sum(0),
    ),
}


@pytest.mark.parametrize("shape", [(2, 3), (7, 4), (300, 200)])
@pytest.mark.parametrize("name", SUMS)
def test_sums_over_other_steps(name: str, shape: tuple[int, int]) -> None:
    text, total = SUMS[name]
    f = tadc.function(
        f"""x: f64[T, N]
let scan{{t}} u[t: T, i: N] = x[t, i] + (if {{t >= 1}} then (0.5*sin(u[t - 1, N - 1 - i])) else (0.1))
y[i: N] = {text}"""
    )
    x = np.random.default_rng(0).normal(size=shape)
    u = x + 0.1
    for t in range(1, len(u)):
        u[t] = x[t] + 0.5 * np.sin(u[t - 1, ::-1])
    np.testing.assert_allclose(f(x=x), total(u), rtol=1e-11, atol=1e-11)
