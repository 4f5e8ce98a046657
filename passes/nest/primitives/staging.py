"""The primitive that copies what is read often to where it is consecutive, before it is read.

As in BLIS and GETT, what is copied (packed) is a panel: all that a reduction reads for the lanes of a tile.
It is read again for each tile along the other indices, one vector after the next. For the rows of tiles it is
the same act, with other loops around it. Only the copies know the layout of a tensor.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product

from tadc.lattice.affine import ZERO, Affine
from tadc.lattice.late_dataclasses import dataclass, replace
from tadc.passes.maps.map import Block, Fold, Let, Load, TensorDecl
from tadc.passes.nest.loop_bounds import bound_forms, form_of, least_span, parts_of, rename_bound
from tadc.passes.nest.nest import (
    At,
    Body,
    Bound,
    Compute,
    Either,
    Extreme,
    For,
    Kind,
    Know,
    Nest,
    Stage,
    Store,
)
from tadc.passes.nest.primitives import rewriting as rw
from tadc.passes.nest.primitives.rewriting import DoesNotFit
from tadc.passes.nest.primitives.shared_copies import share
from tadc.passes.nest.steps import StageRead as Step

STEPS = 8
"""So many steps of a reduction are packed at a time for the rows of a tile: as many as a set of a cache has
lines."""

SCATTERED = STEPS
"""The most lanes that are gathered at a time: those far apart may share one set of the cache."""


@dataclass(frozen=True)
class Axis:
    """An index of a panel: of a loop or of a reduction, from `start` to below `stop`, at most `most` steps if
    that is known. No more of them are read than from `first` to below `last`, where other bounds are tighter.
    """

    index: str
    start: Bound
    stop: Bound
    most: int | None
    step: int = 1
    kind: Kind = "seq"
    first: Bound | None = None
    last: Bound | None = None

    def loop(self, index: str, body: Body) -> For:
        """A loop over the values that are read."""
        return For(index, self.first or self.start, self.last or self.stop, self.step, self.kind, body)

    @property
    def extent(self) -> int:
        """The most steps."""
        if self.most is None:
            raise DoesNotFit(f"the number of values of `{self.index}` is not known")
        return self.most

    def place(self, index: Affine) -> Affine:
        """Where a value of the index is in the panel."""
        start = form_of(self.start)
        if start is None:
            raise DoesNotFit(f"it is not known where `{self.index}` starts")
        return (index - start).floordiv(self.step) if self.step > 1 else index - start


def stage(nest: Nest, step: Step) -> Nest:
    """A panel of what a read reads inside of a loop, filled where the loop's body begins, and read from then
    on."""
    if step.fill == "threads":
        return share(nest, step)
    if not step.over:
        raise DoesNotFit("the loops that the buffer is over are missing: `over k, j1`")
    reads = [(fold, read) for fold in rw.folds_in(nest.body) if (read := rw.load_of(fold, step.read))]
    if not reads:
        raise DoesNotFit(f"no reduction reads `{step.read}`")
    fold, load = reads[0]
    name = rw.room_name(nest, load.tensor)

    def staged(body: Body) -> Body:
        names, rest = _leading(body)
        return (*names, *_Staging(nest, (*names, *rest), step, fold, load, name).staged(rest))

    if not step.inside:
        return replace(nest, body=staged(nest.body))
    return rw.with_loops(nest, step.inside, lambda loop: (replace(loop, body=staged(loop.body)),))


def _leading(body: Body) -> tuple[Body, Body]:
    """The indices that are named where a body begins, panels that are filled there, and the rest of it."""
    count, staged = 0, set[str]()
    for statement in body:
        match statement:
            case At() | Know():
                pass
            case Stage(tensor=tensor):
                staged.add(tensor.name)
            case _:
                stores = {store.tensor for one in rw.computes_in((statement,)) for store in one.stores}
                if not stores or not stores <= staged:
                    break
        count += 1
    return body[:count], body[count:]


class _Staging:
    """A panel on its way into a body."""

    def __init__(self, nest: Nest, body: Body, step: Step, fold: Fold, load: Load, name: str) -> None:
        self.nest, self.body, self.step, self.fold, self.load, self.name = nest, body, step, fold, load, name
        self.named = dict(rw.all_named(nest.body))
        """The bounds that indices are named for, anywhere."""
        self.values = rw.named_values(body)
        """The indices named inside, over those of loops and those named around."""
        self.axes = [self.axis(index) for index in step.over]
        self.across = [axis for axis in self.axes if axis.kind in ("jam", "lane")]
        """The axes of the lanes, which are one row of the panel; `own` are the others."""
        self.own = [axis for axis in self.axes if axis not in self.across]

    def staged(self, rest: Body) -> Body:
        """The rest of a body, whose reads are of a panel, after what fills this."""
        tiles = [loop for loop in rw.loops_in(rest) if loop.index == self.step.over[0]]
        if tiles and tiles[0].step > 1 and tiles[0].kind == "seq":
            return self.in_tiles(tiles, rest)
        for outer, inner in itertools.pairwise(self.across):
            if outer.step != inner.step * inner.extent or not self.are_one(outer.index, inner.index):
                raise DoesNotFit(f"`{outer.index}` and `{inner.index}` are not of one tile")
        extents = [*(axis.extent for axis in self.own), *([self.count] if self.across else [])]
        panel = TensorDecl(self.name, self.load.type, tuple(map(Affine.const, extents)))
        place = self.place({axis.index: Affine.var(axis.index) for axis in self.axes})
        return (Stage(panel, "stack"), *self.filled(), *self.reading(rest, place))

    def are_one(self, outer: str, inner: str) -> bool:
        """Whether the read moves with the sum of two loops, which are those of one index then."""
        forms = [form.substitute(self.values) for form in self.load.at]
        both = {outer: ZERO, inner: Affine.var(outer) + Affine.var(inner)}
        return all(form == form.substitute(both) for form in forms)

    @property
    def count(self) -> int:
        """How many elements the lanes have."""
        return math.prod(axis.extent for axis in self.across)

    def place(self, names: Mapping[str, Affine]) -> tuple[Affine, ...]:
        """Where an element is in the panel; what the lanes of a tile read is one row."""
        lanes = sum((names[axis.index] - (form_of(axis.start) or ZERO) for axis in self.across), ZERO)
        return (*(axis.place(names[axis.index]) for axis in self.own), *([lanes] if self.across else []))

    def reading(self, body: Body, place: tuple[Affine, ...]) -> Body:
        """A body that reads the panel."""

        def read(let: Let) -> Let:
            if self.step.read in let.names and isinstance(let.value, Load):
                return replace(let, value=Load(self.name, place, self.load.type))
            return let

        return rw.rewrite_values(body, read)

    # -- axes ------------------------------------------------------------------------------------

    def axis(self, index: str) -> Axis:
        """The values of a loop inside, or of an index of the reduction."""
        if index in self.fold.indices:
            return self.of_fold(index)
        for loop in rw.loops_in(self.body):
            if loop.index == index:
                span = least_span(bound_forms(loop.start), self.alternatives(loop.stop))
                most = None if span is None else -(-span // loop.step)
                return Axis(index, loop.start, loop.stop, most, loop.step, loop.kind)
        raise DoesNotFit(f"there is no loop or index `{index}` inside")

    def of_fold(self, index: str) -> Axis:
        """The values of an index of the reduction, in the block of it that runs, for all loops inside."""
        _, rest = _leading(self.body)
        inside = {loop.index for loop in rw.loops_in(rest)} | {name for name, _ in rw.all_named(rest)}
        bounds = rw.bounds_in(self.fold, index)
        starts, stops = ([form for form in found if inside.isdisjoint(form.variables)] for found in bounds)
        if not starts or not stops:
            raise DoesNotFit(f"the bounds of `{index}` depend on loops inside")
        spans = {pair: most for pair in product(starts, stops) if (most := self.span(*pair)) is not None}
        start, stop = min(spans, key=lambda pair: spans[pair], default=(starts[0], stops[0]))
        # A block of a reduction is within its bounds.
        is_block = not self.named.keys().isdisjoint(stop.variables)
        first = rw.greatest(start, *starts) if len(starts) > 1 and not is_block else None
        last = rw.least(stop, *stops) if len(stops) > 1 and not is_block else None
        return Axis(index, start, stop, spans.get((start, stop)), first=first, last=last)

    def span(self, start: Affine, stop: Affine) -> int | None:
        """The most values from a start to a stop, if that is known."""
        return least_span([start], self.alternatives(stop))

    def only_value(self, index: str) -> Affine:
        """The value of an index of the reduction that has one, in the block of it that runs."""
        axis = self.of_fold(index)
        start = form_of(axis.start)
        if start is None or axis.extent != 1:
            raise DoesNotFit(f"`{index}` moves the read, so the buffer is to be over it too")
        return start

    def no_more_than(self, name: str) -> tuple[Affine, ...]:
        """Forms that an index that is named is no more than."""
        bound = self.named.get(name)
        return parts_of(bound, "min") if isinstance(bound, Extreme) else ()

    def alternatives(self, bound: Bound) -> Iterator[Affine]:
        """Forms that a bound is no more than."""
        for form in bound_forms(bound) if not isinstance(bound, Either) else ():
            yield form
            for name in form.variables:
                if form.coefficient(name) == 1:
                    yield from (form.substitute({name: other}) for other in self.no_more_than(name))

    # -- copies ----------------------------------------------------------------------------------

    def fresh(self, index: str) -> str:
        """The name of an index in the loops that copy."""
        return f"{index}.{self.name}"

    def renamed(self) -> dict[str, Affine]:
        """The indices in the loops that copy."""
        return {axis.index: Affine.var(self.fresh(axis.index)) for axis in self.axes}

    def copy(
        self, renamed: Mapping[str, Affine], at: tuple[Affine, ...] | None = None, along: str = ""
    ) -> Compute:
        """The copy of one element, where indices have other names, to its place."""
        # Indices of the reduction that loops outside of the panel run over.
        fixed = {
            index: self.only_value(index)
            for index in self.fold.indices
            if index not in renamed and any(index in form.variables for form in self.load.at)
        }
        names = {**fixed, **renamed}
        forms = tuple(self.still(form.substitute(self.values)).substitute(names) for form in self.load.at)
        block = Block((Let(("%0",), Load(self.load.tensor, forms, self.load.type, along)),), ("%0",))
        return Compute(block, (Store(self.name, self.place(renamed) if at is None else at, "%0"),))

    def still(self, form: Affine) -> Affine:
        """A form of the read without loops inside that do not move it, as x below 3 does not in `x // 3`."""
        for loop in rw.loops_in(self.body):
            if loop.index in form.variables and loop.index not in self.step.over:
                axis = self.axis(loop.index)
                start = form_of(axis.start) or ZERO
                values = (start + n * axis.step for n in range(axis.most or 0))
                found = {form.substitute({loop.index: value}) for value in values}
                form = found.pop() if len(found) == 1 else form
        return form

    def filled(self) -> Body:
        """The loops that copy, each element once."""
        if self.step.fill == "vectors":
            return self.loops(self.axes, (self.copy(self.renamed()),))
        if not self.across:
            raise DoesNotFit("the buffer is over no loop in lockstep")
        is_whole = all(axis.first is None and axis.last is None for axis in self.own)
        return self.transposed() if self.step.fill == "transpose" and is_whole else self.gathered()

    def loops(self, axes: Sequence[Axis], body: Body) -> Body:
        """Loops over the values of axes, around a body."""
        for axis in reversed(axes):
            body = (axis.loop(self.fresh(axis.index), body),)
        return body

    def element(self, number: Affine, more: Mapping[str, Affine], along: str = "") -> Compute:
        """The copy of an element by its number among those of the lanes."""
        lanes = {axis.index: ZERO for axis in self.across[:-1]} | {self.across[-1].index: number}
        return self.copy({**self.renamed(), **lanes, **more}, along=along)

    def gathered(self) -> Body:
        """Copies lane by lane, a few lanes at a time: those far apart may share one set of the cache."""
        width, piece, lane = min(self.across[-1].extent, SCATTERED), self.fresh("piece"), self.fresh("lane")
        copied = self.element(Affine.var(piece) + Affine.var(lane), {})
        body = self.loops(self.own, (_from_zero(lane, width, 1, "lane", (copied,)),))
        return (_from_zero(piece, self.count, width, "seq", body),)

    def transposed(self) -> Body:
        """Copies of what is consecutive along the reduction: squares that are transposed in registers.

        A vector is read for each lane, along the reduction; as many of them as a vector has elements are
        transposed and stored as vectors of lanes. What is left of the reduction is copied again with some
        before it where there is enough, else gathered.
        """
        width = self.across[-1].extent
        along = next((axis for axis in self.own if self.moves_by_one(axis.index)), None)
        if along is None:
            raise DoesNotFit(f"no index of the reduction moves `{self.step.read}` by one")
        others = [axis for axis in self.own if axis is not along]
        start, stop = form_of(along.start), form_of(along.stop)
        if start is None or stop is None:
            raise DoesNotFit(f"it is not known where `{along.index}` starts and ends")
        span = stop - start
        fits = span.is_constant and span.constant >= width
        middle = stop if fits else start + span.floordiv(width) * width
        group, square, copy, lane = (self.fresh(name) for name in ("group", "square", "copy", "lane"))
        first, names = Affine.var(square), Body()
        if fits and span.constant % width:
            names = (At(f"{square}_at", Extreme("min", (first, stop - width))),)
            first = Affine.var(f"{square}_at")
        place = {along.index: first + Affine.var(copy)}
        copied = self.element(Affine.var(group) + Affine.var(lane), place, along=copy)
        body: Body = (_from_zero(lane, width, 1, "lane", (copied,)),)
        squares = For(square, start, middle, width, "seq", (*names, _from_zero(copy, width, 1, "jam", body)))
        inner = self.loops(others, (squares,))
        if not fits:
            left = replace(along, start=middle, stop=stop)
            inner += self.rest([left if axis is along else axis for axis in self.own], group)
        return (_from_zero(group, self.count, width, "seq", inner),)

    def rest(self, left: Sequence[Axis], group: str) -> Body:
        """The rest of the reduction, gathered."""
        width = self.across[-1].extent
        few, piece, lane = min(width, SCATTERED), f"{group}_piece", f"{group}_lane"
        copied = self.element(Affine.var(group) + Affine.var(piece) + Affine.var(lane), {})
        body: Body = (_from_zero(lane, few, 1, "lane", (copied,)),)
        kind: Kind = "unroll" if width > few else "seq"
        return self.loops(left, (_from_zero(piece, width, few, kind, body),))

    def moves_by_one(self, index: str) -> bool:
        """Whether an index moves the last subscript of the read by one, and no other."""
        *others, last = self.load.at
        rest = last - Affine.var(index)
        return all(index not in form.variables for form in (*others, rest))

    # -- rows ------------------------------------------------------------------------------------

    def in_tiles(self, tiles: Sequence[For], rest: Body) -> Body:
        """A panel for the rows of tiles: tile after tile, the points of the reduction, then the rows of a
        tile.

        It has room for whole tiles; the rows that are left take the first places of the last one.
        """
        if len(self.axes) < 2:
            raise DoesNotFit("a buffer for rows of tiles is over the rows of a tile too")
        tile, *own, row = self.axes
        points = math.prod(axis.extent for axis in own)
        size = -(-self.rows_of(tiles) // tile.step) * tile.step * points
        origin = form_of(tiles[0].start)
        if origin is None:
            raise DoesNotFit(f"it is not known where `{tile.index}` starts")

        def place(names: Mapping[str, Affine]) -> Affine:
            total = (names[tile.index] - origin) * points + names[row.index]
            for n, axis in enumerate(own):
                inner = tile.step * math.prod(other.extent for other in own[n + 1 :])
                total += axis.place(names[axis.index]) * inner
            return total

        renamed, ends, loops = self.renamed(), self.around(tiles), list[For]()
        at_ends = {item.index.removesuffix(f".{self.name}"): Affine.var(item.index) for item in ends}
        copied = self.copy(renamed, (place(renamed).substitute(at_ends),))
        kind: Kind = "lane" if self.step.fill == "vectors" else "jam"
        for found in tiles:
            copies = next((loop for loop in rw.loops_in(found.body) if loop.index == row.index), None)
            if copies is None:
                raise DoesNotFit(f"there is no loop `{row.index}` inside of `{tile.index}`")
            inner = For(self.fresh(row.index), copies.start, copies.stop, 1, kind, (copied,))
            start, stop = (rename_bound(b, at_ends) for b in (found.start, found.stop))
            loops.append(For(self.fresh(tile.index), start, stop, found.step, "seq", (inner,)))
        reading = self.reading(rest, (place({axis.index: Affine.var(axis.index) for axis in self.axes}),))
        panel = TensorDecl(self.name, self.load.type, (Affine.const(size),))
        return (*ends, Stage(panel, "stack"), *self.in_steps(own, loops), *reading)

    def in_steps(self, own: Sequence[Axis], tiles: Sequence[For]) -> Body:
        """The loops over the points of a reduction around those over tiles, but for a few steps of the
        innermost one inside of them: what these store is consecutive."""
        if not own:
            return tuple(tiles)
        *outer, last = own
        name = self.fresh(f"{last.index}_first")
        first = Affine.var(name)
        few = replace(last, first=first, last=rw.least(last.last or last.stop, first + STEPS))
        inside = tuple(replace(tile, body=self.loops([few], tile.body)) for tile in tiles)
        return self.loops(outer, (replace(last, step=STEPS, kind="seq").loop(name, inside),))

    def rows_of(self, tiles: Sequence[For]) -> int:
        """The most rows of all tiles."""
        start, last = form_of(tiles[0].start), form_of(tiles[-1].stop)
        if start is None or last is None:
            raise DoesNotFit(f"it is not known where the loops `{tiles[0].index}` end")
        first = {name: bound for name in start.variables if isinstance(bound := self.named.get(name), Affine)}
        stops = [last, *(last.substitute({n: form}) for n in last.variables for form in self.no_more_than(n))]
        count = least_span([start.substitute(first)], (stop.substitute(first) for stop in stops))
        if count is None:
            raise DoesNotFit(f"the number of rows of `{tiles[0].index}` is not known")
        return count

    def around(self, tiles: Sequence[For]) -> tuple[At, ...]:
        """The indices that the ends of loops are made of and that are named inside, with names of their
        own."""
        inside = {name for name, _ in rw.all_named(self.body)}
        found: dict[str, Bound] = {}

        def need(bounds: Iterable[Bound]) -> None:
            for name in (name for bound in bounds for form in bound_forms(bound) for name in form.variables):
                if name in inside and name not in found:
                    need([self.named[name]])
                    found[name] = self.named[name]

        need(bound for loop in tiles for bound in (loop.start, loop.stop))
        renamed = {name: Affine.var(self.fresh(name)) for name in found}
        return tuple(At(self.fresh(name), rename_bound(bound, renamed)) for name, bound in found.items())


def _from_zero(index: str, count: int, step: int, kind: Kind, body: Body) -> For:
    return For(index, ZERO, Affine.const(count), step, kind, body)
