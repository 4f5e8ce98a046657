"""The least and the greatest value of each index of a set, as forms of sizes: a box around the set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from tadc.frontend.extents import as_form
from tadc.frontend.program import Definition
from tadc.frontend.terms import Domain
from tadc.lattice.affine import ZERO, Affine, Constraint, Floor, Lookup
from tadc.lattice.fibre import Fibre, over
from tadc.lattice.late_dataclasses import dataclass, replace
from tadc.lattice.polyhedron import implied
from tadc.passes.terms.inspected_arrays import ends_match


@dataclass(frozen=True)
class Range:
    """`low <= index <= high`, forms of sizes alone.

    An index of a fibre, where an index array has a value or between two neighbours in one, takes each of
    these values for one of `shared` values of what says which fibre it is, which are the indices `by`.
    """

    low: Affine
    high: Affine
    shared: Affine | None = None
    by: frozenset[str] = frozenset()

    @cached_property
    def extent(self) -> Affine:
        """How many values that are; below 1 where there are none."""
        return self.high - self.low + 1

    def rows(self, index: str) -> Domain:
        """That an index is in it."""
        return Constraint(Affine.var(index) - self.low), Constraint(self.high - Affine.var(index))


Ranges = Mapping[str, Range | None]


def ranges_of(definition: Definition) -> dict[str, Range]:
    """The ranges of a definition's indices."""
    pairs = zip(definition.indices, definition.shape, strict=True)
    return {index: Range(ZERO, as_form(size) - 1) for index, size in pairs}


def ranges_within(
    binders: Sequence[str], domain: Sequence[Constraint], around: Ranges, sizes: frozenset[str]
) -> dict[str, Range | None]:
    """A range for each index of a domain, given those of the indices around it; None where none is found."""
    known = dict(around)
    found: dict[str, Range | None] = dict.fromkeys(binders)
    forms = [form for row in domain for form in row.inequalities]
    # An index may be bounded by one that comes later.
    for _ in binders:
        for name in [name for name in binders if found[name] is None]:
            found[name] = known[name] = _range(name, forms, known, sizes)
    return {name: within and _of_fibre(name, within, domain, known, sizes) for name, within in found.items()}


def _of_fibre(
    name: str, within: Range, domain: Sequence[Constraint], known: Ranges, sizes: frozenset[str]
) -> Range:
    """The range of an index over the places where an index array has a value, and what share it."""
    fibre = next(over(name, domain), None)
    if fibre is not None and (shared := _shared(fibre, known, sizes)) is not None:
        return replace(within, shared=shared, by=fibre.start.variables - sizes)
    for row in domain:
        for lookup, k in row.form.terms if row.equality else ():
            rest = row.form - Affine.atom(lookup) * k
            if isinstance(lookup, Lookup) and Affine.var(name) in lookup.at and name not in rest.variables:
                return replace(within, shared=lookup.below, by=rest.variables - sizes)
    return within


def span_of(form: Affine, around: Ranges, sizes: frozenset[str]) -> Range | None:
    """The least and the greatest value of a form where indices are in their ranges; None if not known."""
    high, low = _greatest(form, around, sizes), _greatest(-form, around, sizes)
    return None if high is None or low is None else Range(-low, high)


def _range(name: str, forms: Sequence[Affine], known: Ranges, sizes: frozenset[str]) -> Range | None:
    low: Affine | None = None
    high: Affine | None = None
    for form in forms:
        k = form.coefficient(name)
        rest = form - Affine.var(name) * k if k else form
        if not k or name in rest.variables:
            continue
        most = _greatest(rest, known, sizes)
        if most is None:
            continue
        # From k*x + rest >= 0, and rest <= most.
        if k > 0:
            low = _sharper(low, -most.floordiv(k), 1)
        else:
            high = _sharper(high, most.floordiv(-k), -1)
    return None if low is None or high is None else Range(low, high)


def _shared(fibre: Fibre, known: Ranges, sizes: frozenset[str]) -> Affine | None:
    """How many fibres there are of the array that one is of."""
    start, stop = fibre.start, fibre.stop
    if start.at == stop.at and ends_match(stop.array):
        # Of all places each is as one or another.
        return start.below - 1
    if not fibre.ends_one_behind:
        return None
    total = Affine.const(1)
    for form in fibre.values:
        span = span_of(form, known, sizes)
        if span is None or (not total.is_constant and not span.extent.is_constant):
            return None
        first, other = (total, span.extent) if span.extent.is_constant else (span.extent, total)
        total = first * other.constant
    return total


def _sharper(old: Affine | None, new: Affine, sign: int) -> Affine:
    """The bound that says more, if one is known to; the old one else."""
    return new if old is None or implied((new - old) * sign, ()) else old


def _greatest(form: Affine, known: Ranges, sizes: frozenset[str]) -> Affine | None:
    """A form of sizes that a form does not exceed where the indices are in their ranges."""
    total = Affine.const(form.constant)
    for atom, k in form.terms:
        if isinstance(atom, Floor):
            most = _greatest(atom.numerator * (1 if k > 0 else -1), known, sizes)
            if most is None:
                return None
            value = most.floordiv(atom.denominator) if k > 0 else (-most).floordiv(atom.denominator)
        elif isinstance(atom, Lookup):
            value = atom.below - 1 if k > 0 else ZERO
        elif atom in sizes:
            value = Affine.var(atom)
        else:
            within = known.get(atom)
            if within is None:
                return None
            value = within.high if k > 0 else within.low
        total += value * k
    return total
