"""MLIR's affine maps and sets as index expressions and comparisons over SSA names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tadc.dialect.form_reader import TextError
from tadc.dialect.mlir import ir
from tadc.dialect.text_indices import Space, SpelledTerm, Sum, TextCursor, negated, spell
from tadc.dialect.text_tokens import TextToken, TextTokens
from tadc.lattice.late_dataclasses import dataclass, field


@dataclass
class AttributeSpeller:
    """Spells attributes of a context; what would not come back exactly is not spelled."""

    context: ir.Context
    attributes: dict[str, Any] = field(default_factory=dict[str, Any])
    spelled: dict[tuple[str, ...], str | None] = field(default_factory=dict[tuple[str, ...], "str | None"])

    def spell(
        self, text: str, operands: list[TextToken], binders: Sequence[str] | None, *, closed: bool
    ) -> str | None:
        """The rows of a set or the forms of a map, separated by commas.

        Unless it is `closed`, the operands must be the names in it, in order of first use.
        """
        names = [operand.text for operand in operands]
        key = (text, *(binders or ()), "|", *names, str((closed, binders is None)))
        if key not in self.spelled:
            self.spelled[key] = self._spell(text, names, Space(binders, operands if closed else [], closed))
        return self.spelled[key]

    def same(self, one: str, other: str) -> bool:
        """Whether two texts are one attribute."""
        return self._attribute(one) == self._attribute(other)

    def _spell(self, text: str, operands: list[str], space: Space) -> str | None:
        is_set = text.startswith("affine_set")
        try:
            short = _renamed(text, operands, space.binders, is_set)
            cursor = TextCursor(TextTokens(short + "}"))
            back = cursor.set_of(space) if is_set else cursor.map_of(space, "}")
            given = [token.text for token in space.operands]
            return short if given == operands and self.same(back, text) else None
        except (TextError, ir.MLIRError):
            return None

    def _attribute(self, text: str) -> Any:
        if text not in self.attributes:
            self.attributes[text] = ir.Attribute.parse(text, self.context)
        return self.attributes[text]


def _renamed(text: str, operands: Sequence[str], binders: Sequence[str] | None, is_set: bool) -> str:
    """The body of `affine_set<… : (…)>` over SSA names."""
    dims, symbols = (operands, ()) if binders is None else (binders, operands)
    names = {f"d{i}": name for i, name in enumerate(dims)} | {f"s{i}": name for i, name in enumerate(symbols)}
    body = text[text.rindex(": (" if is_set else "-> (") :]
    cursor = TextCursor(TextTokens(re.sub(r"\b[ds]\d+\b", lambda found: names[found[0]], body)), at=2)
    if not is_set:
        return ", ".join(_spell_form(*_apart(form)) for form in cursor.listed(")", cursor.form))
    rows = [row for rows in cursor.listed(")", cursor.comparison) for row in rows]
    return _spell_rows([_compare(*_apart(form), relation == "==") for form, relation, _ in rows])


def _apart(form: Sum) -> tuple[Sum, int]:
    """The terms of a form without numbers, and what these come to."""
    return [term for term in form if term.text], sum(term.factor for term in form if not term.text)


def _spell_form(terms: Sum, constant: int) -> str:
    """A form as text, the constant last."""
    return spell([*terms, SpelledTerm(constant)] if constant else terms)


def _spell_rows(compared: Sequence[tuple[str, str, str]]) -> str:
    """Comparisons as text; a lower and then an upper bound of one form as one."""
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
    positive = [term for term in terms if term.factor >= 0]
    negative = negated([term for term in terms if term.factor < 0])
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
