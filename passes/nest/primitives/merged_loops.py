"""Primitives on the loops of several maps: those over the same rows become one, and what is computed in a
turn of it stays in memory near the threads.

    for i = 0 to 64:                        for i = 0 to 64 block:
        m[i] = max k: x[i, k]                   stage m_near: f32[1] in shared
    for i = 0 to 64:              ->            m_near[0] = max k: x[i, k]
        for y.k = 0 to 256:                     for y.k = 0 to 256 thread teams 64:
            y[i, y.k] = x[i, y.k] - m[i]            y[i, y.k] = x[i, y.k] - m_near[0]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import groupby

from tadc.frontend.functions import REDUCTIONS
from tadc.lattice.affine import ZERO, Affine
from tadc.lattice.late_dataclasses import dataclass, replace
from tadc.passes.maps.blocks import BlockNames, indices_bound, with_reads
from tadc.passes.maps.map import Block, Constant, Let, Load, TensorDecl
from tadc.passes.nest.loop_bounds import most_values, parts_of, turns_of
from tadc.passes.nest.nest import At, Body, Compute, For, Nest, Stage, Statement, Store
from tadc.passes.nest.primitives import rewriting as rw
from tadc.passes.nest.primitives.rewriting import DoesNotFit
from tadc.passes.nest.steps import MergeLoops, Room


def merge(nest: Nest, step: MergeLoops) -> Nest:
    """Loops beside each other become one."""
    rw.check_loops(nest, step.indices)
    return replace(nest, body=_merged(nest.body, step.indices, rw.named_values(nest.body)))


def _merged(body: Body, names: Sequence[str], named: Mapping[str, Affine]) -> Body:
    """A body where runs of loops of these names are one loop each."""
    made: list[Statement] = []
    for is_own, run in groupby(body, lambda s: isinstance(s, For) and s.index in names):
        if is_own:
            made.append(_one_of([loop for loop in run if isinstance(loop, For)], names[0], named))
        else:
            made += (replace(s, body=_merged(s.body, names, named)) if isinstance(s, For) else s for s in run)
    return tuple(made)


def _one_of(loops: Sequence[For], index: str, named: Mapping[str, Affine]) -> For:
    """One loop, of this index, in the place of some."""
    first = next((loop for loop in loops if loop.index == index), None)
    if first is None:
        raise DoesNotFit(f"no loop `{index}` stands beside `{loops[0].index}`")
    body = dict[Statement, None]()
    for loop in loops:
        turns = _turns(loop, named)
        if not turns or turns != _turns(first, named) or loop.step % first.step:
            raise DoesNotFit(f"`{loop.index}` has other turns than `{index}`")
        if loop.index != index:
            body[At(loop.index, Affine.var(index) * (loop.step // first.step))] = None
        # What has a name already needs none again.
        body |= dict.fromkeys(loop.body)
    return replace(first, body=tuple(body))


def _turns(loop: For, named: Mapping[str, Affine]) -> int | frozenset[Affine]:
    """How many turns a loop from 0 takes, or the forms that it takes the least of; nothing of others."""
    if loop.start != ZERO:
        return 0
    stops = frozenset(form.substitute(named) for form in parts_of(loop.stop, "min") if loop.step == 1)
    return turns_of(loop) or stops


def room(nest: Nest, step: Room) -> Nest:
    """Tensors that a turn of a loop computes are in memory near the threads."""
    for name in step.tensors:

        def rule(loop: For, name: str = name) -> Body:
            near = _Near(nest, loop, name)
            return (near.held() if step.space == "register" else near.shared(),)

        body = rw.with_loops(nest, step.inside, rule).body
        # Where nothing else reads it, it has no other memory.
        kept = (s for s in body if not (isinstance(s, Stage) and s.tensor.name == name))
        nest = replace(nest, body=tuple(kept))
    return nest


@dataclass(frozen=True)
class _Near:
    """A tensor, and the loop of which each turn has memory for what it computes of it."""

    nest: Nest
    loop: For
    name: str

    @cached_property
    def tensor(self) -> TensorDecl:
        """The tensor itself."""
        staged = (s.tensor for s in rw.statements_in(self.nest.body) if isinstance(s, Stage))
        found = next((t for t in (*self.nest.tensors, *staged) if t.name == self.name), None)
        if found is None or not self.stored:
            raise DoesNotFit(f"`{self.loop.index}` computes no `{self.name}`")
        return found

    @cached_property
    def stored(self) -> list[Store]:
        return [s for c in rw.computes_in(self.loop.body) for s in c.stores if s.tensor == self.name]

    def near(self, shape: Sequence[int]) -> TensorDecl:
        name = BlockNames(rw.names_taken(self.nest)).new(f"{self.name}_near")
        return replace(self.tensor, name=name, shape=tuple(map(Affine.const, shape)))

    def shared(self) -> For:
        """The loop where stores and reads of it are in memory that the threads of a block share."""
        is_inner = self.tensor not in self.nest.tensors
        parts = [self.inside_of(store.at) for store in self.stored]
        outer = [form for form, _ in parts[0]]
        places = zip(*([inner for _, inner in part] for part in parts), strict=True)
        near = self.near([max(map(self.extent, each)) for each in places])

        def place(tensor: str, at: tuple[Affine, ...]) -> tuple[str, tuple[Affine, ...]]:
            if tensor != self.name:
                return tensor, at
            found = self.inside_of(at)
            if [form for form, _ in found] != outer:
                raise DoesNotFit(f"`{self.name}` is read at elements of other turns of `{self.loop.index}`")
            return near.name, tuple(inner for _, inner in found)

        def rule(compute: Compute) -> Compute:
            stores: list[Store] = []
            for store in compute.stores:
                tensor, at = place(store.tensor, store.at)
                is_own = tensor == near.name
                stores += [replace(store, tensor=tensor, at=at)] if is_own else []
                stores += [] if is_own and is_inner else [store]
            return replace(compute, block=with_reads(compute.block, place), stores=tuple(stores))

        body = rw.rewrite_computes(self.loop.body, rule)
        others = sum(isinstance(statement, Stage) for statement in body)
        return replace(self.loop, body=(*body[:others], Stage(near, "shared"), *body[others:]))

    def inside_of(self, at: Sequence[Affine]) -> list[tuple[Affine, Affine]]:
        """Each subscript in two: what moves with the loop and those around it, and what moves inside."""
        found: list[tuple[Affine, Affine]] = []
        for form in (form.substitute(self.named) for form in at):
            terms = [Affine.atom(atom) * k for atom, k in form.terms]
            outer = sum((term for term in terms if term.variables.isdisjoint(self.own)), ZERO)
            found.append((outer, form - outer))
        return found

    @cached_property
    def named(self) -> dict[str, Affine]:
        """What indices stand for that have names."""
        return rw.named_values(self.nest.body)

    @cached_property
    def own(self) -> set[str]:
        """The indices of loops and reductions inside."""
        folds = (index for c in rw.computes_in(self.loop.body) for index in indices_bound(c.block))
        return {*folds, *(loop.index for loop in rw.loops_in(self.loop.body))}

    def extent(self, form: Affine) -> int:
        """The number of values, from 0 on, of a form of the loops inside."""
        most = form.constant
        loops = {loop.index: loop for loop in rw.loops_in(self.loop.body)}
        for atom, k in form.terms:
            loop = loops.get(atom) if isinstance(atom, str) else None
            values = None if loop is None else most_values(loop)
            if loop is None or values is None or k < 0 or loop.start != ZERO:
                raise DoesNotFit(f"it is not known how much `{self.loop.index}` computes of `{self.name}`")
            most += k * (-(-values // loop.step) - 1) * loop.step
        return most + 1

    def held(self) -> For:
        """The loop where sums are in registers of the threads: 0 at first, stored behind all turns."""
        all, (own,) = self.tensor, self.stored
        loops = [
            loop
            for loop in rw.loops_in(self.loop.body)
            if loop.kind != "seq" and any(own in c.stores for c in rw.computes_in(loop.body))
        ]
        if [loop.kind for loop in loops] != [*["unroll"] * (len(loops) - 1), "thread"]:
            raise DoesNotFit(f"the loops over `{self.name}` are not `unroll` around one of `thread`")
        if own.joins != "sum":
            raise DoesNotFit(f"`{self.name}` is not added up in turns: `cut` its sums first")
        counts = [-(-(most_values(loop) or 0) // loop.step) for loop in loops]
        if counts[-1] > loops[-1].teams:
            raise DoesNotFit(
                f"a thread has several turns of `{loops[-1].index}`: `unroll` those of one thread"
            )
        near = self.near(counts)
        place = tuple(Affine.var(loop.index).floordiv(loop.step) for loop in loops)
        nothing, read = (
            Constant(float(REDUCTIONS[own.joins].nothing), all.type),
            Load(near.name, place, all.type),
        )
        start, end = (
            _with(loops[0], Compute(Block((Let(("%0",), value),), ("%0",)), (Store(to, at, "%0"),)))
            for value, to, at in ((nothing, near.name, place), (read, self.name, own.at))
        )
        made, joined = list[Statement](), replace(own, tensor=near.name, at=place, fresh=())
        for statement in rw.rewrite_stores(self.loop.body, lambda store: joined if store == own else store):
            here = any(joined in c.stores for c in rw.computes_in((statement,)))
            made += [start, statement, end] if here else [statement]
        return replace(self.loop, body=(Stage(near, "register"), *made))


def _with(loop: For, compute: Compute) -> For:
    """A loop with another computation in the place of its own."""
    return replace(loop, body=rw.rewrite_computes(loop.body, lambda _: compute))
