"""Index forms and comparisons in a text of tokens, as nests, the dialect and MLIR spell them.

form        `a + b - c`
product     `2*a`, `a // 2`, `a % 2`, from left to right; a sign binds tighter
comparison  `L <= R`, or `A <= X <= B`
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, Generic, TypeVar

from tadc.dialect.text_tokens import TextToken, TextTokens
from tadc.frontend.diagnostics import CompileError, Diagnostic, Label
from tadc.frontend.index_operators import combined
from tadc.frontend.source import Source, Span
from tadc.lattice.affine import Affine

Form = TypeVar("Form")
Found = TypeVar("Found")


class TextError(Exception):
    """A text that does not read at a token, and what to write instead, if that is known."""

    def __init__(self, message: str, token: TextToken | Span, help: str = "") -> None:
        super().__init__(message)
        self.message, self.token, self.help = message, token, help

    def told(
        self, code: str, title: str, source: Source, help: str = "", notes: Sequence[str] = ()
    ) -> CompileError:
        """The error with its place in a source, and a help where it has none of its own."""
        label = Label(Span(self.token.start, max(self.token.end, self.token.start + 1)), self.message)
        helps = [each for each in (self.help or help,) if each]
        return CompileError([Diagnostic(code, title, label, notes=list(notes), helps=helps, source=source)])


class FormReader(ABC, Generic[Form]):
    """A place among tokens, and the readers of forms there; what forms are made of, a subclass says."""

    #: Operators that bind tighter than a sum.
    products: ClassVar[Sequence[str]] = ("*", "//", "%")
    relations: ClassVar[Sequence[str]] = ("<=", "<", ">=", ">", "=")
    #: What is said where a relation is missing.
    relation_help: ClassVar[str] = ""

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

    def listed(self, close: str, read: Callable[[], Found]) -> list[Found]:
        """Things separated by commas, up to a closing bracket."""
        found: list[Found] = []
        while not self.accept(close):
            if found:
                self.expect(",")
            found.append(read())
        return found

    def several(self, read: Callable[[], Found], between: str = ",") -> tuple[Found, ...]:
        """One thing or more, separated by commas, or by a word."""
        found = [read()]
        while self.accept(between):
            found.append(read())
        return tuple(found)

    # -- forms ---------------------------------------------------------------------------------

    @abstractmethod
    def _operand(self) -> Form:
        """A number, or what a name stands for."""

    @abstractmethod
    def _negated(self, form: Form) -> Form: ...

    @abstractmethod
    def _combined(self, left: Form, operator: TextToken, right: Form) -> Form:
        """What an operator makes of two forms; raises TextError where that is none."""

    def _grouped(self, form: Form) -> Form:
        return form

    def form(self) -> Form:
        """`a + b - c`."""
        found = self.product()
        while self.token.text in ("+", "-"):
            operator = self.take()
            found = self._combined(found, operator, self.product())
        return found

    def product(self) -> Form:
        """`2*a`, `a // 2`."""
        found = self.factor()
        while self.token.text in self.products:
            operator = self.take()
            found = self._combined(found, operator, self.factor())
        return found

    def factor(self) -> Form:
        """An operand, one with a sign, or a form in parentheses."""
        if self.accept("-"):
            return self._negated(self.factor())
        if self.accept("("):
            found = self.form()
            self.expect(")")
            return self._grouped(found)
        return self._operand()

    def comparison(self) -> list[tuple[Form, str, Form]]:
        """`L <= R`; of `A <= X <= B` both, as `X >= A` and `X <= B`."""
        left, relation, right = self.form(), self.relation(self.relations), self.form()
        if relation not in ("<", "<=") or self.token.text not in self.relations:
            return [(left, relation, right)]
        upper = self.relation(("<", "<="))
        return [(right, relation.replace("<", ">"), left), (right, upper, self.form())]

    def relation(self, allowed: Sequence[str]) -> str:
        """A relation among those allowed."""
        if self.token.text not in allowed:
            listed = ", ".join(f"`{relation}`" for relation in allowed)
            message = f"expected one of {listed}{self.found_instead()}"
            raise TextError(message, self.token, self.relation_help)
        return self.take().text


class AffineReader(FormReader[Affine]):
    """Reads forms as what they are."""

    def _negated(self, form: Affine) -> Affine:
        return -form

    def _combined(self, left: Affine, operator: TextToken, right: Affine) -> Affine:
        found = combined(operator.text, left, right)
        if found is None:
            raise self._refused(operator)
        return found

    @abstractmethod
    def _refused(self, operator: TextToken) -> Exception:
        """What is said where an operator makes no form of what has been read."""
