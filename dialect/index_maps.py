"""Affine forms to and from MLIR's affine maps and integer sets.

Attributes are read from their text: the bindings give no access to an integer set's
constraints. Dimensions read as variables `d0, d1, …`, symbols as `s0, s1, …`. An element of an index array,
`src[e]`, is a value to them as an index is: it has a dimension or a symbol of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tadc.dialect.mlir import ir
from tadc.lattice.affine import Affine, Constraint, Floor, Lookup, box


@dataclass(frozen=True)
class IndexMap:
    """`(d0, …)[s0, …] -> (forms)`."""

    dims: int
    symbols: int
    forms: tuple[Affine, ...]


@dataclass(frozen=True)
class IndexSet:
    """`(d0, …)[s0, …] : (constraints)`."""

    dims: int
    symbols: int
    constraints: tuple[Constraint, ...]


Name = str | Lookup
"""What a dimension or a symbol stands for."""

_HEAD = re.compile(r"affine_(?:map|set)<\(([^)]*)\)(?:\[([^\]]*)\])? *(?:->|:) *\((.*)\)>\Z", re.S)
_TOKEN = re.compile(r"\s*(floordiv|ceildiv|mod|[ds]\d+|\d+|[()+*-])")
_LIMIT = 2**63


class NotAffine(ValueError):
    """An index expression with a product of indices, or a divisor that is no positive constant."""


class IndexOverflow(ArithmeticError):
    """A coefficient that does not fit MLIR's 64-bit affine expressions."""


@lru_cache(maxsize=4096)
def parse_map(text: str) -> IndexMap:
    """Read `affine_map<…>`; raises NotAffine."""
    dims, symbols, body = _split(text)
    return IndexMap(dims, symbols, tuple(_Reader(part).expression() for part in body))


@lru_cache(maxsize=4096)
def parse_set(text: str) -> IndexSet:
    """Read `affine_set<…>`; constraints that always hold are left out. Raises NotAffine."""
    dims, symbols, body = _split(text)
    rows: list[Constraint] = []
    for part in body:
        form, relation, _ = re.split(r" (>=|==) (?=0\Z)", part.strip())
        row = Constraint(_Reader(form).expression(), relation == "==")
        if not (row.form.is_constant and row.holds({})):
            rows.append(row)
    return IndexSet(dims, symbols, tuple(rows))


def _split(text: str) -> tuple[int, int, list[str]]:
    match = _HEAD.match(text)
    if match is None:
        raise ValueError(f"not an affine map or set: {text}")
    count = [len([n for n in (names or "").split(",") if n.strip()]) for names in match.groups()[:2]]
    parts: list[str] = []
    depth, start, body = 0, 0, match.group(3)
    for position, char in enumerate(body):
        depth += (char == "(") - (char == ")")
        if char == "," and not depth:
            parts.append(body[start:position])
            start = position + 1
    parts.append(body[start:])
    return count[0], count[1], [part for part in parts if part.strip()]


class _Reader:
    """Recursive descent over MLIR's spelling of an affine expression."""

    def __init__(self, text: str) -> None:
        self.tokens = [m.group(1) for m in _TOKEN.finditer(text)]
        self.at = 0

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1]

    def expression(self) -> Affine:
        total = self.product()
        while self.peek() in ("+", "-"):
            sign = 1 if self.take() == "+" else -1
            total = total + self.product() * sign
        return total

    def product(self) -> Affine:
        value = self.factor()
        while self.peek() in ("*", "floordiv", "ceildiv", "mod"):
            operator, right = self.take(), self.factor()
            if operator == "*" and value.is_constant:
                value, right = right, value
            if not right.is_constant or (operator != "*" and right.constant < 1):
                wanted = "a constant" if operator == "*" else "a positive constant"
                raise NotAffine(f"an index expression needs {wanted} beside '{operator}'")
            if operator == "*":
                value = value * right.constant
            elif operator == "floordiv":
                value = value.floordiv(right.constant)
            elif operator == "ceildiv":
                value = -(-value).floordiv(right.constant)
            else:
                value = value.mod(right.constant)
        return value

    def factor(self) -> Affine:
        token = self.take()
        if token == "-":
            return -self.factor()
        if token == "(":
            value = self.expression()
            self.take()
            return value
        return Affine.const(int(token)) if token.isdigit() else Affine.var(token)


def box_extents(found: IndexSet) -> list[Affine] | None:
    """The extents of a set `0 <= d0 < e0, …` over its symbols; None where it is no such box."""
    names = [f"d{i}" for i in range(found.dims)]
    extents: list[Affine] = []
    for name in names:
        above = [c.form + Affine.var(name) + 1 for c in found.constraints if c.form.coefficient(name) == -1]
        if len(above) != 1 or not above[0].variables.isdisjoint(names):
            return None
        extents += above
    wanted = {row for row in box(names, extents) if not row.form.is_constant}
    return extents if wanted == set(found.constraints) else None


def reading_order(form: Affine) -> list[tuple[str | Floor | Lookup, int]]:
    """The terms of a form as they are written: positive ones first, outer indices before inner."""
    return sorted(form.terms, key=lambda term: (term[1] < 0, _depth(term[0])))


def in_order(forms: Iterable[Affine]) -> list[Name]:
    """The variables and lookups of forms in the order in which their text names them; not what these hold."""
    seen: dict[Name, None] = {}
    for form in forms:
        for atom, _ in reading_order(form):
            seen.update(dict.fromkeys(in_order([atom.numerator]) if isinstance(atom, Floor) else [atom]))
    return list(seen)


def _depth(atom: str | Floor | Lookup) -> tuple[int, str]:
    if not isinstance(atom, str):
        inner = {name for part in atom.parts for name in part.variables}
        return min(map(_depth, inner), default=(-(10**9), str(atom)))
    # A bound index is named by its height, `$0` the innermost; others stand outside all sums.
    return (-int(atom[1:]), "") if atom[0] == "$" else (-(10**9), atom)


def spell(form: Affine, names: Mapping[Name, str]) -> str:
    """MLIR's spelling of a form, its variables and lookups renamed; raises IndexOverflow beyond 64 bits."""
    parts: list[str] = []
    for atom, k in reading_order(form):
        if isinstance(atom, Floor):
            text = f"(({spell(atom.numerator, names)}) floordiv {_fit(atom.denominator)})"
        else:
            text = names[atom]
        parts.append(text if k == 1 else f"{text} * {_fit(k)}")
    if form.constant or not parts:
        parts.append(str(_fit(form.constant)))
    return " + ".join(parts)


def _fit(value: int) -> int:
    if not -_LIMIT < value < _LIMIT:
        raise IndexOverflow(f"{value} does not fit an index of 64 bits")
    return value


def _space(dims: Sequence[Name], symbols: Sequence[Name]) -> tuple[str, dict[Name, str]]:
    names: dict[Name, str] = {name: f"d{i}" for i, name in enumerate(dims)}
    names |= {name: f"s{i}" for i, name in enumerate(symbols)}
    head = f"({', '.join(f'd{i}' for i in range(len(dims)))})"
    return (head + f"[{', '.join(f's{i}' for i in range(len(symbols)))}]" if symbols else head), names


def map_attribute(
    forms: Sequence[Affine], dims: Sequence[Name], context: ir.Context, symbols: Sequence[Name] = ()
) -> Any:
    """The affine map of forms over variables and lookups."""
    head, names = _space(dims, symbols)
    body = ", ".join(spell(form, names) for form in forms)
    return ir.Attribute.parse(f"affine_map<{head} -> ({body})>", context)


def set_attribute(
    constraints: Sequence[Constraint],
    dims: Sequence[Name],
    context: ir.Context,
    symbols: Sequence[Name] = (),
) -> Any:
    """The integer set of constraints over variables and lookups."""
    head, names = _space(dims, symbols)
    rows = [f"{spell(c.form, names)} {'==' if c.equality else '>='} 0" for c in constraints]
    return ir.Attribute.parse(f"affine_set<{head} : ({', '.join(rows)})>", context)
