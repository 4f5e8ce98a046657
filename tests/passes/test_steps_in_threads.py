"""Threads divide the steps of recurrences: the same bits for any number of them."""

from __future__ import annotations

import numpy as np
import pytest

import tadc
from tadc.backend.cpu import thread_pool as pool
from tadc.frontend.extents import shape_at
from tests.fuzz.stepwise import generate
from tests.passes.test_windows import always, fresh, values
from tests.reference.counting import Run
from tests.reference.small_parts import small_parts_of_maps

pytestmark = pytest.mark.skipif(not pool.is_supported(), reason="one thread on this system")

THREADS = (3, 2, 1)
"""Most first: memory that is used again holds nothing right yet."""


@pytest.mark.parametrize("seed", range(60))
def test_random_recurrences(seed: int) -> None:
    """Values, tangents and gradients, in windows and with all steps kept: as an element-by-element run has
    them."""
    case = generate(seed)
    f = tadc.function(case.text)
    random = np.random.default_rng(seed)
    shapes = {d.name: shape_at(d.shape, case.sizes) for d in f.program.outputs}
    cotangents = {f"d{name}": random.uniform(-1, 1, shape) for name, shape in shapes.items()}
    tangents = {"x_dot": random.uniform(-1, 1, case.inputs["x"].shape)}
    before = tadc.get_num_threads()
    try:
        for g, more in ((f, {}), (tadc.vjp(f), cotangents), (tadc.jvp(f), tangents)):
            arrays = {**case.inputs, **more}
            run = Run(g.at(case.sizes).program, arrays, 40)
            names = [d.name for d in g.program.outputs]
            for each in (g, g.at(case.sizes)):
                with small_parts_of_maps(), always(seed % 5 + 1):
                    made = fresh(each)
                    found = {}
                    for threads in THREADS:
                        tadc.set_num_threads(threads)
                        found[threads] = values(made(**arrays))
                for name, three, two, one in zip(names, *found.values(), strict=True):
                    np.testing.assert_array_equal(two, one)
                    np.testing.assert_array_equal(three, one)
                    np.testing.assert_allclose(one, run.arrays[name], rtol=1e-9, atol=1e-9)
    finally:
        tadc.set_num_threads(before)


#: Programs, and whether threads divide their steps.
PROGRAMS = {
    # Each element of a step reads others of the step before.
    "heat": (
        "scan{t} y[t: T, i: N] = x[i] + if {t >= 1 and i >= 1} then (0.5*sin(y[t - 1, i - 1])) else (0)",
        True,
    ),
    # A matrix times the state.
    "network": (
        "scan{t} y[t: T, i: N] = if {t = 0} then (x[i]) else (tanh(sum{k: N} (w[i, k]*y[t - 1, k])))",
        True,
    ),
    # The cells of a diagonal.
    "table": (
        """let scan{i + j} d[i: N, j: M] = x[i]*w[i, j] + (
    (if {j >= 1} then (0.5*d[i, j - 1]) else (0)) + (if {i >= 1} then (0.3*d[i - 1, j]) else (0)))
y[i: N] = d[i, M - 1]""",
        True,
    ),
    # Two recurrences, of which one reads all of the other's step, and a sum over each step.
    "several": (
        """let scan{t} u[t: T, i: N] = x[i] + if {t >= 1 and i >= 1} then (0.5*sin(u[t - 1, i - 1])) else (0)
let scan{t} v[t: T, i: N] = u[t, N - 1 - i] + if {t >= 1} then (0.5*cos(v[t - 1, N - 1 - i])) else (0)
y[t: T] = sum{i} (v[t, i]*u[t, i])""",
        True,
    ),
    # There is nothing to divide.
    "one value": ("scan{t} y[t: T] = x[0] + if {t >= 1} then (0.5*sin(y[t - 1])) else (0)", False),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("known", [False, True])
def test_steps_are_divided(name: str, known: bool) -> None:
    """The code has phases, for known sizes and for others, and gives the same bits."""
    program, divided = PROGRAMS[name]
    f = tadc.function(f"x: f64[N]; w: f64[N, M]\nsize T\n{program}")
    sizes = {"N": 600, "M": 500, "T": 9}
    sizes |= {"M": 600} if name == "network" else {}
    random = np.random.default_rng(0)
    arrays = {
        "x": random.normal(size=sizes["N"]),
        "w": random.normal(size=(sizes["N"], sizes["M"])) / 20,
        "dy": random.normal(size=shape_at(f.program.outputs[0].shape, sizes)),
    }
    before = tadc.get_num_threads()
    try:
        with small_parts_of_maps():
            assert (".turns" in (f.at(sizes) if known else f).lower().as_text("llvm")) == divided
            g = tadc.value_and_vjp(f)
            g = g.at(sizes) if known else g
            found: list[list[np.ndarray]] = []
            for threads in THREADS:
                tadc.set_num_threads(threads)
                found.append(values(g(**arrays, **({} if known else {"T": sizes["T"]}))))
        for three, two, one in zip(*found, strict=True):
            np.testing.assert_array_equal(two, one)
            np.testing.assert_array_equal(three, one)
    finally:
        tadc.set_num_threads(before)


def test_schedules_of_steps() -> None:
    """What is chosen is taken when it is given; threads that divide a step are told where it ends."""
    f = tadc.function("x: f64[N]\nsize T\n" + PROGRAMS["heat"][0]).at({"N": 5000, "T": 40})
    chosen = str(f.lower().schedule)
    assert "    rows t 1\n    threads i 64\n" in chosen
    x = np.random.default_rng(0).normal(size=5000)
    np.testing.assert_array_equal(tadc.compile(f, schedule=chosen)(x=x), f(x=x))
    for old, new, message in (
        ("    rows t 1\n", "", "write `rows t 1` too"),
        ("threads i 64", "threads t 64", "threads divide an index of each step"),
        ("rows t 1", "rows t 2", "write `rows t 1`"),
        ("    threads i 64\n", "    threads i 64\n    threads i 64\n", "given once"),
    ):
        with pytest.raises(tadc.CompileError, match=message):
            tadc.compile(f, schedule=chosen.replace(old, new))
