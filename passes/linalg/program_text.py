"""The text of what defines the tensors of an imported program."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import count

from tadc.passes.linalg.elements import (
    ALWAYS,
    AllOf,
    Called,
    Chosen,
    Compared,
    Condition,
    Float,
    ImportedTensor,
    Integer,
    Negated,
    Reduced,
    TensorElement,
    Truth,
    Value,
)
from tadc.passes.linalg.index_forms import Counter, Element, IndexForm, Quotient, ScaledIndex, SizeSymbol

_LETTERS = "ijklmnpqrstuvabcdefgh"
_SUM, _PRODUCT, _POWER, _PRIMARY = range(4)
_OPERATORS = {"+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "%": _PRODUCT, "**": _POWER}


def declaration(tensor: ImportedTensor) -> str:
    """The line that declares an argument."""
    sizes = ", ".join(map(size_text, tensor.shape))
    shape = f"[{sizes}]" if tensor.shape else ""
    if tensor.is_index:
        return f"{tensor.name}: index{shape} in {size_text(tensor.below or IndexForm(2**31 - 1))}"
    return f"{tensor.name}: {tensor.type}{shape}"


def definition(tensor: ImportedTensor, taken: frozenset[str]) -> str:
    """The lines that define it; indices get names that are not taken."""
    assert tensor.body is not None
    writer = _BodyWriter(taken)
    head = [f"{writer.name(c)}: {size_text(s)}" for c, s in zip(tensor.counters, tensor.shape, strict=True)]
    indices = f"[{', '.join(head)}]" if head else ""
    declared = f"{tensor.name}: {tensor.type}[{', '.join(map(size_text, tensor.shape))}]\n" if head else ""
    declared = declared or f"{tensor.name}: {tensor.type}\n"
    let = "" if tensor.is_output else "let "
    scan = f"scan{{{writer.form(tensor.order)}}} " if tensor.order is not None else ""
    stated = f": {tensor.type}" if tensor.states_type and not tensor.is_output else ""
    line = f"{let}{scan}{tensor.name}{indices}{stated} = {writer.text(tensor.body)}"
    return (declared if tensor.is_output and tensor.states_type else "") + line


def size_text(size: IndexForm) -> str:
    """A size as it is written in a shape."""
    return _BodyWriter(frozenset()).form(size)


class _BodyWriter:
    """The text of a body, with names for its counters."""

    def __init__(self, taken: frozenset[str]) -> None:
        self.names: dict[Counter, str] = {}
        self.free = (letter for letter in _candidates() if letter not in taken)

    def name(self, counter: Counter) -> str:
        """The name of a counter."""
        if counter not in self.names:
            self.names[counter] = next(self.free)
        return self.names[counter]

    def form(self, form: IndexForm) -> str:
        """An index expression."""
        text = ""
        for atom, times in sorted(form.terms, key=lambda term: term[1] < 0):
            sign = " - " if times < 0 else " + " if text else ""
            sign = "-" if not text and times < 0 else sign
            text += sign + (f"{abs(times)}*" if abs(times) != 1 else "") + self.atom(atom)
        if not text:
            return str(form.constant)
        if form.constant:
            text += f" {'-' if form.constant < 0 else '+'} {abs(form.constant)}"
        return text

    def atom(self, atom: Counter | SizeSymbol | ScaledIndex | Quotient | Element) -> str:
        """A part of an index expression."""
        if isinstance(atom, Counter):
            return self.name(atom)
        if isinstance(atom, SizeSymbol):
            return atom.name
        if isinstance(atom, ScaledIndex):
            return f"{atom.size.name}*({self.form(atom.of)})"
        if isinstance(atom, Quotient):
            return f"(({self.form(atom.of)}) {'%' if atom.is_rest else '//'} {atom.by})"
        return f"{atom.array}[{', '.join(map(self.form, atom.at))}]" if atom.at else atom.array

    def text(self, value: Value, least: int = _SUM) -> str:
        """An expression, in parentheses where what is around it binds tighter."""
        level, text = self.expression(value)
        return f"({text})" if level < least else text

    def expression(self, value: Value) -> tuple[int, str]:
        """An expression and how tightly it binds."""
        if isinstance(value, Float):
            return _constant(value.value)
        if isinstance(value, Integer):
            text = self.form(value.form)
            return (_PRIMARY if text.isalnum() else _SUM), text
        if isinstance(value, TensorElement):
            at = f"[{', '.join(map(self.form, value.at))}]" if value.at else ""
            return _PRIMARY, value.tensor.name + at
        if isinstance(value, Chosen):
            return _PRIMARY, self.choice(value.condition, value.then, value.other)
        if isinstance(value, Reduced):
            return _PRIMARY, self.reduction(value)
        return self.applied(value)

    def reduction(self, value: Reduced) -> str:
        """A reduction."""
        ranges = ", ".join(f"{self.name(c)}: {size_text(c.size)}" for c in value.counters)
        where, body = value.where, value.body
        conditions = _index_comparisons(where)
        if conditions is None:
            body, conditions = Chosen(where, body, Float(0.0)), []
        guard = f": {' and '.join(map(self.comparison, conditions))}" if conditions else ""
        return f"{value.kind}{{{ranges}{guard}}} ({self.text(body)})"

    def comparison(self, condition: Compared) -> str:
        """A comparison of indices or values."""
        return f"{self.text(condition.left)} {condition.relation} {self.text(condition.right)}"

    def choice(self, condition: Condition, then: Value, other: Value) -> str:
        """A choice, by `if` where indices decide, else by `select`."""
        if isinstance(condition, Negated):
            inner = condition.of
            if isinstance(inner, Compared) and inner.is_of_indices and inner.relation == "=":
                unequal = Compared("!=", inner.left, inner.right)
                return f"if {{{self.comparison(unequal)}}} then ({self.text(then)}) else ({self.text(other)})"
            return self.choice(inner, other, then)
        if isinstance(condition, Truth):
            return f"({self.text(then if condition.value else other)})"
        if isinstance(condition, AllOf):
            first = [p for p in condition.parts if _index_comparisons(p) is not None]
            rest = [p for p in condition.parts if p not in first]
            if rest:
                last = rest[-1]
                left = tuple(p for p in condition.parts if p is not last)
                inner = Chosen(last, then, other)
                return self.choice(left[0] if len(left) == 1 else AllOf(left), inner, other)
        indices = _index_comparisons(condition)
        if indices is not None:
            text = " and ".join(map(self.comparison, indices))
            return f"if {{{text}}} then ({self.text(then)}) else ({self.text(other)})"
        assert isinstance(condition, Compared)
        return f"select({self.comparison(condition)}, {self.text(then)}, {self.text(other)})"

    def applied(self, value: Called) -> tuple[int, str]:
        """An operator or a function with its operands."""
        function, operands = value.function, value.operands
        if function in _OPERATORS and len(operands) == 2:
            level = _OPERATORS[function]
            if function == "**":
                left, right = self.text(operands[0], _PRIMARY), self.text(operands[1], _PRIMARY)
                return level, f"{left}**{right}"
            right = operands[1].function if isinstance(operands[1], Called) else ""
            after = level if function == "+" or function == right == "*" else level + 1
            return level, f"{self.text(operands[0], level)} {function} {self.text(operands[1], after)}"
        if function == "-":
            return _SUM, f"-{self.text(operands[0], _POWER)}"
        return _PRIMARY, f"{function}({', '.join(map(self.text, operands))})"


def _index_comparisons(condition: Condition) -> list[Compared] | None:
    """Comparisons of indices that are all of a condition; None where there is another in it."""
    found: list[Compared] = []
    for part in condition.parts if isinstance(condition, AllOf) else (condition,):
        if part == ALWAYS:
            continue
        if isinstance(part, Negated) and isinstance(part.of, Compared) and part.of.is_of_indices:
            if part.of.relation != "=":
                return None
            found.append(Compared("!=", part.of.left, part.of.right))
        elif isinstance(part, Compared) and part.is_of_indices:
            found.append(part)
        else:
            return None
    return found


def _constant(value: float) -> tuple[int, str]:
    if math.isnan(value):
        return _PRODUCT, "0 * log(0)"
    if math.isinf(value):
        return (_PRIMARY, "log(0)") if value < 0 else (_SUM, "-log(0)")
    text = repr(int(value)) if value == int(value) and abs(value) < 2**53 else repr(value)
    return (_SUM if value < 0 else _PRIMARY), text


def _candidates() -> Iterator[str]:
    yield from _LETTERS
    for number in count(1):
        yield from (f"i{number}", f"j{number}", f"k{number}")
