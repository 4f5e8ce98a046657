"""A diagnostic as data: its message, the places in the text, notes, helps, and edits that put it right."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from tadc.frontend.source import Source, Span
from tadc.lattice.late_dataclasses import dataclass, field


@dataclass(frozen=True)
class Label:
    """A place with a word about it."""

    span: Span
    text: str = ""


#: An edit is safe where the text can mean nothing but what it makes of it, and else a guess.
Applicability: TypeAlias = Literal["safe", "guess"]
SAFE: Final = "safe"
GUESS: Final = "guess"


@dataclass(frozen=True)
class Edit:
    """A text to put in the place of a span, which may be empty, or the text."""

    span: Span
    replacement: str
    applicability: Applicability


@dataclass
class Diagnostic:
    """One message. `code` is `TADnnnn`; `primary` is where it is wrong, `secondary` what else matters.

    `edits`, of which none overlap, together put it right where one way to do so is likely; `is_safe` where
    nothing else can be meant.

    >>> import tadc
    >>> try:
    ...     tadc.function("x: f64; f = x + z")
    ... except tadc.CompileError as error:
    ...     (found,) = error.diagnostics
    >>> found.code, found.message
    ('TAD0204', 'unknown name `z`')
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

    @property
    def is_safe(self) -> bool:
        """Whether its edits can be made without asking."""
        return all(edit.applicability == SAFE for edit in self.edits)
