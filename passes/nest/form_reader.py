"""Index forms, conditions and bounds in the text of a nest: `2*i + k // 3`, `0 <= k <= 7`, `min(i, N)`."""

from __future__ import annotations

import re

from tadc.dialect.text_indices import TextError, TokenCursor
from tadc.dialect.text_tokens import Token, Tokens
from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine, Constraint
from tadc.passes.nest.nest import Bound, Either, Extreme

_PATTERN = re.compile(
    r"""(?P<skip>\s+|\#[^\n]*)
    |(?P<string>"[^"\n]*")
    |(?P<value>%[\w.$]+)
    |(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)
    |(?P<word>[A-Za-z_][\w.$]*)
    |(?P<mark>\*\*|//|<=|>=|!=|.)""",
    re.X | re.S | re.A,
)
RELATIONS = ("<=", "<", ">=", ">", "=")


class Unreadable(TextError):
    """A text that is no nest at a token, and what to write instead."""

    def __init__(self, message: str, token: Token, help: str = "") -> None:
        super().__init__(message, token)
        self.help = help


class FormCursor(TokenCursor):
    """A place in the text of a nest, and readers of what stands between words and values."""

    def __init__(self, text: str) -> None:
        super().__init__(Tokens(text, _PATTERN))

    def word_is(self, text: str) -> bool:
        """Whether the next token is this word, and no tensor of its name."""
        return self.token.text == text and self.tokens[self.at + 1].text not in ("[", ":", "=")

    def accept_word(self, text: str) -> bool:
        """Consume a word, unless it is a tensor of its name."""
        return self.word_is(text) and self.accept(text)

    def name(self, what: str) -> str:
        """A name without `%`."""
        return self.expect_kind("word", what).text

    def names(self, what: str) -> tuple[str, ...]:
        """Names separated by commas."""
        found = [self.name(what)]
        while self.accept(","):
            found.append(self.name(what))
        return tuple(found)

    def integer(self, what: str) -> int:
        """A number of digits alone."""
        token = self.expect_kind("number", what)
        if not token.text.isdigit():
            raise Unreadable(f"expected {what}, found `{token.text}`", token, "write a whole number")
        return int(token.text)

    # -- forms ---------------------------------------------------------------------------------

    def form(self) -> Affine:
        """`a + b - c`."""
        found = self.scaled()
        while self.token.text in ("+", "-"):
            minus = self.take().text == "-"
            found = found - self.scaled() if minus else found + self.scaled()
        return found

    def scaled(self) -> Affine:
        """`2*a`, `a // 2`, `a % 2`, from left to right."""
        found = self.atom()
        while self.token.text in ("*", "//", "%"):
            operator = self.take()
            right, token = self.atom(), self.tokens[self.at - 1]
            if operator.text == "*":
                if not (found.is_constant or right.is_constant):
                    help = "an index form is a sum of whole multiples of indices and sizes"
                    raise Unreadable("a product of two indices", operator, help)
                found = right * found.constant if found.is_constant else found * right.constant
            elif not right.is_constant or right.constant < 1:
                raise Unreadable(f"`{operator.text}` by what is no positive number", token, "write a number")
            else:
                found = (found.floordiv if operator.text == "//" else found.mod)(right.constant)
        return found

    def atom(self) -> Affine:
        """A name, a number, or a form in parentheses."""
        if self.accept("-"):
            return -self.atom()
        if self.accept("("):
            found = self.form()
            self.expect(")")
            return found
        if self.token.kind == "number":
            return Affine.const(self.integer("a whole number"))
        return Affine.var(self.name("an index, a size or a number"))

    def forms(self, close: str) -> tuple[Affine, ...]:
        """Forms separated by commas, up to a bracket."""
        found: list[Affine] = []
        while not self.accept(close):
            if found:
                self.expect(",")
            found.append(self.form())
        return tuple(found)

    # -- conditions and bounds -----------------------------------------------------------------

    def rows(self) -> Domain:
        """`0 <= k <= 7 and i = 2*k`, or `true`."""
        if self.token.text == "true" and self.tokens[self.at + 1].text not in (*RELATIONS, *"+-*%", "//"):
            self.take()
            return ()
        found = self.comparison()
        while self.accept("and"):
            found += self.comparison()
        return found

    def comparison(self) -> Domain:
        """`L <= R`, or `A <= X <= B`."""
        left, relation = self.form(), self.relation(RELATIONS)
        right = self.form()
        if relation not in ("<", "<=") or self.token.text not in RELATIONS:
            return (_row(left, relation, right),)
        upper = self.relation(("<", "<="))
        return (_row(left, relation, right), _row(right, upper, self.form()))

    def relation(self, allowed: tuple[str, ...]) -> str:
        """A relation among those allowed."""
        if self.token.text not in allowed:
            listed = ", ".join(f"`{relation}`" for relation in allowed)
            help = "conditions are comparisons of index forms, joined by `and`"
            raise Unreadable(f"expected one of {listed}", self.token, help)
        return self.take().text

    def bound(self) -> Bound:
        """A form, the least or the greatest of some, or one by a condition."""
        word = self.token.text
        if word in ("min", "max") and self.tokens[self.at + 1].text == "(":
            self.take()
            self.take()
            return Extreme("min" if word == "min" else "max", self.forms(")"))
        if self.accept_word("if"):
            rows = self.rows()
            self.expect("then")
            then = self.form()
            self.expect("else")
            return Either(rows, then, self.form())
        return self.form()


def _row(left: Affine, relation: str, right: Affine) -> Constraint:
    match relation:
        case "=":
            return Constraint(left - right, equality=True)
        case "<=" | "<":
            return Constraint(right - left - (relation == "<"))
        case _:
            return Constraint(left - right - (relation == ">"))
