"""Program text and places in it."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from typing import Any

from tadc.lattice.late_dataclasses import dataclass


@dataclass(frozen=True)
class Span:
    """A half-open range of character offsets in a source."""

    start: int
    end: int

    def to(self, other: Span) -> Span:
        """The least span that holds both."""
        return Span(min(self.start, other.start), max(self.end, other.end))


@dataclass(frozen=True)
class Place:
    """A line and column, from 1, of a file: what an MLIR location keeps of a span."""

    file: str
    line: int
    column: int


@dataclass(frozen=True)
class Source:
    """A text with the name that messages give it (`f.tad`, `<string>`, `<stdin>`)."""

    text: str
    name: str = "<string>"

    @cached_property
    def _starts(self) -> list[int]:
        return [0] + [i + 1 for i, c in enumerate(self.text) if c == "\n"]

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both from 1."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def span_at(self, place: Place) -> Span:
        """The word that begins at a place of this source."""
        start = min(self._starts[min(place.line, len(self._starts)) - 1] + place.column - 1, len(self.text))
        end = start
        while end < len(self.text) and (self.text[end].isalnum() or self.text[end] == "_"):
            end += 1
        return Span(start, max(end, min(start + 1, len(self.text))))

    def start_of(self, line: int) -> int:
        """The offset at which a line, from 1, begins."""
        return self._starts[line - 1]

    def placed(self, diagnostic: Any) -> Any:
        """A diagnostic about this text as it is shown: of a text that nobody wrote, where it was made."""
        return diagnostic

    def line(self, number: int) -> str:
        """The text of a line, from 1, without its end."""
        start = self._starts[number - 1]
        end = self._starts[number] - 1 if number < len(self._starts) else len(self.text)
        return self.text[start:end].rstrip("\r")
