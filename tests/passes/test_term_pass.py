"""Passes on terms do in memory what they do on modules, whatever was made of a program before."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import pytest

import tadc
from bench.random_programs import random_program
from tadc.compiler.all_stages import compile_until
from tadc.compiler.compile_options import Options
from tadc.compiler.run_passes import run_passes
from tadc.compiler.run_term_passes import rewrite_program
from tadc.compiler.stages import Compilation
from tadc.dialect.readable_text import to_text
from tadc.dialect.writer import new_module
from tadc.frontend.printer import print_program
from tadc.frontend.program import Program
from tadc.frontend.source import Source
from tadc.lattice.affine import Affine
from tadc.lattice.late_dataclasses import replace
from tadc.passes.ir_printing import Printing, printing
from tadc.passes.term_catalogue import CancelDeltas, FoldLiterals, Materialize, ReverseDiff, Simplify
from tadc.passes.term_pass import TermPass

PASSES = (Materialize(), ReverseDiff(keep_values=True), CancelDeltas(), Simplify(), FoldLiterals())
PIPELINE = ",".join(item.text() for item in PASSES)

#: The front end, the lattice and the stages on terms in a process that imports neither NumPy nor MLIR.
PLAIN = """
import sys, tadc
sys.modules.update(dict.fromkeys(("numpy", "llvmlite", "mlir", "torch_mlir", "tadc.dialect")))
from importlib import import_module
from pkgutil import walk_packages
for name in "frontend lattice passes.terms passes.derivatives passes.supports passes.rewrites".split():
    package = import_module(f"tadc.{name}")
    for module in walk_packages(package.__path__, f"{package.__name__}."):
        import_module(module.name)

from tadc.compiler.all_stages import compile_until
from tadc.compiler.compile_options import Options
from tadc.compiler.stages import Compilation
from tadc.frontend.printer import print_program
from tadc.frontend.program import Program
from tadc.frontend.source import Source
from tadc.lattice.affine import Affine
from tadc.lattice.late_dataclasses import replace
state = Compilation(Options(mode="value-and-vjp"), Source(sys.argv[1], "<text>"))
compile_until(state, "hoist")
print(print_program(state.form))
"""


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


class FarAway(TermPass):
    """Reads at places that no index of MLIR has."""

    def rewrite(self, program: Program) -> Program:
        (f,) = program.definitions
        far = Affine.var(f.indices[0]) * 2**64
        body = program.terms.substitute(f.body, {f.indices[0]: far})
        return replace(program, definitions=(replace(f, body=body),))


def test_a_dump_of_what_no_module_holds_says_so() -> None:
    program = tadc.function("x: f64[3]; f[i] = x[i]").program
    with printing(Printing(after_all=True)), pytest.raises(tadc.CompileError) as problem:
        rewrite_program(program, [FarAway()])
    assert problem.value.diagnostics[0].code == "TAD0603"


def test_terms_need_neither_numpy_nor_mlir() -> None:
    text = "x: f64[N]; e: index[M] in N; y[b: N] = sum{k: e[k] = b} (exp(x[e[k]]) * x[b])"
    command = [sys.executable, "-c", PLAIN, text]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    state = Compilation(Options(mode="value-and-vjp"), Source(text, "<text>"))
    compile_until(state, "hoist")
    assert state.form is not None
    assert done.stdout.strip() == print_program(state.form).strip()
