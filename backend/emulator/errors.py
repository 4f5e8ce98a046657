"""What is wrong with a kernel, and where."""

from __future__ import annotations

from tadc.frontend.diagnostics import CompileError, Diagnostic
from tadc.lattice.late_dataclasses import dataclass


@dataclass(frozen=True)
class SourceLine:
    """A place of a program that PTX names by `.loc`."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class Fault(Exception):
    """Something that a kernel may not do; `lane` is the first to do so, of those that run together."""

    def __init__(self, message: str, lane: int | None = None, note: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.lane = lane
        self.note = note
        #: The number of the instruction, where it is not the one that runs.
        self.step: int | None = None


class UnknownPtx(CompileError):
    """TAD0709: text that the emulator cannot execute."""

    def __init__(self, what: str) -> None:
        note = "it knows what LLVM writes for the compiler's own kernels"
        super().__init__([Diagnostic("TAD0709", f"the emulator does not know {what}", notes=[note])])


class KernelFault(CompileError):
    """TAD0708: a kernel did what it may not do; `place` is the line of the program, where that is known."""

    def __init__(self, diagnostic: Diagnostic, place: SourceLine | None) -> None:
        super().__init__([diagnostic])
        self.place = place
