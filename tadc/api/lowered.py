"""`Lowered`: a program on its way to a target, every stage to look at."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tadc.caller.boundary import checked_target, public, usage
from tadc.compiler.all_stages import STAGE_NAMES, compile_until, planned
from tadc.compiler.stages import Compilation, Options
from tadc.frontend.printer import print_program
from tadc.frontend.source import Source

if TYPE_CHECKING:
    from tadc.api.execute import Compiled
    from tadc.frontend.program import Program


@dataclass(frozen=True)
class Derivation:
    """The program that a derivative is of, and by what."""

    program: Program
    mode: str
    wrt: tuple[str, ...]
    materialize: str = "auto"
    memory_limit: int | None = None
    chunk: int = 0


class Lowered:
    """A program in the `tad` dialect, ready to go on to a target.

    `module` is the MLIR module after simplification; `as_text(stage)` shows any stage, of a
    derivative also `diff` and `cancel`, which made it.

    >>> import tadc
    >>> low = tadc.function("x: f64[3]; f[i] = 2*x[i]").lower()
    >>> low
    <tadc.Lowered (f) for cpu>
    >>> "scf.for" in low.as_text("loops")
    True
    """

    def __init__(
        self, program: Program, target: str = "cpu", origin: Derivation | None = None, fast_math: bool = False
    ) -> None:
        from tadc.backend.target import parse_target

        checked_target(target)
        if target in STAGE_NAMES:
            raise usage(f"`{target}` is a stage, not a target", f'write `f.lower().as_text("{target}")`')
        self.program = program
        self.origin = origin
        self.options = Options(
            target=parse_target(target),
            materialize=origin.materialize if origin else "auto",
            fast_math=fast_math,
            memory_limit=origin.memory_limit if origin else None,
        )
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
        if stage in ("ast", "typed"):
            state = Compilation(self.options, Source(print_program(self.program), "<program>"))
            shown = compile_until(state, stage).show(state)
        elif stage in ("diff", "cancel") and self.origin is not None:
            origin = self.origin
            options = replace(self.options, mode=origin.mode, wrt=origin.wrt, chunk=origin.chunk)
            state = Compilation(options, self.origin.program.source, program=self.origin.program)
            shown = compile_until(state, stage, first="tad").show(state)
        else:
            state = Compilation(self.options, self.program.source, program=self.program)
            shown = compile_until(state, stage, first="tad").show(state)
        if isinstance(shown, bytes):
            raise usage(f"stage `{stage}` is binary; write it with `tadc --emit {stage} -o FILE`")
        return shown

    def _check(self, stage: str) -> None:
        derived = self.origin is not None and stage in ("diff", "cancel")
        options = replace(self.options, mode=self.origin.mode) if self.origin and derived else self.options
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

        o = self.options
        return compile_program(
            self.program,
            o.target,
            materialize=o.materialize,
            fast_math=o.fast_math,
            memory_limit=o.memory_limit,
        )
