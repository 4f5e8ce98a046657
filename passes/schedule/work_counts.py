"""About how many operations a map takes: what threads are worth it for.

An operation is an addition, a load or a store, in the weights of `costs`. A reduction counts its body
once for each of its elements, where the indices around it are in the middle of their ranges.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tadc.lattice.affine import ZERO, Affine
from tadc.lattice.amounts import Count, Counted, Which, product, sum_of
from tadc.passes.maps.map import Apply, Ask, Block, Choice, Fold, IndexNumber, Let, Load, Map, Number, Value
from tadc.passes.schedule.fibre_steps import steps_between
from tadc.passes.terms.costs import ACCESS, LARGE, POWER, WEIGHTS

LEAST = 1 << 15
"""A map of fewer operations is not worth a dispatch to threads, as in `backend/cpu/pool.ll`."""

LEAST_STEP = LEAST // 2
"""Nor is a step of a recurrence, after which threads wait for each other: it is to have two parts of
`LEAST_PART` in `backend/splitting.py`."""


def weight_of(value: Value) -> int:
    """The weight of a value that has no blocks."""
    match value:
        case Load():
            return ACCESS
        case Apply(function="powi"):
            return POWER
        case Apply(function=function):
            return WEIGHTS.get(function, 1)
        case IndexNumber():
            return 1
        case Number() | Ask() | Choice() | Fold():
            return 0


def operations_of(item: Map) -> Counted:
    """The operations of a map."""
    work = _Work()
    for name, size in zip(item.indices, item.extents, strict=True):
        work.middles[name] = work.middle(ZERO, size - 1)
    each = work.block(item.body)
    stored = ACCESS * len(item.tensors)
    total = product([*(work.number(size) for size in item.extents), sum_of([each, stored])])
    return Counted(tuple(work.names), total)


class _Work:
    """Counts; what is known is counted here and now."""

    def __init__(self) -> None:
        self.names: list[tuple[str, Which, tuple[Affine, ...]]] = []
        self.middles: dict[str, Affine] = {}
        """A form for each index, in the middle of its values."""

    def block(self, block: Block) -> Count:
        """The operations of a block where all indices are in the middle."""
        return sum_of([self.let(let) for let in block.lets])

    def let(self, let: Let) -> Count:
        """The operations of a value."""
        match let.value:
            case Fold() as fold:
                return self.fold(fold, len(let.names))
            case Choice(then=then, otherwise=otherwise):
                # One of the two is evaluated, but it is not known which.
                return sum_of([1, self.block(then), self.block(otherwise)])
            case value:
                return weight_of(value)

    def fold(self, fold: Fold, results: int) -> Count:
        """The operations of all elements of a reduction."""
        own = set(fold.indices)
        given = [form for row in fold.rows for form in row.inequalities]
        forms = [form.substitute(self.middles) for form in given if not form.has_lookups]
        known: dict[str, Affine] = {}
        counts: list[Count] = []
        for name in fold.indices:
            between = steps_between(name, given, {})
            if between is not None:
                known[name] = Affine.const(between // 2)
                counts.append(between)
        # An index may be bounded by one that comes later.
        for _ in fold.indices:
            for name in [name for name in fold.indices if name not in known]:
                below, above = sides(name, forms, own - known.keys())
                if below and above:
                    lower = [-rest.substitute(known).floordiv(k) for k, rest in below]
                    upper = [rest.substitute(known).floordiv(k) for k, rest in above]
                    low, high = self.extreme("max", lower), self.extreme("min", upper)
                    known[name] = self.middle(low, high)
                    counts.append(self.number(high - low + 1))
        middle = Affine.const(LARGE // 2)
        counts += [LARGE] * (len(fold.indices) - len(counts))
        self.middles |= {name: known.get(name, middle) for name in fold.indices}
        return product([*counts, sum_of([results, self.block(fold.body)])])

    def extreme(self, which: Which, forms: Sequence[Affine]) -> Affine:
        """The least or the greatest of forms."""
        forms = list(dict.fromkeys(forms))
        if len(forms) == 1:
            return forms[0]
        if all(form.is_constant for form in forms):
            values = [form.constant for form in forms]
            return Affine.const(min(values) if which == "min" else max(values))
        name = f"#{len(self.names)}"
        self.names.append((name, which, tuple(forms)))
        return Affine.var(name)

    def middle(self, low: Affine, high: Affine) -> Affine:
        """What is half way."""
        return (low + high).floordiv(2)

    def number(self, form: Affine) -> Count:
        """The value of a form, 0 if it is less."""
        at_least = self.extreme("max", [ZERO, form])
        return at_least.constant if at_least.is_constant else at_least


#: Multiples k of an index and forms: `k * index + form >= 0`, or `form - k * index >= 0`.
Sides = tuple[list[tuple[int, Affine]], list[tuple[int, Affine]]]


def sides(name: str, forms: Sequence[Affine], unknown: Collection[str]) -> Sides:
    """What bounds an index below, and above, by the forms at least 0 that have no unknown index besides."""
    lower: list[tuple[int, Affine]] = []
    upper: list[tuple[int, Affine]] = []
    for form in forms:
        k = form.coefficient(name)
        rest = form - Affine.var(name) * k
        if k and name not in rest.variables and rest.variables.isdisjoint(unknown):
            (lower if k > 0 else upper).append((abs(k), rest))
    return lower, upper
