"""Forms of indices and conditions as text, and read: `2*i + k // 3`, `0 <= k <= 7`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TypeVar

from tadc.dialect.form_reader import AffineReader, TextError
from tadc.dialect.text_tokens import TextToken, TextTokens
from tadc.frontend import print_index
from tadc.frontend.conditions import IndexCondition
from tadc.frontend.suggest import nearest_help
from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine, Constraint

_PATTERN = re.compile(
    r"""(?P<skip>\s+|\#[^\n]*)
    |(?P<string>"[^"\n]*")
    |(?P<value>%[\w.$]+)
    |(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)
    |(?P<word>[A-Za-z_][\w.$]*)
    |(?P<mark>\*\*|//|<=|>=|!=|.)""",
    re.X | re.S | re.A,
)
LARGEST = 1 << 53
"""No number is larger: a sum of some such is an index of 64 bits."""

HELPS = {
    "nest": "a nest begins as in `nest f(out y: f64[N]) {`",
    "to": "a loop runs below its stop: `for i = 0 to N {`",
    "give": "a block ends in what it gives: `give %3`",
    "}": "close each brace",
}
"""A hint for each word that may be missing."""

Found = TypeVar("Found")


class FormCursor(AffineReader):
    """A place in the text of a nest, and readers of what stands between words and values."""

    relation_help = "conditions are comparisons of index forms, joined by `and`"

    def __init__(self, text: str) -> None:
        super().__init__(TextTokens(text, _PATTERN))

    def word_is(self, text: str) -> bool:
        """Whether the next token is this word, and no tensor of its name."""
        return self.token.text == text and self.tokens[self.at + 1].text not in ("[", ":", "=")

    def accept_word(self, text: str) -> bool:
        """Consume a word, unless it is a tensor of its name."""
        return self.word_is(text) and self.accept(text)

    def expect(self, text: str) -> TextToken:
        """Consume a token that must read so."""
        if text in HELPS and self.token.text != text:
            raise TextError(f"expected `{text}`{self.found_instead()}", self.token, HELPS[text])
        return super().expect(text)

    def name(self, what: str) -> str:
        """A name without `%`."""
        return self.expect_kind("word", what).text

    def value_name(self) -> str:
        """The name of a value."""
        return self.expect_kind("value", "a value such as `%1`").text

    def one_of(self, allowed: Sequence[str], what: str) -> str:
        """A word among some."""
        token = self.token
        if token.text not in allowed:
            help = nearest_help(token.text, allowed, f"it is one of {', '.join(allowed)}")
            raise TextError(f"`{token.text}` is no {what}", token, help)
        return self.take().text

    def integer(self, least: int = 0) -> int:
        """A number of digits alone."""
        token = self.expect_kind("number", "a whole number")
        if not token.text.isdigit():
            raise TextError(f"expected a whole number, found `{token.text}`", token, "write a whole number")
        if int(token.text) < least:
            raise TextError(f"`{token.text}` is too small", token, f"write {least} at least")
        if int(token.text) > LARGEST:
            raise TextError(f"`{token.text}` is too large", token, f"write {LARGEST} at most")
        return int(token.text)

    # -- forms ---------------------------------------------------------------------------------

    def form(self) -> Affine:
        """`a + b - c`."""
        begin, found = self.token, super().form()
        if any(abs(k) > LARGEST for k in (found.constant, *(k for _, k in found.terms))):
            raise TextError("a number of this form is too large", begin, f"write {LARGEST} at most")
        return found

    def _operand(self) -> Affine:
        """A name, a number, or an element of an index array."""
        if self.token.kind == "number":
            return Affine.const(self.integer())
        return self.named(self.name("an index, a size or a number"))

    def _refused(self, operator: TextToken) -> TextError:
        if operator.text == "*":
            help = "an index form is a sum of whole multiples of indices and sizes"
            return TextError("a product of two indices", operator, help)
        divisor = self.tokens[self.at - 1]
        return TextError(f"`{operator.text}` by what is no positive number", divisor, "write a number")

    def named(self, name: str) -> Affine:
        """What a name stands for: an index or a size."""
        return Affine.var(name)

    def forms(self, close: str) -> tuple[Affine, ...]:
        """Forms separated by commas, up to a bracket."""
        return () if self.token.text == close else self.several(self.form)

    # -- conditions and bounds -----------------------------------------------------------------

    def rows(self) -> Domain:
        """`0 <= k <= 7 and i = 2*k`, or `true`."""
        behind = self.tokens[self.at + 1].text
        if self.token.text == "true" and behind not in (*self.relations, *self.products, "+", "-"):
            self.take()
            return ()
        compared = [each for both in self.several(self.comparison, "and") for each in both]
        return tuple(row for a, relation, b in compared for row in IndexCondition(relation, a - b).holds)


# -- written -----------------------------------------------------------------------------------


def form_text(form: Affine) -> str:
    """A form, with `%` where that reads back as the same: floors of floors have several forms."""
    text = print_index.form_text(form)
    if _few_floors(form):
        return text
    has_lookups = form.has_lookups
    return str(form) if has_lookups or FormCursor(text).form() != form else text


def _few_floors(form: Affine) -> bool:
    return form.is_linear or sum(1 for _ in form.floors()) < 2


def rows_text(rows: Domain, about: Sequence[str] = ()) -> str:
    """Conditions joined by `and`, where that can be as bounds of the names that they are `about`."""
    texts: list[str] = []
    at = 0
    while at < len(rows):
        pair = _between(rows[at], rows[at + 1], about) if at + 1 < len(rows) else None
        texts.append(pair or _row(rows[at], about))
        at += 2 if pair else 1
    return " and ".join(texts) or "true"


def _between(low: Constraint, high: Constraint, about: Sequence[str]) -> str | None:
    """`0 <= k <= N - 1`, if two rows are that."""
    if low.equality or high.equality:
        return None
    for name in about or sorted(low.form.variables):
        lower, upper = Affine.var(name) - low.form, Affine.var(name) + high.form
        if name not in lower.variables | upper.variables:
            return f"{form_text(lower)} <= {name} <= {form_text(upper)}"
    return None


def _row(row: Constraint, about: Sequence[str]) -> str:
    """One condition, which reads back as the same form."""
    form = row.form
    names = about or (sorted(form.variables) if row.equality else ())
    for name in sorted(names, key=lambda name: form.coefficient(name) != 1):
        lower, upper = Affine.var(name) - form, Affine.var(name) + form
        if name not in lower.variables:
            return f"{name} {'=' if row.equality else '>='} {form_text(lower)}"
        if name not in upper.variables:
            # The left side less the right one is the form of an equality.
            return f"{form_text(upper)} = {name}" if row.equality else f"{name} <= {form_text(upper)}"
    if row.equality or not _few_floors(form):
        return f"{form_text(form)} {'=' if row.equality else '>='} 0"
    return print_index.condition_text(row)


def forms_text(forms: Iterable[Affine]) -> str:
    """Forms with commas between."""
    return ", ".join(form_text(form) for form in forms)
