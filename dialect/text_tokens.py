"""Tokens of MLIR's text, and text rebuilt from pieces of another.

One lexer serves both directions of the readable form. It follows MLIR's own: comments and
strings hide what is in them, `%i-1` is one name, `->` and `>=` do not close an angle.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple

from tadc.frontend.lexer import match_brackets
from tadc.lattice.late_dataclasses import dataclass, field

_PATTERN = re.compile(
    r"""(?P<skip>\s+|//[^\n]*)
    |(?P<string>"(?:[^"\\\n]|\\.)*")
    |(?P<value>%(?:\d+|[A-Za-z$._-][\w$.-]*)(?:\#\d+)?)
    |(?P<block>\^[\w$.-]+)
    |(?P<symbol>@[A-Za-z_][\w$.]*)
    |(?P<alias>[\#!][A-Za-z$._-][\w$.-]*)
    |(?P<word>[A-Za-z_][\w$.]*)
    |(?P<number>\d[\w.]*)
    |(?P<mark>->|>=|<=|==|::|.)""",
    re.X | re.S | re.A,
)


class TextToken(NamedTuple):
    """A token and its place; `kind` is a group of the lexer's pattern."""

    kind: str
    text: str
    start: int
    end: int


class TextTokens(list[TextToken]):
    """The tokens of a text, ended by an empty one; `partner` pairs the brackets by index."""

    def __init__(self, text: str, pattern: re.Pattern[str] = _PATTERN) -> None:
        found = (TextToken(m.lastgroup or "", m.group(), m.start(), m.end()) for m in pattern.finditer(text))
        super().__init__(token for token in found if token.kind != "skip")
        self.text = text
        self.append(TextToken("end", "", len(text), len(text)))
        self.partner = match_brackets([token.text for token in self])

    def is_at(self, index: int, *texts: str) -> bool:
        """Whether these tokens stand at an index."""
        return all(index + n < len(self) and self[index + n].text == t for n, t in enumerate(texts))

    def flat(self, start: int, end: int) -> str:
        """The text of tokens `start .. end - 1` on one line, as long as it was; without comments."""
        text = self.text[self[start].start : self[end - 1].end] if end > start else ""
        return _PATTERN.sub(lambda found: " " * len(found[0]) if found["skip"] else found[0], text)


class TextPiece(NamedTuple):
    """A new text, its place in a source, and whether it is copied from there."""

    text: str
    origin: int
    copied: bool = False


@dataclass
class Rebuilt:
    """A text made of pieces of a source and of new pieces, each with its place in the source.

    `labels` are the names of what is at some places.
    """

    source: str
    pieces: list[TextPiece] = field(default_factory=list[TextPiece])
    starts: list[int] = field(default_factory=list[int])
    labels: dict[int, str] = field(default_factory=dict[int, str])
    length: int = 0
    read: int = 0

    def copy_to(self, end: int) -> None:
        """Copy the source from where it was last read up to an offset."""
        if end > self.read:
            self.put(self.source[self.read : end], self.read, copied=True)
            self.read = end

    def put(self, text: str, origin: int, copied: bool = False) -> None:
        """Add a new piece that stands for what is at `origin` in the source, or is `copied` from there."""
        if text:
            self.pieces.append(TextPiece(text, origin, copied))
            self.starts.append(self.length)
            self.length += len(text)

    def put_all(self, pieces: Iterable[TextPiece]) -> None:
        """Add new pieces with commas between."""
        for number, piece in enumerate(pieces):
            self.put(", " if number else "", piece.origin)
            self.put(*piece)

    def skip_to(self, end: int) -> None:
        """Leave out the source up to an offset, but for its line ends."""
        self.put("\n" * self.source.count("\n", self.read, end), self.read)
        self.read = max(self.read, end)

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(piece.text for piece in self.pieces)

    def origin(self, offset: int) -> int:
        """The place in the source of an offset of the text."""
        if not self.starts:
            return 0
        number = bisect_right(self.starts, offset) - 1
        piece = self.pieces[number]
        return piece.origin + (offset - self.starts[number]) * piece.copied
