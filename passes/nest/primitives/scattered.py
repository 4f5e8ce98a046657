"""The primitive that adds each summand to the element to which it belongs, in the order of the summands.

    for i: S[i] = sum q: if b[q] = i, f(q)     becomes, for a group of elements that have the same bounds of q
    for i: S[i] = 0
    for q: S[b[q]] += f(q)

Where elements have a key, summands are added up in a room that has a number for each key:

    for i: room[a[i]] = 0
    for q: room[b[q]] += f(q)
    for i: S[i] = room[a[i]]

What is added for a key that no element has is in no one's way: it is made 0 before it is used. Or elements
look for something by keys that other loops tell, and `room_of` says which ones are of this group:

    for t: room[b[t]] = 0, room_of[b[t]] = group
    for t: room[b[t]] += v[t]
    for i: S[i] = sum q: if room_of[c[q]] is group, f(q) * room[c[q]], else 0

A product of sparse matrices row by row is that of rows as groups and columns as keys (F. G. Gustavson, Two
fast algorithms for sparse matrices, 1978); the room is what is called a workspace elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tadc.frontend.dtypes import DEFAULT
from tadc.lattice.affine import ZERO, Affine, Constraint
from tadc.lattice.fibre import Fibre
from tadc.passes.maps.keyed_sums import KeyedSum, Loop, keyed_sum
from tadc.passes.maps.map import Applied, Block, Constant, Fold, IndexNumber, Let, Load, TensorDecl
from tadc.passes.nest.loop_bounds import around, extreme_of, parts_of
from tadc.passes.nest.nest import At, Body, Compute, For, If, Nest, Stage, Statement, Store
from tadc.passes.nest.primitives.rewriting import DoesNotFit, bounds_by, check_new, least, with_loops
from tadc.passes.nest.steps import Scatter
from tadc.passes.terms.costs import BUFFER


def scatter(nest: Nest, step: Scatter) -> Nest:
    """The loop over the elements of a sum with one over their groups around it, and that over summands beside
    it."""
    names = (f"{step.outer}_{word}" for word in ("begin", "end", "first", "last"))
    check_new(nest, step.outer, *([step.room] if step.room else []), *names)

    def rule(loop: For) -> Body:
        compute, fold = _sum_in(loop, step.fold)
        found = keyed_sum(step.fold, fold, step.index)
        if found is None:
            raise DoesNotFit(f"`{step.fold}` has no equality that tells `{step.index}`, or a key that it has")
        if found.has_room != bool(step.room):
            needs = "needs room for keys" if found.has_room else "needs no room: summands tell the element"
            raise DoesNotFit(f"`{step.fold}` {needs}")
        if step.room and found.room(fold.type) is None:
            raise DoesNotFit(f"room for `{step.fold}` has more than {BUFFER} bytes")
        kind = _Looked if found.around else _InRoom if step.room else _InPlace
        return kind(step, loop, compute, fold, found).all(nest)

    return with_loops(nest, step.index, rule)


def _sum_in(loop: For, name: str) -> tuple[Compute, Fold]:
    """The computation of a loop that computes a sum and nothing else, and the sum."""
    compute = loop.body[0] if len(loop.body) == 1 and loop.step == 1 else None
    if isinstance(compute, Compute) and len(compute.block.lets) == 1 and len(compute.stores) == 1:
        (let,) = compute.block.lets
        if let.names == (name,) and isinstance(let.value, Fold):
            return compute, let.value
    raise DoesNotFit(f"`{name}` is not all that a loop over `{loop.index}` computes")


def _is_multiple(loop: For, count: int, nest: Nest) -> bool:
    """Whether a loop begins at a multiple of a number of values."""
    starts = parts_of(loop.start, "max")
    rests = [start - start.floordiv(count) * count for start in starts]
    return bool(starts) and all(
        rest == ZERO or any(row.equality and row.form in (rest, -rest) for row in nest.known)
        for rest in rests
    )


class _InPlace:
    """Summands are added to the elements themselves; `begin` and `end` are those of a group."""

    def __init__(self, step: Scatter, loop: For, compute: Compute, fold: Fold, found: KeyedSum) -> None:
        self.step, self.loop, self.compute, self.fold, self.found = step, loop, compute, fold, found
        self.place, self.outer = Affine.var(step.index), Affine.var(step.outer)
        self.begin, self.end = self.outer, Affine.var(f"{step.outer}_end")

    def all(self, nest: Nest) -> Body:
        """The room, and the loop over groups."""
        loop, group = self.loop, self.found.group
        match group:
            case Fibre():
                body = self.by_fibres(group, nest)
            case None:
                ends = At(self.step.outer, loop.start), At(f"{self.step.outer}_end", loop.stop)
                body = (*ends, *self.elements())
            case count if not _is_multiple(loop, count, nest):
                raise DoesNotFit(f"`{loop.index}` does not begin at a multiple of {count}")
            case count:
                end = At(f"{self.step.outer}_end", least(self.outer + count, loop.stop))
                body = (replace(loop, index=self.step.outer, step=count, body=(end, *self.elements())),)
        made = list[Statement]()
        for room, number in self.rooms():
            keys = For(loop.index, ZERO, room.shape[0], 1, "seq", (self.number(room, self.place, number),))
            made += (Stage(room, "stack"), keys)
        return (*made, *body)

    def by_fibres(self, fibre: Fibre, nest: Nest) -> Body:
        """The loop over the fibres of elements, and of each what is between the ends of the loop."""
        owner, outer = fibre.owner, self.step.outer
        if owner is None or owner.array not in {each.name for each in nest.tensors if each.increasing}:
            raise DoesNotFit(f"elements of `{fibre.array}` are not in the order of fibres")
        starts, stops = parts_of(self.loop.start, "max"), parts_of(self.loop.stop, "min")
        if not starts or not stops:
            raise DoesNotFit(f"the ends of the loop over `{self.loop.index}` are not known")
        begin, end = (Affine.var(f"{outer}_{word}") for word in ("begin", "end"))
        lower, upper = (self.of_group(Affine.atom(each)) for each in (fibre.start, fibre.stop))
        self.begin, self.end = (Affine.var(f"{outer}_{word}") for word in ("first", "last"))
        body = (
            At(f"{outer}_first", extreme_of("max", [begin, lower])),
            At(f"{outer}_last", extreme_of("min", [end, upper])),
            *self.elements(),
        )
        first, last = (Affine.atom(replace(owner, at=(at,))) for at in (begin, end - 1))
        fibres = For(outer, first, last + 1, 1, "seq", body)
        ends = At(f"{outer}_begin", extreme_of("max", starts)), At(f"{outer}_end", extreme_of("min", stops))
        return (*ends, If((Constraint(end - 1 - begin),), (fibres,)))

    def rooms(self) -> Sequence[tuple[TensorDecl, float]]:
        return ()

    def elements(self) -> Body:
        """What computes the elements of a group: first 0, then what is added."""
        (store,) = self.compute.stores
        joins = replace(store, value=self.found.block.gives[0], joins=self.fold.kind)
        added = replace(self.compute, block=self.found.block, stores=(joins,))
        own = If((Constraint(self.place - self.begin), Constraint(self.end - 1 - self.place)), (added,))
        inside = At(self.step.index, self.found.added), own
        return self.over(replace(self.compute, block=self.zero())), self.loops(inside, self.found.loops)

    def over(self, body: Statement) -> For:
        """The loop over the elements of a group."""
        return replace(self.loop, start=self.begin, stop=self.end, body=(body,))

    def loops(self, body: Body, loops: Sequence[Loop]) -> Statement:
        """Loops around a body, the innermost last, for all elements of a group."""
        for index, rows in reversed(loops):
            starts, stops = bounds_by((self.of_group(row.form) for row in rows), index)
            if len(starts) + len(stops) < len(rows):
                raise DoesNotFit(f"`{index}` has no bounds of its own")
            body = around(body, (index, extreme_of("max", starts), extreme_of("min", stops)))
        return body[0]

    def zero(self) -> Block:
        """The block that gives 0 in the place of the sum."""
        return Block((Let((self.step.fold,), Constant(0.0, self.fold.type)),), (self.step.fold,))

    def number(self, room: TensorDecl, at: Affine, number: float) -> Compute:
        block = Block((Let((self.step.fold,), Constant(number, room.type)),), (self.step.fold,))
        return Compute(block, (Store(room.name, (at,), self.step.fold),))

    def of_group(self, form: Affine) -> Affine:
        """A form that is the same for all elements of a group, over the group."""
        if isinstance(self.found.group, Fibre):
            owner = self.found.group.owner
            return form.replace(lambda atom: self.outer if atom == owner else None)
        return form.substitute({self.step.index: self.begin})


class _InRoom(_InPlace):
    """Summands are added to what is in the room at their key."""

    def rooms(self) -> Sequence[tuple[TensorDecl, float]]:
        keys = self.found.room(self.fold.type)
        assert keys is not None
        return [(TensorDecl(self.step.room, self.fold.type, (keys,)), 0.0)]

    def elements(self) -> Body:
        """0 at the keys of the elements, what is added, and what is there then."""
        found, step, ((room, _), *_) = self.found, self.step, self.rooms()
        load = Block((Let((step.fold,), Load(step.room, (found.asked,), self.fold.type)),), (step.fold,))
        store = Store(step.room, (found.added,), found.block.gives[0], joins=self.fold.kind)
        return (
            self.over(self.number(room, found.asked, 0.0)),
            self.loops((Compute(found.block, (store,)),), found.loops),
            self.over(replace(self.compute, block=load)),
        )


class _Looked(_InRoom):
    """What elements look for is in the room, at its keys, and in another one the group whose it is."""

    def rooms(self) -> Sequence[tuple[TensorDecl, float]]:
        ((room, start),) = super().rooms()
        return [(room, start), (TensorDecl(f"{self.step.room}_of", DEFAULT, room.shape), -1.0)]

    def elements(self) -> Body:
        """What is looked for goes to the room, then come the sums of what is found there."""
        found, step, (_, (marks, _)) = self.found, self.step, self.rooms()
        assert found.load is not None
        zero, own, mark, same, value = (f"{step.fold}_{n}" for n in range(5))
        made = Let((own,), IndexNumber(self.outer, DEFAULT)), Let((zero,), Constant(0.0, self.fold.type))
        stores = Store(step.room, (found.added,), zero), Store(marks.name, (found.added,), own)
        joins = Store(step.room, (found.added,), found.load.names[0], joins=self.fold.kind)
        added = Compute(Block((found.load,), found.load.names), (joins,))
        there = Load(step.room, (found.asked,), self.fold.type)
        lets = (
            *(replace(let, value=there) if let == found.load else let for let in found.block.lets),
            *made,
            Let((mark,), Load(marks.name, (found.asked,), DEFAULT)),
            Let((same,), Applied("=", (mark, own), "i1")),
            Let((value,), Applied("choose", (same, found.block.gives[0], zero), self.fold.type)),
        )
        indices, rows = zip(*found.around, strict=True)
        sums = replace(self.fold, indices=indices, rows=sum(rows, ()), body=Block(lets, (value,)))
        block = Block((Let((step.fold,), sums),), (step.fold,))
        first = self.loops((Compute(Block(made, (zero,)), stores),), found.loops)
        return first, self.loops((added,), found.loops), self.over(replace(self.compute, block=block))
