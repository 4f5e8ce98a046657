"""About how many operations a map takes: what threads are worth it for.

An operation is an addition, a load or a store, in the weights of `costs`. A reduction counts its body
once for each of its elements, where the indices around it are in the middle of their ranges.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction

from tadc.frontend.terms import Domain
from tadc.lattice.affine import ZERO, Affine, Lookup
from tadc.lattice.amounts import Count, Counted, Which, product, sum_of
from tadc.passes.maps.keyed_sums import KeyedSum, keyed_map
from tadc.passes.maps.map import (
    Block,
    Choice,
    Fold,
    Let,
    Map,
    TensorDecl,
)
from tadc.passes.maps.merge_folds import weight_of
from tadc.passes.nest.exponentials import without_exponentials
from tadc.passes.schedule.fibre_steps import steps_between
from tadc.passes.terms.costs import ACCESS, LARGE
from tadc.passes.terms.index_ranges import Range, span_of


def operations_of(item: Map, tensors: Mapping[str, TensorDecl] | None = None) -> Counted:
    """The operations of a map, which reads these tensors."""
    work = _CountedWork(tensors or {})
    if (found := keyed_map(item)) is not None and not found.around and tensors is not None:
        return Counted((), work.keyed(item, found))
    for name, size in zip(item.indices, item.extents, strict=True):
        work.is_in(name, ZERO, size - 1)
    each = work.block(without_exponentials(item.body))
    stored = ACCESS * len(item.tensors)
    total = product([*(work.number(size) for size in item.extents), sum_of([each, stored])])
    return Counted(tuple(work.names), total)


def known_operations(item: Map, tensors: Mapping[str, TensorDecl]) -> int:
    """The operations of a map that depends on no size whose value is not known."""
    return operations_of(item, tensors).at({})


class _CountedWork:
    """Counts; what is known is counted here and now."""

    def __init__(self, tensors: Mapping[str, TensorDecl]) -> None:
        self.names: list[tuple[str, Which, tuple[Affine, ...]]] = []
        self.tensors = tensors
        self.middles: dict[str, Affine] = {}
        """A form for each index, in the middle of its values."""
        self.ranges: dict[str, Range] = {}
        """The values of indices, where others are in the middle of theirs and numbers say them."""

    def block(self, block: Block) -> Count:
        """The operations of a block where all indices are in the middle."""
        return sum_of([self.let(let) for let in block.lets])

    def let(self, let: Let) -> Count:
        """The operations of a value."""
        match let.value:
            case Fold() as fold:
                return self.fold(fold, len(let.names))
            case Choice(rows=rows, then=then, otherwise=otherwise):
                counts, share = (self.block(then), self.block(otherwise)), self.share(rows)
                if share is not None and all(isinstance(count, int) for count in counts):
                    first, second = (count for count in counts if isinstance(count, int))
                    return 1 + math.ceil(share * first + (1 - share) * second)
                # One of the two is evaluated, but it is not known which.
                return sum_of([1, *counts])
            case value:
                return weight_of(value)

    def share(self, rows: Domain) -> Fraction | None:
        """In what part of all cases rows hold, each as if it were the only one; None where no numbers say it.
        What elements of index arrays say holds in half of them."""
        share = Fraction(1)
        for row in rows:
            span = span_of(row.form, self.ranges, frozenset())
            if row.form.has_lookups:
                share /= 2
            elif span is None or not (span.low.is_constant and span.high.is_constant):
                return None
            else:
                low, high = span.low.constant, span.high.constant
                holds = low <= 0 <= high if row.equality else max(high - max(low, 0) + 1, 0)
                share *= Fraction(int(holds), max(high - low + 1, 1))
        return share

    def keyed(self, item: Map, found: KeyedSum) -> int:
        """Those of a map that adds each summand once, where it belongs: over all groups the first loop of the
        sum passes all entries once."""
        summands = 1
        for number, (name, rows) in enumerate(found.loops):
            forms = [form for row in rows for form in row.inequalities]
            if number:
                summands *= steps_between(name, forms, self.tensors) or 1
                continue
            arrays = (self.tensors[a.array] for form in forms for a, _ in form.terms if isinstance(a, Lookup))
            entries = (array.below.constant - 1 for array in arrays if array.below is not None)
            summands *= min(entries, default=1)
        each = sum(weight_of(let.value) for let in found.block.all_lets())
        passes = 3 if found.has_room else 1
        return summands * (each + 2 * ACCESS) + passes * item.extents[0].constant * ACCESS

    def fold(self, fold: Fold, results: int) -> Count:
        """The operations of all elements of a reduction."""
        own = set(fold.indices)
        given = [form for row in fold.rows for form in row.inequalities]
        forms = [form.substitute(self.middles) for form in given if not form.has_lookups]
        known: dict[str, Affine] = {}
        counts: list[Count] = []
        for name in fold.indices:
            between = steps_between(name, given, self.tensors)
            if between is not None:
                known[name] = self.is_in(name, ZERO, Affine.const(between - 1))
                counts.append(between)
        # An index may be bounded by one that comes later.
        for _ in fold.indices:
            for name in [name for name in fold.indices if name not in known]:
                below, above = _sides(name, forms, own - known.keys())
                if below and above:
                    lower = [-rest.substitute(known).floordiv(k) for k, rest in below]
                    upper = [rest.substitute(known).floordiv(k) for k, rest in above]
                    low, high = self.extreme("max", lower), self.extreme("min", upper)
                    known[name] = self.is_in(name, low, high)
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

    def is_in(self, name: str, low: Affine, high: Affine) -> Affine:
        """What is half way of the values of an index."""
        self.middles[name] = (low + high).floordiv(2)
        self.ranges[name] = Range(low, high)
        return self.middles[name]

    def number(self, form: Affine) -> Count:
        """The value of a form, 0 if it is less."""
        at_least = self.extreme("max", [ZERO, form])
        return at_least.constant if at_least.is_constant else at_least


#: Multiples k of an index and forms: `k * index + form >= 0`, or `form - k * index >= 0`.
_Sides = tuple[list[tuple[int, Affine]], list[tuple[int, Affine]]]


def _sides(name: str, forms: Sequence[Affine], unknown: Collection[str]) -> _Sides:
    """What bounds an index below, and above, by the forms at least 0 that have no unknown index besides."""
    lower: list[tuple[int, Affine]] = []
    upper: list[tuple[int, Affine]] = []
    for form in forms:
        k = form.coefficient(name)
        rest = form - Affine.var(name) * k
        if k and name not in rest.variables and rest.variables.isdisjoint(unknown):
            (lower if k > 0 else upper).append((abs(k), rest))
    return lower, upper
