"""Programs to kernels of this machine."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from tadc.api.compiled import Compiled
from tadc.api.recipes import Recipe, keep_kernel
from tadc.api.sparse_kinds import is_sparse
from tadc.backend.base import Unit
from tadc.backend.compile_steps import step
from tadc.compiler.all_stages import compile_until
from tadc.compiler.compile_options import Options
from tadc.compiler.kernel_interface import interface_of
from tadc.compiler.stages import Compilation
from tadc.frontend.diagnostics import CompileError, Diagnostic
from tadc.frontend.program import Program
from tadc.frontend.source import Source
from tadc.frontend.specialise import problems_at

if TYPE_CHECKING:
    from tadc.backend.runtime.call_sizes import Recheck


def compile_program(
    program: Program, options: Options | None = None, recipe: Recipe | None = None
) -> Compiled:
    """Compile for this machine, value and derivatives alike; kept on disk by the program's recipe if given.

    Raises CompileError where the target cannot be run here, or there is nothing to run.
    """
    options = options or Options()
    if not program.outputs:
        raise CompileError([Diagnostic("TAD0405", "the program defines no output", source=program.source)])
    options = replace(options, target=options.backend.runnable(options.target))
    image = options.backend.image(unit_of(program, options), options.settings)
    keep_kernel(recipe, options, image)
    return _loaded(image, options, program)


def compile_timed(
    program: Program, options: Options
) -> tuple[Compiled, tuple[str, ...], ctypes.Array[ctypes.c_int64]]:
    """A kernel of a CPU that measures its maps: the nests that it calls, and their nanoseconds until now.

    It has to stay as long as these are read. Raises CompileError as `compile_program`.
    """
    from tadc.backend.timed_maps import calls_of_entry, timed_calls

    options = replace(options, target=options.backend.runnable(options.target))
    unit = unit_of(program, options)
    symbol = unit.interface.symbol
    names = tuple(call[1] for call in calls_of_entry(unit.llvm_ir, symbol))
    text, totals = timed_calls(unit.llvm_ir, symbol)
    image = options.backend.image(replace(unit, llvm_ir=text), options.settings)
    return _loaded(image, options, program), names, totals


def unit_of(program: Program, options: Options) -> Unit:
    """A program as LLVM IR for a target. Raises CompileError as the stages do."""
    state = Compilation(options, program.source, program=program)
    compile_until(state, "llvm", first="tad")
    return _unit(state, program)


def load_kernel(state: Compilation, program: Program) -> Any:
    """The kernel of what has been compiled to LLVM IR."""
    options = state.options
    return _loaded(options.backend.image(_unit(state, program), options.settings), options, program).kernel


def _unit(state: Compilation, program: Program) -> Unit:
    return Unit(interface_of(state, program), state.llvm_ir, state.launches, state.places)


def _loaded(image: bytes, options: Options, program: Program) -> Compiled:
    def recheck(given: Mapping[str, int]) -> Recheck:
        return partial(problems_at, program)

    return Compiled(options.backend.load(image, options.target, program.source or Source(""), recheck))


def evaluate(compiled: Compiled, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """The results by name; of sparse arrays what they store is taken, and so it is of results."""
    if any(map(is_sparse, arrays.values())):
        from tadc.api.sparse_arguments import sparse_call

        arrays = sparse_call(compiled.kernel, (), arrays).kwargs
    with step("run"):
        found = compiled.kernel((), dict(arrays))
    return dict(zip((p.name for p in compiled.kernel.outputs), found, strict=True))
