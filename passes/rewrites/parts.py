"""Long reductions of tensors of few elements, cut into parts that several threads compute.

    f = sum{k}_0^(N - 1) (x[k])

becomes

    let f_parts[p: (N + C - 1) // C, one: 1] = sum{k}_(C*p)^(min [N - 1; C*p + C - 1]) (x[k])
    f = sum{p} (f_parts[p, 0])

C depends on sizes alone, so results have the same bits for any number of threads. On a GPU contractions of
few elements are cut as well: a block of threads computes a part of a tile ("split K").
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from tadc.frontend.extents import extent
from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import Apply, Read, Reduce, Term, holds_reduction, reachable
from tadc.lattice.affine import ZERO, Affine, Constraint, box
from tadc.lattice.polyhedron import implied
from tadc.passes.rewrites.sums_over_steps import Steps, follows_steps, long_recurrences
from tadc.passes.terms.costs import LANES, Costs
from tadc.passes.terms.costs import extent as about
from tadc.passes.terms.index_ranges import Range, ranges_within
from tadc.passes.terms.names import Names

Mark = Literal["parts", "joined"]
"""What schedules are told of a tensor, `passes/maps/marks.py` says how: it has long parts of a reduction, or
nothing long is left to do."""


class _Threads(Protocol):
    """What has to be known of a GPU."""

    @property
    def multiprocessors(self) -> int: ...
    @property
    def warp(self) -> int: ...


@dataclass(frozen=True)
class Cutting:
    """What is long, what is few, and how many parts there are."""

    few: int
    """A tensor of so many elements needs no parts for all threads to have work."""
    worth: int
    """A reduction of fewer operations is not worth another thread, or another launch."""
    part: int
    """About the operations of a part, where their number is not known or few; of more, a part has more."""
    most: int
    """The most parts of a reduction of known size."""
    together: int
    """The most parts of all elements of a tensor."""
    short: int
    """An index of a known number of values, fewer than this, is not cut if there is a better one."""
    rows: int
    """The least steps of a part where their number is unknown; all of them where their length is too."""
    steps: int
    """Parts of the innermost loop hold a multiple of so many steps: whole vectors, several at a time."""
    vector: int | None = None
    """Of a CPU: of so many elements vectors run along the elements. Where there are fewer they run along the
    sum, a tile has one part, and an index is added: ranges for threads begin at multiples of many elements of
    the last one."""
    tile: int = 0
    """So many elements share what they read in a contraction; 0 where contractions are not cut for it."""
    blocks: int = 0
    """With so many tiles, all threads have work."""
    work: int = 1 << 27
    """A contraction of fewer operations is not worth another launch."""
    depth: int = 128
    """The least steps of a part of a contraction."""

    @property
    def elements(self) -> int:
        """A tensor of so many elements has no parts."""
        return max(self.few, self.tile * self.blocks // 2)


#: `backend/cpu/pool.ll` says what waking a thread costs. The last part, which has fewer than 48 steps,
#: needs no code of its own (`splits.MOST_TERMS`).
THREADS = Cutting(
    few=32, worth=1 << 18, part=1 << 15, most=64, together=512, short=16, rows=48, steps=256,
    vector=8,
)  # fmt: skip


def blocks(gpu: _Threads) -> Cutting:
    """Where an element has a block of threads, and a contraction a block for each tile.

    How a sum is cut decides its last bits: they depend on the program and on the architecture that is named
    as the target, and on nothing that is found at run time.
    """
    count = gpu.multiprocessors
    return Cutting(
        few=count // 2, worth=1 << 17, part=1 << 14, most=4 * count, together=4 * count,
        short=8, rows=8, steps=gpu.warp, tile=2048, blocks=2 * count,
    )  # fmt: skip


def cut_reductions(
    program: Program, marks: dict[str, Mark], cutting: Cutting, limit: int | None = None
) -> Program:
    """The program with parts of long reductions as tensors of their own; the same if there are none.

    Sums over the steps of a recurrence that may be worth a window stay whole: with a `limit`, of all of them.
    `marks` are given to tensors of parts, and to those that no long reduction is left of.
    """
    names, stepwise = Names(program), long_recurrences(program, limit)
    definitions: list[Definition] = []
    for definition in program.definitions:
        if all(isinstance(size, int) for size in definition.shape):
            definitions += _Cut(program, names, definition, marks, cutting, stepwise).run()
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

    def __init__(
        self,
        program: Program,
        names: Names,
        definition: Definition,
        marks: dict[str, Mark],
        cutting: Cutting,
        stepwise: Steps,
    ) -> None:
        self.program, self.names, self.definition, self.marks = program, names, definition, marks
        self.cutting = cutting
        self.costs = Costs(frozenset(program.sizes))
        self.ranges: dict[str, Range | None] = {
            index: Range(ZERO, Affine.const(size) - 1)
            for index, size in zip(definition.indices, definition.shape, strict=True)
            if isinstance(size, int)
        }
        self.elements = math.prod(size for size in definition.shape if isinstance(size, int))
        self.along_elements = cutting.vector is not None and self.elements >= cutting.vector
        self.new: list[Definition] = []
        self.stepwise = stepwise

    def run(self) -> list[Definition]:
        """The parts, and the definition that reads them."""
        if self.elements >= self.cutting.elements or self.definition.order is not None:
            return [self.definition]
        body = self.term(self.definition.body)
        if not self.new:
            return [self.definition]
        if sum(isinstance(term, Reduce) for term in reachable([body])) == len(self.new):
            self.marks[self.definition.name] = "joined"
        if not self.along_elements:
            self.marks |= {d.name: "parts" for d in self.new}
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
        if follows_steps(body, names, self.stepwise):
            return None
        own = ranges_within(names, domain, self.ranges, self.costs.sizes)
        found = None if term.type is None else self.chosen(term, names, own)
        if found is None or not implied(found.count + (found.steps - 1), self.program.size_facts()):
            return None
        assert term.type
        parts = extent((found.count + (found.steps - 1)).floordiv(found.steps))
        part = self.names.index("part", self.definition.indices)
        indices = (part, *self.definition.indices)
        is_padded = self.cutting.vector is not None and not self.along_elements
        one = (self.names.index("one", indices),) if is_padded else ()
        begin = Affine.var(part) * found.steps + found.low
        place = Affine.var(found.name) - begin
        rows = (Constraint(place), Constraint(found.steps - 1 - place))
        inner = terms.reduce(names, (*rows, *domain), body, kind=term.kind, hints=term.hints, span=term.span)
        tensor = self.names.free(f"{self.definition.name}_parts")
        shape = (parts, *self.definition.shape, *(1 for _ in one))
        indices = (*indices, *one)
        self.new.append(
            Definition(tensor, term.type, shape, indices, inner, is_output=False, span=self.definition.span)
        )
        index = terms.fresh()
        at = [Affine.var(index), *map(Affine.var, self.definition.indices), *(ZERO for _ in one)]
        read = terms.read(tensor, at, term.type)
        return terms.reduce(
            (index,), box((index,), (parts,)), read, kind=term.kind, hints=(part,), span=term.span
        )

    def chosen(self, term: Reduce, names: Sequence[str], own: Mapping[str, Range | None]) -> _Choice | None:
        """The index to cut: the outermost with many values."""
        cutting, work = self.cutting, self.costs.reduction(term, self.ranges)
        if self.elements >= cutting.few:
            return self.of_contraction(term, names, own)
        if not self.program.sizes and work < cutting.worth:
            return None
        for name in names:
            found = own[name]
            if found is None:
                return None
            count = found.extent
            if count.is_constant and count.constant < cutting.short:
                continue
            steps = -(-cutting.part * about(found) // max(1, work))
            if count.is_constant:
                most = min(cutting.most, cutting.together // self.elements)
                steps = max(steps, -(-count.constant // most))
            else:
                others = [r for n, r in own.items() if n != name and r is not None]
                is_known = all(r.extent.is_constant for r in others)
                steps = max(steps, cutting.rows) if is_known else cutting.rows
            if name == names[-1] and not holds_reduction(term.body, {}):
                steps = -(-steps // cutting.steps) * cutting.steps
            if count.is_constant and count.constant <= steps:
                return None
            return _Choice(name, found.low, count, steps)
        return None

    def of_contraction(
        self, term: Reduce, names: Sequence[str], own: Mapping[str, Range | None]
    ) -> _Choice | None:
        """The index to cut so that all blocks have tiles; None where they have, or nothing is shared.

        The outermost one with enough values for all parts, or the one with most.
        """
        cutting = self.cutting
        parts = cutting.blocks // -(-self.elements // cutting.tile) if cutting.tile else 1
        boxes = {name: found for name, found in own.items() if found is not None and _is_box(found)}
        counts = {name: found.extent.constant for name, found in boxes.items()}
        work = self.elements * self.costs.reduction(term, self.ranges)
        if parts < 2 or len(counts) < len(names) or work < cutting.work or not self.shares(term):
            return None
        enough = [name for name in names if counts[name] >= parts]
        name = enough[0] if enough else max(names, key=lambda name: counts[name])
        count, points = counts[name], math.prod(counts.values())
        least = max(-(-count // parts), -(-cutting.depth * count // max(points, 1)))
        # A last part that is smaller has code of its own.
        steps = next((n for n in range(least, 2 * least) if count % n == 0), least)
        found = boxes[name]
        return _Choice(name, found.low, found.extent, steps) if 2 * steps <= count else None

    def shares(self, term: Reduce) -> bool:
        """Whether many elements read what each other's reads, along two indices or more."""
        shape = zip(self.definition.indices, self.definition.shape, strict=True)
        wide = {name for name, size in shape if isinstance(size, int) and size >= LANES}
        reads = [node for node in reachable([term.body]) if isinstance(node, Read)]
        used = [frozenset[str]().union(*(form.variables for form in read.indices)) for read in reads]
        return len(wide) > 1 and len(reads) > 1 and all(wide - names for names in used)


def _is_box(found: Range) -> bool:
    """Whether the ends of a range are numbers."""
    return found.low.is_constant and found.extent.is_constant
