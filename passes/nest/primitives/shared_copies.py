"""The primitive that lets the threads of a block of a GPU copy what all read to memory that they share.

    for j0 = 0 to 64 step 32 block {             split k 8 -> k0, k1
        stage b.0: f32[8, 32] in shared          stage %0 inside k0 by threads
        before each k0 {
            for t = 0 to 128 thread {…}
        }
        for j1 = 0 to 32 thread {
            %3 = sum k0, k1 …: %0 = b.0[k1, j1]

What is copied is a box around all that the loops in it read, and the indices of the reduction after `k0`: so
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
from tadc.passes.maps.machine import TYPICAL
from tadc.passes.maps.map import Block, Choice, Fold, Let, Load, Number, Tensor
from tadc.passes.nest.facts import Loops, named
from tadc.passes.nest.fold_blocks import steps_of
from tadc.passes.nest.loop_bounds import form_of, turns_of
from tadc.passes.nest.nest import At, Body, Compute, For, Know, Nest, Stage, Store
from tadc.passes.nest.primitives import rewriting as rw
from tadc.passes.nest.primitives.boxes import padded, row_major, spans_inside, spans_of, within
from tadc.passes.nest.primitives.reductions import whole
from tadc.passes.nest.primitives.rewriting import DoesNotFit
from tadc.passes.nest.steps import Stage as Step
from tadc.passes.nest.vector_lanes import extreme
from tadc.passes.terms.costs import ELEMENT


def share(nest: Nest, step: Step, name: str) -> Nest:
    """Room for what a read reads in a turn of an index of a reduction, or at all, with loops that fill it."""
    if step.over:
        raise DoesNotFit("it is over all loops that threads divide, and those inside: leave `over` out")
    found = next((let.value for let in rw.lets_in(nest.body) if step.read in let.names), None)
    if not isinstance(found, Load):
        raise DoesNotFit(f"`{step.read}` is no read there")
    if found.tensor in nest.computed:
        raise DoesNotFit(f"`{found.tensor}` is written here after its copy")
    fold = _fold_around(nest, step) if step.inside else None
    made = _with_copies(nest.body, nest.known, _Box(nest, step, found, fold, name), {})
    if made is None:
        raise DoesNotFit("no loop is divided among the threads of a block")
    return replace(nest, body=made)


def _fold_around(nest: Nest, step: Step) -> Fold:
    """The reduction in whose turns of an index a read is copied."""
    folds = [let.value for let in rw.lets_in(nest.body) if isinstance(let.value, Fold)]
    around = [fold for fold in folds if step.inside in fold.indices]
    own = [fold for fold in around if any(step.read in let.names for let in fold.body.all_lets())]
    if not own:
        raise DoesNotFit(f"`{step.inside}` is no index of a reduction that reads `{step.read}`")
    fold, stages = whole(own[0]), (s for s in rw.statements_in(nest.body) if isinstance(s, Stage))
    turns = {stage.tensor.name: stage.turns for stage in stages}
    inner = fold.indices[fold.indices.index(step.inside) + 1 :]
    others = {turns[load.tensor][-1] for load in rw.loads_in(fold.body) if turns.get(load.tensor)}
    if others - {step.inside}:
        raise DoesNotFit("what a reduction reads is copied in the turns of one index")
    if fold.loop not in ("seq", "unroll") or not all(map(fold.is_counted, inner)):
        raise DoesNotFit(f"the indices after `{step.inside}` have no known numbers of values from 0 on")
    return fold


def _with_copies(body: Body, facts: Domain, box: _Box, outer: Mapping[str, Affine]) -> Body | None:
    """A body with a box before the first loop that threads divide, at whatever depth, and in which the read
    is; None without one."""
    for number, statement in enumerate(body):
        if isinstance(statement, At):
            facts += tuple(row for fact in named(statement) if len(fact) == 1 for row in fact[0])
        elif isinstance(statement, Know):
            facts += statement.rows
        elif isinstance(statement, For) and box.is_read_in(statement):
            rest = body[number + 1 :]
            if statement.kind == "thread":
                copies = box.copied(statement, facts, outer)
                return (*body[:number], *copies, *box.reading((statement, *rest)))
            own = tuple(row for fact in Loops().inside(statement) if len(fact) == 1 for row in fact[0])
            turn = {statement.index: Affine.var(statement.index) * statement.step}
            inside = _with_copies(statement.body, (*facts, *own), box, {**outer, **turn})
            if inside is not None:
                return (*body[:number], replace(statement, body=inside), *box.reading(rest))
    return None


class _Box:
    """What is copied of the tensor of a read."""

    def __init__(self, nest: Nest, step: Step, load: Load, fold: Fold | None, name: str) -> None:
        self.load, self.fold, self.read, self.name = load, fold, step.read, name
        self.turns = fold.indices[: fold.indices.index(step.inside) + 1] if fold else ()
        """The indices of the reduction before each of whose turns it is filled."""
        self.values = rw.named_values(nest.body)
        self.forms = [form.substitute(self.values) for form in load.at]
        (self.shape,) = (tensor.shape for tensor in nest.tensors if tensor.name == load.tensor)

    def is_read_in(self, loop: For) -> bool:
        """Whether the read is in a loop: it is in none that fills another room."""
        return any(self.read in let.names for let in rw.lets_in((loop,)))

    def copied(self, thread: For, facts: Domain, outer: Mapping[str, Affine]) -> Body:
        """The room and what fills it, before loops that threads divide."""
        loops, moved, ranges = list(rw.loops_in((thread,))), dict[str, Affine](), dict[str, int]()
        for loop in loops:
            start, count = form_of(loop.start), turns_of(loop)
            if start is not None and start.is_constant and count is not None:
                moved[loop.index], ranges[loop.index] = start + Affine.var(loop.index) * loop.step, count
        apart, rows = set(ranges), ()
        threads = math.prod(ranges.get(loop.index, 1) for loop in loops if loop.kind == "thread")
        if self.fold:
            inner = spans_inside(self.fold.body)
            moved |= {name: first + Affine.var(name) for name, (first, _) in inner.items()}
            ranges |= {name: count for name, (_, count) in inner.items()}
            ranges |= {name: steps_of(name, self.fold.rows) for name in self.fold.indices[len(self.turns) :]}
            rows = self.known(self.fold, moved, ranges)
        self.check(thread, ranges)
        forms = [form.substitute(moved) for form in self.forms]
        spans = spans_of(TYPICAL, forms, ranges, ELEMENT[self.load.type])
        if spans is None:
            raise DoesNotFit(f"how much `{self.read}` reads is not known")
        self.extents, self.strides = [count for count, _ in spans], [step for _, step in spans]
        self.bases = [extreme(form, ranges, -1) for form in forms]
        self.order = list(range(len(forms)))
        moving = [d for d, form in enumerate(forms) if form.variables & apart]
        if self.fold and moving:
            # Threads or copies run along the last dimension of the room.
            last = max(moving, key=lambda d: (self.extents[d], d))
            self.order = [*(d for d in self.order if d != last), last]
        turned, least = self.order != sorted(self.order), 4 if self.fold else 1
        shape = padded(TYPICAL, [self.extents[d] for d in self.order], turned, least)
        room = Tensor(self.name, self.load.type, tuple(map(Affine.const, shape)))
        fill = self.loops(threads, (*facts, *rows), outer)
        inside = Stage(room, "shared", self.turns, rows, fill)
        return (inside,) if self.fold else (Stage(room, "shared"), *fill)

    def reading(self, body: Body) -> Body:
        """A body that reads the room."""
        ends = zip(self.forms, self.bases, self.strides, strict=True)
        places = [(form - base).floordiv(step) for form, base, step in ends]
        own, read = self.read, Load(self.name, tuple(places[d] for d in self.order), self.load.type)
        return rw.rewrite_values(body, lambda let: replace(let, value=read) if own in let.names else let)

    def known(self, fold: Fold, moved: Mapping[str, Affine], ranges: Mapping[str, int]) -> Domain:
        """What holds in a turn of the reduction where one of the threads has an element."""
        rows = (row.form for row in fold.rows if not row.equality)
        forms = [form.substitute(self.values).substitute(moved) for form in rows]
        own = frozenset(self.turns)
        return tuple(Constraint(extreme(form, ranges, 1)) for form in forms if form.variables & own)

    def check(self, thread: For, ranges: Mapping[str, int]) -> None:
        """Raise DoesNotFit where it is not known how far a read moves in the loops."""
        moving = {loop.index for loop in rw.loops_in((thread,))} | {n for n, _ in rw.all_named((thread,))}
        folds = (let.value for let in rw.lets_in((thread,)) if isinstance(let.value, Fold))
        reduced = {index for fold in folds for index in fold.indices} - {*self.turns}
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
        if not self.fold or not self.shape or self.strides[-1] != 1 or not self.shape[-1].is_constant:
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
            otherwise = Block((Let((zero,), Number(0.0, type)),), (zero,))
            read = Let((name,), Choice(rows, Block((read,), (inside,)), otherwise, type))
        store = Store(self.name, tuple(place[d] for d in self.order), name)
        return Compute(Block((read,), (name,)), (store,))
