"""Programs of Jacobians to programs of their non-zeros."""

from __future__ import annotations

from dataclasses import replace

from tadc.compiler.all_stages import compile_until
from tadc.compiler.compile_options import Options
from tadc.compiler.derive import read_back
from tadc.compiler.stages import Compilation
from tadc.frontend.program import Program
from tadc.passes.supports.compress import Layout, compressed_program
from tadc.passes.supports.entries import NotListed, listed
from tadc.passes.supports.entry_listing import Listing
from tadc.passes.supports.entry_rows import block_program, rows_of
from tadc.passes.supports.pattern import pattern_program

__all__ = ["NotListed", "block_program", "counts", "entries", "layout", "values"]


def layout(program: Program) -> Layout:
    """Where the non-zeros of all definitions are kept."""
    return Layout.of(program)


def values(program: Program, layout: Layout) -> Program:
    """The program that computes the non-zeros of a program of Jacobians."""
    return _simplified(compressed_program(program, layout))


def counts(program: Program, layout: Layout) -> Program:
    """The program of how many terms each element of the pattern adds up: 0 for what is none."""
    return _simplified(compressed_program(pattern_program(program), layout))


def entries(program: Program) -> tuple[Program, Listing]:
    """The program of the entries of Jacobians with index arrays, and which they are. Raises NotListed."""
    made, found = listed(program)
    simplified = _simplified(made)
    return simplified, replace(found, rows=rows_of(simplified))


def _simplified(program: Program) -> Program:
    own = tuple(replace(d, gradient_of="", tangent_of="") for d in program.definitions)
    arguments = tuple(replace(a, cotangent_of="", tangent_of="") for a in program.arguments)
    plain = replace(program, arguments=arguments, definitions=own)
    state = Compilation(Options(), plain.source, program=plain)
    compile_until(state, "opt", first="tad")
    return read_back(state)
