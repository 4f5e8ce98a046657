"""`Lowered`: a program on its way to a target, every stage to look at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tadc.caller.boundary import checked_target, public, usage
from tadc.compiler.all_stages import STAGE_NAMES, compile_until, planned
from tadc.compiler.compile_options import Options
from tadc.compiler.stages import Compilation
from tadc.frontend.printer import print_program
from tadc.frontend.source import Source

if TYPE_CHECKING:
    from tadc.api.execute import Compiled
    from tadc.backend.base import Target
    from tadc.frontend.program import Program


class Lowered:
    """A program in the `tad` dialect, ready to go on to a target.

    `module` is the MLIR module after simplification; `as_text(stage)` shows any stage, of a
    derivative also `diff` and `cancel`, which made it.

    >>> import tadc
    >>> low = tadc.function("x: f64[30]; f[i] = 2*x[i]").lower()
    >>> low
    <tadc.Lowered (f) for cpu>
    >>> "scf.for" in low.as_text("loops")
    True
    """

    def __init__(self, program: Program, derivation: Options, base: Program | None = None) -> None:
        """`program` is the derivative of `base`, if that is given, taken with the options `derivation`."""
        self.program = program
        self.base = base
        self.options = derivation.of_derived
        self._derivation = derivation
        self._state = Compilation(self.options, program.source, program=program)
        compile_until(self._state, "opt", first="tad")

    @property
    def module(self) -> Any:
        """The module of the `tad` dialect, in a context of its own."""
        return self._state.module

    @property
    def schedule(self) -> str:
        """The steps in which the loops of each map are made, as text for `tadc.compile`; of the CPU alone."""
        return self.as_text("schedule")

    @public
    def as_text(self, stage: str = "opt") -> str:
        """The text of a stage; raises UsageError for a stage that this target does not have."""
        self._check(stage)
        options, program, first = self.options, self.program, "tad"
        source = program.source
        if stage in ("ast", "typed"):
            source, first = Source(print_program(program), "<program>"), "ast"
        elif stage in ("diff", "cancel") and self.base is not None:
            options, program, source = self._derivation, self.base, self.base.source
        state = Compilation(options, source, program=None if first == "ast" else program)
        shown = compile_until(state, stage, first=first).show(state)
        if isinstance(shown, bytes):
            raise usage(f"stage `{stage}` is binary; write it with `tadc --emit {stage} -o FILE`")
        return shown

    def _check(self, stage: str) -> None:
        options = self._derivation if self.base is not None and stage in ("diff", "cancel") else self.options
        try:
            planned(options, "ast" if stage in ("ast", "typed") else "tad", stage)
        except ValueError as problem:
            raise usage(str(problem)) from None

    def __repr__(self) -> str:
        outputs = ", ".join(d.name for d in self.program.outputs)
        return f"<tadc.Lowered ({outputs}) for {self.options.target}>"

    @public
    def compile(self) -> Compiled:
        """The kernel; raises CompileError for a target that this version cannot run."""
        from tadc.api.execute import compile_program

        return compile_program(self.program, self.options)


def lowering_target(target: str) -> Target:
    """The target of a name. Raises UsageError for a stage, CompileError (TAD0705) for what is none."""
    from tadc.backend.target import parse_target

    checked_target(target)
    if target in STAGE_NAMES:
        raise usage(f"`{target}` is a stage, not a target", f'write `f.lower().as_text("{target}")`')
    return parse_target(target)
