"""Collects the errors of one check."""

from __future__ import annotations

from collections.abc import Sequence

from tadc.frontend.diagnostics import CompileError, Diagnostic, Edit, Label
from tadc.frontend.source import Source, Span

#: A reader stops caring after this many.
LIMIT = 20


class Rejected(Exception):
    """Part of a program that cannot be checked; no `diagnostic`: it was reported before."""

    def __init__(self, diagnostic: Diagnostic | None = None) -> None:
        super().__init__(diagnostic)
        self.diagnostic = diagnostic


class Enough(Exception):
    """`LIMIT` errors were reported."""


def error(
    code: str,
    message: str,
    span: Span,
    label: str = "",
    *,
    secondary: Sequence[tuple[Span, str]] = (),
    notes: Sequence[str] = (),
    helps: Sequence[str] = (),
    edits: Sequence[Edit] = (),
) -> Diagnostic:
    """Build an error at `span`."""
    places = [Label(place, text) for place, text in secondary]
    return Diagnostic(code, message, Label(span, label), places, list(notes), list(helps), edits=list(edits))


class Reporter:
    """The errors found so far."""

    def __init__(self, source: Source, known: Sequence[Diagnostic] = ()) -> None:
        self.source = source
        self.diagnostics: list[Diagnostic] = list(known)

    def add(self, problem: Diagnostic | Rejected) -> None:
        """Report an error, or what rejected a part. Raises `Enough` at the limit."""
        diagnostic = problem.diagnostic if isinstance(problem, Rejected) else problem
        if diagnostic is None:
            return
        diagnostic.source = self.source
        self.diagnostics.append(diagnostic)
        if len(self.diagnostics) >= LIMIT:
            raise Enough

    def text(self, span: Span) -> str:
        """The source text at a place, on one line."""
        return " ".join(self.source.text[span.start : span.end].split())

    def finish(self) -> None:
        """Raise all errors, in the order of their places, if there are any."""
        if self.diagnostics:
            self.diagnostics.sort(key=_place)
            raise CompileError(self.diagnostics)


def _place(diagnostic: Diagnostic) -> int:
    return diagnostic.primary.span.start if diagnostic.primary else -1
