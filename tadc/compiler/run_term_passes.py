"""Running passes on a program in memory, in plain Python but for dumps of what is between them."""

from __future__ import annotations

from collections.abc import Iterable

from tadc.frontend.deep import deep_recursion
from tadc.frontend.diagnostics import CompileError, Diagnostic
from tadc.frontend.forks import MLIR_LOCK
from tadc.frontend.index_sets import limits_told
from tadc.frontend.program import Program
from tadc.frontend.source import Source
from tadc.passes.dump_requests import banners, changes_asked
from tadc.passes.term_pass import Refused, TermPass


def rewrite_program(program: Program, passes: Iterable[TermPass], source: Source | None = None) -> Program:
    """Run passes on a program in memory, one after the other; dumps show it in the dialect.

    Raises CompileError as `run_passes`.
    """
    for item in passes:
        before, after = banners(item.text(), f"{type(item).__name__}: {{}}".format)
        given = program
        if before:
            _dump(before, program)
        try:
            with MLIR_LOCK, deep_recursion(), limits_told(source):
                program = item.applied(program)
        except Refused as problem:
            message = f"{item.argument}: {problem}"
            raise CompileError([Diagnostic("TAD0605", message, source=source)]) from None
        if after and (not changes_asked() or program is not given):
            _dump(after, program)
    return program


def _dump(title: str, program: Program) -> None:
    from tadc.dialect.writer import new_module
    from tadc.passes.ir_printing import print_dump

    print_dump(title, new_module(program))
