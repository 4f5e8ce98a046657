"""Index expressions and integer sets over SSA names: `%i + %j floordiv 2`, `{0 <= %k < %n}`.

The order of terms and rows is part of the spelling, so that an attribute comes back as it
was: in `L <= R` the terms of `L` come first, negated, then those of `R`; in `L >= R` and
`L == R` those of `L`, then those of `R`, negated. `A <= X <= B` is `X >= A, X <= B`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from tadc.dialect.text_tokens import TextToken, TextTokens

#: Operators that bind tighter than a sum.
PRODUCTS = ("*", "floordiv", "ceildiv", "mod")
_NUMBER = re.compile(r"-?\d+\Z")
_RELATIONS = ("<=", "<", ">=", ">", "==")

Found = TypeVar("Found")

Sum = list[tuple[str, str]]  # (sign, term) in order


class TextError(Exception):
    """A text that does not follow the readable form; `token` is where."""

    def __init__(self, message: str, token: TextToken) -> None:
        super().__init__(message)
        self.message = message
        self.token = token


@dataclass
class Space:
    """SSA names as dimensions and symbols.

    Binders are dimensions. Operands are symbols beside binders, else dimensions; unless the
    space is `closed`, a name that is neither joins the operands.
    """

    binders: Sequence[str] | None = None
    operands: list[TextToken] = field(default_factory=list[TextToken])
    closed: bool = False

    def name(self, token: TextToken) -> str:
        """The dimension or symbol of a name."""
        if self.binders and token.text in self.binders:
            return f"d{list(self.binders).index(token.text)}"
        names = [operand.text for operand in self.operands]
        if token.text not in names:
            if self.closed:
                raise TextError(f"`{token.text}` is not among the indices listed", token)
            self.operands.append(token)
            names.append(token.text)
        return f"{'d' if self.binders is None else 's'}{names.index(token.text)}"

    @property
    def head(self) -> str:
        """`(d0, …)[s0, …]`."""
        count = len(self.operands)
        dims, symbols = (count, 0) if self.binders is None else (len(self.binders), count)
        names = f"({', '.join(f'd{i}' for i in range(dims))})"
        return names + (f"[{', '.join(f's{i}' for i in range(symbols))}]" if symbols else "")

    def set(self, rows: Sequence[str]) -> str:
        """The integer set of rows."""
        return f"affine_set<{self.head} : ({', '.join(rows)})>"

    def map(self, forms: Sequence[str]) -> str:
        """The affine map of forms."""
        return f"affine_map<{self.head} -> ({', '.join(forms)})>"


class TokenCursor:
    """A place among tokens."""

    def __init__(self, tokens: TextTokens, at: int = 0) -> None:
        self.tokens = tokens
        self.at: int = at

    @property
    def token(self) -> TextToken:
        """The next token."""
        return self.tokens[self.at]

    def take(self) -> TextToken:
        """Consume the next token."""
        self.at += self.token.kind != "end"
        return self.tokens[self.at - 1] if self.at else self.token

    def accept(self, text: str) -> bool:
        """Consume a token if it reads so."""
        if self.token.text != text:
            return False
        self.at += 1
        return True

    def expect(self, text: str) -> TextToken:
        """Consume a token that must read so."""
        if not self.accept(text):
            raise TextError(f"expected `{text}`{self.found_instead()}", self.token)
        return self.tokens[self.at - 1]

    def expect_kind(self, kind: str, what: str) -> TextToken:
        """Consume a token that must be of a kind."""
        if self.token.kind != kind:
            raise TextError(f"expected {what}{self.found_instead()}", self.token)
        return self.take()

    def found_instead(self) -> str:
        """What a message says stands there."""
        return f", found `{self.token.text}`" if self.token.text else ", found the end of the text"


class TextCursor(TokenCursor):
    """A place among tokens, and the readers of what both directions share."""

    def values(self, close: str) -> list[TextToken]:
        """Names separated by commas, up to a closing bracket."""
        return self.listed(close, lambda: self.expect_kind("value", "a value such as `%i`"))

    def listed(self, close: str, read: Callable[[], Found]) -> list[Found]:
        """Things separated by commas, up to a closing bracket."""
        found: list[Found] = []
        while not self.accept(close):
            if found:
                self.expect(",")
            found.append(read())
        return found

    def after_angles(self) -> str:
        """The text of a token and its `<…>`, if any."""
        start, self.at = self.at, self.tokens.after_angles(self.at)
        if self.tokens.is_at(start + 1, "<") and self.tokens[self.at - 1].text != ">":
            raise TextError("this `<` is never closed", self.tokens[start + 1])
        return self.tokens.flat(start, self.at)

    # -- index expressions ---------------------------------------------------------------------

    def sum(self, space: Space) -> Sum:
        """`a + b - c`, as signed terms."""
        sign = "-" if self.accept("-") else "+"
        terms = [(sign, self.product(space))]
        while self.token.text in ("+", "-"):
            sign = self.take().text
            terms.append((sign, self.product(space)))
        return terms

    def product(self, space: Space) -> str:
        """`a * 2`, `a floordiv 2`, …; raises TextError where it is not affine."""
        text = self.factor(space)
        while self.token.text in PRODUCTS:
            operator = self.take()
            right = self.factor(space)
            if operator.text == "*":
                if not (_NUMBER.match(text) or _NUMBER.match(right)):
                    raise TextError("an index can be multiplied by a number only", operator)
            elif not right.isdigit() or not int(right):
                raise TextError(f"`{operator.text}` needs a positive number on its right", operator)
            text += f" {operator.text} {right}"
        return text

    def factor(self, space: Space) -> str:
        """A name, a number, or an expression in parentheses."""
        token = self.token
        if self.accept("-"):
            return f"-{self.factor(space)}"
        if self.accept("("):
            inner = self.form(space)
            self.expect(")")
            return f"({inner})"
        if token.kind == "number" and token.text.isdigit():
            return self.take().text
        return space.name(self.expect_kind("value", "an index such as `%i` or a number"))

    def forms(self, space: Space, close: str) -> list[str]:
        """Index expressions separated by commas, up to a closing bracket."""
        return self.listed(close, lambda: self.form(space))

    def form(self, space: Space) -> str:
        """An index expression."""
        return spell(self.sum(space))

    def rows(self, space: Space) -> list[str]:
        """The constraints up to `}`, each as MLIR's `form >= 0` or `form == 0`."""
        return [row for rows in self.listed("}", lambda: self.comparison(space)) for row in rows]

    def comparison(self, space: Space) -> list[str]:
        """`L <= R`, or `A <= X <= B`."""
        left = self.sum(space)
        relation = self.relation(_RELATIONS)
        right = self.sum(space)
        if relation not in ("<", "<=") or self.token.text not in _RELATIONS:
            return [_row(left, relation, right)]
        upper = self.relation(("<", "<="))
        lower = relation.replace("<", ">")
        return [_row(right, lower, left), _row(right, upper, self.sum(space))]

    def relation(self, allowed: Sequence[str]) -> str:
        """A relation among those allowed."""
        if self.token.text not in allowed:
            raise TextError(
                f"expected one of {', '.join(f'`{r}`' for r in allowed)}{self.found_instead()}", self.token
            )
        return self.take().text


def spell(terms: Sum) -> str:
    """Signed terms as text."""
    if not terms:
        return "0"
    text = " ".join(f"{sign} {term}" for sign, term in terms)
    return text[2:] if text.startswith("+") else "-" + text[2:]


def negated(terms: Sum) -> Sum:
    """Terms of the other sign."""
    return [("+" if sign == "-" else "-", term) for sign, term in terms]


def _row(left: Sum, relation: str, right: Sum) -> str:
    form = negated(left) + right if relation in ("<", "<=") else left + negated(right)
    if relation in ("<", ">"):
        form = [*form, ("-", "1")]
    form = [term for term in form if term[1] != "0"]
    return f"{spell(form)} {'==' if relation == '==' else '>='} 0"
