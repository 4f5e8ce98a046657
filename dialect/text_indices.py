"""Index expressions and integer sets over SSA names: `%i + %j floordiv 2`, `{0 <= %k < %n}`.

The order of terms and rows is part of the spelling, so that an attribute comes back as it
was: in `L <= R` the terms of `L` come first, negated, then those of `R`; in `L >= R` and
`L == R` those of `L`, then those of `R`, negated. `A <= X <= B` is `X >= A, X <= B`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from tadc.dialect.form_reader import FormReader, TextError
from tadc.dialect.index_maps import attribute_text
from tadc.dialect.text_tokens import TextToken
from tadc.lattice.late_dataclasses import dataclass, field


class SpelledTerm(NamedTuple):
    """A term of a sum: a number of times what has a text, or the number alone.

    A sign in front of a quotient would be the sign of what is divided.
    """

    factor: int
    text: str = ""
    is_quotient: bool = False


Sum = list[SpelledTerm]


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

    # -- index expressions ---------------------------------------------------------------------

    def _operand(self) -> Sum:
        if self.token.kind == "number" and self.token.text.isdigit():
            return [SpelledTerm(int(self.take().text))]
        token = self.expect_kind("value", "an index such as `%i` or a number")
        return [SpelledTerm(1, self.space.name(token) if self.space else token.text)]

    def _negated(self, form: Sum) -> Sum:
        return negated(form)

    def _grouped(self, form: Sum) -> Sum:
        return [SpelledTerm(1, f"({spell(form, grouped=True)})")]

    def _combined(self, left: Sum, operator: TextToken, right: Sum) -> Sum:
        if operator.text in ("+", "-"):
            return left + (right if operator.text == "+" else negated(right))
        (term,), (other,) = left, right
        if operator.text == "*":
            if term.text and other.text:
                raise TextError("an index can be multiplied by a number only", operator)
            made = other if other.text else term
            return [made._replace(factor=term.factor * other.factor)]
        if other.text or other.factor <= 0:
            raise TextError(f"`{operator.text}` needs a positive number on its right", operator)
        divided = term.text if term.text and term.factor == 1 else f"({spell(left)})"
        return [SpelledTerm(1, f"{divided} {operator.text} {other.factor}", is_quotient=True)]

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


def spell(terms: Sum, *, grouped: bool = False) -> str:
    """Terms as text; a group begins as MLIR writes it, with the sign at the number: `%i * -2 + 1`."""
    texts: list[str] = []
    for factor, text, is_quotient in terms:
        size = abs(factor)
        shown = text if text and size == 1 else f"{text} * {size}" if text else str(size)
        if texts:
            shown = f"{'-' if factor < 0 else '+'} {shown}"
        elif factor < 0 and grouped and text and size > 1:
            shown = f"{text} * {factor}"
        elif factor < 0:
            shown = f"-({shown})" if is_quotient else f"-{shown}"
        texts.append(shown)
    return " ".join(texts) or "0"


def negated(terms: Sum) -> Sum:
    """Terms of the other sign."""
    return [term._replace(factor=-term.factor) for term in terms]


def _row(left: Sum, relation: str, right: Sum) -> str:
    form = negated(left) + right if relation in ("<", "<=") else left + negated(right)
    if relation in ("<", ">"):
        form = [*form, SpelledTerm(-1)]
    form = [term for term in form if term.text or term.factor]
    return f"{spell(form)} {'==' if relation == '==' else '>='} 0"
