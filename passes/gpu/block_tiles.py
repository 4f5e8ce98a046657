"""Tiles that a block of threads computes, where what it reads may go through shared memory."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from tadc.passes.maps.blocks import BlockNames, forms_of, names_in
from tadc.passes.maps.map import Fold, Load, Map, MapFunction
from tadc.passes.nest.primitives.boxes import spans_inside
from tadc.passes.nest.steps import Bind, InBlocks, Reorder, StageRead, Step
from tadc.passes.schedule.orders import Loops, Within, divided, in_order
from tadc.passes.terms.costs import MUCH_CODE


@dataclass(frozen=True)
class Along:
    """The elements of a block along an index: `threads`, with `copies` each, `run` of them consecutive."""

    threads: int
    copies: int
    run: int = 1

    @property
    def extent(self) -> int:
        """How many they are."""
        return self.threads * self.copies


@dataclass(frozen=True)
class BlockTile:
    """A block computes a tile of elements, and what a reduction reads for it goes through shared memory.

    `along` has the indices that have threads: consecutive ones run along the first. `steps` has the steps of
    the reduction `over` between two barriers, for each of its indices, and `staged` are the reads that are
    copied; without a reduction all of them before anything is computed.
    """

    along: Mapping[str, Along]
    over: str | None = None
    steps: Mapping[str, int] = field(default_factory=dict[str, int])
    staged: frozenset[str] = frozenset()

    @cached_property
    def fast(self) -> str:
        """The index along which consecutive threads run."""
        return next(iter(self.along))

    @cached_property
    def threads(self) -> int:
        """The threads of a block."""
        return math.prod(one.threads for one in self.along.values())

    @cached_property
    def results(self) -> int:
        """The elements of a thread."""
        return math.prod(one.copies for one in self.along.values())

    @cached_property
    def elements(self) -> int:
        """The elements of a block."""
        return self.threads * self.results

    def copies(self, names: frozenset[str]) -> int:
        """The copies of a value that depends on names."""
        return math.prod(one.copies for name, one in self.along.items() if name in names)

    def steps_of(self, item: Map, function: MapFunction) -> tuple[Step, ...]:
        """The steps that it is: blocks, copies that are far apart, threads, copies side by side."""
        fresh = names_in(item, function.sizes)
        splits, loops, last = list[Step](), Loops(), Loops()
        for index in item.indices:
            one = self.along.get(index, Along(1, 1))
            inner: Within = ("jam", one.copies // one.run), ("thread", one.threads), ("jam", one.run)
            made, found = divided(fresh.part, index, "block", inner, "guard")
            splits += made
            last += found if index == self.fast else []
            loops += found
        loops.sort(key=lambda loop: loop[0] == "thread" and loop in last)
        return (*splits, *in_order(loops), *self.stages(item, fresh), InBlocks(self.threads))

    def stages(self, item: Map, fresh: BlockNames) -> tuple[Step, ...]:
        """The steps of a reduction in blocks, all loops over these outside of all in a block, and what is
        copied. Of its innermost loop as many steps are written out as make little code."""
        fold = next((let.value for let in item.body.lets if self.over in let.names), None)
        if not isinstance(fold, Fold):
            return tuple(StageRead(read, "", fill="threads") for read in self.copied(item, fold))
        outer, inner, steps, splits = list[str](), list[str](), list[str](), list[Step]()
        for index in fold.indices:
            made, found = divided(fresh.part, index, "", [("", self.steps[index])], "clip")
            splits += made
            steps += [name for _, name in found]
            outer.append(found[0][1])
            inner += [name for _, name in found[1:]]
        if steps != [*outer, *inner]:
            splits.append(Reorder((*outer, *inner)))
        if inner:
            count = [count for index in fold.indices if (count := self.steps[index]) > 1][-1]
            written = self.written_out(item, fold, count)
            if written > 1:
                splits.append(Bind("unroll", (inner[-1],), written if written < count else 0))
        return (*splits, *(StageRead(read, outer[-1], fill="threads") for read in self.copied(item, fold)))

    def written_out(self, item: Map, fold: Fold, count: int) -> int:
        """So many of a number of steps as make little code, a divisor of it."""
        moving = frozenset[str]().union(*(form.variables for form in forms_of(fold.body)), *(
            row.form.variables for row in fold.rows
        ))  # fmt: skip
        inside = math.prod(values for _, values in spans_inside(fold.body).values())
        most = max(1, MUCH_CODE // max(self.copies(moving) * len(fold.body.gives) * 2 * inside, 1))
        return max(n for n in range(1, count + 1) if count % n == 0 and n <= most)

    def copied(self, item: Map, fold: object) -> list[str]:
        """The reads that threads copy, in the order of the map; no box is known of one inside of a further
        reduction, unless rows of this one say which values its indices have."""
        further = [let.value for let in fold.body.all_lets()] if isinstance(fold, Fold) else []
        known = spans_inside(fold.body).keys() if isinstance(fold, Fold) else frozenset[str]()
        open = {name for one in further if isinstance(one, Fold) for name in one.indices} - known
        return [
            let.names[0]
            for let in item.body.all_lets()
            if isinstance(let.value, Load)
            and let.names[0] in self.staged
            and not any(form.variables & open for form in let.value.at)
        ]
