"""A computation in three, the second of which runs by turns.

    for i = 0 to 32 thread {            for i = 0 to 32 thread { k.3[i] = 0 }
        %3 = sum k …                    for i = 0 to 32 thread { k.3[i] = sum … from k.3[i] }    by turns
        y[i] = %3 + x[i]                for i = 0 to 32 thread { y[i] = k.3[i] + x[i] }

Each thread has values in registers in between.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cached_property

from tadc.frontend.functions import REDUCTIONS
from tadc.lattice.affine import ZERO, Affine
from tadc.lattice.late_dataclasses import dataclass, replace
from tadc.passes.maps.blocks import used_by, without_unused
from tadc.passes.maps.map import Ask, Block, Constant, Fold, Let, Load, TensorDecl
from tadc.passes.nest.loop_bounds import form_of, turns_of
from tadc.passes.nest.nest import Body, Compute, For, Stage, Store
from tadc.passes.nest.primitives import rewriting as rw
from tadc.passes.nest.primitives.boxes import spans_inside
from tadc.passes.nest.primitives.rewriting import DoesNotFit


def ranges_of(loops: Iterable[For]) -> tuple[dict[str, Affine], dict[str, int]]:
    """The indices of loops as forms of variables from 0 on, and how many values these have, where that is
    known."""
    moved, ranges = dict[str, Affine](), dict[str, int]()
    for loop in loops:
        start, count = form_of(loop.start), turns_of(loop)
        if start is not None and start.is_constant and count is not None:
            moved[loop.index], ranges[loop.index] = start + Affine.var(loop.index) * loop.step, count
    return moved, ranges


def ranges_inside(body: Body) -> tuple[dict[str, Affine], dict[str, int]]:
    """The same of loops in a body, and of indices of reductions whose rows say it."""
    moved, ranges = ranges_of(rw.loops_in(body))
    for compute in rw.computes_in(body):
        for name, (first, count) in spans_inside(compute.block).items():
            moved[name], ranges[name] = first + Affine.var(name), count
    return moved, ranges


@dataclass(frozen=True)
class CarriedReduction:
    """Loops that threads divide, with one computation, and the reduction `let` in it that runs by turns."""

    thread: For
    compute: Compute
    let: Let
    index: str

    @cached_property
    def loops(self) -> Sequence[For]:
        """The loops around the computation. Raises DoesNotFit where registers cannot have its values."""
        loops = list(rw.loops_in((self.thread,)))
        if any(loop.kind == "lane" for loop in loops) or len(ranges_of(loops)[1]) < len(loops):
            raise DoesNotFit("it is not known how many elements a thread has, or they are lanes")
        return loops

    @cached_property
    def own(self) -> tuple[Let, ...]:
        """What the reduction uses of the values before it, and what these do."""
        lets = self.compute.block.lets
        return without_unused(Block(lets[: lets.index(self.let)], tuple(used_by(self.let.value)))).lets

    @cached_property
    def kept(self) -> dict[str, Load]:
        """The values in registers; numbers and conditions are made again, those of turns before are there."""
        found = dict[str, Load]()
        for let in (*self.own, self.let):
            if isinstance(let.value, Constant | Ask) or let.value.type == "i1":
                continue
            for name in let.names:
                load = Load(f"{self.index}.{name.removeprefix('%')}", self.place, let.value.type)
                found |= {name: load} if let.value != load else {}
        return found

    @cached_property
    def place(self) -> tuple[Affine, ...]:
        """Where values of a point are: their places in a thread, then its number."""
        number, copies = ZERO, list[Affine]()
        for loop in self.loops:
            turn = (Affine.var(loop.index) - (form_of(loop.start) or ZERO)).floordiv(loop.step)
            copies += [turn] if loop.kind != "thread" else []
            number = number * (turns_of(loop) or 1) + turn if loop.kind == "thread" else number
        return (*copies, number)

    def around(self, turns: Body) -> Body:
        """All of it, with turns in the middle."""
        threads = math.prod(turns_of(loop) or 1 for loop in self.loops if loop.kind == "thread")
        copies = (turns_of(loop) or 1 for loop in self.loops if loop.kind != "thread")
        shape = tuple(map(Affine.const, (*copies, threads)))
        rooms = (Stage(TensorDecl(load.tensor, load.type, shape), "register") for load in self.kept.values())
        return (*rooms, self.first(), *turns, self.last())

    # -- the computations ------------------------------------------------------------------------

    def first(self) -> For:
        """The loops that begin: what the turns and the end use, and results over no point."""
        fold = self.let.value
        assert isinstance(fold, Fold)
        nothing = Let(("%none",), Constant(REDUCTIONS[fold.kind].nothing, fold.type))
        values = {name: "%none" if name in self.let.names else name for name in self.kept}
        return self.keeping((*self.own, nothing), values)

    def turn(self, fold: Fold) -> For:
        """The loops of a turn, in which the reduction is this one, and goes on."""
        so_far = [Let((f"{name}_so_far",), self.kept[name]) for name in self.let.names]
        going_on = replace(self.let, value=replace(fold, first=tuple(let.names[0] for let in so_far)))
        return self.keeping((*self.given(), *so_far, going_on), {name: name for name in self.let.names})

    def given(self) -> list[Let]:
        """The values before the turns that there are in them."""
        reads = (Let((name,), load) for name, load in self.kept.items() if name not in self.let.names)
        return [*reads, *(let for let in self.own if let.names[0] not in self.kept)]

    def keeping(self, lets: Iterable[Let], values: dict[str, str]) -> For:
        """The loops with a computation that keeps values."""
        block = without_unused(Block(tuple(lets), tuple(values.values())))
        stores = (Store(self.kept[name].tensor, self.kept[name].at, value) for name, value in values.items())
        return self.computing(replace(self.compute, block=block, stores=tuple(stores)))

    def last(self) -> For:
        """The loops that store what is made of the results."""
        block, results = self.compute.block, (Let((name,), self.kept[name]) for name in self.let.names)
        rest = (let for let in block.lets if let not in (*self.own, self.let))
        made = without_unused(Block((*self.given(), *results, *rest), block.gives))
        return self.computing(replace(self.compute, block=made))

    def computing(self, compute: Compute) -> For:
        """The loops with another computation."""
        return replace(self.thread, body=rw.rewrite_computes(self.thread.body, lambda _: compute))
