"""How long the dimensions of whole arrays are: forms of sizes, which are compared and divided."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, cast

from tadc.building.python_expressions import ADD, Expression, Index, Size, expression, walk
from tadc.lattice.affine import ZERO, Affine
from tadc.lattice.late_dataclasses import dataclass, field

_NAMES = re.compile(r"(\b[^\W\d]\w*\b)")


@dataclass(frozen=True)
class SizeForm:
    """A form, and the sizes and indices that stand in it by their names; a product is a variable `M*N`."""

    form: Affine
    leaves: Mapping[str, Expression] = field(default_factory=dict[str, Expression], compare=False, repr=False)

    @property
    def number(self) -> int | None:
        """The number that it is; None where it has symbols."""
        return self.form.constant if self.form.is_constant else None

    def __add__(self, other: SizeForm | int) -> SizeForm:
        second = of_int(other)
        return SizeForm(self.form + second.form, {**self.leaves, **second.leaves})

    def __sub__(self, other: SizeForm | int) -> SizeForm:
        second = of_int(other)
        return SizeForm(self.form - second.form, {**self.leaves, **second.leaves})

    def __mul__(self, other: SizeForm | int) -> SizeForm:
        second = of_int(other)
        total = ZERO
        for left, a in _terms(self.form):
            for right, b in _terms(second.form):
                name = "*".join(sorted((*left, *right)))
                total += (Affine.var(name) if name else Affine.const(1)) * (a * b)
        return SizeForm(total, {**self.leaves, **second.leaves})

    def __floordiv__(self, by: int) -> SizeForm:
        return SizeForm(self.form.floordiv(by), self.leaves)

    def over(self, other: SizeForm) -> SizeForm | None:
        """The quotient that is exact whatever the sizes are; None where there is none."""
        divisors = _terms(other.form)
        if len(divisors) != 1:
            return None
        (factors, number) = divisors[0]
        total = ZERO
        for term, a in _terms(self.form):
            rest = list(term)
            for factor in factors:
                if factor not in rest:
                    return None
                rest.remove(factor)
            if a % number:
                return None
            total += (Affine.var("*".join(rest)) if rest else Affine.const(1)) * (a // number)
        return SizeForm(total, self.leaves)

    @property
    def expression(self) -> Expression:
        """The form as a part of a program."""
        if self.number is not None:
            return expression(self.number)
        parts: list[Any] = [self.leaves.get(piece, piece) for piece in _NAMES.split(str(self)) if piece]
        return parts[0] if len(parts) == 1 else Expression(tuple(parts), ADD, is_form=True)

    def __str__(self) -> str:
        return str(self.form).replace("(*", "(")


def _terms(form: Affine) -> list[tuple[tuple[str, ...], int]]:
    """Each term as its factors and its number."""
    found = [(tuple(re.split(r"\*(?![^(]*\))", str(_plain(atom)))), k) for atom, k in form.terms]
    return [*found, *([((), form.constant)] if form.constant else [])]


def _plain(atom: Any) -> str:
    return atom if isinstance(atom, str) else f"({atom})"


def listed(given: Any) -> list[Any]:
    """The items of a list or tuple; else the one item."""
    return list(cast("list[Any] | tuple[Any, ...]", given)) if isinstance(given, list | tuple) else [given]


def of_int(given: SizeForm | int) -> SizeForm:
    """A number as a form."""
    return given if isinstance(given, SizeForm) else SizeForm(Affine.const(given))


def size_form(given: Any) -> SizeForm | None:
    """The form that a number or an index expression is; None where something else stands in it."""
    whole = expression(given)
    if not whole.is_form:
        return None
    leaves: dict[str, Expression] = {}
    for part, _ in walk(whole):
        if isinstance(part, Size | Index):
            leaves[part.name] = part
    try:
        return _read(ast.parse(str(whole).strip(), mode="eval").body, leaves)
    except (SyntaxError, ValueError):
        return None


def _read(node: ast.expr, leaves: Mapping[str, Expression]) -> SizeForm:
    """Raises ValueError for what is no form, as an element of an index array."""
    match node:
        case ast.Constant(value=int(value)):
            return of_int(value)
        case ast.Name(id=name) if name in leaves:
            leaf = leaves[name]
            if isinstance(leaf, Size) and leaf.value is not None:
                return of_int(leaf.value)
            return SizeForm(Affine.var(name), {name: leaf})
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _read(operand, leaves) * -1
        case ast.BinOp(left=left, op=sign, right=right):
            first, second = _read(left, leaves), _read(right, leaves)
            match sign:
                case ast.Add():
                    return first + second
                case ast.Sub():
                    return first - second
                case ast.Mult():
                    return first * second
                case ast.FloorDiv() if second.number:
                    return first // second.number
                case ast.Mod() if second.number:
                    return first - (first // second.number) * second.number
                case _:
                    pass
        case _:
            pass
    raise ValueError(ast.dump(node))


def product(sizes: Iterable[SizeForm]) -> SizeForm:
    """How many elements there are."""
    return math.prod(sizes, start=of_int(1))


def shape_text(sizes: Iterable[SizeForm | None]) -> str:
    """A shape as Python writes it: `(3, N)`."""
    words = ["?" if size is None else str(size) for size in sizes]
    return f"({', '.join(words)}{',' * (len(words) == 1)})"
