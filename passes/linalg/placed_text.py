"""The text of an imported program, and diagnostics about it at the lines it was imported from."""

from __future__ import annotations

from collections.abc import Sequence

from tadc.frontend.diagnostics import CompileError, Diagnostic, Label
from tadc.frontend.source import Source, Span
from tadc.lattice.late_dataclasses import dataclass, field, replace
from tadc.passes.linalg.source_places import SourcePlace


@dataclass(frozen=True)
class ImportedSource(Source):
    """A text, and for each statement where in the user's source it comes from."""

    places: tuple[tuple[Span, SourcePlace | None], ...] = field(default=(), compare=False, repr=False)

    @staticmethod
    def of(statements: Sequence[tuple[str, SourcePlace | None]], name: str) -> ImportedSource:
        """The source of statements."""
        places: list[tuple[Span, SourcePlace | None]] = []
        length = 0
        for text, place in statements:
            places.append((Span(length, length + len(text)), place))
            length += len(text) + 1
        return ImportedSource("".join(f"{text}\n" for text, _ in statements), name, tuple(places))

    def placed(self, diagnostic: Diagnostic) -> Diagnostic:
        """The diagnostic with a note that says which line of the user's source its statement comes from.

        It shows the program's text, which the message is about, and has no edits: nobody wrote that.
        """
        shown = replace(diagnostic, source=Source(self.text, self.name), edits=[])
        if diagnostic.primary is None:
            return replace(shown, source=None)
        at = diagnostic.primary.span.start
        place = next((p for span, p in self.places if span.start <= at < span.end + 1), None)
        source = place.source() if place is not None else None
        if place is None or source is None:
            return shown
        statement = self.text[diagnostic.primary.span.start : diagnostic.primary.span.end]
        notes = [*diagnostic.notes, f"of the imported program: `{statement.strip()[:200]}`"]
        return replace(
            diagnostic,
            source=source,
            primary=Label(place.span(source), diagnostic.primary.text),
            secondary=[],
            notes=notes,
            edits=[],
        )


def in_imported_source(error: CompileError) -> CompileError:
    """The same errors, at the lines of the user's source."""
    return type(error)([d.source.placed(d) if d.source else d for d in error.diagnostics])
