"""The primitive that lets the threads of a block of a GPU copy what all read to memory that they share.

    for j0 = 0 to 64 step 32 block {             split k 8 -> k0, k1
        for k0 = 0 to 16 {                       stage %0 inside k0 by threads
            stage b.0: f32[8, 32] in shared
            for t = 0 to 128 thread {…}
            for j1 = 0 to 32 thread {
                k0.3[j1] = sum k1 … from k0.3[j1]: %0 = b.0[k1, j1]

What is copied is a box around all that threads read in a turn, for all values of the indices after `k0`: so
many elements along each dimension of a tensor. Each thread copies every so many, in the order of memory, in
vectors where these are aligned; places of the box beyond the tensor have zeros.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tadc.frontend.terms import Domain
from tadc.lattice.affine import ZERO, Affine, Constraint
from tadc.lattice.polyhedron import implied
from tadc.passes.maps.blocks import indices_bound
from tadc.passes.maps.machine import TYPICAL
from tadc.passes.maps.map import Block, Choice, Constant, Let, Load, TensorDecl
from tadc.passes.nest.nest import At, Body, Compute, For, Nest, Stage, Store
from tadc.passes.nest.primitives import rewriting as rw
from tadc.passes.nest.primitives.boxes import padded, row_major, spans_of
from tadc.passes.nest.primitives.carried import ranges_inside
from tadc.passes.nest.primitives.rewriting import DoesNotFit
from tadc.passes.nest.primitives.turns import at_threads, with_turns
from tadc.passes.nest.steps import StageRead as Step
from tadc.passes.nest.tile import within
from tadc.passes.nest.vector_lanes import extreme
from tadc.passes.terms.costs import ELEMENT


def share(nest: Nest, step: Step) -> Nest:
    """Room for what a read reads in a turn of an index of a reduction, or at all, with loops that fill it."""
    if step.over:
        raise DoesNotFit("it is over all loops that threads divide, and those inside: leave `over` out")
    found = next((let.value for let in rw.lets_in(nest.body) if step.read in let.names), None)
    if not isinstance(found, Load):
        raise DoesNotFit(f"`{step.read}` is no read there")
    if found.tensor in nest.computed:
        raise DoesNotFit(f"`{found.tensor}` is written here after its copy")
    if step.inside:
        nest = with_turns(nest, step.inside, step.read)

    def made(body: Body, facts: Domain, outer: Mapping[str, Affine]) -> Body:
        if step.inside and step.inside not in outer:
            raise DoesNotFit(f"`{step.inside}` is no loop around threads that read `{step.read}`")
        thread = next(loop for loop in rw.loops_in(body) if loop.kind == "thread")
        box = _Box(nest, step, found, thread)
        return (*box.copied(facts, outer), *box.reading(body))

    return replace(nest, body=at_threads(nest.body, step.read, nest.known, {}, made))


class _Box:
    """What is copied of the tensor of a read."""

    def __init__(self, nest: Nest, step: Step, load: Load, thread: For) -> None:
        self.load, self.read, self.thread, self.again = load, step.read, thread, bool(step.inside)
        self.name, values = rw.room_name(nest, load.tensor), rw.named_values(nest.body)
        self.forms = [form.substitute(values) for form in load.at]
        (self.shape,) = (tensor.shape for tensor in nest.tensors if tensor.name == load.tensor)

    def copied(self, facts: Domain, outer: Mapping[str, Affine]) -> Body:
        """The room and what fills it, before loops that threads divide."""
        loops, (moved, ranges) = list(rw.loops_in((self.thread,))), ranges_inside((self.thread,))
        self.check(ranges)
        forms = [form.substitute(moved) for form in self.forms]
        spans = spans_of(TYPICAL, forms, ranges, ELEMENT[self.load.type])
        if spans is None:
            raise DoesNotFit(f"how much `{self.read}` reads is not known")
        self.extents, self.strides = [count for count, _ in spans], [step for _, step in spans]
        self.bases = [extreme(form, ranges, -1) for form in forms]
        self.order = list(range(len(forms)))
        moving = [d for d, form in enumerate(forms) if form.variables & {loop.index for loop in loops}]
        if self.again and moving:
            # Threads or copies run along the last dimension of the room.
            last = max(moving, key=lambda d: (self.extents[d], d))
            self.order = [*(d for d in self.order if d != last), last]
        turned, least = self.order != sorted(self.order), 4 if self.again else 1
        shape = padded(TYPICAL, [self.extents[d] for d in self.order], turned, least)
        room = TensorDecl(self.name, self.load.type, tuple(map(Affine.const, shape)))
        count = math.prod(ranges.get(loop.index, 1) for loop in loops if loop.kind == "thread")
        return (Stage(room, "shared"), *self.loops(count, facts, outer))

    def reading(self, body: Body) -> Body:
        """A body that reads the room."""
        ends = zip(self.forms, self.bases, self.strides, strict=True)
        places = [(form - base).floordiv(step) for form, base, step in ends]
        own, read = self.read, Load(self.name, tuple(places[d] for d in self.order), self.load.type)
        return rw.rewrite_values(body, lambda let: replace(let, value=read) if own in let.names else let)

    def check(self, ranges: Mapping[str, int]) -> None:
        """Raise DoesNotFit where it is not known how far a read moves in the loops."""
        loops, names = rw.loops_in((self.thread,)), rw.all_named((self.thread,))
        moving = {loop.index for loop in loops} | {name for name, _ in names}
        reduced = {index for one in rw.computes_in((self.thread,)) for index in indices_bound(one.block)}
        used = {name for form in self.forms for name in form.variables} - ranges.keys()
        if used & reduced:
            raise DoesNotFit(f"`{self.read}` moves with a reduction: stage it inside of an index of that")
        if used & moving:
            raise DoesNotFit(f"how much `{self.read}` reads is not known")

    # -- copies ----------------------------------------------------------------------------------

    def loops(self, threads: int, facts: Domain, outer: Mapping[str, Affine]) -> Body:
        """The loops that copy, so many threads at a time; those that are left over in the end."""
        width = self.width(outer)
        counts = [*self.extents[:-1], self.extents[-1] // width] if self.extents else []
        turn, thread, lane = (f"{word}.{self.name}" for word in ("turn", "thread", "lane"))
        names = [f"p{d}.{self.name}" for d in range(len(counts))]
        place = [*map(Affine.var, names)]
        place[-1:] = [form * width for form in place[-1:]]
        at = [base + form * step for base, form, step in zip(self.bases, place, self.strides, strict=True)]
        inside, rows = (*facts, *within(dict(zip(names, counts, strict=True)))), list[Constraint]()
        # A vector is in range where its first element is: all ends are multiples of its width.
        for form, size, more in zip(at, self.shape, [*[1] * len(at), width][1:], strict=True):
            rows += [Constraint(f) for f in (form, size - more - form) if not implied(f, inside)]
        body: Body
        if width > 1:
            at[-1], place[-1] = at[-1] + Affine.var(lane), place[-1] + Affine.var(lane)
            body = (For(lane, ZERO, Affine.const(width), 1, "lane", (self.copy(at, place, tuple(rows)),)),)
        else:
            body = (self.copy(at, place, tuple(rows)),)

        def turns(first: Affine, count: int) -> Body:
            flat = row_major(first + Affine.var(thread), counts)
            numbered = map(At, names, flat)
            return (For(thread, ZERO, Affine.const(count), 1, "thread", (*numbered, *body)),)

        full, left = divmod(math.prod(counts), threads)
        whole = turns(Affine.var(turn) * threads, threads)
        made = (For(turn, ZERO, Affine.const(full), 1, "unroll", whole),) if full else ()
        return (*made, *(turns(Affine.const(full * threads), left) if left else ()))

    def width(self, outer: Mapping[str, Affine]) -> int:
        """How many consecutive elements are copied at once: each such vector is aligned, and whole."""
        width = TYPICAL.vector // ELEMENT[self.load.type]
        if not self.again or not self.shape or self.strides[-1] != 1 or not self.shape[-1].is_constant:
            return 1
        base = self.bases[-1].substitute(outer)
        ends = (self.extents[-1], self.shape[-1].constant, base.constant, *(k for _, k in base.terms))
        return 1 if any(end % width for end in ends) else width

    def copy(self, at: Sequence[Affine], place: Sequence[Affine], rows: Domain) -> Compute:
        """The copy of an element; zeros where rows do not hold."""
        type, name = self.load.type, f"%{self.name}"
        inside, zero = f"{name}.inside", f"{name}.zero"
        read = Let((inside if rows else name,), Load(self.load.tensor, tuple(at), type))
        if rows:
            otherwise = Block((Let((zero,), Constant(0.0, type)),), (zero,))
            read = Let((name,), Choice(rows, Block((read,), (inside,)), otherwise, type))
        store = Store(self.name, tuple(place[d] for d in self.order), name)
        return Compute(Block((read,), (name,)), (store,))
