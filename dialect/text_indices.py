"""Index expressions and integer sets over SSA names: `%i + %j floordiv 2`, `{0 <= %k < %n}`.

The order of terms and rows is part of the spelling, so that an attribute comes back as it
was: in `L <= R` the terms of `L` come first, negated, then those of `R`; in `L >= R` and
`L == R` those of `L`, then those of `R`, negated. `A <= X <= B` is `X >= A, X <= B`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from tadc.dialect.form_reader import FormReader, TextError
from tadc.dialect.index_maps import attribute_text
from tadc.dialect.text_tokens import TextToken


class SignedTerm(NamedTuple):
    """A term of a sum; of a quotient a sign in front would be the sign of what is divided."""

    sign: str
    text: str
    is_quotient: bool = False


Sum = list[SignedTerm]


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

    def attribute(self, kind: Literal["map", "set"], listed: Iterable[str]) -> str:
        """The affine map of forms, or the integer set of rows."""
        count = len(self.operands)
        dims, symbols = (count, 0) if self.binders is None else (len(self.binders), count)
        return attribute_text(kind, listed, dims, symbols)


class TextCursor(FormReader[Sum]):
    """A place among tokens, and the readers of what both directions share."""

    products = ("*", "floordiv", "ceildiv", "mod")
    relations = ("<=", "<", ">=", ">", "==")

    #: What names in forms are, which stay as they are where there is none.
    space: Space | None = None

    def values(self, close: str) -> list[TextToken]:
        """Names separated by commas, up to a closing bracket."""
        return self.listed(close, lambda: self.expect_kind("value", "a value such as `%i`"))

    def after_angles(self) -> str:
        """The text of a token and its `<…>`, if any."""
        start, self.at = self.at, self.tokens.after_angles(self.at)
        if self.tokens.is_at(start + 1, "<") and self.tokens[self.at - 1].text != ">":
            raise TextError("this `<` is never closed", self.tokens[start + 1])
        return self.tokens.flat(start, self.at)

    # -- index expressions ---------------------------------------------------------------------

    def _operand(self) -> Sum:
        if self.token.kind == "number" and self.token.text.isdigit():
            return [SignedTerm("+", self.take().text)]
        token = self.expect_kind("value", "an index such as `%i` or a number")
        return [SignedTerm("+", self.space.name(token) if self.space else token.text)]

    def _negated(self, form: Sum) -> Sum:
        return negated(form)

    def _grouped(self, form: Sum) -> Sum:
        return [SignedTerm("+", f"({spell(form)})")]

    def _combined(self, left: Sum, operator: TextToken, right: Sum) -> Sum:
        if operator.text in ("+", "-"):
            return left + (right if operator.text == "+" else negated(right))
        ((sign, text, is_quotient),), factor = left, spell(right)
        if operator.text == "*":
            if not (text.isdigit() or factor.removeprefix("-").isdigit()):
                raise TextError("an index can be multiplied by a number only", operator)
            return [SignedTerm(sign, f"{text} * {factor}", is_quotient)]
        if not factor.isdigit() or not int(factor):
            raise TextError(f"`{operator.text}` needs a positive number on its right", operator)
        divided = text if sign == "+" else f"({spell(left)})"
        return [SignedTerm("+", f"{divided} {operator.text} {factor}", is_quotient=True)]

    def map_of(self, space: Space, close: str = "") -> str:
        """The map of the form here, or of those with commas between up to a closing bracket."""
        self.space = space
        forms = self.listed(close, self.form) if close else [self.form()]
        return space.attribute("map", map(spell, forms))

    def set_of(self, space: Space) -> str:
        """The set of the constraints up to `}`, each as MLIR's `form >= 0` or `form == 0`."""
        self.space = space
        rows = [row for rows in self.listed("}", self.comparison) for row in rows]
        return space.attribute("set", [_row(*row) for row in rows])


def spell(terms: Sum) -> str:
    """Signed terms as text."""
    texts = [f"{sign} {text}" for sign, text, _ in terms]
    if not texts:
        return "0"
    sign, first, is_quotient = terms[0]
    if sign == "+":
        texts[0] = first
    else:
        texts[0] = f"-({first})" if is_quotient else f"-{first}"
    return " ".join(texts)


def negated(terms: Sum) -> Sum:
    """Terms of the other sign."""
    return [term._replace(sign="+" if term.sign == "-" else "-") for term in terms]


def _row(left: Sum, relation: str, right: Sum) -> str:
    form = negated(left) + right if relation in ("<", "<=") else left + negated(right)
    if relation in ("<", ">"):
        form = [*form, SignedTerm("-", "1")]
    form = [term for term in form if term.text != "0"]
    return f"{spell(form)} {'==' if relation == '==' else '>='} 0"
