"""Where tensors are computed, as steps: what is chosen can be given, and each step changes what runs."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tadc
from tadc.backend.target import parse_target
from tadc.compiler.all_stages import compile_until
from tadc.compiler.compile_options import Options
from tadc.compiler.stages import Compilation
from tadc.frontend.extents import shape_at
from tadc.frontend.source import Source

PROGRAMS = {
    "softmax": """x: f64[64, 2048]
m[i] = max{j} (x[i, j])
e[i, j] = exp(x[i, j] - m[i])
s[i] = sum{j} (e[i, j])
y[i, j] = e[i, j] / s[i]""",
    "pairs": """x: f64[800, 3]
m: f64[800]
let r[i: 800, j: 800] = sqrt(sum{d} ((x[j, d] - x[i, d])**2) + 0.1)
a[i] = sum{j} (m[j] / r[i, j]**3)""",
    "transform": """x: f64[9, 256]
let c[k: 256, n: 256] = cos(pi * (n + 0.5) * k / 256)
y[b, k] = sum{n} (x[b, n] * c[k, n])""",
    "bands": """p: f64[80]
j[a: 80, i: 80] = if {a = i} then (p[i]) else (if {a = i - 1} then (2*p[i]) else (0))""",
    "heat": """x: f64[1000]
let scan{t} u[t: 300, i: 1000] = if {t >= 1 and i >= 1 and i <= 998} then (
  u[t - 1, i] + 0.1*(u[t - 1, i - 1] - 2*u[t - 1, i] + u[t - 1, i + 1])) else (x[i])
y[i] = u[299, i]
e[t: 300] = sum{i} (u[t, i]**2)""",
    "cells": """u: f64[20000, 3, 3]
r: f64[20000, 3, 3]
let f[e: 20000, a: 3, b: 3] = sum{k: 3} (u[e, k, a] * r[e, k, b])
let s[e: 20000, a: 3, b: 3] = sum{k: 3} (f[e, k, a] * f[e, k, b])
y[e: 20000] = sum{a: 3, b: 3} (s[e, a, b] * f[e, b, a])""",
    "table": """x: f64[600]
w: f64[80, 90]
v: f64[80, 40]
let scan{i + j} d[i: 90, j: 80] = if {i >= 1 and j >= 1} then (
    min(d[i - 1, j], d[i, j - 1] + x[i]) + x[i + j]) else (x[i + 2*j])
y = sum{i: 600} (x[i]**2*d[89, 79]) + sum{i: 600, k: 600} (1/(2 + x[i]*x[k]))
g[i: 80, j: 80] = sum{k} (w[i, k]*d[k, j]) + sum{k} (v[i, k]*v[j, k])""",
    "states": """x: f64[40]
w: f64[40]
let scan{t} u[t: 70, i: 40] = if {t >= 1} then (sin(u[t - 1, i])*w[i] + 0.5*u[t - 1, 39 - i]) else (x[i])
y[i] = u[69, i]""",
}

TARGETS = "cpu:x86-64-v4", "cuda:sm_90"
RUN = "cpu", "emulated:sm_90"
MODES = "value", "value-and-vjp"
CASES = [(name, mode, target) for name in PROGRAMS for mode in MODES for target in TARGETS]

OTHER_TENSORS = re.compile("depends on the steps above|has other elements|by `at`|has no such rows")
"""What stands below a step may name tensors that are not there without it."""


def compiled(text: str, stage: str, mode: str, target: str, given: str | None = None) -> Compilation:
    schedule = None if given is None else Source(given, "f.sched")
    state = Compilation(Options(mode, target=parse_target(target), schedule=schedule), Source(text, "f"))
    compile_until(state, stage)
    return state


def loops(name: str, mode: str, target: str, given: str | None = None) -> str:
    stage = "gpu" if target.startswith("cuda") else "loops"
    return str(compiled(PROGRAMS[name], stage, mode, target, given).module)


def places(name: str, mode: str = "value", target: str = "cpu:x86-64-v4") -> list[str]:
    """The lines of the function in the schedule that is chosen."""
    shown = compiled(PROGRAMS[name], "schedule", mode, target).schedule
    assert shown.startswith("function ")
    return re.split(r"\n\s*(?=map |# )", shown)[0].splitlines()


@pytest.mark.parametrize(("name", "mode", "target"), CASES)
def test_what_is_chosen_can_be_given_and_each_step_matters(name: str, mode: str, target: str) -> None:
    lines = places(name, mode, target)
    chosen = loops(name, mode, target)
    assert loops(name, mode, target, "\n".join(lines)) == chosen
    for number in range(1, len(lines)):
        fewer = "\n".join(lines[:number] + lines[number + 1 :])
        assert without(name, mode, target, fewer) != chosen, lines[number]


def without(name: str, mode: str, target: str, given: str) -> str:
    """The loops of fewer steps; nothing where those that are left name other tensors."""
    try:
        return loops(name, mode, target, given)
    except tadc.CompileError as error:
        if OTHER_TENSORS.search(str(error)):
            return ""
        raise


def test_a_tensor_that_is_filled_is_given_with_the_points_of_its_sets() -> None:
    shown = compiled(PROGRAMS["bands"], "schedule", "value", "cpu").schedule
    assert "points where a = i - 1" in shown
    made = tadc.compile(tadc.function(PROGRAMS["bands"]), schedule=shown)
    p = np.arange(1.0, 81)
    np.testing.assert_array_equal(made(p), np.diag(p) + np.diag(2 * p[1:], 1))
    refused(PROGRAMS["bands"], shown.replace("a = i - 1", "a = i + 1"), "points", "at other points")


def test_the_kinds_of_steps() -> None:
    found = {line.split()[0] for name in PROGRAMS for line in places(name)[1:]}
    assert found >= {"inline", "skew", "parts", "separate", "keep", "fill", "at", "window", "copy", "order"}


def softmax(x: Any) -> list[Any]:
    e = np.exp(x - x.max(1, keepdims=True))
    return [x.max(1), e, e.sum(1), e / e.sum(1, keepdims=True)]


def pairs(x: Any, m: Any) -> list[Any]:
    r = np.sqrt(((x[None] - x[:, None]) ** 2).sum(-1) + 0.1)
    return [(m / r**3).sum(1)]


def heat(x: Any) -> list[Any]:
    steps = [x]
    for _ in range(299):
        x = steps[-1].copy()
        x[1:-1] += 0.1 * (steps[-1][:-2] - 2 * steps[-1][1:-1] + steps[-1][2:])
        steps.append(x)
    return [x, (np.array(steps) ** 2).sum(1)]


def states(x: Any, w: Any, dy: Any) -> list[Any]:
    """The gradients, by hand."""
    u = [x]
    for _ in range(69):
        u.append(np.sin(u[-1]) * w + 0.5 * u[-1][::-1])
    du, dw = dy, np.zeros(40)
    for before in u[-2::-1]:
        dw += du * np.sin(before)
        du = du * w * np.cos(before) + 0.5 * du[::-1]
    return [du, dw]


def cells(u: Any, r: Any) -> list[Any]:
    f = u.swapaxes(1, 2) @ r
    return [np.einsum("eab,eba->e", f.swapaxes(1, 2) @ f, f)]


def table(x: Any, w: Any, v: Any) -> list[Any]:
    d = np.array([[x[i + 2 * j] for j in range(80)] for i in range(90)])
    for i in range(1, 90):
        for j in range(1, 80):
            d[i, j] = min(d[i - 1, j], d[i, j - 1] + x[i]) + x[i + j]
    return [(x**2).sum() * d[89, 79] + (1 / (2 + np.outer(x, x))).sum(), w @ d + v @ v.T]


SMALL = {"2048": "40", "800": "50", "20000": "70", "512": "24"}
RIGHT = {
    cells: [
        "at e 4: f, s, y order f a, b, e copy u last 0: f",
        "at e 4: f, s, y order f b, e, a order s a, b, e copy r last 1: f",
        "at e 9: s, y order s a, b, e",
        "order f b, e, a order s a, b, e copy u last 1: f copy f last 2: y",
    ],
    softmax: ["", "at i 5: m, e, s, y", "at i 64: e, s", "at i 3: m, e at i 7: s, y"],
    pairs: ["inline r", ""],
    table: ["", "skew d", "skew d parts y", "separate g", "parts y separate g"],
    heat: ["", "at t 3: u, e window u 9", "at t 1: u, e", "at t 7: u, e"],
    states: ["", "tape u 3", "tape u 9 by 8", "tape u 70", "at u_0 4: du, dw window du 5", "at u_0 1: du"],
}


@pytest.mark.parametrize(
    ("function", "steps", "target"),
    [(function, steps, target) for function, each in RIGHT.items() for steps in each for target in RUN
     if function in (softmax, pairs, table) or target == "cpu"],
)  # fmt: skip
def test_results_are_right(function: Callable[..., list[Any]], steps: str, target: str) -> None:
    random = np.random.default_rng(0)
    name = function.__name__
    text = PROGRAMS[name]
    for size, small in SMALL.items():
        text = text.replace(size, small)
    f = tadc.function(text)
    f = tadc.vjp(f) if name == "states" else f
    given = f"function {f.program.symbol}\n{steps}"
    arguments = [random.uniform(-1, 1, shape_at(a.shape, {})) for a in f.program.arguments]
    made = tadc.compile(f, target=target, schedule=given)(*arguments)
    for one, other in zip(made if isinstance(made, tuple) else [made], function(*arguments), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11)


OUTER = (
    "a: f64[90]\nb: f64[90]\nlet t[i: 90] = exp(a[i])\nlet w[i: 90] = t[i]*a[i]\ny[i, j] = t[i]*b[j] + w[i]"
)


def test_what_is_inlined_is_stored_by_no_other_name() -> None:
    shown = tadc.function(OUTER).lower().schedule
    assert "map t" in shown or "map t, w" in shown
    text = compiled(OUTER, "schedule", "value", "cpu", "function y inline t inline w").schedule
    assert re.findall(r"map (.*)", text) == ["y"]
    text = compiled(OUTER, "schedule", "value", "cpu", "function y inline t inline w store y_0").schedule
    assert re.findall(r"map (.*)", text) == ["y_0", "y"]


@pytest.mark.parametrize(
    ("steps", "at", "words"),
    [
        ("function y inline y", "inline y", "it is a result"),
        ("function y inline q", "inline q", "no tensor `q`"),
        ("function y inline tt", "inline tt", "did you mean `t`?"),
        ("function y merge t, y", "merge t, y", "`y` has other elements"),
        ("function y merge t, z", "merge t, z", "no tensor `z`"),
        ("function y merge t", "merge t", "names one tensor"),
        ("function y keep t", "keep t", "not the same in all calls"),
        ("function y fill t", "fill t", "not 0 but on thin sets"),
        ("function y skew t", "skew t", "`t` is no recurrence along long diagonals"),
        ("function y parts t", "parts t", "`t` has many elements"),
        ("function y separate y", "separate y", "`y` adds up no two long contractions"),
        ("function y store t", "store t", "no tensor `t`"),
        ("function y at j 4: t, w", "at j 4", "write `at i 4`"),
        ("function y at i 91: t, w", "at i 91", "`t` has no such rows"),
        ("function y at i 4: t, w at i 4: w, t", "at i 4: w, t", "`w` has no such rows"),
        ("function y window t 2", "window t 2", "no recurrence"),
        ("function y copy a last 1: t", "copy a last 1", "has no such index"),
        ("function y copy b last 0: t", "copy b last 0", "not read"),
        ("function y copy w last 0: t", "copy w last 0", "`w` is not there before these"),
        ("function y order t j", "order t j", "write `order t i`"),
        ("function y order y j, i", "order y j, i", "`y` is no tensor in between"),
        ("function y tape t 2", "tape t 2", "goes back over the steps"),
        ("function z", "function z", "the functions are `y`"),
        ("function y function y", "function y", "`y` has steps above"),
        ("map t, y", "map t, y", "`y` has a map of its own"),
        ("function y split i 4 -> i0, i1", "split", "one of inline, store, skew"),
    ],
)  # fmt: skip
def test_steps_that_do_not_fit(steps: str, at: str, words: str) -> None:
    refused(OUTER, steps, at, words)


@pytest.mark.parametrize(
    ("steps", "at", "words"),
    [
        ("window u 2", "window u 2", "by `at`"),
        ("at t 4: u, e window u 3", "window u 3", "write `window u 5`"),
        ("at i 1: u, e", "at i 1", "write `at t`"),
        ("at t 1: u, y", "at t 1", "`y` cannot run along"),
        ("tape u 2", "tape u 2", "goes back over the steps of `u`"),
    ],
)
def test_steps_of_a_recurrence_that_do_not_fit(steps: str, at: str, words: str) -> None:
    refused(PROGRAMS["heat"], f"function y {steps}", at, words)


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ("merge e, y", "which needs what it would be merged with"),
        ("merge m, s", "which needs what it would be merged with"),
    ],
)
def test_what_reads_each_other_in_turns_is_refused(steps: str, words: str) -> None:
    refused(PROGRAMS["softmax"], f"function m {steps}", steps, words)


@pytest.mark.parametrize("target", RUN)
def test_what_rows_need_on_the_way_is_taken_along(target: str) -> None:
    """`e` needs `m` and is needed by `s`; what else they need, `w`, comes before them."""
    text = """x: f32[64, 64]
m[i] = max{j} (x[i, j])
w[j: 64] = sum{i} (x[i, j])
e[i, j] = exp(x[i, j] - m[i])
s[i] = sum{j} (e[i, j]*w[j])"""
    f = tadc.function(text)
    x = np.random.default_rng(0).uniform(-1, 1, (64, 64)).astype("f4")
    _, _, e, s = tadc.compile(f, target=target, schedule="function m at i 4: m, s")(x)
    np.testing.assert_allclose(e, np.exp(x - x.max(1, keepdims=True)), rtol=1e-5)
    np.testing.assert_allclose(s, (e * x.sum(0)).sum(1), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("step", ["keep t", "fill t", "tape t 2", "copy a last 0: t", "order t i"])
def test_steps_that_kernels_of_a_gpu_do_not_take(step: str) -> None:
    with pytest.raises(tadc.CompileError, match="leaves no choice here"):
        tadc.compile(tadc.function(OUTER), target="emulated:sm_90", schedule=f"function y {step}")


def test_a_sum_over_rows_that_reads_columns_too_is_refused() -> None:
    text = "x: f64[30, 30]\ne[i, j] = exp(x[i, j])\nc[j] = sum{i} (e[i, j]*e[j, i])"
    refused(text, "function e at i 5: e, c", "at i 5", "`c` reads other rows of `e` than its own")
    kernel = "x: f64[9]; size T; let scan{t} u[t: T, i: 9] = if {t = 0} then (x[i]) else (u[t - 1, 8 - i])"
    with pytest.raises(tadc.CompileError, match="another order"):
        tadc.compile(
            tadc.function(f"{kernel}; y[i: 9] = u[T - 1, i]"), target="emulated:sm_90", schedule="map u"
        )


def refused(text: str, steps: str, at: str, words: str) -> None:
    """The error has the words, and is at the step."""
    with pytest.raises(tadc.CompileError) as caught:
        tadc.compile(tadc.function(text), schedule=steps)
    (found,) = caught.value.diagnostics
    assert found.code in ("TAD0611", "TAD0612")
    assert words in str(caught.value)
    assert found.primary is not None
    assert steps[found.primary.span.start : found.primary.span.end].startswith(at)
