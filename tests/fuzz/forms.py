"""Index forms and relations between them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Integers: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True)
class Division:
    """`numerator // divisor` or `numerator % divisor`, floored."""

    op: str
    numerator: Form
    divisor: int

    def at(self, env: Mapping[str, Any], zero: Any) -> Any:
        """Its value where the indices have these values."""
        value = self.numerator.at(env, zero)
        return value // self.divisor if self.op == "//" else value % self.divisor

    @property
    def parts(self) -> tuple[Form, ...]:
        """The forms in it."""
        return (self.numerator,)

    def over(self, parts: tuple[Form, ...]) -> Division:
        """The same of other forms."""
        return replace(self, numerator=parts[0])

    def __str__(self) -> str:
        alone = self.numerator.name is not None
        return f"{self.numerator if alone else f'({self.numerator})'} {self.op} {self.divisor}"


#: What is read outside of an index array: an index of nothing.
NOWHERE = 10**6


@dataclass(frozen=True)
class Lookup:
    """`array[parts]`, an element of an index array; a scalar one has no parts."""

    array: str
    parts: tuple[Form, ...]
    values: Integers = field(compare=False, repr=False)

    def at(self, env: Mapping[str, Any], zero: Any) -> Any:
        """Its value where the indices have these values, NOWHERE outside of the array."""
        places = [np.asarray(part.at(env, zero)) for part in self.parts]
        if not self.values.size:
            return zero + NOWHERE
        inside = np.asarray(zero == 0)
        for place, size in zip(places, self.values.shape, strict=True):
            inside &= (place >= 0) & (place < size)
        found = self.values[tuple(np.where(inside, place, 0) for place in places)]
        return zero + np.where(inside, found, NOWHERE)

    def over(self, parts: tuple[Form, ...]) -> Lookup:
        """The same of other forms."""
        return replace(self, parts=parts)

    def __str__(self) -> str:
        return f"{self.array}[{', '.join(map(str, self.parts))}]" if self.parts else self.array


Atom: TypeAlias = str | Division | Lookup


@dataclass(frozen=True)
class Form:
    """A quasi-affine form of indices: coefficients by atom, and a constant."""

    terms: tuple[tuple[Atom, int], ...]
    constant: int = 0

    def at(self, env: Mapping[str, Any], zero: Any) -> Any:
        """Its value where the indices have these values; `zero` is 0 of their type."""
        value = zero + self.constant
        for atom, c in self.terms:
            value = value + c * (env[atom] if isinstance(atom, str) else atom.at(env, zero))
        return value

    def shifted(self, offset: int) -> Form:
        """The form plus a constant."""
        return replace(self, constant=self.constant + offset)

    def renamed(self, names: Mapping[str, str]) -> Form:
        """The form of other indices."""
        terms: list[tuple[Atom, int]] = []
        for atom, c in self.terms:
            if isinstance(atom, str):
                terms.append((names[atom], c))
            else:
                parts = tuple(part.renamed(names) for part in atom.parts)
                terms.append((atom.over(parts), c))
        return replace(self, terms=tuple(terms))

    @property
    def name(self) -> str | None:
        """The index that this is, if it is one alone."""
        if len(self.terms) != 1 or self.constant:
            return None
        atom, c = self.terms[0]
        return atom if c == 1 and isinstance(atom, str) else None

    @property
    def names(self) -> set[str]:
        """The indices in it."""
        found: set[str] = set()
        for atom, _ in self.terms:
            found |= {atom} if isinstance(atom, str) else set().union(*(part.names for part in atom.parts))
        return found

    def __str__(self) -> str:
        text = ""
        for atom, c in self.terms:
            bare = not isinstance(atom, Division) or (c == 1 and not text)
            part = str(atom) if bare else f"({atom})"
            part = part if abs(c) == 1 else f"{abs(c)}*{part}"
            text += f" {'-' if c < 0 else '+'} {part}" if text else f"{'-' if c < 0 else ''}{part}"
        if self.constant or not text:
            sign = " - " if self.constant < 0 else " + "
            text = f"{text}{sign}{abs(self.constant)}" if text else str(self.constant)
        return text


@dataclass(frozen=True)
class Relation:
    """`left op right` between forms."""

    op: str
    left: Form
    right: Form

    def holds(self, env: Mapping[str, Any], zero: Any) -> Any:
        """Where it does."""
        return RELATIONS[self.op](self.left.at(env, zero), self.right.at(env, zero))

    def renamed(self, names: Mapping[str, str]) -> Relation:
        """The relation between other indices."""
        return replace(self, left=self.left.renamed(names), right=self.right.renamed(names))

    def __str__(self) -> str:
        return f"{self.left} {self.op} {self.right}"


#: For integers, for arrays of NumPy and of JAX.
RELATIONS: dict[str, Callable[..., Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
