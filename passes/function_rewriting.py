"""Programs that the functions of a module hold, rewritten in their places or written beside them."""

from __future__ import annotations

from collections.abc import Callable

from tadc.dialect.index_maps import IndexOverflow
from tadc.dialect.mlir import ir
from tadc.dialect.program_reader import UnsupportedIR, read_program, tad_functions
from tadc.dialect.writer import write_program
from tadc.frontend.program import Program
from tadc.lattice.late_dataclasses import replace
from tadc.passes.terms.liveness import needed
from tadc.passes.wrappers import called_names, symbol_name, wrap_tensors


def rewrite_functions(module: ir.Module, rewrite: Callable[[Program], Program], suffix: str = "") -> None:
    """Replace every program of a module by what `rewrite` makes of it and needs, if that is another.

    One that others of the module call stays beside what has a `suffix`, and has its type whatever becomes
    of it.
    """
    called = called_names(module)
    for function in tad_functions(module):
        before, name = read_program(function), symbol_name(function)
        program = rewrite(before)
        if program is before:
            continue
        if name not in called:
            write_beside(program, module, name + suffix, function)
            function.erase()
        elif suffix:
            write_beside(program, module, name + suffix, function)
        elif signature(program) == signature(before):
            write_beside(program, module, name, function)
            function.erase()
        else:
            made = write_beside(program, module, f"{name}_specialised", function)
            wrap_tensors(function, made, [before.sizes.index(size) for size in program.sizes])


def signature(program: Program) -> object:
    """What callers of a program know of it."""
    tensors = (*program.arguments, *program.outputs)
    return [(tensor.type, tensor.shape) for tensor in tensors], program.sizes


def write_beside(program: Program, module: ir.Module, name: str, function: ir.Operation) -> ir.Operation:
    """Write a program as a function before another; raises UnsupportedIR where MLIR cannot hold it."""
    program = replace(program, definitions=needed(program.definitions))
    try:
        return write_program(program, module, name, before=function)
    except IndexOverflow as overflow:
        raise UnsupportedIR(str(overflow), function.location) from None
