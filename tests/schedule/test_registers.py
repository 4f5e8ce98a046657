"""Vectors are transposed and interleaved in registers where a schedule says so, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest

import tadc
from tadc.backend.target import parse_target
from tadc.compiler.all_stages import compile_until
from tadc.compiler.compile_options import Options
from tadc.compiler.stages import Compilation
from tadc.frontend.source import Source

PROGRAMS = {
    "a transposed read": ("x: f32[64, 64]\nf[i, j] = x[j, i] + x[i, j]", "transpose "),
    "few steps": ("x: f32[512, 4]\nf[i] = sum{k} (x[i, k]*x[i, k])", "transpose "),
    "short rows": ("x: f32[512]\nf[i, j: 4] = if {j = 0} then (x[i]) else (x[i]*x[i])", "interleave "),
    "residues": ("x: f32[256]\nf[i: 512] = x[i//2]*x[i//2]", "interleave "),
}


TARGET = "cpu:x86-64-v4"


def _loops(text: str, steps: list[str]) -> str:
    given = Source("\n".join(steps), "f.sched")
    state = Compilation(Options(target=parse_target(TARGET), schedule=given), Source(text, "f"))
    compile_until(state, "loops")
    return str(state.module)


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_step_is_seen_in_the_loops(name: str) -> None:
    """Without a step of the chosen schedule the loops are others, and the numbers are the same."""
    text, word = PROGRAMS[name]
    f = tadc.function(text)
    steps = f.lower(target=TARGET).as_text("schedule").splitlines()
    found = [step for step in steps if step.strip().startswith(word)]
    assert found
    chosen = _loops(text, steps)
    x = np.random.default_rng(0).standard_normal(f.program.arguments[0].shape).astype("f4")  # type: ignore[arg-type]
    for step in found:
        others = [other for other in steps if other is not step]
        assert _loops(text, others) != chosen, step
        plainly = tadc.compile(f, schedule="\n".join(others))
        np.testing.assert_array_equal(plainly(x), f(x))
