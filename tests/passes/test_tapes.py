"""Recurrences that save some of their states: as few steps as can be, right gradients, the same bits."""

from __future__ import annotations

import math
from functools import cache
from typing import Any
from unittest.mock import patch

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from checkpoint_schedules import Forward, Revolve

import tadc
from tadc.backend.runtime import free_memory
from tadc.backend.runtime.workspace import workspace
from tadc.compiler.compile_options import Options
from tadc.frontend.extents import shape_at
from tadc.passes.maps.checkpoints import Checkpoints, advances, steps_taken
from tadc.passes.maps.map import Tape
from tests.backend.kernels import on_host
from tests.fuzz.stepwise import generate
from tests.reference.counting import Run


def test_as_few_steps_as_the_best_of_all_schedules() -> None:
    """The closed form, and the best of all ways to save states."""

    @cache
    def fewest(steps: int, states: int) -> int:
        if steps < 2:
            return 0
        if states == 1:
            return steps * (steps - 1) // 2
        return min(m + fewest(steps - m, states - 1) + fewest(m, states) for m in range(1, steps))

    for steps in range(50):
        for states in range(1, 10):
            assert advances(steps, states) == fewest(steps, states)


@pytest.mark.parametrize(("steps", "slots"), [(1, 1), (2, 1), (10, 2), (50, 4), (100, 9), (333, 3), (64, 63)])
def test_as_few_steps_as_revolve(steps: int, slots: int) -> None:
    """The first state takes a slot there alone; for each step back one is taken from the state before."""
    schedule = Revolve(steps, slots + 1)
    taken = 0
    for action in schedule:
        if isinstance(action, Forward):
            taken += min(action.n1, steps) - action.n0
        if schedule.is_exhausted:
            break
    assert steps_taken(steps, Tape(1, slots, 1, 0, 1)) == taken


@pytest.mark.parametrize("slots", [0, 1, 2, 3, 7, 30])
@pytest.mark.parametrize(("before", "ahead"), [(0, 0), (1, 0), (0, 1), (2, 1), (1, -1), (3, -2), (0, 7)])
@pytest.mark.parametrize("block", [1, 2, 5, 40])
def test_legs_take_these_steps_and_have_each_state(slots: int, before: int, ahead: int, block: int) -> None:
    """Steps store their numbers: those that are read are there, and as many are taken as counted."""
    count = 23
    fresh, rows = max(0, before + ahead) + block - 1, max(2, before + max(ahead, 0) + block)
    tape, window, states = Tape(1, slots, 1, ahead, fresh, block), dict[int, int](), dict[int, int]()
    taken, found, gone_back = 0, Checkpoints(count, tape), list[int]()
    for leg in (*found.there, *found.back):
        if leg.restore:
            window[(leg.begin - 1) % rows] = states[leg.restore]
        for step in range(leg.begin, leg.end):
            assert step == 0 or window[(step - 1) % rows] == step - 1
            window[step % rows] = step
            taken += 1
        if leg.save:
            assert leg.save <= slots
            states[leg.save] = window[(leg.end - 1) % rows]
        for back in range(leg.back_begin, leg.back_end):
            own = count - 1 - back
            for step in range(max(own - before, 0), min(own + ahead + 1, count)):
                assert window[step % rows] == step
            gone_back.append(back)
    assert gone_back == [*range(count)]
    assert taken == steps_taken(count, tape)


HEAT = """
u0: f64[N]
k: f64
c: f64[N]
size T
let scan{t} u[t: T, i: N] = if {t = 0} then (u0[i]) else (
    if {i >= 1 and i <= N - 2} then (
        u[t - 1, i] + k*c[i]*u[t - 1, i]*(u[t - 1, i - 1] - 2*u[t - 1, i] + u[t - 1, i + 1]))
    else (u[t - 1, i]))
s = sum{i} (u[T - 1, i]**2)
"""


def bytes_in_between(f: tadc.Function) -> int:
    """The bytes of all tensors in between of a function whose sizes are known."""
    return workspace(on_host(f.compiled().kernel).temporaries).bytes


@pytest.mark.parametrize("limit", ["64M", "16M", "8M"])
def test_gradients_of_heat_stay_within_a_limit(limit: str) -> None:
    """States of N = 100,000 after 4,096 steps would take 3.3 GB."""
    f = tadc.function(HEAT, sizes={"N": 100_000, "T": 4096})
    most = int(limit[:-1]) << 20
    assert 0.8 * most < bytes_in_between(tadc.grad(f, memory_limit=limit)) <= most


def test_statistics_say_what_is_saved() -> None:
    """How many steps are, and how many of all steps are taken again."""
    text = str(tadc.statistics(tadc.function(HEAT, sizes={"N": 1000, "T": 500}), memory_limit="256K"))
    assert "u: 16 steps in memory, 11 steps saved" in text
    assert "500 steps, and 790 steps again for the gradient" in text


PROGRAMS = {
    "a parameter that the last state is multiplied by": """
        x: f64[N]; k: f64
        size T
        let scan{t} u[t: T, i: N] = if {t = 0} then (x[i]) else (u[t - 1, i] + k*sin(u[t - 1, i]))
        s = sum{i} (k*u[T - 1, i]**2)""",
    "leapfrog": """
        x: f64[2, N]; k: f64[N]
        size T
        let scan{2*t + c} u[t: T, c: 2, i: N] = if {t = 0} then (x[c, i]) else (
            u[t - 1, c, i] + if {c = 0} then (0.1*u[t - 1, 1, i]) else (-0.1*k[i]*sin(u[t, 0, i])))
        s = sum{c, i} (k[i]*u[T - 1, c, i]**2)""",
    "down": """
        x: f64[N]; k: f64[N]
        size T
        let scan{-t} u[t: T, i: N] = if {t = T - 1} then (x[i]) else (u[t + 1, i]*cos(k[i]*u[t + 1, i]))
        s = sum{i} (k[i]*u[0, i]**2) + sum{t, i} (u[t, i])""",
    "two steps back": """
        x: f64[2, N]; k: f64[N]
        size T
        let scan{t} u[t: T, i: N] = if {t <= 1} then (x[t, i]) else (
            2*u[t - 1, i] - u[t - 2, i] - 0.1*sin(k[i]*u[t - 1, i]))
        s = sum{i} (k[i]*u[T - 1, i]**2)""",
    "a recurrent network": """
        W: f64[N, N]; U: f64[N, 3]; x: f64[T, 3]; h0: f64[N]
        let scan{t} h[t: T, i: N] = tanh(sum{j} (U[i, j]*x[t, j])
            + if {t = 0} then (sum{j} (W[i, j]*h0[j])) else (sum{j} (W[i, j]*h[t - 1, j])))
        s = sum{t, i} (h[t, i]**2)""",
    "one after the other": """
        x: f64[N]; k: f64
        size T
        let scan{t} u[t: T, i: N] = if {t = 0} then (x[i]) else (u[t - 1, i] + k*sin(u[t - 1, i]))
        let scan{t} v[t: T, i: N] = if {t = 0} then (u[T - 1, i]) else (v[t - 1, i]*cos(k*v[t - 1, i]))
        s = sum{i} (v[T - 1, i]**2)""",
    "two of one parameter": """
        x: f64[N]; k: f64
        size T
        let scan{t} u[t: T, i: N] = if {t = 0} then (x[i]) else (u[t - 1, i] + k*sin(u[t - 1, i]))
        let scan{t} v[t: T, i: N] = if {t = 0} then (2*x[i]) else (v[t - 1, i] + k*cos(v[t - 1, i]))
        s = sum{i} (v[T - 1, i]*u[T - 1, i])""",
    "some states": """
        x: f64[N]; k: f64
        size T
        let scan{t} u[t: T, i: N] = if {t = 0} then (x[i]) else (u[t - 1, i] + k*sin(u[t - 1, i]))
        let f[p: T // 10, i: N] = u[10*p, i]
        s = sum{p, i} (p*f[p, i]**2)""",
}


@pytest.mark.parametrize("slots", [0, 1, 5])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str, slots: int) -> None:
    """Gradients with a few states saved: those of an element-by-element run, of the bits of all states."""
    sizes = {"N": 6, "T": 40}
    f = tadc.function(PROGRAMS[name])
    random = np.random.default_rng(len(name))
    shapes = {d.name: shape_at(d.shape, sizes) for d in f.program.arguments}
    arrays: dict[str, Any] = {n: random.uniform(-1, 1, shape) for n, shape in shapes.items()}
    g = tadc.grad(f)
    run = Run(g.at(sizes).program, arrays, 40)
    whole = tadc.grad(f, memory_limit=1 << 30).at(sizes)
    least = bytes_in_between(tadc.grad(f, memory_limit=1).at(sizes))
    h = tadc.grad(f, memory_limit=least + 100 * slots).at(sizes)
    assert bytes_in_between(h) < bytes_in_between(whole)
    for definition, one, other in zip(g.program.outputs, h(**arrays), whole(**arrays), strict=True):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_allclose(one, run.arrays[definition.name], rtol=1e-9, atol=1e-9)


TWO = """
x: f64[3]
size T
let scan{t} u[t: T, i: 3] = if {t = 0} then (x[i]) else (u[t - 1, i] + 0.9*sin(u[t - 1, i]))
let scan{t} v[t: T, i: 3] = if {t = 0} then (START) else (v[t - 1, i]*cos(0.1*v[t - 1, i]))
BETWEEN
let scan{-t} p[t: T, i: 3] = if {t = T - 1} then (1) else (0.9*p[t + 1, i] + sin(u[t, i]))
let scan{-t} q[t: T, i: 3] = if {t = T - 1} then (p[0, i]) else (0.9*q[t + 1, i] + sin(v[t, i]))
y[i: 3] = p[0, i]
z[i: 3] = q[0, i]
"""


@pytest.mark.parametrize(
    ("start", "between"),
    [("u[T - 1, i]", ""), ("x[i]", "e[i: 3] = sin(u[T - 1, i] + v[T - 1, i])")],
    ids=["a recurrence that runs again", "a map that has to wait for another recurrence"],
)
def test_last_steps_that_are_read_after_others_were_taken_again(start: str, between: str) -> None:
    """By what may run at any time, or does once more: steps of u are taken again for p before that."""
    text = TWO.replace("START", start).replace("BETWEEN", between)
    f, x = tadc.function(text, sizes={"T": 100}), np.array([0.3, 0.5, -0.7])
    few = tadc.function(text, sizes={"T": 100})
    limited = few.compiled_for(Options(memory_limit=1))
    with patch.object(type(few), "compiled", lambda _: limited):
        found = few(x=x)
        assert bytes_in_between(few) < 100 * 24 * 2
    for one, other in zip(found, f(x=x), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_values_past_the_last_step_are_kept() -> None:
    """They are computed with the last step, so a window would have these in the place of that."""
    text = """
        x: f64[3]; k: f64
        size T
        let scan{t} u[t: T, i: 3] = if {t = 0} then (x[i]) else (u[t - 1, i] + k*sin(u[t - 1, i]))
        let f[s: T + 3, i: 3] = if {s <= T - 1} then (sum{j: 3} (exp(u[s, j]*i))) else (2*k)
        g[t: T, i: 3] = sum{j: 3} (exp(f[t, j]*i*0.1) + f[t, 2 - i]*f[t, i])"""
    f = tadc.function(text, sizes={"T": 20})
    arrays = {"x": np.array([0.3, 0.5, -0.7]), "k": 0.4, "dg": np.ones((20, 3))}
    with patch("tadc.passes.maps.windows.LEAST_BYTES", 0):
        few = tadc.value_and_vjp(f, memory_limit=1000)(**arrays)
    for one, other in zip(few, tadc.value_and_vjp(f)(**arrays), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_many_states_of_few_bytes() -> None:
    """The numbers of steps that are saved are on the stack, which has not room for all of them."""
    text = """
        x: f64
        size T
        let scan{t} u[t: T] = if {t = 0} then (x) else (u[t - 1] + 1e-7*sin(u[t - 1]))
        y = u[T - 1]**2"""
    f = tadc.function(text, sizes={"T": 3_000_000})
    np.testing.assert_allclose(tadc.grad(f, memory_limit="20M")(x=0.3), tadc.grad(f)(x=0.3), rtol=1e-12)


@pytest.mark.parametrize("batch", [9, 10, 15])
def test_batches_that_are_no_whole_vectors(batch: int) -> None:
    """Steps that are taken again from a saved state are not taken twice: their window has moved on."""
    text = """
        x: f64[B, T]
        let scan{t} u[b: B, t: T] = (x[b, t] + (if {t >= 3} then (0.4*sin(u[b, t - 3])) else (x[b, t]))
            + (if {t >= 1} then (0.4*sin(u[b, t - 1])) else (0.1)))
        y[b: B] = u[b, T - 1]"""
    f = tadc.function(text, sizes={"B": batch, "T": 30})
    arrays = {"x": np.random.default_rng(batch).uniform(-1, 1, (batch, 30)), "dy": np.linspace(0.5, 1, batch)}

    def loss(x: jax.Array) -> jax.Array:
        u = list[jax.Array]()
        for t in range(30):
            before = (0.4 * jnp.sin(u[t - 3]) if t >= 3 else x[:, t], 0.4 * jnp.sin(u[t - 1]) if t else 0.1)
            u.append(x[:, t] + before[0] + before[1])
        return jnp.sum(u[-1] * arrays["dy"])

    for rows in (1, 2, 5):
        with patch("tadc.passes.maps.windows.LEAST_BYTES", 0):
            few = tadc.vjp(f, memory_limit=rows * batch * 8 * 4)(**arrays)
        np.testing.assert_allclose(few, jax.grad(loss)(arrays["x"]), rtol=1e-12)


ROWS = (1, 2, 4, 7, 20, 1000)


@pytest.mark.parametrize("seed", range(80))
def test_random_recurrences(seed: int) -> None:
    """Gradients under limits from one state to all: those of an element-by-element run, of the same bits."""
    case = generate(seed)
    f = tadc.function(case.text)
    random = np.random.default_rng(seed)
    shapes = {f"d{d.name}": shape_at(d.shape, case.sizes) for d in f.program.outputs}
    arrays: dict[str, Any] = {**case.inputs, **{n: random.uniform(-1, 1, s) for n, s in shapes.items()}}
    g = tadc.vjp(f)
    run = Run(g.at(case.sizes).program, arrays, 40)
    row = max(8 * math.prod(case.inputs["x"].shape[1:]), 8)
    first: list[Any] = []
    for rows in ROWS:
        with patch("tadc.passes.maps.windows.LEAST_BYTES", 0):
            found = tadc.vjp(f, memory_limit=rows * row).at(case.sizes)(**arrays)
        results = [*found] if isinstance(found, tuple) else [found]
        first = first or results
        for definition, one, other in zip(g.program.outputs, results, first, strict=True):
            np.testing.assert_array_equal(one, other)
            np.testing.assert_allclose(one, run.arrays[definition.name], rtol=1e-9, atol=1e-9)


def test_last_steps_that_each_step_back_reads() -> None:
    """A window has them when the way back begins, and no more when steps were taken again."""
    text = """
        x: f64[N]; k: f64[N]
        size T
        let scan{t} u[t: T, i: N] = if {t = 0} then (x[i]) else (u[t - 1, i] + k[i]*sin(u[t - 1, i]))
        let scan{-t} z[t: T, i: N] = if {t = T - 1} then (k[i]) else (z[t + 1, i]*u[t, i] + 0.1*u[T - 1, i])
        y[i: N] = z[0, i]"""
    sizes = {"N": 3, "T": 40}
    random = np.random.default_rng(0)
    arrays = {name: random.uniform(-1, 1, 3) for name in "xk"}
    run = Run(tadc.function(text).at(sizes).program, arrays, 40)
    for limit in (1, 100, 300, 10_000):
        found = tadc.function(text, memory_limit=limit).at(sizes)(**arrays)
        np.testing.assert_allclose(found, run.arrays["y"], rtol=1e-12)


def without_a_limit(f: tadc.Function, states: int) -> tuple[int, list[Any]]:
    """The bytes in between of gradients, and these, where states of so many bytes are in no cache."""
    random = np.random.default_rng(0)
    arrays = [random.uniform(0, 0.3, shape_at(d.shape, {})) for d in f.program.arguments]
    large = patch("tadc.passes.terms.long_steps.LARGE_BYTES", 1 << 20)
    with large, patch("tadc.passes.maps.taped_pairs.LARGE_BYTES", states):
        g = tadc.grad(f)
        return bytes_in_between(g), [*g(*arrays)]


CHEAP = {
    "heat": (HEAT, {"N": 100, "T": 2000}),
    "leapfrog": (PROGRAMS["leapfrog"], {"N": 100, "T": 2000}),
    "two steps back": (PROGRAMS["two steps back"], {"N": 100, "T": 2000}),
    "down": (PROGRAMS["down"], {"N": 100, "T": 2000}),
}


@pytest.mark.parametrize("name", CHEAP)
def test_few_states_of_cheap_steps(name: str) -> None:
    """About twice the root of 2,000 of them: gradients have the bits that they have of all states."""
    text, sizes = CHEAP[name]
    f = tadc.function(text, sizes=sizes)
    (few, found), (whole, kept) = without_a_limit(f, 1 << 20), without_a_limit(f, 1 << 40)
    assert few < whole / 8
    for one, other in zip(found, kept, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("a recurrent network", {"N": 40, "T": 4000}),
        ("leapfrog", {"N": 3, "T": 30_000}),
        ("heat", {"N": 9000, "T": 15}),
    ],
    ids=["steps that take longer than memory", "states that are in registers", "few steps"],
)
def test_all_states_that_are_cheaper_to_keep(name: str, sizes: dict[str, int]) -> None:
    f = tadc.function({**PROGRAMS, "heat": HEAT}[name], sizes=sizes)
    assert "saved" not in str(tadc.statistics(f))
    with patch("tadc.passes.maps.taped_pairs.LARGE_BYTES", 1 << 10):
        assert "saved" not in str(tadc.statistics(f))


def test_gradients_of_heat_by_default() -> None:
    """Those of JAX with 1,000 steps of 20,000 elements, which take 160 MB, in a tenth of that."""
    sizes = {"N": 20_000, "T": 1000}
    f = tadc.function(HEAT, sizes=sizes)
    assert bytes_in_between(tadc.grad(f)) < 16e6
    random = np.random.default_rng(0)
    u0, k, c = random.uniform(0, 1, 20_000), 0.1, random.uniform(0, 1, 20_000)

    def loss(u: jax.Array, k: Any, c: Any) -> jax.Array:
        def step(u: jax.Array, _: None) -> tuple[jax.Array, None]:
            inner = u[1:-1] + k * c[1:-1] * u[1:-1] * (u[:-2] - 2 * u[1:-1] + u[2:])
            return jnp.concatenate([u[:1], inner, u[-1:]]), None

        return (jax.lax.scan(step, u, None, length=999)[0] ** 2).sum()

    expected = jax.jit(jax.grad(loss, (0, 1, 2)))(u0, k, c)
    for found, wanted in zip(tadc.grad(f)(u0, k, c), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("known", [False, True])
def test_states_take_at_most_half_of_what_is_free(known: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of a network are kept while there is memory: a version saves some of them where there is not."""
    sizes = {"N": 30, "T": 100_000}
    text = """
        W: f64[N, N]; x: f64[N]
        size T
        let scan{t} h[t: T, i: N] = if {t = 0} then (x[i]) else (tanh(sum{j} (W[i, j]*h[t - 1, j])))
        s = sum{i} (h[T - 1, i]**2)"""
    g = tadc.grad(tadc.function(text, sizes=sizes if known else None))
    random = np.random.default_rng(0)
    given: dict[str, Any] = {"W": random.normal(size=(30, 30)) / 5, "x": random.normal(size=30)}
    given |= {} if known else {"T": sizes["T"]}
    first, kernel = g(**given), on_host(g.compiled().kernel)
    taken: list[int] = []
    for free in (100 << 20, 40 << 20, 8 << 20):
        for name in ("_unused_memory", "available_memory"):
            monkeypatch.setattr(free_memory, name, lambda free=free: free)
        for one, other in zip(g(**given), first, strict=True):
            # Sums over steps are added up in another order.
            np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-11 * np.abs(other).max())
        assert kernel._last is not None  # pyright: ignore[reportPrivateUsage]
        found = kernel.saving.at({} if known else sizes, free // 4) if free < 48 << 20 else None
        taken.append(found.bytes if found and found.kernel else kernel._last.between.bytes)  # pyright: ignore[reportPrivateUsage]
    assert taken[0] > 20 << 20 >= taken[1] > 4 << 20 >= taken[2]
