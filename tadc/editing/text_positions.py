"""Places in a text as editors count them: lines from 0, columns in the units of an encoding."""

from __future__ import annotations

from lsprotocol import types as lsp

from tadc.frontend.source import Source, Span
from tadc.lattice.late_dataclasses import dataclass

#: Bytes of a unit, and the encoding in which units are so many.
_UNITS = {"utf-8": (1, "utf-8"), "utf-16": (2, "utf-16-le"), "utf-32": (4, "utf-32-le")}


@dataclass(frozen=True)
class Positions:
    """Turns offsets into a text into the positions of LSP and back; the encoding is that of its client."""

    source: Source
    encoding: str

    def position(self, offset: int) -> lsp.Position:
        """The position of an offset."""
        line, column = self.source.position(offset)
        start = self.source.start_of(line)
        size, encoding = _UNITS[self.encoding]
        before = self.source.text[start : start + column - 1]
        return lsp.Position(line - 1, len(before.encode(encoding, "surrogatepass")) // size)

    def range(self, span: Span) -> lsp.Range:
        """The range of a span."""
        return lsp.Range(self.position(span.start), self.position(span.end))

    def offset(self, position: lsp.Position) -> int:
        """The offset of a position; of one behind the text or a line its end."""
        lines = self.source.text.count("\n") + 1
        if position.line >= lines:
            return len(self.source.text)
        line = self.source.line(position.line + 1)
        size, encoding = _UNITS[self.encoding]
        before = line.encode(encoding, "surrogatepass")[: position.character * size]
        return self.source.start_of(position.line + 1) + len(before.decode(encoding, "ignore"))
