"""Long reductions of tensors of few elements, cut into parts that several threads compute.

    f = sum{k}_0^(N - 1) (x[k])

becomes

    let f_parts[p: (N + C - 1) // C, one: 1] = sum{k}_(C*p)^(min [N - 1; C*p + C - 1]) (x[k])
    f = sum{p} (f_parts[p, 0])

C depends on sizes alone, so results have the same bits for any number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tadc.dialect.locations import name_of
from tadc.dialect.mlir import ir
from tadc.frontend.extents import extent
from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import Apply, Reduce, Term, holds_reduction, reachable
from tadc.lattice.affine import ZERO, Affine, Constraint, box
from tadc.lattice.polyhedron import implied
from tadc.passes.buffers import maps_of
from tadc.passes.costs import Costs
from tadc.passes.costs import extent as about
from tadc.passes.index_ranges import Range, ranges_within
from tadc.passes.marks import JOINED, PARTS
from tadc.passes.names import Names
from tadc.passes.tile_values import is_reduction

FEW = 8
"""A tensor of so many elements is divided among threads by these."""

WORTH = 1 << 18
"""A reduction of fewer operations is not worth waking a thread, as in `backend/pool.ll`."""

PART = 1 << 15
"""About the operations of a part: a thread is worth a few of them."""

MOST = 64
"""The most parts of a reduction of known size."""

SHORT = 16
"""An index of a known number of values, fewer than this, is not cut if there is a better one."""

ROWS = 48
"""So many steps at least a part has where their number is unknown, and as many where their length is too.

More than `splits.MOST_TERMS`: the last part, which has fewer, needs no code of its own.
"""

STEPS = 256
"""Parts of the innermost loop hold a multiple of so many steps: whole vectors, several at a time."""


def may_be_cut(op: Any) -> bool:
    """Whether a `tad.map` has few elements and a reduction that is evaluated for each."""
    type = op.results[0].type
    if not type.has_static_shape or not 0 < math.prod(type.shape) < FEW:
        return False
    return any(is_reduction(inner.operation) for inner in op.regions[0].blocks[0].operations)


def mark_maps(function: Any, marks: Mapping[str, str]) -> None:
    """Give the maps of these names their marks, for schedules to see."""
    for op in maps_of(function):
        mark = marks.get(name_of(op.location))
        if mark:
            op.attributes[mark] = ir.UnitAttr.get(op.context)


def cut_reductions(program: Program, marks: dict[str, str]) -> Program:
    """The program with parts of long reductions as tensors of their own; the same if there are none.

    `marks` are given to tensors of parts (PARTS), and to those that no long reduction is left of (JOINED).
    """
    names = Names(program)
    definitions: list[Definition] = []
    for definition in program.definitions:
        if all(isinstance(size, int) for size in definition.shape):
            definitions += _Cut(program, names, definition, marks).run()
        else:
            definitions.append(definition)
    if len(definitions) == len(program.definitions):
        return program
    return replace(program, definitions=tuple(definitions))


@dataclass(frozen=True)
class _Choice:
    """An index of `count` values from `low` on, cut after so many steps."""

    name: str
    low: Affine
    count: Affine
    steps: int


class _Cut:
    """A definition on its way to parts."""

    def __init__(self, program: Program, names: Names, definition: Definition, marks: dict[str, str]) -> None:
        self.program, self.names, self.definition, self.marks = program, names, definition, marks
        self.costs = Costs(frozenset(program.sizes))
        self.ranges: dict[str, Range | None] = {
            index: Range(ZERO, Affine.const(size) - 1)
            for index, size in zip(definition.indices, definition.shape, strict=True)
            if isinstance(size, int)
        }
        self.new: list[Definition] = []

    def run(self) -> list[Definition]:
        """The parts, and the definition that reads them."""
        few = math.prod(size for size in self.definition.shape if isinstance(size, int)) < FEW
        if not few or self.definition.order is not None:
            return [self.definition]
        body = self.term(self.definition.body)
        if not self.new:
            return [self.definition]
        if sum(isinstance(term, Reduce) for term in reachable([body])) == len(self.new):
            self.marks[self.definition.name] = JOINED
        self.marks.update(dict.fromkeys((d.name for d in self.new), PARTS))
        return [*self.new, replace(self.definition, body=body)]

    def term(self, term: Term) -> Term:
        """A term with what is evaluated for each element cut."""
        if isinstance(term, Reduce):
            return self.reduction(term) or term
        if isinstance(term, Apply):
            below = [self.term(operand) for operand in term.operands]
            return self.program.terms.rebuild(term, below)
        return term

    def reduction(self, term: Reduce) -> Term | None:
        """A reduction of what its parts give; None where it is short, or has no index to cut."""
        terms = self.program.terms
        names, domain, body = terms.open(term)
        own = ranges_within(names, domain, self.ranges, self.costs.sizes)
        found = None if term.type is None else self.chosen(term, names, own)
        if found is None or not implied(found.count + (found.steps - 1), self.program.size_facts()):
            return None
        assert term.type
        parts = extent((found.count + (found.steps - 1)).floordiv(found.steps))
        part = self.names.index("part", self.definition.indices)
        one = self.names.index("one", (*self.definition.indices, part))
        begin = Affine.var(part) * found.steps + found.low
        place = Affine.var(found.name) - begin
        rows = (Constraint(place), Constraint(found.steps - 1 - place))
        inner = terms.reduce(names, (*rows, *domain), body, kind=term.kind, hints=term.hints, span=term.span)
        tensor = self.names.free(f"{self.definition.name}_parts")
        # Of the last index, ranges for threads begin at multiples of many elements.
        indices, shape = (part, *self.definition.indices, one), (parts, *self.definition.shape, 1)
        self.new.append(
            Definition(tensor, term.type, shape, indices, inner, is_output=False, span=self.definition.span)
        )
        index = terms.fresh()
        at = [Affine.var(index), *map(Affine.var, self.definition.indices), ZERO]
        read = terms.read(tensor, at, term.type)
        return terms.reduce(
            (index,), box((index,), (parts,)), read, kind=term.kind, hints=(part,), span=term.span
        )

    def chosen(self, term: Reduce, names: Sequence[str], own: Mapping[str, Range | None]) -> _Choice | None:
        """The index to cut: the outermost with many values."""
        work = self.costs.reduction(term, self.ranges)
        if not self.program.sizes and work < WORTH:
            return None
        for name in names:
            found = own[name]
            if found is None:
                return None
            count = found.extent
            if count.is_constant and count.constant < SHORT:
                continue
            steps = -(-PART * about(found) // max(1, work))
            if count.is_constant:
                steps = max(steps, -(-count.constant // MOST))
            else:
                others = [r for n, r in own.items() if n != name and r is not None]
                steps = max(steps, ROWS) if all(r.extent.is_constant for r in others) else ROWS
            if name == names[-1] and not holds_reduction(term.body, {}):
                steps = -(-steps // STEPS) * STEPS
            if count.is_constant and count.constant <= steps:
                return None
            return _Choice(name, found.low, count, steps)
        return None
