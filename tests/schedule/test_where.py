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
    "heat": """x: f64[500]
let scan{t} u[t: 100, i: 500] = if {t >= 1 and i >= 1 and i <= 498} then (
  u[t - 1, i] + 0.1*(u[t - 1, i - 1] - 2*u[t - 1, i] + u[t - 1, i + 1])) else (x[i])
y[i] = u[99, i]
e[t: 100] = sum{i} (u[t, i]**2)""",
}

TARGETS = "cpu:x86-64-v4", "cuda:sm_90"
MODES = "value", "value-and-vjp"
CASES = [(name, mode, target) for name in PROGRAMS for mode in MODES for target in TARGETS]

OTHER_TENSORS = re.compile("depends on the steps above|has other elements")
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


@pytest.mark.one_in(4)
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


def test_the_kinds_of_steps() -> None:
    found = {line.split()[0] for name in PROGRAMS for line in places(name)[1:]}
    assert found >= {"inline", "keep", "fill"}


def softmax(x: Any) -> list[Any]:
    e = np.exp(x - x.max(1, keepdims=True))
    return [x.max(1), e, e.sum(1), e / e.sum(1, keepdims=True)]


def pairs(x: Any, m: Any) -> list[Any]:
    r = np.sqrt(((x[None] - x[:, None]) ** 2).sum(-1) + 0.1)
    return [(m / r**3).sum(1)]


@pytest.mark.parametrize("target", ["cpu", "emulated:sm_90"])
@pytest.mark.parametrize(
    ("name", "steps", "function"),
    [
        ("softmax", "", softmax),
        ("softmax", "merge e, y", None),
        ("softmax", "merge m, s", None),
        ("pairs", "inline r", pairs),
        ("pairs", "", pairs),
    ],
)
def test_results_are_right(
    name: str, steps: str, function: Callable[..., list[Any]] | None, target: str
) -> None:
    """Or the merge is refused: `y` needs `s`, which needs `e`."""
    random = np.random.default_rng(0)
    f = tadc.function(PROGRAMS[name].replace("2048", "40").replace("800", "50"))
    given = f"function {f.program.symbol}\n{steps}"
    if function is None:
        with pytest.raises(tadc.CompileError, match="which needs what it would be merged with"):
            tadc.compile(f, target=target, schedule=given)
        return
    arguments = [random.standard_normal(shape_at(a.shape, {})) for a in f.program.arguments]
    made = tadc.compile(f, target=target, schedule=given)(*arguments)
    for one, other in zip(made if isinstance(made, tuple) else [made], function(*arguments), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


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
        ("function y keep t", "keep t", "not the same in all calls"),
        ("function y fill t", "fill t", "not 0 but on thin sets"),
        ("function y store t", "store t", "no tensor `t`"),
        ("function z", "function z", "the functions are `y`"),
        ("function y function y", "function y", "`y` has steps above"),
        ("map t, y", "map t, y", "`y` has a map of its own"),
        ("function y split i 4 -> i0, i1", "split", "one of inline, store, merge"),
    ],
)  # fmt: skip
def test_steps_that_do_not_fit(steps: str, at: str, words: str) -> None:
    with pytest.raises(tadc.CompileError) as caught:
        tadc.compile(tadc.function(OUTER), schedule=steps)
    (found,) = caught.value.diagnostics
    assert found.code in ("TAD0611", "TAD0612")
    assert words in str(caught.value)
    assert found.primary is not None
    assert steps[found.primary.span.start : found.primary.span.end].startswith(at)
