"""Text of records by a pattern for each, which printing and reading both follow.

    "for {index} = {start} to {stop}[[ step {step=1}]] {body}"

A field in braces is written and read by its type, or by the kind behind a colon; conditions `{rows@indices}`
are about the names in another field, several of them with `then` in between; `{indices,counts}` are pairs of
what two fields have. What is in double brackets is left out where its fields are as usual: as their defaults,
or what stands behind `=`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, TypeVar

from tadc.lattice.late_dataclasses import dataclass, fields
from tadc.passes.nest.form_text import FormCursor, form_text, forms_text, rows_text

Record = TypeVar("Record")

_PIECE = re.compile(
    r"(?P<open>\[\[)|(?P<close>\]\])"
    r"|\{(?P<field>[\w,]+)(?::(?P<kind>[^=@}]+))?(?:@(?P<about>\w+))?(?:=(?P<usual>[^}]*))?\}"
    r"|(?P<text>(?:(?!\[\[|\]\]|\{\w).)+)",
    re.S,
)


@dataclass(frozen=True)
class GrammarPiece:
    """A text, or a field with its kind and usual value, or a group that may be left out."""

    text: str = ""
    field: str = ""
    kind: str = ""
    about: str = ""
    usual: Any = None
    group: tuple[GrammarPiece, ...] = ()

    @property
    def words(self) -> list[str]:
        """The tokens of a text."""
        return re.findall(r"\w+|[^\w\s]", self.text)

    @property
    def first(self) -> str:
        """The word that it begins with, if that is always the same."""
        return self.group[0].first if self.group else next(iter(self.words), "")


@cache
def pattern_of(record: type, text: str) -> tuple[GrammarPiece, ...]:
    """The pieces of the text of a record."""
    known = {field.name: field for field in fields(record)}
    found: list[list[GrammarPiece]] = [[]]
    for match in _PIECE.finditer(text):
        if name := match["field"]:
            field = known[name.split(",")[0]]
            kind, usual = match["kind"] or str(field.type), field.default
            if match["usual"] is not None:
                nothing = "" if kind == "str" else ()
                usual = int(match["usual"]) if match["usual"].isdigit() else match["usual"] or nothing
            found[-1].append(GrammarPiece(field=name, kind=kind, about=match["about"] or "", usual=usual))
        elif match["text"]:
            found[-1].append(GrammarPiece(match["text"]))
        elif match["open"]:
            found.append([])
        else:
            group = tuple(found.pop())
            found[-1].append(GrammarPiece(group=group))
    return tuple(found[0])


@dataclass(frozen=True)
class Kind:
    """How values of a type are written, by a writer, and read, by a reader, up to a word that follows.

    `begins` says whether a group that may be left out begins with one.
    """

    write: Callable[[Any, Any], str]
    read: Callable[[Any, str], Any]
    begins: Callable[[Any, str], bool] = lambda reader, after: False


def plain(write: Callable[[Any], str], read: Callable[[Any], Any]) -> Kind:
    """A kind that is written and read wherever it stands as it is anywhere."""
    return Kind(lambda writer, value: write(value), lambda reader, after: read(reader))


def listed(read: Callable[[Any], Any], begins: Callable[[Any], bool] = lambda reader: False) -> Kind:
    """A kind of several values with commas between; a group begins with them where `begins` holds."""
    return Kind(
        lambda writer, values: ", ".join(map(str, values)),
        lambda reader, after: reader.several(lambda: read(reader)),
        lambda reader, after: begins(reader),
    )


def one_of(allowed: Iterable[str], what: str) -> Kind:
    """A word among some; a group begins with one where there is another than the one that follows it."""
    words = tuple(allowed)
    return Kind(
        lambda writer, value: value,
        lambda reader, after: reader.one_of(words, what),
        lambda reader, after: reader.token.kind == "word" and reader.token.text != after,
    )


KINDS = {
    "Affine": plain(form_text, FormCursor.form),
    "Domain": plain(rows_text, FormCursor.rows),
    "int": plain(str, lambda reader: reader.integer(1)),
    "bool": plain(lambda value: "", lambda reader: True),
    "tuple[int, ...]": listed(lambda reader: reader.integer(1)),
    "tuple[Affine, ...]": Kind(lambda _, forms: forms_text(forms), lambda reader, after: reader.forms(after)),
    "value": plain(str, FormCursor.value_name),
    "values": listed(FormCursor.value_name, lambda reader: reader.token.kind == "value"),
    "tensors": listed(lambda reader: reader.name("a tensor")),
}
"""Those that all texts have in common."""


@dataclass
class Grammar:
    """The pattern of each record, and the kinds of their fields."""

    patterns: Mapping[type, str]
    kinds: Mapping[str, Kind]

    def __post_init__(self) -> None:
        self.kinds = {**KINDS, **self.kinds}

    def pieces(self, record: type) -> tuple[GrammarPiece, ...]:
        """The pieces of a record's pattern."""
        return pattern_of(record, self.patterns[record])


class Writer:
    """Writes records."""

    def __init__(self, grammar: Grammar) -> None:
        self.grammar = grammar

    def record(self, record: object) -> str:
        """The text of a record."""
        return self.pieces(self.grammar.pieces(type(record)), record)

    def pieces(self, pieces: Iterable[GrammarPiece], record: Any) -> str:
        """The text of some pieces."""
        return "".join(self.piece(piece, record) for piece in pieces)

    def piece(self, piece: GrammarPiece, record: Any) -> str:
        """The text of one piece."""
        if piece.text:
            return piece.text
        if piece.group:
            is_usual = all(getattr(record, p.field) == p.usual for p in piece.group if p.field)
            return "" if is_usual else self.pieces(piece.group, record)
        values = [getattr(record, name) for name in piece.field.split(",")]
        value: Any = tuple(zip(*values, strict=True)) if values[1:] else values[0]
        if piece.about:
            about = getattr(record, piece.about)
            parts = value if piece.kind == "tuple[Domain, ...]" else (value,)
            names = (about,) if isinstance(about, str) else about
            return " then ".join(rows_text(part, names) for part in parts)
        return self.grammar.kinds[piece.kind].write(self, value)


class RecordReader(FormCursor):
    """Reads records."""

    grammar: Grammar

    def record(self, of: type[Record], **given: Any) -> Record:
        """A record, of which some fields are given."""
        self.pieces(self.grammar.pieces(of), given)
        return of(**given)

    def pieces(self, pieces: tuple[GrammarPiece, ...], found: dict[str, Any]) -> None:
        """The fields of some pieces."""
        for number, piece in enumerate(pieces):
            after = pieces[number + 1].first if number + 1 < len(pieces) else ""
            for word in piece.words:
                self.expect(word)
            if piece.field:
                names, value = piece.field.split(","), self.grammar.kinds[piece.kind].read(self, after)
                found |= zip(names, zip(*value, strict=True), strict=True) if names[1:] else {names[0]: value}
            elif piece.group and self.begins(piece, after):
                self.pieces(piece.group, found)
            else:
                found |= {p.field: p.usual for p in piece.group if p.field}

    def begins(self, group: GrammarPiece, after: str) -> bool:
        """Whether a group is here, before a word that follows it."""
        if group.first:
            return self.word_is(group.first)
        first = next(piece for piece in group.group if piece.field)
        return self.grammar.kinds[first.kind].begins(self, after)
