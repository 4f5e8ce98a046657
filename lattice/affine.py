"""Quasi-affine integer forms: `2*i - 3*k + (i + j) // 2 + 1`, exact at any magnitude.

A form is a sum of integer multiples of atoms plus a constant. An atom is a variable
(an index or a size symbol), a floor division (`e % c` is `e - c*(e // c)`), or a lookup: an element
of an index array, `src[e]`. Forms are immutable values, equal when they read the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from math import gcd
from typing import NamedTuple

from tadc.lattice.late_dataclasses import dataclass


@dataclass(frozen=True)
class Floor:
    """The atom `numerator // denominator`, rounded down, with `denominator >= 2`.

    Built by `Affine.floordiv` only, which normalises: no coefficient of the
    numerator is a multiple of the denominator, its constant lies in
    `0..denominator - 1`, and the coefficients share no factor with the denominator.
    """

    numerator: Affine
    denominator: int

    @cached_property
    def _hash(self) -> int:
        return hash((self.numerator, self.denominator))

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def variables(self) -> frozenset[str]:
        """The variables below this atom, at any depth."""
        return self.numerator.variables

    @cached_property
    def order(self) -> tuple[int, str]:
        """Where it stands among the atoms of a form."""
        return (1, str(self))

    @property
    def parts(self) -> tuple[Affine, ...]:
        """The forms in it."""
        return (self.numerator,)

    def over(self, parts: tuple[Affine, ...]) -> Affine:
        """The form that it is over other parts."""
        return parts[0].floordiv(self.denominator)

    @property
    def facts(self) -> tuple[Affine, ...]:
        """The forms that are at least 0: the remainder and what it is less than the denominator."""
        rest = self.numerator - Affine.atom(self) * self.denominator
        return (rest, self.denominator - 1 - rest)

    def __str__(self) -> str:
        numerator = str(self.numerator)
        lone = len(self.numerator.terms) == 1 and not self.numerator.constant
        plain = lone and self.numerator.terms[0][1] == 1 and isinstance(self.numerator.terms[0][0], str)
        return f"{numerator} // {self.denominator}" if plain else f"({numerator}) // {self.denominator}"


@dataclass(frozen=True)
class Lookup:
    """The atom `array[at]`: an element of an index array, which is one of `0..below - 1`.

    Of its value nothing else is known. `below` is a form of sizes.
    """

    array: str
    at: tuple[Affine, ...]
    below: Affine

    @cached_property
    def _hash(self) -> int:
        return hash((self.array, self.at))

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def variables(self) -> frozenset[str]:
        """The variables below this atom, at any depth, and the sizes that bound it."""
        return self.below.variables.union(*(form.variables for form in self.at))

    @cached_property
    def order(self) -> tuple[int, str]:
        """Where it stands among the atoms of a form."""
        return (2, str(self))

    @property
    def parts(self) -> tuple[Affine, ...]:
        """The forms in it."""
        return (*self.at, self.below)

    def over(self, parts: tuple[Affine, ...]) -> Affine:
        """The form that it is over other parts."""
        return Affine.atom(Lookup(self.array, parts[:-1], parts[-1]))

    @property
    def facts(self) -> tuple[Affine, ...]:
        """The forms that are at least 0: it lies between its bounds."""
        value = Affine.atom(self)
        return (value, self.below - 1 - value)

    def __str__(self) -> str:
        return f"{self.array}[{', '.join(map(str, self.at))}]" if self.at else self.array


def _order(atom: str | Floor | Lookup) -> tuple[int, str]:
    """Variables first, by name; then floors, by how they read."""
    return (0, atom) if isinstance(atom, str) else atom.order


class Affine:
    """An integer-valued form `sum of coefficient*atom + constant`."""

    __slots__ = ("_nodes", "_variables", "constant", "hashed", "terms")

    terms: tuple[tuple[str | Floor | Lookup, int], ...]
    constant: int

    def __init__(self, terms: tuple[tuple[str | Floor | Lookup, int], ...], constant: int) -> None:
        """Take terms that are sorted, distinct and non-zero; `Affine.of` takes any."""
        self.terms = terms
        self.constant = constant
        self.hashed = hash((terms, constant))
        self._variables: frozenset[str] | None = None
        self._nodes: frozenset[str | Lookup] | None = None

    @staticmethod
    def of(coefficients: Mapping[str | Floor | Lookup, int], constant: int = 0) -> Affine:
        """Build the form with these coefficients by atom."""
        kept = [term for term in coefficients.items() if term[1]]
        if len(kept) > 1:
            for atom in coefficients:
                if atom.__class__ is not str:
                    kept.sort(key=lambda term: _order(term[0]))
                    break
            else:
                kept.sort()  # names are distinct strings
        return Affine(tuple(kept), constant)

    @staticmethod
    @lru_cache(1 << 10)
    def var(name: str) -> Affine:
        """Build the form that is one variable."""
        return Affine(((name, 1),), 0)

    @staticmethod
    def atom(atom: str | Floor | Lookup) -> Affine:
        """Build the form that is one atom."""
        return Affine(((atom, 1),), 0)

    @staticmethod
    def const(value: int) -> Affine:
        """Build the constant form."""
        return Affine((), value)

    def __hash__(self) -> int:
        return self.hashed

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Affine):
            return NotImplemented
        return self.hashed == other.hashed and self.constant == other.constant and self.terms == other.terms

    def __add__(self, other: Affine | int) -> Affine:
        if isinstance(other, int):
            return Affine(self.terms, self.constant + other) if other else self
        if not other.terms:
            return self + other.constant
        if not self.terms:
            return other + self.constant
        total = dict(self.terms)
        for atom, k in other.terms:
            total[atom] = total.get(atom, 0) + k
        return Affine.of(total, self.constant + other.constant)

    __radd__ = __add__

    def __mul__(self, factor: int) -> Affine:
        if not factor:
            return ZERO
        return Affine(tuple((atom, k * factor) for atom, k in self.terms), self.constant * factor)

    __rmul__ = __mul__

    def __neg__(self) -> Affine:
        return self * -1

    def __sub__(self, other: Affine | int) -> Affine:
        if isinstance(other, int):
            return Affine(self.terms, self.constant - other) if other else self
        if not other.terms:
            return self - other.constant
        total = dict(self.terms)
        for atom, k in other.terms:
            total[atom] = total.get(atom, 0) - k
        return Affine.of(total, self.constant - other.constant)

    def __rsub__(self, other: int) -> Affine:
        return Affine(tuple((atom, -k) for atom, k in self.terms), other - self.constant)

    def floordiv(self, divisor: int) -> Affine:
        """Divide and round down, for `divisor >= 1`; exact parts leave the floor.

        `(6*i + 4*j + 3) // 4` is `j + (3*i + 1) // 2`; the rest is normalised
        further, and a floor of a floor is one floor: `(i // 2 + 1) // 3 = (i + 2) // 6`.
        """
        if divisor < 1:
            raise ValueError(f"floor division by {divisor}")
        if divisor == 1:
            return self
        whole: dict[str | Floor | Lookup, int] = {}
        rest: dict[str | Floor | Lookup, int] = {}
        for atom, k in self.terms:
            quotient, remainder = divmod(k, divisor)
            # Only exact multiples leave: `(3*i) // 2` stays one atom for the reader.
            if remainder:
                rest[atom] = k
            else:
                whole[atom] = quotient
        quotient, remainder = divmod(self.constant, divisor)
        if not rest:
            return Affine.of(whole, quotient)
        common = gcd(divisor, *rest.values())
        if common > 1:
            rest = {atom: k // common for atom, k in rest.items()}
            remainder //= common
            divisor //= common
        outside = Affine.of(whole, quotient)
        if len(rest) == 1:
            ((atom, k),) = rest.items()
            if k == 1 and isinstance(atom, Floor):
                inner = atom.numerator + atom.denominator * remainder
                return outside + inner.floordiv(atom.denominator * divisor)
        return outside + Affine.atom(Floor(Affine.of(rest, remainder), divisor))

    def mod(self, divisor: int) -> Affine:
        """The remainder in `0..divisor - 1`."""
        return self - self.floordiv(divisor) * divisor

    def coefficient(self, atom: str | Floor | Lookup) -> int:
        """The factor of an atom at the top level; 0 if it is not there."""
        for other, k in self.terms:
            if other == atom:
                return k
        return 0

    @property
    def is_constant(self) -> bool:
        """Whether there is no term."""
        return not self.terms

    @property
    def lookup(self) -> Lookup | None:
        """The lookup that the form is; None of any other form."""
        atom, k = self.terms[0] if len(self.terms) == 1 else ("", 0)
        return atom if isinstance(atom, Lookup) and k == 1 and not self.constant else None

    @property
    def variable(self) -> str | None:
        """The variable that the form is; None of any other form."""
        atom, k = self.terms[0] if len(self.terms) == 1 else ("", 0)
        return atom if isinstance(atom, str) and k == 1 and not self.constant else None

    def solved(self, atom: str | Floor | Lookup) -> Affine | None:
        """What an atom is where the form is 0; None where it has a factor, or stands in another atom too."""
        k = self.coefficient(atom)
        if abs(k) != 1:
            return None
        rest = Affine.atom(atom) - self * k
        return None if atom in rest.nodes else rest

    @property
    def is_linear(self) -> bool:
        """Whether every atom is a variable."""
        return all(isinstance(atom, str) for atom, _ in self.terms)

    @property
    def variables(self) -> frozenset[str]:
        """All variables, those inside other atoms included."""
        if self._variables is None:
            names: set[str] = set()
            for atom, _ in self.terms:
                if isinstance(atom, str):
                    names.add(atom)
                else:
                    names |= atom.variables
            self._variables = frozenset(names)
        return self._variables

    @property
    def nodes(self) -> frozenset[str | Lookup]:
        """All variables and lookups, those inside other atoms included."""
        if self._nodes is None:
            self._nodes = self.variables if self.is_linear else self.variables.union(self.lookups())
        return self._nodes

    def inner_atoms(self) -> Iterator[Floor | Lookup]:
        """All atoms that are no variables, inner ones after the ones that hold them."""
        for atom, _ in self.terms:
            if not isinstance(atom, str):
                yield atom
                for part in atom.parts:
                    yield from part.inner_atoms()

    def floors(self) -> Iterator[Floor]:
        """All floor atoms, inner ones after the ones that hold them."""
        return (atom for atom in self.inner_atoms() if isinstance(atom, Floor))

    @property
    def has_lookups(self) -> bool:
        """Whether an element of an index array is in it, at any depth."""
        return not self.is_linear and any(True for _ in self.lookups())

    def lookups(self) -> Iterator[Lookup]:
        """All lookups, inner ones after the ones that hold them."""
        return (atom for atom in self.inner_atoms() if isinstance(atom, Lookup))

    def substitute(self, mapping: Mapping[str, Affine]) -> Affine:
        """Replace variables everywhere, inside other atoms too."""
        if self.variables.isdisjoint(mapping):
            return self
        if len(self.terms) == 1 and (name := self.terms[0][0]).__class__ is str:
            form = mapping[name]  # type: ignore[index]
            k = self.terms[0][1]
            result = (form if k == 1 else form * k) + self.constant
            return self if result == self else result
        total: dict[str | Floor | Lookup, int] = {}
        constant = self.constant
        for atom, k in self.terms:
            if isinstance(atom, str):
                form = mapping.get(atom)
            elif atom.variables.isdisjoint(mapping):
                form = None
            else:
                form = atom.over(tuple(part.substitute(mapping) for part in atom.parts))
            if form is None:
                total[atom] = total.get(atom, 0) + k
                continue
            constant += k * form.constant
            for inner, factor in form.terms:
                total[inner] = total.get(inner, 0) + k * factor
        result = Affine.of(total, constant)
        return self if result == self else result

    def replace(self, rule: Callable[[str | Floor | Lookup], Affine | None]) -> Affine:
        """Replace atoms top-down; where `rule` gives None an atom is searched inside."""
        total: dict[str | Floor | Lookup, int] = {}
        constant = self.constant
        for atom, k in self.terms:
            form = rule(atom)
            if form is None and not isinstance(atom, str):
                parts = tuple(part.replace(rule) for part in atom.parts)
                if any(new is not old for new, old in zip(parts, atom.parts, strict=True)):
                    form = atom.over(parts)
            if form is None:
                total[atom] = total.get(atom, 0) + k
                continue
            constant += k * form.constant
            for inner, factor in form.terms:
                total[inner] = total.get(inner, 0) + k * factor
        result = Affine.of(total, constant)
        return self if result == self else result

    def evaluate(self, point: Mapping[str, int]) -> int:
        """The value at a point that binds every variable.

        A lookup has the value that the point gives its text, as `src[e]`.
        """
        total = self.constant
        for atom, k in self.terms:
            if isinstance(atom, Floor):
                total += k * (atom.numerator.evaluate(point) // atom.denominator)
            else:
                total += k * point[atom if isinstance(atom, str) else str(atom)]
        return total

    def __str__(self) -> str:
        parts = [SumPart(k, f"({a})" if isinstance(a, Floor) else str(a)) for a, k in self.terms]
        return sum_text(parts, self.constant)

    __repr__ = __str__


class SumPart(NamedTuple):
    """`factor*text`; where the text `is_loose` it needs parentheses behind a factor or a sign."""

    factor: int
    text: str
    is_loose: bool = False


def sum_text(parts: Sequence[SumPart], constant: int, times: str = "*") -> str:
    """A sum, positive parts first, so that `3 - i` and not `-i + 3` is read."""
    positive = [_product(p, times) for p in parts if p.factor > 0]
    negative = [p._replace(factor=-p.factor) for p in parts if p.factor < 0]
    if not positive and (constant > 0 or not negative):
        positive, constant = [str(constant)], 0
    text = " + ".join(positive)
    for part in negative:
        # A sign binds tighter than `//` and `%`, a minus between terms does not.
        text += f" - {_product(part, times)}" if text else f"-{_product(part, times, signed=True)}"
    if constant:
        text += f" + {constant}" if constant > 0 else f" - {-constant}"
    return text


def _product(part: SumPart, times: str, signed: bool = False) -> str:
    factor, text, is_loose = part
    text = f"({text})" if is_loose and (factor != 1 or signed) else text
    return text if factor == 1 else f"{factor}{times}{text}"


ZERO = Affine((), 0)


@dataclass(eq=False, slots=True)
class Constraint:
    """`form = 0` if `equality`, else `form >= 0`; never changed."""

    # Not frozen, which takes three times as long to make: there are thousands in a program.
    form: Affine
    equality: bool = False

    def __hash__(self) -> int:
        # Tuples of rows are the keys of most memos: nothing is hashed twice.
        return ~self.form.hashed if self.equality else self.form.hashed

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constraint) and self.equality == other.equality and self.form == other.form

    @property
    def faced(self) -> Constraint:
        """Of an equality the one of its two forms in which the first element of an index array, one at a
        place if there is such, is not taken less than never.
        """
        terms = self.form.terms if self.equality else ()
        found = [(not atom.at, k) for atom, k in terms if isinstance(atom, Lookup)]
        if not found or min(found, key=lambda one: one[0])[1] > 0:
            return self
        return Constraint(-self.form, equality=True)

    def substitute(self, mapping: Mapping[str, Affine]) -> Constraint:
        """Replace variables everywhere."""
        form = self.form.substitute(mapping)
        return self if form is self.form else Constraint(form, self.equality)

    def holds(self, point: Mapping[str, int]) -> bool:
        """Whether a point that binds every variable satisfies it."""
        value = self.form.evaluate(point)
        return value == 0 if self.equality else value >= 0

    @property
    def inequalities(self) -> tuple[Affine, ...]:
        """The forms that must be >= 0: one, or the two sides of an equality."""
        return (self.form, -self.form) if self.equality else (self.form,)

    def __str__(self) -> str:
        return f"{self.form} {'=' if self.equality else '>='} 0"


def at_least_zero(form: Affine) -> Constraint:
    """`form >= 0`."""
    return Constraint(form)


def equals_zero(form: Affine) -> Constraint:
    """`form = 0`."""
    return Constraint(form, equality=True)


def box(names: Iterable[str], shape: Iterable[int | Affine]) -> tuple[Constraint, ...]:
    """`0 <= name <= size - 1` for each name."""
    rows: list[Constraint] = []
    for name, size in zip(names, shape, strict=True):
        variable = Affine.var(name)
        rows += [Constraint(variable), Constraint(size - 1 - variable)]
    return tuple(rows)
