"""Running passes on a program in memory, in plain Python but for dumps of what is between them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tadc.frontend.deep import deep_recursion
from tadc.frontend.diagnostics import CompileError, Diagnostic
from tadc.frontend.forks import MLIR_LOCK
from tadc.frontend.index_sets import limits_told
from tadc.frontend.program import Program
from tadc.frontend.source import Source
from tadc.passes.ir_printing import asked, banners, print_dump
from tadc.passes.term_pass import Refused, TermPass

if TYPE_CHECKING:
    from tadc.dialect.mlir import ir


def rewrite_program(program: Program, passes: Iterable[TermPass], source: Source | None = None) -> Program:
    """Run passes on a program in memory, one after the other; dumps show it in the dialect.

    Raises CompileError as `run_passes`.
    """
    for item in passes:
        before, after = banners(item.text(), type(item).__name__)
        given = program
        if before:
            print_dump(before, module_of(program, source))
        try:
            with MLIR_LOCK, deep_recursion(), limits_told(source):
                program = item.applied(program)
        except Refused as problem:
            message = f"{item.argument}: {problem}"
            raise CompileError([Diagnostic("TAD0605", message, source=source)]) from None
        if after and (not asked().after_change or program is not given):
            print_dump(after, module_of(program, source))
    return program


def module_of(program: Program, source: Source | None = None) -> ir.Module:
    """A module with a program; raises CompileError (TAD0603) where no module can hold it."""
    from tadc.dialect.index_maps import IndexOverflow
    from tadc.dialect.writer import new_module

    try:
        return new_module(program)
    except IndexOverflow as overflow:
        raise CompileError([Diagnostic("TAD0603", str(overflow), source=source)]) from None
