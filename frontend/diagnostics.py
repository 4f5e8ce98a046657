"""Diagnostics: what went wrong, where, and how to go on."""

from __future__ import annotations

from dataclasses import dataclass, field

from tadc.frontend.source import Source, Span


@dataclass(frozen=True)
class Label:
    """A place with a word about it."""

    span: Span
    text: str = ""


@dataclass(frozen=True)
class Edit:
    """A text to put in the place of a span, which may be empty, or the text."""

    span: Span
    replacement: str


@dataclass
class Diagnostic:
    """One message. `code` is `TADnnnn`; `primary` is where it is wrong, `secondary` what else matters.

    `edits`, of which none overlap, put it right where one way to do so is obvious.
    """

    code: str
    message: str
    primary: Label | None = None
    secondary: list[Label] = field(default_factory=list[Label])
    notes: list[str] = field(default_factory=list[str])
    helps: list[str] = field(default_factory=list[str])
    severity: str = "error"
    source: Source | None = None
    edits: list[Edit] = field(default_factory=list[Edit])


class CompileError(Exception):
    """A program that cannot be compiled; `diagnostics` holds at least one error.

    `str(error)` is the rendered text, the same that the command prints.
    """

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        super().__init__(diagnostics)
        self.diagnostics = diagnostics

    def __str__(self) -> str:
        from tadc.frontend.render import render

        return "\n\n".join(render(d) for d in self.diagnostics)


class ArgumentError(CompileError, ValueError):
    """Arguments that a compiled function cannot take; `diagnostics` holds all that is wrong with them."""


class CompileWarning(UserWarning):
    """A program that compiles but is unlikely to be what was meant; `diagnostic` says why."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic)
        self.diagnostic = diagnostic

    def __str__(self) -> str:
        from tadc.frontend.render import render

        return render(self.diagnostic)
