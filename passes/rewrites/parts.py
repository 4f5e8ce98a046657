"""Long reductions of tensors of few elements, cut into parts that several threads compute.

    f = sum{k}_0^(N - 1) (x[k])

becomes

    let f_parts[p: (N + C - 1) // C, one: 1] = sum{k}_(C*p)^(min [N - 1; C*p + C - 1]) (x[k])
    f = sum{p} (f_parts[p, 0])

C depends on sizes alone, so results have the same bits for any number of threads. On a CPU it is 1 where many
values of the outermost of several indices share what they read: the parts are rows, of any schedule. On a GPU
contractions of few elements are cut as well: a block of threads computes a part of a tile ("split K").
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

from tadc.frontend.extents import extent, is_static
from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import Apply, Read, Reduce, Term, holds_reduction, reachable
from tadc.lattice.affine import ZERO, Affine, Constraint, box
from tadc.lattice.late_dataclasses import dataclass, replace
from tadc.lattice.polyhedron import implied
from tadc.passes.rewrites.sums_over_steps import Steps, follows_steps, long_recurrences
from tadc.passes.terms.costs import LANES, Costs, about
from tadc.passes.terms.costs import extent as values_of
from tadc.passes.terms.index_ranges import Range, ranges_of, ranges_within
from tadc.passes.terms.names import Names
from tadc.passes.where import TAKE_ALL, Takes

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
class PartCutting:
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
    row: int | None = None
    """Of an outer index of more values than there may be parts, each of so many operations is a part."""
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
THREADS = PartCutting(
    few=32, worth=1 << 18, part=1 << 15, most=64, together=512, short=16, rows=48, steps=256,
    row=1 << 10, vector=8,
)  # fmt: skip


def blocks(gpu: _Threads) -> PartCutting:
    """Where an element has a block of threads, and a contraction a block for each tile.

    How a sum is cut decides its last bits: they depend on the program and on the architecture that is named
    as the target, and on nothing that is found at run time.
    """
    count = gpu.multiprocessors
    return PartCutting(
        few=count // 2, worth=1 << 17, part=1 << 14, most=4 * count, together=4 * count,
        short=8, rows=8, steps=gpu.warp, tile=2048, blocks=2 * count,
    )  # fmt: skip


def cut_reductions(
    program: Program,
    marks: dict[str, Mark],
    cutting: PartCutting,
    limit: int | None = None,
    takes: Takes = TAKE_ALL,
) -> Program:
    """The program with parts of long reductions, of tensors that it `takes`, as tensors of their own.

    Sums over the steps of a recurrence that may be worth a window stay whole: with a `limit`, of all of them.
    `marks` are given to tensors of parts, and to those that no long reduction is left of.
    """
    names, stepwise = Names(program), long_recurrences(program, limit)
    cutting = cutting if limit is None else replace(cutting, row=None)
    definitions: list[Definition] = []
    for definition in program.definitions:
        if is_static(definition.shape):
            definitions += _CutDefinition(program, names, definition, marks, cutting, stepwise).run(takes)
        else:
            definitions.append(definition)
    return program.with_definitions(definitions)


@dataclass(frozen=True)
class _CutIndex:
    """An index of `count` values from `low` on, cut after so many steps."""

    name: str
    low: Affine
    count: Affine
    steps: int


class _CutDefinition:
    """A definition on its way to parts."""

    def __init__(
        self,
        program: Program,
        names: Names,
        definition: Definition,
        marks: dict[str, Mark],
        cutting: PartCutting,
        stepwise: Steps,
    ) -> None:
        self.program, self.names, self.definition, self.marks = program, names, definition, marks
        self.cutting, self.costs = cutting, Costs(frozenset(program.sizes))
        self.ranges: dict[str, Range | None] = {**ranges_of(definition)}
        self.elements = about(definition.shape)
        self.along_elements = cutting.vector is not None and self.elements >= cutting.vector
        self.new, self.stepwise = list[Definition](), stepwise

    def run(self, takes: Takes) -> list[Definition]:
        """The parts, and the definition that reads them."""
        if self.elements >= self.cutting.elements or self.definition.order is not None:
            return [self.definition]
        body = self.term(self.definition.body)
        if not self.new or not takes(self.definition.name):
            return [self.definition]
        if sum(isinstance(term, Reduce) for term in reachable([body])) == len(self.new):
            self.marks[self.definition.name] = "joined"
        return [*self.new, replace(self.definition, body=body)]

    def term(self, term: Term) -> Term:
        """A term with what is evaluated for each element cut."""
        if isinstance(term, Reduce):
            return self.reduction(term) or term
        if isinstance(term, Apply):
            return self.program.terms.rebuild(term, [self.term(operand) for operand in term.operands])
        return term

    def reduction(self, term: Reduce) -> Term | None:
        """A reduction of what its parts give; None where it is short, or has no index to cut."""
        terms = self.program.terms
        names, domain, body = terms.open(term)
        if follows_steps(body, names, self.stepwise):
            return None
        own = ranges_within(names, domain, self.ranges, self.costs.sizes)
        found = None if term.type is None else self.chosen(term, own, body)
        if found is None or not implied(found.count + (found.steps - 1), self.program.size_facts()):
            return None
        assert term.type
        parts = extent((found.count + (found.steps - 1)).floordiv(found.steps))
        part = self.names.index("part", self.definition.indices)
        indices = (part, *self.definition.indices)
        on_cpu, is_row = self.cutting.vector is not None, found.steps == 1 and _share(body, found.name, names)
        along_elements = self.along_elements or (on_cpu and is_row)
        one = (self.names.index("one", indices),) if on_cpu and not along_elements else ()
        begin = Affine.var(part) * found.steps + found.low
        kept = dict(zip(names, term.hints, strict=True))
        if is_row:
            del kept[found.name]
            domain = tuple(Constraint(r.form.substitute({found.name: begin}), r.equality) for r in domain)
            body = terms.substitute(body, {found.name: begin})
        else:
            at = Affine.var(found.name) - begin
            domain = (Constraint(at), Constraint(found.steps - 1 - at), *domain)
        hints, kind, span = tuple(kept.values()), term.kind, term.span
        inner = terms.reduce(tuple(kept), domain, body, kind=kind, hints=hints, span=span)
        tensor = self.names.free(f"{self.definition.name}_parts")
        self.marks |= {} if along_elements else {tensor: "parts"}
        shape, indices = (parts, *self.definition.shape, *(1 for _ in one)), (*indices, *one)
        index, place = terms.fresh(), self.definition.span
        self.new.append(Definition(tensor, term.type, shape, indices, inner, is_output=False, span=place))
        places = [Affine.var(index), *map(Affine.var, self.definition.indices), *(ZERO for _ in one)]
        read = terms.read(tensor, places, term.type)
        return terms.reduce((index,), box((index,), (parts,)), read, kind=kind, hints=(part,), span=span)

    def chosen(self, term: Reduce, own: Mapping[str, Range | None], body: Term) -> _CutIndex | None:
        """The index to cut: the outermost with many values."""
        cutting, work, names = self.cutting, self.costs.reduction(term, self.ranges), [*own]
        if self.elements >= cutting.few:
            return self.of_contraction(term, own)
        if not self.program.sizes and work < cutting.worth:
            return None
        for name in names:
            found = own[name]
            if found is None:
                return None
            count = found.extent
            if count.is_constant and count.constant < cutting.short:
                continue
            steps = -(-cutting.part * values_of(found) // max(1, work))
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
            is_outer = name != names[-1] and count.is_constant and count.constant > cutting.most
            if (
                is_outer
                and cutting.row
                and work >= cutting.row * count.constant
                and _share(body, name, names)
            ):
                steps = 1
            return _CutIndex(name, found.low, count, steps)
        return None

    def of_contraction(self, term: Reduce, own: Mapping[str, Range | None]) -> _CutIndex | None:
        """The index to cut so that all blocks have tiles; None where they have, or nothing is shared.

        The outermost one with enough values for all parts, or the one with most.
        """
        cutting = self.cutting
        parts = cutting.blocks // -(-self.elements // cutting.tile) if cutting.tile else 1
        boxes = {n: r for n, r in own.items() if r and r.low.is_constant and r.extent.is_constant}
        counts = {name: found.extent.constant for name, found in boxes.items()}
        work = self.elements * self.costs.reduction(term, self.ranges)
        if parts < 2 or len(counts) < len(own) or work < cutting.work or not self.shares(term):
            return None
        enough = [name for name in own if counts[name] >= parts]
        name = enough[0] if enough else max(own, key=lambda name: counts[name])
        count, points = counts[name], math.prod(counts.values())
        least = max(-(-count // parts), -(-cutting.depth * count // max(points, 1)))
        # A last part that is smaller has code of its own.
        steps = next((n for n in range(least, 2 * least) if count % n == 0), least)
        found = boxes[name]
        return _CutIndex(name, found.low, found.extent, steps) if 2 * steps <= count else None

    def shares(self, term: Reduce) -> bool:
        """Whether many elements read what each other's reads, along two indices or more."""
        shape = zip(self.definition.indices, self.definition.shape, strict=True)
        wide = {name for name, size in shape if isinstance(size, int) and size >= LANES}
        reads = [node for node in reachable([term.body]) if isinstance(node, Read)]
        used = [frozenset[str]().union(*(form.variables for form in read.indices)) for read in reads]
        return len(wide) > 1 and len(reads) > 1 and all(wide - names for names in used)


def _share(body: Term, name: str, names: Sequence[str]) -> bool:
    """Whether values of one index of a sum read the same where others move, or what is side by side."""
    reads = (node.indices for node in reachable([body]) if isinstance(node, Read) and node.indices)
    moving = ((frozenset[str]().union(*(form.variables for form in at)), at[-1].variables) for at in reads)
    return any(name in last or (name not in used and not used.isdisjoint(names)) for used, last in moving)
