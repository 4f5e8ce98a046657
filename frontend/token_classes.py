"""What each word of a text is to a reader: the classes by which pages and editors colour it.

The lexer's tokens, told apart by the tables that the parser reads with. A text that is wrong has classes too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

from tadc.frontend.dtypes import COMPUTED, FLOATS, TYPE_PARAMETER
from tadc.frontend.functions import ALIASES, FUNCTIONS, SPELLED_REDUCTIONS
from tadc.frontend.lexer import AT, CLOSERS, IN, INCREASING, INDEX, KEYWORDS, SCAN, Token, tokenize
from tadc.frontend.source import Source

TokenClass: TypeAlias = Literal[
    "comment", "constant", "error", "function", "keyword", "name", "number", "operator", "punctuation", "type"
]

#: Keywords that are no words of statements.
OTHER_CLASSES: dict[str, TokenClass] = {"pi": "constant", "sum": "function", "select": "function"}
_PUNCTUATION = frozenset({*CLOSERS, *CLOSERS.values(), ",", ";", ":"})
_BETWEEN = re.compile(r"\s+|(?P<comment>\#[^\n]*)|(?P<error>[^\s\#]+)")
#: What may stand behind `at` in brackets.
_ELEMENT = frozenset({"name", "number", "("})


class ClassedWord(NamedTuple):
    """A part of a text from `start` up to `end`, and its class; blanks between parts have none."""

    start: int
    end: int
    kind: TokenClass


def classified(text: str) -> Iterator[ClassedWord]:
    """The parts of a text, in its order."""
    reader, at = _ClassReader(text), 0
    for position, token in enumerate(reader.tokens):
        kind = reader.kind(position)
        # What an error put into the text stands nowhere in it.
        if at <= token.start < token.end:
            yield from _between(text, at, token.start)
            at = token.end
            if kind is not None:
                yield ClassedWord(token.start, token.end, kind)
    yield from _between(text, at, len(text))


def _between(text: str, start: int, end: int) -> Iterator[ClassedWord]:
    for found in _BETWEEN.finditer(text, start, end):
        if found.lastgroup:
            yield ClassedWord(
                found.start(), found.end(), "comment" if found.lastgroup == "comment" else "error"
            )


class _ClassReader:
    """Walks over tokens, asked for one after the other, and knows the statement around them."""

    def __init__(self, text: str) -> None:
        found = tokenize(Source(text))
        self.tokens = found.items
        self.partner = found.partner
        self.depth = 0
        #: The type that the statement declares, if it does.
        self.declared = ""
        self.before = Token("newline", "", 0, 0)

    def kind(self, position: int) -> TokenClass | None:
        """The class of a token; None for a line's end."""
        token = self.tokens[position]
        if position in self.partner and token.kind not in CLOSERS:
            self.depth -= 1
        found = self._kind(token, position)
        if position in self.partner and token.kind in CLOSERS:
            self.depth += 1
        if not self.depth and token.kind in ("newline", ";"):
            self.declared = ""
        self.before = token
        return found

    def _kind(self, token: Token, position: int) -> TokenClass | None:
        kind = token.kind
        if kind == "name":
            return self._word(token.text, position)
        if kind in KEYWORDS:
            return OTHER_CLASSES.get(kind, "keyword")
        if kind in ("newline", "end"):
            return None
        if kind in ("number", "?"):
            return "number" if kind == "number" else "error"
        return "punctuation" if kind in _PUNCTUATION else "operator"

    def _word(self, word: str, position: int) -> TokenClass:
        following = self._following(position)
        if not self.depth and self.before.kind == ":":
            self.declared = word
            if word in FLOATS or word == INDEX or TYPE_PARAMETER.fullmatch(word):
                return "type"
        if self._is_keyword(word, following):
            return "keyword"
        if word in COMPUTED:
            return "type"
        function = FUNCTIONS.get(ALIASES.get(word, word))
        is_function = function is not None and (function.is_reserved or following == "(")
        is_reduction = word in SPELLED_REDUCTIONS and following == "{"
        return "function" if is_function or is_reduction else "name"

    def _is_keyword(self, word: str, following: str) -> bool:
        """Whether a word that is a name elsewhere is one of the grammar's here."""
        before = self.before
        if word == SCAN:
            return following == "{"
        if word == AT and before.kind == "[":
            return following in _ELEMENT
        if self.depth or not self.declared:
            return False
        if word == AT:
            return before.kind in (":", "]") or before.text == self.declared
        if self.declared != INDEX:
            return False
        if word == IN:
            return before.text in (INDEX, "]")
        return word == INCREASING and before.text != IN and following in ("newline", ";", "end")

    def _following(self, position: int) -> str:
        """The kind of the next token; in brackets lines have no ends."""
        position += 1
        while self.depth and self.tokens[position].kind == "newline":
            position += 1
        return self.tokens[position].kind
