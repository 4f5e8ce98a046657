"""MLIR's affine maps and sets as index expressions and comparisons over SSA names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tadc.dialect.mlir import ir
from tadc.dialect.text_indices import PRODUCTS, Cursor, Space, Sum, TextError, negated, spell
from tadc.dialect.text_tokens import Token, Tokens

Row = tuple[Sum, int, bool]  # terms, constant, whether an equality


@dataclass
class Speller:
    """Spells attributes of a context; what would not come back exactly is not spelled."""

    context: ir.Context
    attributes: dict[str, Any] = field(default_factory=dict[str, Any])
    spelled: dict[tuple[str, ...], str | None] = field(default_factory=dict[tuple[str, ...], "str | None"])

    def set(
        self, text: str, operands: Sequence[str], binders: Sequence[str] | None, *, closed: bool
    ) -> str | None:
        """A set as `{rows}`.

        Unless it is `closed`, the operands must be the names in it, in order of first use.
        """
        key = (text, *(binders or ()), "|", *operands, str((closed, binders is None)))
        if key not in self.spelled:
            self.spelled[key] = self._set(text, operands, binders, closed)
        return self.spelled[key]

    def map(self, text: str, operands: Sequence[str]) -> str | None:
        """A map as forms separated by commas; its operands are the names in them."""
        key = (text, *operands)
        if key not in self.spelled:
            self.spelled[key] = self._map(text, operands)
        return self.spelled[key]

    def order(self, text: str, binders: Sequence[str]) -> str | None:
        """A map to one form of the binders as that form."""
        tokens = Tokens(text)
        names = {f"d{i}": name for i, name in enumerate(binders)}
        short = _spell_form(*_read_form(tokens, *_body(tokens), names))
        cursor, space = Cursor(Tokens(short)), Space(binders, closed=True)
        try:
            back = space.map([spell(cursor.sum(space))])
            return short if cursor.token.kind == "end" and self.same(back, text) else None
        except (TextError, ir.MLIRError):
            return None

    def same(self, one: str, other: str) -> bool:
        """Whether two texts are one attribute."""
        return self._attribute(one) == self._attribute(other)

    def _set(
        self, text: str, operands: Sequence[str], binders: Sequence[str] | None, closed: bool
    ) -> str | None:
        tokens = Tokens(text)
        names = _names(operands, binders)
        rows: list[Row] = []
        for start, end in tokens.split(*_body(tokens)):
            if tokens[end - 2].text not in (">=", "==") or not tokens.is_at(end - 1, "0"):
                return None
            equality = tokens[end - 2].text == "=="
            rows.append((*_read_form(tokens, start, end - 2, names), equality))
        short = f"{{{_spell_rows(rows)}}}"
        given = Tokens(" ".join(operands))[:-1] if closed else []
        space = Space(binders, given, closed)
        return short if self._comes_back(short, space, text, operands) else None

    def _map(self, text: str, operands: Sequence[str]) -> str | None:
        tokens = Tokens(text)
        names = _names(operands, None)
        forms = (_read_form(tokens, *part, names) for part in tokens.split(*_body(tokens)))
        short = ", ".join(_spell_form(*form) for form in forms)
        return short if self._comes_back(f"[{short}]", Space(), text, operands) else None

    def _comes_back(self, short: str, space: Space, text: str, operands: Sequence[str]) -> bool:
        cursor = Cursor(Tokens(short), 1)
        try:
            back = space.set(cursor.rows(space)) if short[0] == "{" else space.map(cursor.forms(space, "]"))
            given = [token.text for token in space.operands]
            return given == list(operands) and self.same(back, text)
        except (TextError, ir.MLIRError):
            return False

    def _attribute(self, text: str) -> Any:
        if text not in self.attributes:
            self.attributes[text] = ir.Attribute.parse(text, self.context)
        return self.attributes[text]


def _names(operands: Sequence[str], binders: Sequence[str] | None) -> dict[str, str]:
    if binders is None:
        return {f"d{i}": name for i, name in enumerate(operands)}
    names = {f"d{i}": name for i, name in enumerate(binders)}
    return names | {f"s{i}": name for i, name in enumerate(operands)}


def _body(tokens: Tokens) -> tuple[int, int]:
    """The tokens in the last parentheses of `affine_set<… : (…)>`."""
    close = len(tokens) - 3
    return tokens.partner.get(close, close) + 1, close


def _read_form(tokens: Tokens, start: int, end: int, names: dict[str, str]) -> tuple[Sum, int]:
    """The signed terms of an expression, renamed, and its constant."""
    terms: Sum = []
    constant = 0
    index = start
    while index < end:
        sign = "-" if tokens[index].text == "-" else "+"
        index += tokens[index].text in ("+", "-")
        begin = index
        while index < end and (tokens[index].text not in ("+", "-") or tokens[index - 1].text in PRODUCTS):
            index = tokens.partner.get(index, index) + 1
        words = tokens[begin:index]
        if len(words) == 1 and words[0].kind == "number":
            constant += int(sign + words[0].text)
            continue
        if [w.text for w in words[-3:-1]] == ["*", "-"]:
            sign = "+" if sign == "-" else "-"
            del words[-2]
        terms.append((sign, _joined(words, names)))
    return terms, constant


def _joined(words: Sequence[Token], names: dict[str, str]) -> str:
    text = ""
    for number, word in enumerate(words):
        unary = (
            number and words[number - 1].text == "-" and words[max(number - 2, 0)].text in ("(", *PRODUCTS)
        )
        tight = not text or text[-1] == "(" or word.text == ")" or unary
        text += ("" if tight else " ") + names.get(word.text, word.text)
    return text


def _spell_form(terms: Sum, constant: int) -> str:
    """A form as text, the constant last."""
    if constant or not terms:
        terms = [*terms, ("-" if constant < 0 else "+", str(abs(constant)))]
    return spell(terms)


def _spell_rows(rows: Sequence[Row]) -> str:
    """Rows as comparisons; a lower and then an upper bound of one form as one."""
    compared = [_compare(*row) for row in rows]
    if compared == [("0", "==", "0")]:
        return ""
    texts: list[str] = []
    for left, relation, right in compared:
        before = texts[-1] if texts else ""
        if relation in ("<", "<=") and before.startswith((f"{left} >= ", f"{left} > ")):
            strict, lower = before[len(left) + 1 :].split(" ", 1)
            texts[-1] = f"{lower} {strict.replace('>', '<')} {left} {relation} {right}"
        else:
            texts.append(f"{left} {relation} {right}")
    return ", ".join(texts)


def _compare(terms: Sum, constant: int, equality: bool) -> tuple[str, str, str]:
    """A row as a comparison of sums without minus signs, where the order of its terms allows."""
    positive = [term for term in terms if term[0] == "+"]
    negative = negated([term for term in terms if term[0] == "-"])
    relation = "==" if equality else ">="
    if not terms:
        return str(constant), relation, "0"
    if terms == positive + negated(negative):
        if constant == -1 and negative and not equality:
            return spell(positive), ">", spell(negative)
        if positive:
            return spell(positive), relation, _spell_form(negative, -constant)
    if terms == negated(negative) + positive:
        if not equality:
            if constant == -1 and positive:
                return spell(negative), "<", spell(positive)
            return spell(negative), "<=", _spell_form(positive, constant)
        if not positive:
            return str(constant), relation, spell(negative)
    return spell(terms), relation, str(-constant)
