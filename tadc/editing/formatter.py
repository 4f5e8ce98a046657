"""Programs in one style: blanks, line breaks and blank lines are the formatter's, words and comments stay.

A statement that is longer than a line is broken in its brackets, as printed ones are (`frontend/layout.py`).
Where comments stand inside of brackets, lines stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tadc.frontend.diagnostics import CompileError
from tadc.frontend.functions import RELATIONS
from tadc.frontend.layout import WIDTH, wrapped
from tadc.frontend.lexer import CLOSERS
from tadc.frontend.parser import read_statements
from tadc.frontend.source import Source
from tadc.frontend.token_classes import TokenClass, classified
from tadc.lattice.late_dataclasses import dataclass

_STEP = "    "
_CLOSING = frozenset(CLOSERS.values())
_SPACED = frozenset({"+", "-", *RELATIONS})
_TIGHT = frozenset({"**", "^", "_"})
#: Whether there are blanks around these in index expressions; elsewhere it is as written.
_SCALING = {"*": False, "/": True, "//": True, "%": True}
#: Behind these a minus is a sign.
_BEFORE_SIGNS = frozenset({*CLOSERS, ",", ";", ":", *_SPACED, *_TIGHT, *_SCALING})


@dataclass(frozen=True)
class _Word:
    """A word or a comment: how many brackets are open around it, and what stands on which side of it."""

    text: str
    kind: TokenClass
    depth: int
    is_index: bool
    #: How many lines end before it, and whether there are blanks before and behind.
    lines: int
    apart: tuple[bool, bool]

    @property
    def goes_on(self) -> bool:
        """Whether a bracket is open behind it, so that the end of its line ends nothing."""
        return self.depth > 0 or self.text in CLOSERS


def formatted(source: Source) -> str:
    """The program in the one style. Raises CompileError with its errors of syntax."""
    errors = read_statements(source).errors
    if errors:
        raise CompileError(list(errors))
    lines: list[str] = []
    for line in _lines(source.text):
        if lines and line[0].lines > 1:
            lines.append("")
        lines += _laid(line)
    return "".join(f"{line}\n" for line in lines)


def _words(text: str) -> Iterator[_Word]:
    open_: list[bool] = []
    before, end = "", 0
    for start, stop, kind in classified(text):
        word = text[start:stop]
        if word in _CLOSING:
            open_.pop()
        is_index = bool(open_) and open_[-1]
        apart = (start > end, text[stop : stop + 1].isspace())
        yield _Word(word.rstrip(), kind, len(open_), is_index, text.count("\n", end, start), apart)
        if word in CLOSERS:
            open_.append(word != "(" or is_index or before in ("_", "^"))
        before, end = word, stop


def _lines(text: str) -> Iterator[list[_Word]]:
    """The words of each line, with those that go on in brackets."""
    line: list[_Word] = []
    for word in _words(text):
        if line and word.lines and not line[-1].goes_on:
            yield line
            line = []
        line.append(word)
    if line:
        yield line


def _laid(line: list[_Word]) -> list[str]:
    """The lines that the words of one become."""
    if any(word.kind == "comment" for word in line[:-1]):
        return _as_written(line)
    comment = line.pop().text if line[-1].kind == "comment" else ""
    statements = list(_statements(line))
    text = "; ".join(map(_spaced, statements))
    if len(text) > WIDTH or any(word.lines for word in line[1:]):
        text = "\n".join(wrapped(_spaced(_bare(statement))) for statement in statements)
    *first, last = text.split("\n")
    return [*first, "  ".join(filter(None, [last, comment]))]


def _statements(line: Sequence[_Word]) -> Iterator[list[_Word]]:
    statement: list[_Word] = []
    for word in line:
        if word.text != ";" or word.depth:
            statement.append(word)
        elif statement:
            yield statement
            statement = []
    if statement:
        yield statement


def _bare(statement: list[_Word]) -> list[_Word]:
    """A definition without brackets around its whole body: where it is broken, some are put there."""
    first = 1 + next((n for n, word in enumerate(statement) if word.text == "=" and not word.depth), -1)
    last, depth, begin = len(statement) - 1, 0, first
    while first and statement[first].text == "(":
        closers = (n for n in range(first, last + 1) if statement[n].text == ")")
        if next(n for n in closers if statement[n].depth == depth) < last:
            break
        first, last, depth = first + 1, last - 1, depth + 1
    return [*statement[:begin], *statement[first : last + 1]]


def _spaced(words: Sequence[_Word]) -> str:
    """A statement on one line."""
    return "".join(gap + word.text for gap, word in zip(_gaps(words), words, strict=True))


def _gaps(words: Sequence[_Word]) -> Iterator[str]:
    """The blanks before each word of a statement."""
    before, is_behind_sign = None, False
    for word in words:
        is_sign = word.text == "-" and (
            before is None or before.kind == "keyword" or before.text in _BEFORE_SIGNS
        )
        yield "" if before is None or is_behind_sign else " " * _is_apart(before, word, is_sign=is_sign)
        before, is_behind_sign = word, is_sign


def _is_apart(before: _Word, word: _Word, *, is_sign: bool) -> bool:
    """Whether there is a blank between two words, of which the first is no sign."""
    left, right = before.text, word.text
    if left in CLOSERS or right in _CLOSING or right in (",", ";", ":"):
        return False
    if left in _TIGHT or right in _TIGHT:
        return False
    if left in _SCALING:
        return _scaled(before)
    if right in _SCALING:
        return _scaled(word)
    if left in (",", ";", ":") or left in _SPACED or (right in _SPACED and not is_sign):
        return True
    if right == "(":
        return before.kind != "function"
    if right == "[":
        return before.kind not in ("name", "type")
    # `sum{k}`, `scan{t}`, but `if {…}`.
    return right != "{" or left == "if"


def _scaled(operator: _Word) -> bool:
    """Whether there are blanks around an operator of products."""
    return _SCALING[operator.text] if operator.is_index else any(operator.apart)


def _as_written(line: Sequence[_Word]) -> list[str]:
    """The lines of statements as they are, further in by a step for each line with a bracket that is open."""
    lines: list[str] = []
    open_: list[int] = []
    written = [word for word in line if word.kind != "comment"]
    gaps = iter(_gaps(written))
    for word in line:
        gap = "  " if word.kind == "comment" else next(gaps)
        begins = not lines or word.lines > 0
        if word.text in _CLOSING:
            open_.pop()
        if begins:
            lines.append(_STEP * len(set(open_)))
            gap = ""
        lines[-1] += gap + word.text
        if word.text in CLOSERS:
            open_.append(len(lines))
    return lines
