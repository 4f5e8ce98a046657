"""The loops over the elements of a map, whole or in parts.

An index that `splits` has a split for runs in three parts: a full part over `q`, where the
index is c*q + r and the body stands once for each r, and a plain loop before and after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tadc.dialect.locations import unnamed
from tadc.dialect.mlir import ir
from tadc.frontend.terms import Domain
from tadc.lattice.affine import ZERO, Affine, Constraint
from tadc.passes.lower_body import BodyLowering, box_rows
from tadc.passes.splits import PLAIN, Split, splits

#: The first value of an index, by its position, and the one after its last.
Ends = Mapping[int, tuple[Affine, Affine]]


def element_loops(
    op: Any, sizes: Sequence[Affine], lowering: BodyLowering, point: Any, ends: Ends | None = None
) -> None:
    """Lower a map of these sizes: nested loops over its box, a store in each innermost one.

    An index without `ends` takes all of its values.
    """
    whole = {n: (ZERO, size) for n, size in enumerate(sizes)}
    elements = _Elements(op, sizes, {**whole, **(ends or {})}, lowering)
    elements.loops(splits(op, sizes, lowering.forms), (), (), point)


def store_element(
    op: Any,
    sizes: Sequence[Affine],
    forms: Sequence[Affine],
    indices: Sequence[Any],
    lowering: BodyLowering,
    point: Any,
    known: Domain = (),
) -> None:
    """Evaluate the body of a map of these sizes at indices where the rows known hold; store its value."""
    block = op.regions[0].blocks[0]
    lowering.forms.update(zip(block.arguments, forms, strict=True))
    facts = (*known, *box_rows(forms, sizes), *lowering.known)
    value = lowering.region(block, facts, point)
    tensor = op.results[0]
    for buffer in (lowering.memrefs[tensor], *lowering.copies.get(tensor, ())):
        lowering.create("memref.store", [], [value, buffer, *indices], point)


@dataclass(frozen=True)
class _Elements:
    """A map on its way to loops."""

    op: Any
    sizes: Sequence[Affine]
    ends: Ends
    lowering: BodyLowering

    def loops(self, rest: Sequence[Split], forms: tuple[Affine, ...], known: Domain, point: Any) -> None:
        """The loops over the indices that have no form yet, each with its split."""
        if not rest:
            indices = [self.lowering.affine([form], point) for form in forms]
            store_element(self.op, self.sizes, forms, indices, self.lowering, point, known)
            return
        split, inner = rest[0], rest[1:]
        begin, end = self.ends[len(forms)]
        if split is PLAIN:
            self.loop((begin, end), split, inner, forms, known, point)
            return
        start, stop = self.full_part(split, begin, end, point)
        plain = [PLAIN] * len(inner)
        # Between the ends there may be no multiple of the factor.
        before = start * split.factor
        if begin != ZERO:
            before = self.extreme("affine.min", [before, end], point)
        self.loop((begin, before), PLAIN, plain, forms, known, point)
        self.loop((start, stop), split, inner, forms, known, point)
        self.loop((stop * split.factor, end), PLAIN, plain, forms, known, point)

    def full_part(self, split: Split, begin: Affine, end: Affine, point: Any) -> tuple[Affine, Affine]:
        """The first q of the full part, all of whose elements are in range and meet the rows, and its end."""
        c = split.factor
        first, whole = -(-begin).floordiv(c), end.floordiv(c)
        lower, upper = [first], [whole]
        for row in split.rows:
            k, rest = row.slope, row.rest
            if k > 0:
                lower.append(-rest.floordiv(k * c))
            else:
                upper.append((rest + k * (c - 1)).floordiv(-k * c) + 1)
        last = whole if begin == ZERO else self.extreme("affine.max", [first, whole], point)
        start = self.extreme("affine.min", [last, self.extreme("affine.max", lower, point)], point)
        stop = self.extreme("affine.max", [start, self.extreme("affine.min", upper, point)], point)
        return start, stop

    def extreme(self, operation: str, forms: Sequence[Affine], point: Any) -> Affine:
        """The least or the greatest of forms."""
        if all(form.is_constant for form in forms):
            values = [form.constant for form in forms]
            return Affine.const(min(values) if operation == "affine.min" else max(values))
        return self.lowering.variable(self.lowering.affine(forms, point, operation))

    def loop(
        self,
        ends: tuple[Affine, Affine],
        split: Split,
        inner: Sequence[Split],
        forms: tuple[Affine, ...],
        known: Domain,
        point: Any,
    ) -> None:
        """The loop from the first end up to the second, over q for each residue in turn."""
        if ends[0] == ends[1] and split is not PLAIN:
            return
        lowering = self.lowering
        start = lowering.affine([ends[0]], point)
        step = lowering.constant(lowering.index_type, 1, point)
        stop = lowering.affine([ends[1]], point)
        made = lowering.create("scf.for", [], [start, stop, step], point, regions=1)
        argument = self.op.regions[0].blocks[0].arguments[len(forms)]
        block = ir.Block.create_at_start(made.regions[0], [lowering.index_type], [argument.location])
        inside = ir.InsertionPoint(block)
        index = lowering.variable(block.arguments[0])
        for residue in range(split.factor):
            form = index * split.factor + residue
            rows = tuple(Constraint(form * row.slope + row.rest) for row in split.rows)
            self.loops(inner, (*forms, form), known + rows, inside)
        lowering.location = unnamed(self.op.location)
        lowering.create("scf.yield", [], [], inside)
