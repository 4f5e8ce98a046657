"""Panels: what the tiles of a map read, copied to where it is consecutive. `packing_plan` chooses them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tadc.dialect.index_maps import parse_set
from tadc.dialect.locations import unnamed
from tadc.dialect.mlir import ir
from tadc.frontend.terms import Domain
from tadc.lattice.affine import ZERO, Affine
from tadc.lattice.bounds import Level
from tadc.lattice.nest import loop_nest
from tadc.passes.cpu.packing_plan import Packed, along
from tadc.passes.maps.lower_body import BodyLowering
from tadc.passes.maps.tile_values import LANE
from tadc.passes.nest.lanes import Lanes

if TYPE_CHECKING:
    from tadc.passes.cpu.tile_schedule import Schedule


#: The first value of each binder of a reduction, and the one after its last.
Spans = Sequence[tuple[Affine, Affine]]

SCATTERED = 8
"""The most lanes that are read at a time where they are not consecutive."""


@dataclass(frozen=True)
class Panel:
    """A buffer over binders of a reduction, each from a start on, and the lanes of a tile."""

    buffer: Any
    binders: tuple[Any, ...]
    starts: tuple[Affine, ...]
    along: Affine
    """The last subscript: a form of the variables of the tile."""

    def subscripts(self, forms: Mapping[Any, Affine]) -> list[Affine]:
        """Where a point of the reduction finds its element."""
        inner = [forms[b] - start for b, start in zip(self.binders, self.starts, strict=True)]
        return [*inner, self.along]


@dataclass(frozen=True)
class RowPanel:
    """A buffer of rows of tiles: tile after tile, the points of the reduction, then the rows of the tile.

    Tiles start at multiples of `tile` from `begin` on; `row` is the map's index along them, whose copies are
    those of `variable`. `strides` are those of the binders.
    """

    buffer: Any
    binders: tuple[Any, ...]
    starts: tuple[Affine, ...]
    strides: tuple[int, ...]
    row: Any
    variable: str
    begin: Affine
    points: int

    def subscripts(self, forms: Mapping[Any, Affine]) -> list[Affine]:
        """Where a point of the reduction finds its element in a row."""
        form, along = forms[self.row], Affine.var(self.variable)
        copy = along * form.coefficient(self.variable)
        total = (form - copy - self.begin) * self.points + copy
        for binder, start, stride in zip(self.binders, self.starts, self.strides, strict=True):
            total += (forms[binder] - start) * stride
        return [total]


@dataclass(frozen=True)
class Block:
    """Where a reduction is: each index from a value on up to another one.

    Where it runs in blocks, the outer loops have the values `at` and the next one the `ends`, and `first` is
    whether this block is the first.
    """

    bounds: Sequence[tuple[Affine, Affine]]
    at: tuple[Affine, ...] = ()
    ends: tuple[Any, Any] | None = None
    first: Any = None


@dataclass(frozen=True)
class Panels:
    """The panels by read, of a block of the reduction `op`."""

    by_read: Mapping[Any, Panel | RowPanel] = field(default_factory=dict[Any, "Panel | RowPanel"])
    op: Any = None
    block: Block | None = None

    def cut(self, op: Any) -> Block | None:
        """The block of a reduction that runs in blocks."""
        return self.block if self.op is not None and self.op == op and self.is_cut else None

    @property
    def is_cut(self) -> bool:
        """Whether there is one that does: then results go to memory and back."""
        return self.block is not None and self.block.ends is not None

    @property
    def is_exact(self) -> bool:
        """Whether no element may be in two tiles."""
        return self.is_cut or any(isinstance(panel, RowPanel) for panel in self.by_read.values())


class Packer:
    """Emits the copies, block by block, around the loops that read them."""

    def __init__(self, block: Any, lowering: BodyLowering, schedule: Schedule, packed: Packed) -> None:
        """`block` is the map's body."""
        self.block, self.low, self.schedule, self.packed = block, lowering, schedule, packed
        self.op = packed.loop.op
        self.inner = self.op.regions[0].blocks[0]
        self.binders = list(self.inner.arguments)
        self.location = unnamed(self.op.location)

    def place(self, outer: Mapping[int, Affine]) -> None:
        """Give the map's indices these values, and others 0."""
        for number, argument in enumerate(self.block.arguments):
            self.low.forms[argument] = outer.get(number, ZERO)
        self.index_operations(self.block)

    def emit(
        self, outer: Mapping[int, Affine], facts: Domain, point: Any, then: Callable[[Block, Any], None]
    ) -> None:
        """Make the loops over blocks of the reduction; `then` makes what is inside."""
        self.place(outer)
        bounds = [self.ends(level, point) for level in self.levels(facts)]
        if self.packed.block is None:
            then(Block(bounds), point)
        else:
            self.blocks(self.packed.block, Block(bounds), point, then)

    def blocks(self, steps: int, outer: Block, point: Any, then: Callable[[Block, Any], None]) -> None:
        """Loops over the outer binders and over the blocks of the next one."""
        low, depth = self.low, len(outer.at)
        is_last = depth == self.packed.outer
        low.location = self.location
        first_of, last_of = outer.bounds[depth]
        start = low.affine([first_of], point)
        # Results are stored once at least, also where an unknown number of elements is 0.
        stop = low.affine([last_of, first_of + 1], point, "affine.max")
        step = low.constant(low.index_type, steps if is_last else 1, point)
        made = low.create("scf.for", [], [start, stop, step], point, regions=1)
        block = ir.Block.create_at_start(made.regions[0], [low.index_type], [self.location])
        inside = ir.InsertionPoint(block)
        begin = low.variable(block.arguments[0])
        first = self.also(outer.first, block.arguments[0], start, inside)
        bounds = list(outer.bounds)
        if not is_last:
            bounds[depth] = (begin, begin + 1)
            self.blocks(steps, Block(bounds, (*outer.at, begin), None, first), inside, then)
        else:
            end = low.variable(low.affine([begin + steps, bounds[depth][1]], inside, "affine.min"))
            bounds[depth] = (begin, end)
            ends = (low.affine([begin], inside), low.affine([end], inside))
            then(Block(bounds, outer.at, ends, first), inside)
        low.location = self.location
        low.create("scf.yield", [], [], inside)

    def also(self, first: Any, index: Any, start: Any, point: Any) -> Any:
        """Whether a condition holds, if there is one, and an index is where its loop starts."""
        here = self.low.compare("eq", index, start, point)
        if first is None:
            return here
        return self.low.create("arith.andi", [here.type], [first, here], point).results[0]

    def index_operations(self, block: Any) -> None:
        """Forms for the indices that a block computes."""
        for operation in block.operations:
            op = operation.operation
            if op.name == "tad.index" and all(v in self.low.forms for v in op.operands):
                self.low.forms[op.results[0]] = self.low.subscripts(op, op.operands)[0]

    def levels(self, facts: Domain) -> Sequence[Level]:
        """The loops over the domain, which depends on sizes alone."""
        found = parse_set(str(self.op.attributes["domain"]))
        mapping = {f"s{i}": self.low.forms[v] for i, v in enumerate(self.op.operands)}
        rows = [c.substitute(mapping) for c in found.constraints]
        return loop_nest([f"d{i}" for i in range(found.dims)], rows, facts).levels

    def ends(self, level: Level, point: Any) -> tuple[Affine, Affine]:
        """The first value of an index, and the one after the last."""
        lower, upper = [b.ceil() for b in level.lower], [b.floor() + 1 for b in level.upper]
        found = (
            forms[0] if len(forms) == 1 else self.low.variable(self.low.affine(forms, point, operation))
            for forms, operation in ((lower, "affine.max"), (upper, "affine.min"))
        )
        start, stop = found
        return start, stop

    def pack(self, outer: Mapping[int, Affine], block: Block, point: Any) -> dict[Any, Panel]:
        """Make and fill the panels for lanes."""
        self.place(outer)
        return {read.op: self.panel(read, block.bounds, point) for read in self.packed.reads}

    def panel(self, read: Any, bounds: Sequence[tuple[Affine, Affine]], point: Any) -> Panel:
        """Make and fill one panel."""
        schedule, low = self.schedule, self.low
        lanes_index = schedule.lanes
        assert lanes_index is not None
        own = self.own(read)
        shape = [self.extent(n) for n in own] + [schedule.extent(lanes_index)]
        element = read.op.results[0].type
        buffer = self.room(ir.MemRefType.get(shape, element), point)
        ways = range(0, schedule.extent(lanes_index), schedule.width)
        if read.strides[self.packed.lane] == 1:
            lanes = Lanes(low, schedule.width)
            self.loops(own, bounds, {}, self.filler(read, own, bounds, buffer, lanes, ways), point)
        elif schedule.weaves and along(self.packed.loop, read, schedule.width):
            from tadc.passes.cpu.panel_transposes import PanelTransposes

            PanelTransposes(self, read, bounds, buffer).fill(point)
        else:
            lanes = self.scattered
            for first in range(0, schedule.extent(lanes_index), lanes.width):
                self.loops(own, bounds, {}, self.filler(read, own, bounds, buffer, lanes, [first]), point)
        along_lanes = schedule.form(lanes_index, ZERO)
        return Panel(
            buffer, tuple(self.binders[n] for n in own), tuple(bounds[n][0] for n in own), along_lanes
        )

    @property
    def scattered(self) -> Lanes:
        """The lanes that are gathered at a time: those far apart may share one set of the cache, which holds
        few lines."""
        return Lanes(self.low, min(self.schedule.width, SCATTERED))

    def own(self, read: Any) -> list[int]:
        """The binders that move a read inside a block."""
        inner = range(self.packed.outer, len(self.binders))
        return [n for n in inner if self.packed.loop.binders[n] in read.names]

    def filler(
        self,
        read: Any,
        own: Sequence[int],
        bounds: Sequence[tuple[Affine, Affine]],
        buffer: Any,
        lanes: Lanes,
        group: Sequence[int | Affine],
    ) -> Callable[[Mapping[int, Affine], Any], None]:
        """What copies vectors of a panel, which start at some last subscripts, at a point of the binders."""
        low = self.low
        argument = self.block.arguments[self.schedule.lanes]
        base = low.forms[argument]

        def fill(indices: Mapping[int, Affine], at: Any) -> None:
            for first in group:
                along = Affine.var(LANE) + first
                low.forms[argument] = base + along
                forms = self.subscripts(read, indices, bounds)
                value = lanes.load(low.memrefs[read.op.operands[0]], forms, None, at)
                lanes.store_run(value, buffer, [*(indices[n] - bounds[n][0] for n in own), along], at)
            low.forms[argument] = base

        return fill

    def subscripts(
        self, read: Any, indices: Mapping[int, Affine], bounds: Sequence[tuple[Affine, Affine]]
    ) -> list[Affine]:
        """What is read where the binders have these values; those that do not move it, any."""
        for n, binder in enumerate(self.binders):
            self.low.forms[binder] = indices.get(n, bounds[n][0])
        self.index_operations(self.block)
        self.index_operations(self.inner)
        return self.low.subscripts(read.op, list(read.op.operands)[1:])

    def extent(self, number: int) -> int:
        """The most values of a binder in one block."""
        if number == self.packed.outer and self.packed.block is not None:
            return self.packed.block
        return self.packed.loop.trips[number]

    def loops(
        self,
        own: Sequence[int],
        bounds: Spans | Mapping[int, tuple[Affine, Affine]],
        indices: Mapping[int, Affine],
        fill: Callable[[Mapping[int, Affine], Any], None],
        point: Any,
        by: int = 1,
    ) -> None:
        """Loops over some binders, so many values at a time."""
        if not own:
            fill(indices, point)
            return
        low = self.low
        low.location = self.location
        start, stop = (low.affine([end], point) for end in bounds[own[0]])
        step = low.constant(low.index_type, by, point)
        made = low.create("scf.for", [], [start, stop, step], point, regions=1)
        block = ir.Block.create_at_start(made.regions[0], [low.index_type], [self.location])
        inside = ir.InsertionPoint(block)
        self.loops(own[1:], bounds, {**indices, own[0]: low.variable(block.arguments[0])}, fill, inside, by)
        low.create("scf.yield", [], [], inside)

    def room(self, type: Any, point: Any) -> Any:
        """A buffer on the stack of the lowered function, made where it starts: loops must not make more."""
        start = function_start(point)
        aligned = {
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([0, 0]),
            "alignment": ir.IntegerAttr.get(ir.IntegerType.get_signless(64, self.low.context), 64),
        }
        return self.low.create("memref.alloca", [type], [], start, aligned).results[0]


def function_start(point: Any) -> Any:
    """Where the function that holds a point begins."""
    op = point.block.owner
    while op.name != "func.func":
        op = op.operation.parent
    return ir.InsertionPoint.at_block_begin(op.regions[0].blocks[0])
