"""Passes on terms do in memory what they do on modules, whatever was made of a program before."""

from __future__ import annotations

import re
from typing import Any

import pytest

import tadc
from bench.random_programs import random_program
from tadc.compiler.all_stages import compile_until
from tadc.compiler.compile_options import Options
from tadc.compiler.run_passes import rewrite_program, run_passes
from tadc.compiler.stages import Compilation
from tadc.dialect.readable_text import to_text
from tadc.dialect.writer import new_module
from tadc.frontend.source import Source
from tadc.passes.catalogue import CancelDeltas, FoldLiterals, Materialize, ReverseDiff, Simplify

PASSES = (Materialize(), ReverseDiff(keep_values=True), CancelDeltas(), Simplify(), FoldLiterals())
PIPELINE = ",".join(item.text() for item in PASSES)


@pytest.mark.parametrize("seed", [3, 8, 21])
def test_memory_and_modules_agree(seed: int) -> None:
    state = Compilation(Options(), Source(random_program(seed), "<random>"))
    compile_until(state, "tad")
    assert state.form is not None
    in_memory = new_module(rewrite_program(state.form, PASSES))
    run_passes(state.module, PIPELINE)
    assert operations(state.module) == operations(in_memory)


def operations(module: Any) -> list[str]:
    """The operations in any order: operands of a sum may be computed one before the other or after."""
    return sorted(re.sub(r"%\w+", "%", line).strip() for line in to_text(module.operation).splitlines())


def test_what_was_compiled_before_changes_nothing() -> None:
    text = "x: f64[5]; a: f64[5]; f[i] = sum{k}_0^4 (exp(x[i]*a[k]) * a[k]) + 2*x[i]"
    f, g = tadc.function(text), tadc.function(text)
    tadc.vjp(f)
    f.lower().as_text("hoist")
    assert tadc.vjp(f).lower().as_text("hoist") == tadc.vjp(g).lower().as_text("hoist")


def test_a_pass_that_refuses_a_program_says_why() -> None:
    program = tadc.function("x: f64[3]; f[i] = x[i]").program
    with pytest.raises(tadc.CompileError, match="no argument `y`; has: x") as problem:
        rewrite_program(program, [ReverseDiff(["y"])])
    assert problem.value.diagnostics[0].code == "TAD0605"
