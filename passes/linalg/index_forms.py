"""Index expressions of an imported program: affine forms of indices, sizes and elements of index arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import gcd

from tadc.lattice.late_dataclasses import dataclass, field


@dataclass(frozen=True, eq=False)
class Counter:
    """An index of a definition or a reduction; it gets its name when it is written."""

    size: IndexForm


@dataclass(frozen=True)
class SizeSymbol:
    """A size that a call tells, `least` or more; one that `is_given` is an argument."""

    name: str
    least: int = 1
    is_given: bool = False


@dataclass(frozen=True)
class ScaledIndex:
    """A size times something."""

    size: SizeSymbol
    of: IndexForm


@dataclass(frozen=True)
class Quotient:
    """A form divided by a number, floored; `is_rest` for what is left."""

    of: IndexForm
    by: int
    is_rest: bool


@dataclass(frozen=True)
class Element:
    """An element of an index array, which lies below `below`; None where that is not known yet."""

    array: str
    at: tuple[IndexForm, ...]
    below: IndexForm | None


Atom = Counter | SizeSymbol | ScaledIndex | Quotient | Element


@dataclass(frozen=True)
class IndexForm:
    """`constant` plus multiples of atoms, none of them 0."""

    constant: int
    terms: tuple[tuple[Atom, int], ...] = field(default=())

    def __add__(self, other: IndexForm) -> IndexForm:
        if not other.terms:
            return IndexForm(self.constant + other.constant, self.terms)
        found = dict(self.terms)
        for atom, times in other.terms:
            found[atom] = found.get(atom, 0) + times
        return IndexForm(self.constant + other.constant, tuple((a, n) for a, n in found.items() if n))

    def __sub__(self, other: IndexForm) -> IndexForm:
        return self + other.scaled(-1)

    def plus(self, number: int) -> IndexForm:
        """The form with a number added."""
        return IndexForm(self.constant + number, self.terms)

    def scaled(self, by: int) -> IndexForm:
        """A multiple."""
        if by == 0:
            return IndexForm(0)
        return IndexForm(self.constant * by, tuple((a, n * by) for a, n in self.terms))

    @property
    def number(self) -> int | None:
        """The value where it is a number."""
        return None if self.terms else self.constant


def number(value: int) -> IndexForm:
    """A number as a form."""
    return IndexForm(int(value))


def of_atom(atom: Atom) -> IndexForm:
    """An atom as a form; an index of one value is 0."""
    if isinstance(atom, Counter) and atom.size.number == 1:
        return IndexForm(0)
    if isinstance(atom, Element) and atom.below == IndexForm(1):
        return IndexForm(0)
    return IndexForm(0, ((atom, 1),))


def product(left: IndexForm, right: IndexForm) -> IndexForm | None:
    """The product; None where it is not affine."""
    for form, other in ((left, right), (right, left)):
        if form.number is not None:
            return other.scaled(form.number)
    for form, other in ((left, right), (right, left)):
        if all(isinstance(atom, SizeSymbol) for atom, _ in form.terms):
            total = other.scaled(form.constant)
            for size, times in form.terms:
                assert isinstance(size, SizeSymbol)
                total += IndexForm(0, ((ScaledIndex(size, other), times),))
            return total
    return None


def least(form: IndexForm) -> IndexForm | None:
    """A lower bound in sizes alone; None where nothing tells one."""
    total = IndexForm(form.constant)
    for atom, times in form.terms:
        bound = _bound(atom, upper=times < 0)
        if bound is None:
            return None
        total += bound.scaled(times)
    return total


def _bound(atom: Atom, *, upper: bool) -> IndexForm | None:
    if isinstance(atom, SizeSymbol):
        return of_atom(atom)
    if isinstance(atom, Counter):
        return atom.size.plus(-1) if upper else IndexForm(0)
    if isinstance(atom, Element):
        return (None if atom.below is None else atom.below.plus(-1)) if upper else IndexForm(0)
    if isinstance(atom, Quotient):
        if atom.is_rest:
            return IndexForm(atom.by - 1 if upper else 0)
        inner = least(atom.of.scaled(-1)) if upper else least(atom.of)
        if inner is None or inner.number is None:
            return None
        return IndexForm(-inner.number // atom.by if upper else inner.number // atom.by)
    inner = least(atom.of.scaled(-1)) if upper else least(atom.of)
    if inner is None:
        return None
    return product(inner.scaled(-1 if upper else 1), of_atom(atom.size))


def is_never_negative(form: IndexForm) -> bool:
    """Whether the form is proven to be 0 or more for all values of its atoms."""
    bound = least(form)
    if bound is None:
        return False
    lowest = bound.constant
    for atom, times in bound.terms:
        if times < 0:
            return False
        lowest += times * (atom.least if isinstance(atom, SizeSymbol) else 0)
    return lowest >= 0


def divided(form: IndexForm, by: IndexForm) -> IndexForm | None:
    """The floored quotient by a positive number or size; None where it cannot be written."""
    whole, rest = _split(form, by)
    if is_never_negative(rest) and is_never_negative(by.plus(-1) - rest):
        return whole
    if by.number is None:
        return None
    common = gcd(by.number, *(n for _, n in rest.terms))
    inner = IndexForm(rest.constant // common, tuple((a, n // common) for a, n in rest.terms))
    if common == by.number:
        return whole + inner
    return whole + of_atom(Quotient(inner, by.number // common, is_rest=False))


def remainder(form: IndexForm, by: IndexForm) -> IndexForm | None:
    """What is left of the floored division; None where it cannot be written."""
    _, rest = _split(form, by)
    if is_never_negative(rest) and is_never_negative(by.plus(-1) - rest):
        return rest
    return None if by.number is None else of_atom(Quotient(rest, by.number, is_rest=True))


def _split(form: IndexForm, by: IndexForm) -> tuple[IndexForm, IndexForm]:
    """Multiples of `by`, divided, and the rest."""
    whole, rest = IndexForm(0), IndexForm(form.constant)
    divisor = by.number
    if divisor is not None:
        whole, rest = IndexForm(form.constant // divisor), IndexForm(form.constant % divisor)
    for atom, times in form.terms:
        term = IndexForm(0, ((atom, times),))
        if divisor is not None:
            # A quotient with multiples of the divisor inside is simpler without them.
            whole += IndexForm(0, ((atom, times // divisor),)) if times >= divisor else IndexForm(0)
            left = times % divisor if times >= divisor else times
            if times < 0 and times % divisor == 0:
                whole, left = whole + IndexForm(0, ((atom, times // divisor),)), 0
            rest += IndexForm(0, ((atom, left),)) if left else IndexForm(0)
        elif isinstance(atom, ScaledIndex) and by == of_atom(atom.size):
            whole += atom.of.scaled(times)
        elif by == IndexForm(0, ((atom, 1),)):
            whole += IndexForm(times)
        else:
            rest += term
    return whole, rest


def replaced(form: IndexForm, change: Callable[[Atom], IndexForm | None]) -> IndexForm:
    """The form with other forms in the place of some atoms, those inside of others too."""
    total = IndexForm(form.constant)
    for atom, times in form.terms:
        found = change(atom)
        if found is None:
            found = _rebuilt(atom, change)
        total += found.scaled(times)
    return total


def _rebuilt(atom: Atom, change: Callable[[Atom], IndexForm | None]) -> IndexForm:
    if isinstance(atom, Quotient):
        inner = replaced(atom.of, change)
        made = (remainder if atom.is_rest else divided)(inner, IndexForm(atom.by))
        assert made is not None
        return made
    if isinstance(atom, ScaledIndex):
        made = product(of_atom(atom.size), replaced(atom.of, change))
        assert made is not None
        return made
    if isinstance(atom, Element):
        return of_atom(Element(atom.array, tuple(replaced(f, change) for f in atom.at), atom.below))
    return of_atom(atom)


def atoms_of(forms: Iterable[IndexForm]) -> Iterable[Atom]:
    """All atoms of forms, those inside of others too."""
    stack = list(forms)
    while stack:
        for atom, _ in stack.pop().terms:
            yield atom
            if isinstance(atom, Quotient | ScaledIndex):
                stack.append(atom.of)
            elif isinstance(atom, Element):
                stack += atom.at
