"""Text to tokens, with every bracket's partner.

Newlines are tokens; whether one ends a statement is the parser's to decide, because it
knows which brackets are open. What cannot be read is reported and replaced by the token
that was probably meant, so that the parser goes on.
"""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import dataclass
from typing import NamedTuple

from tadc.frontend.diagnostics import Diagnostic, Label
from tadc.frontend.functions import ALIASES, FUNCTIONS
from tadc.frontend.source import Source, Span

#: Words with a place of their own in the grammar; each is a kind of token.
KEYWORDS = frozenset({"let", "size", "sum", "if", "then", "else", "select", "and", "pi"})
ELEMENT_TYPES = ("f32", "f64")
#: Begins a recurrence before a brace; elsewhere it is a name like others.
SCAN = "scan"
#: Words that name no tensor, size or index.
RESERVED = KEYWORDS | {*ELEMENT_TYPES, *ALIASES, "out"} | {f.name for f in FUNCTIONS.values() if f.reserved}

CLOSERS = {"(": ")", "[": "]", "{": "}"}

_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\f\v]+|\#[^\n]*)
      | (?P<newline>\n)
      | (?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
      | (?P<name>[^\W\d]\w*)
      | (?P<operator>\*\*|//|<=|>=|!=|==|&&|\|\||[-+*/%^=<>()\[\]{},;:])""",
    re.VERBOSE,
)
#: No reader wants more; a file that is no program has an error at every character.
_MOST_ERRORS = 100
_REST_OF_WORD = re.compile(r"[\w.]*")

#: Operators of other languages, with what is written here.
_FOREIGN = {"==": "=", "&&": "and", "||": ""}

#: Characters that look or read like something of the language.
_LOOKALIKES = {
    "\N{MINUS SIGN}": "-",
    "\N{EN DASH}": "-",
    "\N{MULTIPLICATION SIGN}": "*",
    "\N{MIDDLE DOT}": "*",
    "\N{DOT OPERATOR}": "*",
    "\N{DIVISION SIGN}": "/",
    "\N{LESS-THAN OR EQUAL TO}": "<=",
    "\N{GREATER-THAN OR EQUAL TO}": ">=",
    "\N{NOT EQUAL TO}": "!=",
    "\N{LOGICAL AND}": "and",
    "\N{N-ARY SUMMATION}": "sum",
    "\N{GREEK CAPITAL LETTER SIGMA}": "sum",
    "\N{GREEK SMALL LETTER PI}": "pi",
    "\N{SQUARE ROOT}": "sqrt",
    "\N{SUPERSCRIPT TWO}": "**2",
    "\N{SUPERSCRIPT THREE}": "**3",
    "\N{FULLWIDTH LEFT PARENTHESIS}": "(",
    "\N{FULLWIDTH RIGHT PARENTHESIS}": ")",
    "\N{FULLWIDTH COMMA}": ",",
}


class Token(NamedTuple):
    """`kind` is `number`, `name`, `newline`, `end`, or the text of a keyword or operator."""

    kind: str
    text: str
    start: int
    end: int
    value: int | float = 0

    @property
    def span(self) -> Span:
        """Where it stands."""
        return Span(self.start, self.end)


@dataclass
class Tokens:
    """The tokens of a source, the last one of kind `end`, and what was wrong on the way.

    `partner` maps the position of each bracket that has one to that of its partner.
    """

    items: list[Token]
    partner: dict[int, int]
    errors: list[Diagnostic]


def tokenize(source: Source) -> Tokens:
    """Read a whole source; never raises."""
    lexer = _Lexer(source)
    lexer.run()
    return Tokens(lexer.tokens, match_brackets(lexer.tokens), lexer.errors)


def match_brackets(tokens: list[Token]) -> dict[int, int]:
    """Pair brackets; one that is left open inside another pair gets no partner."""
    partner: dict[int, int] = {}
    open_: list[int] = []
    waiting = dict.fromkeys(CLOSERS.values(), 0)
    for position, token in enumerate(tokens):
        if closer := CLOSERS.get(token.kind):
            open_.append(position)
            waiting[closer] += 1
        elif waiting.get(token.kind):
            while True:
                opener = open_.pop()
                closer = CLOSERS[tokens[opener].kind]
                waiting[closer] -= 1
                if closer == token.kind:
                    break
            partner[opener] = position
            partner[position] = opener
    return partner


class _Lexer:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.text = source.text
        self.tokens: list[Token] = []
        self.errors: list[Diagnostic] = []
        self._last_kind = ""

    def run(self) -> None:
        text, position = self.text, 0
        if text.startswith("\ufeff"):
            position = 1
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None:
                position = self._unknown(position, position + 1)
                continue
            kind, word, end = match.lastgroup, match.group(), match.end()
            if kind == "number":
                end = self._number(position, end)
            elif kind == "name":
                end = self._word(word, position)
            elif kind == "newline":
                self.tokens.append(Token("newline", "\n", position, end))
            elif kind == "operator":
                self._operator(word, position)
            position = end
        self.tokens.append(Token("end", "", len(text), len(text)))

    def _add(self, kind: str, text: str, start: int, end: int, value: int | float = 0) -> None:
        self.tokens.append(Token(kind, text, start, end, value))
        self._last_kind = kind

    def _word(self, word: str, start: int) -> int:
        # After `sum{k}` a `_` starts the lower bound, whatever follows it.
        if word[0] == "_" and self._last_kind == "}":
            self._add("_", "_", start, start + 1)
            return start + 1
        if not word.isascii():
            return self._unknown(start, start + len(word))
        self._add(word if word in KEYWORDS else "name", word, start, start + len(word))
        return start + len(word)

    def _operator(self, word: str, start: int) -> None:
        meant = _FOREIGN.get(word)
        if meant is not None:
            helps = [f"it is written `{meant}` here"] if meant else ["write an `if` for each alternative"]
            self._error("TAD0104", f"unknown operator `{word}`", start, start + len(word), helps)
        self._add(meant or word, word, start, start + len(word))

    def _number(self, start: int, end: int) -> int:
        rest = _REST_OF_WORD.match(self.text, end)
        assert rest
        digits, tail = self.text[start:end], rest.group()
        value: int | float = 0
        if tail:
            is_product = re.fullmatch(r"[A-Za-z]\w*", tail) is not None
            helps = [f"to multiply, write `{digits}*{tail}`"] if is_product else []
            self._error("TAD0103", f"`{digits}{tail}` is no number", start, rest.end(), helps)
            if is_product:
                # Read on as meant: `2x[i]` is one error.
                self._add("number", digits, start, end, 1)
                self._add("*", "*", end, end)
                self._word(tail, end)
                return rest.end()
        elif len(digits) > 4000 or math.isinf(float(digits)):
            self._error("TAD0103", "number is too large", start, end, ["the largest is about 1.8e308"])
        else:
            value = int(digits) if digits.isdigit() else float(digits)
        self._add("number", digits + tail, start, rest.end(), value)
        return rest.end()

    def _unknown(self, start: int, end: int) -> int:
        """Report what no token starts with; a word is replaced by itself."""
        if len(self.errors) >= _MOST_ERRORS:
            return end
        text = self.text[start:end]
        bad = next(c for c in text if not c.isascii() or not c.isalnum())
        at = start + text.index(bad)
        name = unicodedata.name(bad, "")
        shown = f"`{bad}` (U+{ord(bad):04X}{' ' + name if name else ''})" if not bad.isascii() else f"`{bad}`"
        meant = _LOOKALIKES.get(bad)
        if meant:
            helps = [f"write `{meant}`"]
        elif bad.isalpha():
            helps = ["names are made of the letters a-z and A-Z, digits and `_`"]
        else:
            helps = ["other characters than ASCII are allowed in comments only"] if not bad.isascii() else []
        if not bad.isprintable():
            shown = f"U+{ord(bad):04X}{' ' + name if name else ''}"
        self._error("TAD0104", f"unknown character {shown}", at, at + 1, helps)
        if len(text) > 1 or (meant is None and bad.isalpha()):
            self._add("name", text, start, end)
        elif meant and meant not in ("**2", "**3"):
            self._add("name" if meant.isidentifier() and meant not in KEYWORDS else meant, meant, start, end)
        return end

    def _error(self, code: str, message: str, start: int, end: int, helps: list[str]) -> None:
        if len(self.errors) >= _MOST_ERRORS:
            return
        primary = Label(Span(start, end))
        self.errors.append(Diagnostic(code, message, primary, helps=helps, source=self.source))
