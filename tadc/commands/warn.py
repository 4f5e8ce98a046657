"""Warnings of the command, left out where `--allow` names their code."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from tadc.analysis.zero_gradients import derivative_doubts
from tadc.api.function import Function, function_of_text
from tadc.commands.messages import report
from tadc.commands.options import Arguments
from tadc.frontend.diagnostics import CompileError, Diagnostic
from tadc.frontend.program import Program
from tadc.frontend.source import Source


def report_warnings(arguments: Arguments, found: Sequence[Diagnostic]) -> None:
    """Print warnings, those that are allowed left out."""
    kept = [d for d in found if d.code not in arguments.allow]
    if kept:
        report(kept, arguments.error_format)


def function_of(arguments: Arguments, source: Source, sized: bool = True) -> Function:
    """The function of a program, its warnings printed as those of other commands are. Raises CompileError.

    It is that for the values of sizes that are given, if it is to be `sized`.
    """
    found = function_of_text(source, dict(arguments.sizes) if sized else {})
    if not found.is_known:
        report_warnings(arguments, found.program.doubts)
    return found


def warn_of_zero_gradients(arguments: Arguments, program: Program, derived: Program | None = None) -> None:
    """TAD0402 and TAD0412 for the gradients that `--wrt` asks for.

    Only the simplified derivative tells; where the command does not go so far, it is taken here, and
    what is wrong with it is left to a command that does.
    """
    if {"TAD0402", "TAD0412"} <= set(arguments.allow):
        return
    if derived is None:
        from tadc.compiler.derive import derive

        with suppress(CompileError):
            derived = derive(program, "vjp", arguments.wrt_names)
    if derived is not None:
        report_warnings(arguments, derivative_doubts(program, derived))
