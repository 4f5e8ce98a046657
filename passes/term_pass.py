"""Passes that rewrite programs: one core, `Program -> Program`, run in memory or on a module.

The stages of the compiler hand a program from pass to pass. Under MLIR's pass manager, as in a pipeline of
`tadc.run_passes` or with passes of MLIR in between, each function of a module is read, rewritten and written:
`pass_manager.py` does that, as these passes know nothing of MLIR.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar, Never

from tadc.frontend.program import Program
from tadc.lattice.late_dataclasses import dataclass, replace
from tadc.passes.registry import Pass, made_pass, register
from tadc.passes.terms.renewal import renewed
from tadc.passes.where import Decisions, InTerms, Takes


class Refused(Exception):
    """A program that a pass does not take; the message says why."""


@dataclass
class TermPass(Pass):
    """A pass on terms: subclasses give `rewrite`; their `suffix` goes behind names of functions."""

    suffix: ClassVar[str] = ""

    @cached_property
    def decisions(self) -> Decisions:
        """Where tensors are computed; the pipeline gives its own."""
        return Decisions()

    def rewrite(self, program: Program) -> Program:
        """The new program, or the same one; raises Refused, or a limit, with what stops it."""
        raise NotImplementedError

    def deciding(
        self, program: Program, kind: type[InTerms], text: str, rewrite: Callable[[Takes], Program]
    ) -> Program:
        """What a rewrite makes that takes steps of a kind; an error says why one that is given is none."""
        where = self.decisions.of(program.symbol)
        made = rewrite(lambda tensor: where.takes(kind(tensor)))
        where.check_made(kind, {d.name for d in program.definitions}, text)
        return made

    def applied(self, program: Program) -> Program:
        """What `rewrite` makes of a program and needs, as the next pass finds it."""
        made = self.rewrite(program)
        return program if made is program else renewed(replace(made, name=program.symbol + self.suffix))

    def mark(self, module: Any) -> None:
        """Note on a module what a program has no place for, after its functions were rewritten."""


Rewriting = (
    Callable[[Program], Program]
    | Callable[[Program, Never], Program]
    | Callable[[Program, Never, Never], Program]
)
"""What makes a program of one, by options, which it names as they are named."""


def pass_of(
    argument: str,
    description: str,
    steps: Rewriting,
    decides: tuple[type[InTerms], str] | None = None,
    **options: Any,
) -> Callable[..., TermPass]:
    """Register a pass that is functions of a program and of options: their modules say what it does.

    One that `decides` takes steps of a kind, and says why one does not fit.
    """

    by_name: Callable[..., Program] = steps

    def rewrite(self: TermPass, program: Program) -> Program:
        own = {name: getattr(self, name) for name in options}
        if decides is None:
            return by_name(program, **own)
        return self.deciding(program, *decides, lambda takes: by_name(program, takes=takes, **own))

    return register(argument, description)(made_pass(TermPass, argument, rewrite, options))


def most(limit: int) -> int | None:
    """How many bytes a tensor may take by an option that is -1 where that is not limited."""
    return None if limit < 0 else limit
