"""Text to tokens, with every bracket's partner.

Newlines are tokens; whether one ends a statement is the parser's to decide, because it
knows which brackets are open. What cannot be read is reported and replaced by the token
that was probably meant, so that the parser goes on.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from tadc.frontend.diagnostics import GUESS, SAFE, Diagnostic, Edit, Label
from tadc.frontend.dtypes import COMPUTED, FLOATS
from tadc.frontend.elsewhere import MEANT_SIGNS, SIGNS
from tadc.frontend.foreign_functions import CALLS, MODULES
from tadc.frontend.functions import ALIASES, FUNCTIONS, REDUCTIONS
from tadc.frontend.lookalikes import character, in_letters, latex, superscript
from tadc.frontend.source import Source, Span
from tadc.lattice.late_dataclasses import dataclass

#: Words with a place of their own in the grammar; each is a kind of token.
KEYWORDS = frozenset({"let", "size", "sum", "if", "then", "else", "select", "and", "pi"})
#: Begins a recurrence before a brace; elsewhere it is a name like others.
SCAN = "scan"
#: The words of a declaration of an index array; elsewhere they are names like others.
INDEX, IN, INCREASING = "index", "in", "increasing"
#: Tells where the elements of a sparse tensor are; elsewhere it is a name like others.
AT = "at"
#: Words that name no tensor, size or index.
#: Types that were added are names where none is expected, as before.
RESERVED = KEYWORDS | {*COMPUTED, *ALIASES} | {f.name for f in FUNCTIONS.values() if f.is_reserved}

CLOSERS = {"(": ")", "[": "]", "{": "}"}

_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\f\v]+|\#[^\n]*)
      | (?P<newline>\n)
      | (?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
      | (?P<dotted>[^\W\d]\w*(?:\.[^\W\d]\w*)+)
      | (?P<name>[^\W\d]\w*)
      | (?P<member>(?<=[\])])\.[^\W\d]\w*)
      | (?P<text>"[^"\n]*"?|(?<![\w\])])'[^'\n]*')
      | (?P<latex>\\[A-Za-z]+)
      | (?P<sign>"""
    + "|".join(re.escape(sign) for sign in sorted(SIGNS, key=len, reverse=True) if sign != "!")
    + r"""|!(?!=))
      | (?P<operator>\*\*|//|<=|>=|!=|[-+*/%^=<>()\[\]{},;:])""",
    re.VERBOSE,
)
#: No reader wants more; a file that is no program has an error at every character.
_MOST_ERRORS = 100
#: So many places more of the same error are marked.
_MOST_PLACES = 3
#: What follows a number elsewhere and tells its type, or that it is imaginary.
_SUFFIXES = frozenset("d D f F l L u U h H j J im i16 i32 i64 ul ll".split()) | {*FLOATS}
_REST_OF_WORD = re.compile(r"[\w.]*")


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
    #: Where what was wrong stands.
    garbled: set[int]


def tokenize(source: Source) -> Tokens:
    """Read a whole source; never raises."""
    lexer = _Lexer(source)
    lexer.run()
    partner = match_brackets([token.kind for token in lexer.tokens])
    return Tokens(lexer.tokens, partner, lexer.errors, lexer.garbled)


def match_brackets(texts: Sequence[str]) -> dict[int, int]:
    """Pair the brackets among texts by place; one that is left open inside another pair gets no partner."""
    partner: dict[int, int] = {}
    open_: list[int] = []
    waiting = dict.fromkeys(CLOSERS.values(), 0)
    for position, text in enumerate(texts):
        if closer := CLOSERS.get(text):
            open_.append(position)
            waiting[closer] += 1
        elif waiting.get(text):
            while True:
                opener = open_.pop()
                closer = CLOSERS[texts[opener]]
                waiting[closer] -= 1
                if closer == text:
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
        self.garbled: set[int] = set()
        self._last_kind = ""
        #: The errors by their messages: what is wrong in the same way is marked in one.
        self._said: dict[str, Diagnostic] = {}
        #: The names that are spelt in the letters of the language, by what they are there.
        self._spelt: dict[str, str] = {}

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
                self._add(word, word, position, end)
            elif kind == "dotted":
                self._dotted(word, position)
            elif kind != "space":
                self._foreign(str(kind), word, position)
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

    def _dotted(self, word: str, start: int) -> None:
        """`np.sin` and `x.sum`; reading goes on with what stands behind a module, or in front of a dot."""
        first, *_, last = word.split(".")
        at, end = start + len(word) - len(last), start + len(word)
        if first in MODULES and first not in self._alone:
            edit = Edit(Span(start, at), "", SAFE)
            helps = [f"write `{last}`: what there is stands without a module"]
            if last in CALLS and last not in FUNCTIONS:
                helps = [CALLS[last].help]
            self._error("TAD0104", f"`{word[: -len(last)]}` is no part of a name", start, at, helps, edit)
            self._word(last, at)
            return
        self._member(f"`{word}`", last, start, end)
        self._add("name", first, start, end)

    def _member(self, shown: str, name: str, start: int, end: int) -> None:
        said = CALLS.get(name)
        helps = [said.help] if said else ["names are made of the letters a-z and A-Z, digits and `_`"]
        self._error("TAD0104", f"{shown} has a dot, but tensors have no methods or fields", start, end, helps)

    def _foreign(self, kind: str, word: str, start: int) -> None:
        """Signs and texts of other languages: reading goes on with what is meant, or stops silently."""
        end = start + len(word)
        hint = latex(word) if kind == "latex" else SIGNS.get(word)
        if kind == "member":
            self._member(f"`{word}`", word[1:], start, end)
        elif hint is None:
            helps = ["there are only numbers and tensors; a name stands without quotes"]
            self._error("TAD0104", "a text in quotes", start, end, helps)
        else:
            what = "command of LaTeX" if kind == "latex" else "operator"
            edits = hint.edits(Span(start, end))
            self._error("TAD0104", f"unknown {what} `{word}`", start, end, [hint.help], *edits)
            meant = hint.text if hint.text is not None else MEANT_SIGNS.get(word)
            if meant is not None:
                if meant:
                    self._add(_kind(meant), meant, start, end)
                return
        self._add("?", word, start, end)

    def _number(self, start: int, end: int) -> int:
        rest = _REST_OF_WORD.match(self.text, end)
        assert rest
        digits, tail = self.text[start:end], rest.group()
        value: int | float = 0
        if tail:
            written = _literal(digits + tail)
            is_product = written is None and re.fullmatch(r"[^\W\d]\w*", tail) is not None
            helps = [f"to multiply, write `{digits}*{tail}`"] if is_product else []
            sure = GUESS if tail in _SUFFIXES or self._last_kind in ("/", "//", "%", "**", "^") else SAFE
            edit = Edit(Span(end, end), "*", sure) if is_product else None
            if tail in ("e", "E"):
                helps, edit = ["an exponent is an integer behind the `e`: `1e-3`"], None
            elif tail in ("j", "im", "J"):
                helps.append("there are no complex numbers")
            elif ".." in digits + tail:
                helps = ["a range starts at 0 and is given by its size, as in `i: 3`, or in a sum by bounds"]
            elif written:
                helps, edit = [f"write `{written}`"], Edit(Span(start, rest.end()), written, SAFE)
            self._error("TAD0103", f"`{digits}{tail}` is no number", start, rest.end(), helps, edit)
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
        if not bad.isprintable():
            shown = f"U+{ord(bad):04X}{' ' + name if name else ''}"
        meant, width = superscript(self.text, at) or (character(bad), 1)
        behind = self.text[at + 1 : at + 2]
        is_formula = meant in REDUCTIONS and behind == "_"
        is_operator = len(text) == 1 and (meant not in (None, *REDUCTIONS) or behind in ("{", "("))
        is_name = bad.isalpha() and not is_operator and not is_formula
        spelt = in_letters(text) if is_name else None
        edit: Edit | None = None
        if spelt:
            helps, edit = (
                [f"write `{spelt}`: names are made of the letters a-z and A-Z, digits and `_`"],
                Edit(Span(start, end), spelt, GUESS if self._is_taken(spelt, text) else SAFE),
            )
        elif meant is not None:
            helps = [f"write `{meant}`" if meant.strip() else "leave it out"]
            edit = self._spaced(at, width, meant)
        elif bad.isalpha():
            helps = ["names are made of the letters a-z and A-Z, digits and `_`"]
        else:
            helps = ["other characters than ASCII are allowed in comments only"] if not bad.isascii() else []
        if is_formula:
            helps, edit = (
                [f"the index stands in braces, its bounds behind them: `{meant}{{i}}_0^4 (…)`"],
                None,
            )
        self._error("TAD0104", f"unknown character {shown}", at, at + 1, helps, edit)
        if is_formula:
            self._add("?", text, start, end)
        elif len(text) > 1 or (meant is None and bad.isalpha()):
            self._add("name", text, start, end)
        elif meant and meant.strip() and len(meant) < 5 and not meant.startswith("**"):
            self._add(_kind(meant), meant, start, end)
        return max(end, at + width)

    def _spaced(self, at: int, width: int, meant: str) -> Edit:
        """Put a text in the place of characters, apart from words beside it if it is one."""
        before, after = self.text[at - 1 : at], self.text[at + width : at + width + 1]
        if meant.isidentifier():
            meant = " " * (before.isalnum() or before == "_") + meant + " " * after.isalnum()
        # How much is under a root, and whether a letter is a name, tells what stands behind it.
        sure = GUESS if meant.strip() in (*FUNCTIONS, *REDUCTIONS) and after not in ("(", "{") else SAFE
        return Edit(Span(at, at + width), meant, sure)

    @cached_property
    def _alone(self) -> frozenset[str]:
        """The words that stand somewhere without a dot beside them."""
        return frozenset(re.findall(r"(?<![\w.])\w+(?![\w.])", self.text))

    def _is_taken(self, spelt: str, word: str) -> bool:
        """Whether a name in other letters is what another has, or what stands in the text."""
        return self._spelt.setdefault(spelt, word) != word or spelt in self._alone

    def _error(
        self, code: str, message: str, start: int, end: int, helps: list[str], *edits: Edit | None
    ) -> None:
        self.garbled.add(start)
        # Each number is its own; a sign that has no place here is one mistake however often it stands.
        said = self._said.get(message) if code == "TAD0104" else None
        if said is None:
            if len(self.errors) >= _MOST_ERRORS:
                return
            said = self._said[message] = Diagnostic(
                code, message, Label(Span(start, end)), helps=helps, source=self.source
            )
            self.errors.append(said)
        elif len(said.secondary) < _MOST_PLACES:
            said.secondary.append(Label(Span(start, end)))
        said.edits += [edit for edit in edits if edit]


def _kind(text: str) -> str:
    return "name" if text.isidentifier() and text not in KEYWORDS else text


def _literal(text: str) -> str | None:
    """A number in another notation, as it is written here: `1_000`, `0x1F`."""
    if re.fullmatch(r"[0-9]+(_[0-9]+)+", text):
        return text.replace("_", "")
    if re.fullmatch(r"0[xX][0-9a-fA-F]{1,15}|0[bB][01]{1,50}|0[oO][0-7]{1,20}", text):
        return str(int(text, 0))
    return None
