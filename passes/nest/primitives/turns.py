"""Turns of a reduction as a loop of the nest, around the loops that the threads of a block divide.

    for k0 = 0 to 8 {                           for i = 0 to 32 thread { %3 = sum k0, k1 … }
        for i = 0 to 32 thread { k0.3[i] = sum k1 … from k0.3[i] }
    }

All threads have the same turns: those that one of them has. Where not all points are sure to take in all
steps of a turn, it is tested once whether they do, and the turn has loops for either case.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine, Constraint
from tadc.lattice.bounds import Unbounded
from tadc.lattice.effort import EliminationLimit
from tadc.lattice.emptiness import tight
from tadc.lattice.loop_nests import loop_nest
from tadc.lattice.polyhedron import implied
from tadc.passes.maps.blocks import Renaming, values_of
from tadc.passes.maps.map import Fold
from tadc.passes.nest.exponentials import without_exponentials
from tadc.passes.nest.facts import Loops, certain, named
from tadc.passes.nest.fold_blocks import steps_of
from tadc.passes.nest.loop_bounds import extreme_of
from tadc.passes.nest.nest import At, Body, Compute, For, If, Know, Nest
from tadc.passes.nest.primitives import rewriting as rw
from tadc.passes.nest.primitives.carried import CarriedReduction, ranges_of
from tadc.passes.nest.primitives.reductions import whole
from tadc.passes.nest.primitives.rewriting import DoesNotFit
from tadc.passes.nest.tile import within
from tadc.passes.nest.vector_lanes import extreme

Made = Callable[[Body, Domain, Mapping[str, Affine]], Body]


def at_threads(body: Body, read: str, facts: Domain, outer: Mapping[str, Affine], made: Made) -> Body:
    """A body that is made anew from where a value is in loops that threads divide, or a condition around, by
    what is known there and where turns of loops around start. Raises DoesNotFit where it is in none."""
    found = Body()
    for number, statement in enumerate(body):
        if isinstance(statement, At):
            facts += certain(named(statement))
        elif isinstance(statement, Know):
            facts += statement.rows
        elif any(read in let.names for let in rw.lets_in((statement,))):
            if all(loop.kind != "thread" for loop in rw.loops_in((statement,))):
                raise DoesNotFit("no loop is divided among the threads of a block")
            if not isinstance(statement, For) or statement.kind == "thread":
                return (*found, *made(body[number:], facts, outer))
            turn = {statement.index: Affine.var(statement.index) * statement.step}
            inside, around = (*facts, *certain(Loops().inside(statement))), {**outer, **turn}
            statement = replace(statement, body=at_threads(statement.body, read, inside, around, made))
        found += (statement,)
    return found


def with_turns(nest: Nest, index: str, read: str) -> Nest:
    """The nest in which the turns of an index of the reduction around a read are a loop."""

    def made(body: Body, facts: Domain, outer: Mapping[str, Affine]) -> Body:
        thread, *rest = body
        computes = list(rw.computes_in((thread,)))
        if not isinstance(thread, For) or len(computes) != 1:
            raise DoesNotFit("not all threads come to this reduction")
        # The results of turns join: those of a maximum and of a sum do.
        compute = replace(computes[0], block=without_exponentials(computes[0].block))
        return (*_standing(thread, compute, index, facts), *rest)

    if any(loop.index == index and loop.kind == "seq" for loop in rw.loops_in(nest.body)):
        return nest
    found = at_threads(nest.body, read, nest.known, {}, made)
    if all(loop.index != index or loop.kind != "seq" for loop in rw.loops_in(found)):
        raise DoesNotFit(f"`{index}` is no index of a reduction of all threads that reads `{read}`")
    return replace(nest, body=found)


def _standing(thread: For, compute: Compute, index: str, facts: Domain) -> Body:
    """Turns for each reduction of a computation over an index, one after the other."""
    for let in compute.block.lets:
        if isinstance(fold := let.value, Fold) and index in fold.indices:
            # The values of a sum of exponentials are called as those of the maximum: each stands alone.
            again = {name: name.removesuffix("_again") for name in values_of(fold.body)}
            carried = CarriedReduction(thread, compute, let, index)
            turns = _Turns(carried, replace(fold, body=Renaming(again).block(fold.body)), facts)
            *before, last = carried.around(turns.loop())
            assert isinstance(last, For)
            (rest,) = rw.computes_in((last,))
            return (*before, *_standing(last, rest, index, facts))
    return (thread,)


class _Turns:
    """The turns of a reduction, for all points of the threads of a block."""

    def __init__(self, carried: CarriedReduction, fold: Fold, facts: Domain) -> None:
        """Raises DoesNotFit where it is not known what is in a turn."""
        self.carried, self.fold, self.facts = carried, fold, facts
        self.depth = fold.indices.index(carried.index) + 1
        self.steps = {name: steps_of(name, fold.rows) for name in fold.indices[self.depth :]}
        if whole(fold).first or fold.is_in_lockstep or not all(self.steps.values()):
            label = f"the indices after `{carried.index}` have no known numbers of values from 0 on"
            raise DoesNotFit(label)
        self.moved, self.ranges = ranges_of(carried.loops)

    def loop(self) -> Body:
        """The loop, or loops in each other."""
        values = rw.named_values((self.carried.thread,))
        rows = [row.substitute(values).substitute(self.moved) for row in self.fold.rows]
        try:
            levels = tight(loop_nest(self.fold.indices, rows, self.facts), self.facts).levels
        except (Unbounded, EliminationLimit):
            raise DoesNotFit(f"it is not known which values `{self.carried.index}` has") from None
        loops = list[For]()
        for level in levels[: self.depth]:
            lower = (self.worst(bound.ceil(), -1) for bound in level.lower)
            upper = (self.worst(bound.floor(), 1) + 1 for bound in level.upper)
            loops.append(For(level.name, extreme_of("max", lower), extreme_of("min", upper), 1, "seq", ()))
        known = (row for loop in loops for row in certain(Loops().inside(loop)))
        body = self.body(rows, (*self.facts, *known))
        for loop in reversed(loops):
            body = (replace(loop, body=body),)
        return body

    def worst(self, form: Affine, sign: int) -> Affine:
        """The least value of a form at the points of a turn, or the greatest one."""
        return extreme(form, {**self.ranges, **self.steps}, sign)

    def body(self, rows: Sequence[Constraint], facts: Domain) -> Body:
        """What is in a turn, where the rows of the reduction are these at the points of threads."""
        fold = self.fold.over(self.fold.indices[self.depth :], self.fold.rows, self.fold.body)
        fold = fold if self.steps else replace(fold, loop="seq")
        own, steps, tests = list[Constraint](), within(self.steps), dict[Constraint, None]()
        for row, there in zip(fold.rows, rows, strict=True):
            if not row.equality and implied(row.form, steps):
                own.append(row)
            else:
                # A row that holds at the worst point of a turn holds at all.
                tests[Constraint(self.worst(there.form, -1), row.equality)] = None
        masked, unmasked = (self.carried.turn(replace(fold, rows=each)) for each in (fold.rows, tuple(own)))
        if any(row.equality for row in tests):
            return (masked,)
        needed = tuple(row for row in tests if not implied(row.form, facts))
        return (If(needed, (unmasked,), (masked,)),) if needed else (unmasked,)
