"""Passes that rewrite programs: one core, `Program -> Program`, run in memory or on a module.

The stages of the compiler hand a program from pass to pass. Under MLIR's pass manager, as in a pipeline of
`tadc.run_passes` or with passes of MLIR in between, each function of a module is read, rewritten and written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from tadc.dialect.index_maps import IndexOverflow
from tadc.dialect.mlir import ir
from tadc.dialect.program_reader import UnsupportedIR, read_program, tad_functions
from tadc.dialect.writer import write_program
from tadc.frontend.program import Program
from tadc.passes.registry import Pass
from tadc.passes.terms.liveness import needed
from tadc.passes.terms.renewal import renewed


class Refused(Exception):
    """A program that a pass does not take; the message says why."""


@dataclass
class TermPass(Pass):
    """A pass on terms: subclasses give `rewrite`; their `suffix` goes behind names of functions."""

    suffix: ClassVar[str] = ""

    def rewrite(self, program: Program) -> Program:
        """The new program, or the same one; raises Refused, or a limit, with what stops it."""
        raise NotImplementedError

    def applied(self, program: Program) -> Program:
        """What `rewrite` makes of a program and needs, as the next pass finds it."""
        made = self.rewrite(program)
        return program if made is program else renewed(replace(made, name=program.symbol + self.suffix))

    def run(self, module: Any) -> None:
        """Rewrite every function of a module; raises UnsupportedIR for a program that is refused."""
        try:
            rewrite_functions(module, self.rewrite, self.suffix)
        except Refused as problem:
            raise UnsupportedIR(str(problem), module.location) from None


def rewrite_functions(module: Any, rewrite: Callable[[Program], Program], suffix: str = "") -> None:
    """Replace every program of a module by what `rewrite` makes of it and needs, if that is another."""
    for function in tad_functions(module):
        before = read_program(function)
        program = rewrite(before)
        if program is before:
            continue
        program = replace(program, definitions=needed(program.definitions))
        name = ir.StringAttr(function.attributes["sym_name"]).value
        try:
            write_program(program, module, name + suffix, before=function)
        except IndexOverflow as overflow:
            raise UnsupportedIR(str(overflow), function.location) from None
        function.erase()
