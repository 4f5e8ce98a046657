"""The least and the greatest value of each index of a set, as forms of sizes: a box around the set."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tadc.frontend.extents import as_form
from tadc.frontend.program import Definition
from tadc.lattice.affine import ZERO, Affine, Constraint, Floor, Lookup
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

    @property
    def extent(self) -> Affine:
        """How many values that are; below 1 where there are none."""
        return self.high - self.low + 1


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
    return {name: within and _of_fibre(name, within, domain, sizes) for name, within in found.items()}


def _of_fibre(name: str, within: Range, domain: Sequence[Constraint], sizes: frozenset[str]) -> Range:
    """The range of an index over the places where an index array has a value, and what share it."""
    for row in domain if within.shared is None else ():
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
        rest = form - Affine.var(name) * k
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
    if low is None or high is None:
        return None
    shared = _shared(name, forms, known, sizes)
    return replace(shared, low=low, high=high) if shared else Range(low, high)


def _shared(name: str, forms: Sequence[Affine], known: Ranges, sizes: frozenset[str]) -> Range | None:
    """How many fibres have the values of an index that runs over one, and the indices of these fibres."""
    low, high = _ends(name, forms)
    if low is None or high is None:
        return None
    if low.at == high.at and ends_match(high.array):
        # Of all places each is as one or another.
        return Range(ZERO, ZERO, low.below - 1, low.variables - sizes)
    # What is left of a fibre after its whole parts begins at an element of another array.
    if _neighbours(name, forms)[0] is None:
        return None
    total = Affine.const(1)
    for form in low.at:
        found = span_of(form, known, sizes)
        if found is None or (not total.is_constant and not found.extent.is_constant):
            return None
        first, other = (total, found.extent) if found.extent.is_constant else (found.extent, total)
        total = first * other.constant
    return Range(ZERO, ZERO, total, frozenset[str]().union(*(form.variables for form in low.at)) - sizes)


@dataclass(frozen=True)
class BetweenNeighbours:
    """`low <= value < high`, where high is the next element of an increasing index array: the value is
    between no other two neighbours in it.

    `rows` say it, and no more if `exactly`.
    """

    low: Lookup
    value: Affine
    rows: tuple[Constraint, Constraint]
    exactly: bool


def ranges_between_neighbours(
    rows: Sequence[Constraint], increasing: Collection[str]
) -> Iterator[BetweenNeighbours]:
    """The values that rows put between two neighbours in one of these index arrays.

    `k * low <= e` and `e < k * high` say it of `e // k`.
    """
    known: dict[Affine, list[Constraint]] = {}  # rows by their forms without constants
    for row in rows:
        if not row.equality:
            known.setdefault(row.form - row.form.constant, []).append(row)
    for row in rows:
        for low, k in row.form.terms:
            if row.equality or k > 0 or not isinstance(low, Lookup) or low.array not in increasing:
                continue
            value, high = row.form - Affine.atom(low) * k, replace(low, at=(low.at[0] + 1,))
            least = Affine.atom(high) * -k - 1 - value
            for other in known.get(least - least.constant, ()):
                less = other.form.constant - least.constant
                if less <= 0:
                    # Of what is between, what a row begins or ends with.
                    shown = value if value.constant == 0 else value - less
                    yield BetweenNeighbours(low, shown.floordiv(-k), (row, other), not less)


def between_neighbours(name: str, forms: Sequence[Affine]) -> Lookup | None:
    """The first of two neighbours in an index array between which an index runs; None where it does not."""
    low, high = _neighbours(name, forms)
    return low if low is None or high is None or low.array == high.array else None


def _neighbours(name: str, forms: Sequence[Affine]) -> tuple[Lookup, Lookup] | tuple[None, None]:
    """The lookups at two places, one behind the other, that bound an index; None and None where none do."""
    low, high = _ends(name, forms)
    if low is None or high is None or len(low.at) != len(high.at) or not low.at:
        return None, None
    return (low, high) if high.at[-1] - low.at[-1] == Affine.const(1) else (None, None)


def _ends(name: str, forms: Sequence[Affine]) -> tuple[Lookup | None, Lookup | None]:
    """The lookups that bound an index from below and from above."""
    lookups = {k: _bound(name, form, k) for form in forms if abs(k := form.coefficient(name)) == 1}
    return lookups.get(1), lookups.get(-1)


def _bound(name: str, form: Affine, k: int) -> Lookup | None:
    """The lookup that a row bounds an index by."""
    rest = form - Affine.var(name) * k
    found = [atom for atom, factor in rest.terms if isinstance(atom, Lookup) and factor == -k]
    return found[0] if len(found) == 1 == len(rest.terms) else None


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
