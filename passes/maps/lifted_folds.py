"""Reductions of a guarded branch before the guard, where they may be computed for all elements.

    s[i, j] = if {j <= i}: t = sum k: q[i, k] * p[j, k], exp(t)
              else 0

becomes

    t = sum k: q[i, k] * p[j, k]
    s[i, j] = if {j <= i}: exp(t)
              else 0

All elements of a tile then run the same loop, whose operands can be packed: that is many times as fast as a
loop that tests each element, though it computes elements that nobody needs.

Side conditions: every read is in range for all elements, and the guard holds for a good part of them.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from tadc.frontend.terms import Domain
from tadc.lattice.affine import ZERO, Affine, Constraint
from tadc.lattice.fibre import rises
from tadc.lattice.late_dataclasses import dataclass, replace
from tadc.lattice.polyhedron import implied
from tadc.passes.maps.blocks import elements_read, used_by
from tadc.passes.maps.map import Block, Choice, Constant, Fold, Let, Load, Map, MapFunction, TensorDecl
from tadc.passes.terms.costs import LARGE, LARGER
from tadc.passes.terms.index_ranges import Range, ranges_within, span_of


def is_in_range(
    load: Load,
    tensors: Mapping[str, TensorDecl],
    ranges: Mapping[str, Range | None],
    sizes: frozenset[str],
    known: Domain = (),
    forms: Mapping[str, Affine] = MappingProxyType({}),
) -> bool:
    """Whether what a load reads is there for all values of indices, some of which stand for forms."""
    for tensor, at in elements_read(load):
        for form, size in zip(at, tensors[tensor].shape, strict=True):
            span = span_of(form.substitute(forms), ranges, sizes)
            if span is None or not all(implied(f, known) for f in (span.low, size - 1 - span.high)):
                return False
    return True


def with_lifted_folds(function: MapFunction) -> MapFunction:
    """The maps of a function, their reductions outside of guards where that is safe and worth it."""
    tensors = function.tensors()
    maps = tuple(_lifted(item, function, tensors) for item in function.maps)
    return function if maps == function.maps else replace(function, maps=maps)


def _lifted(item: Map, function: MapFunction, tensors: Mapping[str, TensorDecl]) -> Map:
    """A map whose guards on indices hold no reduction that may stand outside."""
    if item.order is not None or item.marks.in_place:
        return item
    lifting = _FoldLifting(item, frozenset(function.sizes), tensors, function.known)
    lets: list[Let] = []
    for let in item.body.lets:
        moved, rest = lifting.apart(let)
        lets += [*moved, rest]
    is_same = len(lets) == len(item.body.lets)
    return item if is_same else replace(item, body=Block(tuple(lets), item.body.gives))


@dataclass
class _FoldLifting:
    """A map, and what is known of its indices."""

    item: Map
    sizes: frozenset[str]
    tensors: Mapping[str, TensorDecl]
    known: Domain

    def __post_init__(self) -> None:
        item = self.item
        self.ranges: dict[str, Range | None] = {
            index: Range(ZERO, extent - 1) for index, extent in zip(item.indices, item.extents, strict=True)
        }

    def apart(self, let: Let) -> tuple[list[Let], Let]:
        """What may stand before a value, and the value without it."""
        choice = let.value
        if not isinstance(choice, Choice) or not any(isinstance(one.value, Fold) for one in choice.then.lets):
            return [], let
        own = {name for one in choice.then.lets for name in one.names}
        moved: list[Let] = []
        for one in choice.then.lets:
            if self.is_anywhere(one) and own.isdisjoint(used_by(one.value)):
                moved.append(one)
                own.difference_update(one.names)
        if not any(isinstance(one.value, Fold) for one in moved) or LARGER * self.share(choice.rows) < 1:
            return [], let
        # Of the rest what is moved needs alone.
        needed = {name for one in moved if isinstance(one.value, Fold) for name in used_by(one.value)}
        moved = [one for one in moved if isinstance(one.value, Fold) or not needed.isdisjoint(one.names)]
        rest = tuple(one for one in choice.then.lets if one not in moved)
        return moved, replace(let, value=replace(choice, then=Block(rest, choice.then.gives)))

    def is_anywhere(self, let: Let) -> bool:
        """Whether a value may be computed for all elements."""
        match let.value:
            case Constant():
                return True
            case Load() as load:
                return self.are_inside([load], self.ranges)
            case Fold() as fold:
                if any(isinstance(one.value, Choice | Fold) for one in fold.body.lets):
                    return False
                ranges = self.ranges | ranges_within(fold.indices, fold.rows, self.ranges, self.sizes)
                return self.are_inside(fold.body.loads(), ranges)
            case _:
                return False

    def are_inside(self, loads: Iterable[Load], ranges: Mapping[str, Range | None]) -> bool:
        """Whether reads are in range for all values of the indices."""
        return all(is_in_range(load, self.tensors, ranges, self.sizes, self.known) for load in loads)

    def share(self, rows: Domain) -> float:
        """About which part of the elements meets all rows, of some that are drawn; none where index arrays
        say it, but that a range between two elements of one is not empty, as nearly all are."""
        rows = tuple(row for row in rows if not self.is_range(row))
        if any(row.form.has_lookups for row in rows):
            return 0
        item, points = self.item, random.Random(0)
        at = dict.fromkeys(self.sizes, LARGE)
        extents = [max(extent.evaluate(at), 1) for extent in item.extents]
        found = 0
        for _ in range(LARGE):
            at |= {index: points.randrange(n) for index, n in zip(item.indices, extents, strict=True)}
            found += all(row.holds(at) for row in rows)
        return found / LARGE

    def is_range(self, row: Constraint) -> bool:
        """Whether a row says that an increasing array rises from an element to the next."""
        start = rises(row)
        return start is not None and self.tensors[start.array].increasing
