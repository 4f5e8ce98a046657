"""Affine forms to and from MLIR's affine maps and integer sets.

Attributes are read from their text: the bindings give no access to an integer set's
constraints. Dimensions read as variables `d0, d1, …`, symbols as `s0, s1, …`. An element of an index array,
`src[e]`, is a value to them as an index is: it has a dimension or a symbol of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

from tadc.dialect.form_reader import AffineReader
from tadc.dialect.mlir import ir
from tadc.dialect.text_tokens import TextToken, TextTokens
from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine, Constraint, Floor, Lookup, box
from tadc.lattice.late_dataclasses import dataclass


@dataclass(frozen=True)
class Indexing:
    """What an attribute lists: `(d0, …)[s0, …] -> (forms)` of a map, `(d0, …)[s0, …] : (rows)` of a set."""

    dims: int
    symbols: int
    forms: tuple[Affine, ...]
    rows: Domain


Name = str | Lookup
"""What a dimension or a symbol stands for."""

_HEAD = re.compile(r"affine_(?:map|set)<\(([^)]*)\)(?:\[([^\]]*)\])? *(->|:) *\((.*)\)>\Z", re.S)
_LIMIT = 2**63


class NotAffine(ValueError):
    """An index expression with a product of indices, or a divisor that is no positive constant."""


class IndexOverflow(ArithmeticError):
    """A coefficient that does not fit MLIR's 64-bit affine expressions."""


@lru_cache(maxsize=4096)
def parse(text: str) -> Indexing:
    """Read `affine_map<…>` or `affine_set<…>`; rows that always hold are left out. Raises NotAffine."""
    match = _HEAD.match(text)
    if match is None:
        raise ValueError(f"not an affine map or set: {text}")
    dims, symbols = (len(names.split(",")) if names else 0 for names in match.groups()[:2])
    reader = _AttributeReader(TextTokens(match.group(4) + ")"))
    if match.group(3) == "->":
        return Indexing(dims, symbols, tuple(reader.listed(")", reader.form)), ())
    listed = [row for rows in reader.listed(")", reader.comparison) for row in rows]
    rows = [Constraint(form, relation == "==") for form, relation, _ in listed]
    kept = tuple(row for row in rows if not (row.form.is_constant and row.holds({})))
    return Indexing(dims, symbols, (), kept)


class _AttributeReader(AffineReader):
    """Reads what MLIR lists."""

    products = ("*", "floordiv", "ceildiv", "mod")
    relations = (">=", "==")

    def _operand(self) -> Affine:
        token = self.take()
        return Affine.const(int(token.text)) if token.kind == "number" else Affine.var(token.text)

    def _refused(self, operator: TextToken) -> NotAffine:
        what = "a constant" if operator.text == "*" else "a positive constant"
        return NotAffine(f"an index expression needs {what} beside '{operator.text}'")


@lru_cache(maxsize=1 << 13)
def parse_over(text: str, dims: tuple[Affine, ...], symbols: tuple[Affine, ...] = ()) -> Indexing:
    """What is listed over these; programs use the same few again and again."""
    mapping = {f"d{n}": form for n, form in enumerate(dims)}
    mapping |= {f"s{n}": form for n, form in enumerate(symbols)}
    found = parse(text)
    return Indexing(
        len(dims),
        len(symbols),
        tuple(form.substitute(mapping) for form in found.forms),
        tuple(row.substitute(mapping) for row in found.rows),
    )


@lru_cache(maxsize=1 << 13)
def extents_over(text: str, symbols: tuple[Affine, ...]) -> tuple[Affine, ...]:
    """The extents of a box over these."""
    mapping = {f"s{n}": form for n, form in enumerate(symbols)}
    return tuple(form.substitute(mapping) for form in box_extents(parse(text)) or ())


def box_extents(found: Indexing) -> list[Affine] | None:
    """The extents of a set `0 <= d0 < e0, …` over its symbols; None where it is no such box."""
    names = [f"d{i}" for i in range(found.dims)]
    extents: list[Affine] = []
    for name in names:
        above = [c.form + Affine.var(name) + 1 for c in found.rows if c.form.coefficient(name) == -1]
        if len(above) != 1 or not above[0].variables.isdisjoint(names):
            return None
        extents += above
    wanted = {row for row in box(names, extents) if not row.form.is_constant}
    return extents if wanted == set(found.rows) else None


def reading_order(form: Affine) -> list[tuple[str | Floor | Lookup, int]]:
    """The terms of a form as they are written: positive ones first, outer indices before inner."""
    terms = form.terms
    return sorted(terms, key=lambda term: (term[1] < 0, _depth(term[0]))) if len(terms) > 1 else [*terms]


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


def index_attribute(
    kind: Literal["map", "set"],
    listed: Iterable[Affine | Constraint],
    dims: Sequence[Name],
    context: ir.Context,
    symbols: Sequence[Name] = (),
) -> Any:
    """The affine map of forms, or the integer set of rows, over variables and lookups."""
    own = {name: f"d{n}" for n, name in enumerate(dims)}
    outer = {name: f"s{n}" for n, name in enumerate(symbols)}
    names = own | outer
    texts = [
        spell(each, names)
        if isinstance(each, Affine)
        else f"{spell(each.form, names)} {'==' if each.equality else '>='} 0"
        for each in listed
    ]
    return ir.Attribute.parse(attribute_text(kind, texts, len(own), len(outer)), context)


def attribute_text(kind: Literal["map", "set"], listed: Iterable[str], dims: int, symbols: int = 0) -> str:
    """`affine_map<(d0, …)[s0, …] -> (…)>`, or `affine_set<(d0, …)[s0, …] : (…)>`."""
    own, outer = (
        ", ".join(f"{name}{n}" for n in range(count)) for name, count in (("d", dims), ("s", symbols))
    )
    head, mark = f"({own})" + (f"[{outer}]" if outer else ""), "->" if kind == "map" else ":"
    return f"affine_{kind}<{head} {mark} ({', '.join(listed)})>"
