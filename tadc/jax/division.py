"""A call in blocks, one for each device, in numbers: what is divided, and what devices get of others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

from tadc.api.function import Function
from tadc.frontend.diagnostics import CompileError, Diagnostic
from tadc.jax.exchange import Exchange


class DividedStage:
    """A stage of a call in blocks: which block each device computes, at each step of a ring.

    Devices stand along axes of blocks. Where two axes are divided over the same devices and a result needs
    blocks of both, tensors along the `travelling` one go round: each step brings a device their next part.
    """

    def __init__(self, call: DividedCall, function: Function, plan: Any) -> None:
        self.call, self.function, self.plan = call, function, plan
        self.axes = [axis.name for axis in plan.stage.axes]
        is_ring = any(all(self.needs(name, axis) for axis in call.ring) for name in function.outputs)
        self.travelling = call.ring[-1] if call.ring and is_ring else ""

    def needs(self, name: str, axis: str) -> bool:
        """Whether each block along an axis has something else of a tensor."""
        along = (a.dims for a in self.plan.stage.axes if a.name == axis)
        return self.is_joined(name, axis) or any(name in dims for dims in along)

    def is_joined(self, result: str, axis: str) -> bool:
        """Whether a result is joined of those of all blocks along an axis."""
        part = self.plan.part(result)
        return part is not None and axis in part.axes

    def ring_axis(self, result: str) -> str:
        """The axis along which a ring joins parts of a result; none where it needs no ring."""
        if not self.travelling or not all(self.needs(result, axis) for axis in self.call.ring):
            return ""
        return next((axis for axis in reversed(self.call.ring) if self.is_joined(result, axis)), "")

    def blocks(self, axis: str) -> int:
        """How many blocks there are along an axis."""
        return len(self.plan.places[self.axes.index(axis)])

    @cached_property
    def tasks(self) -> Mapping[tuple[int, ...], Any]:
        """The block of a device by its place along each axis: of those behind the last block, that one.

        Along what a stage is not divided all have the only one.
        """
        found: dict[tuple[int, ...], Any] = {}
        for at in product(*(range(self.call.pieces[name]) for name in self.axes)):
            cell = self._cell(at)
            found[at] = found[cell] if cell in found else self.plan.task(cell)
        return found

    def behind(self, at: Sequence[int]) -> set[str]:
        """The axes along which a device stands behind the last block."""
        stage = self.plan.stage
        return {
            a.name
            for a, n in zip(stage.axes, at, strict=True)
            if stage.goes_along(a) and n >= self.blocks(a.name)
        }

    def is_idle(self, name: str, at: Sequence[int]) -> bool:
        """Whether a device has no part of a result of all blocks, for it stands behind the last one."""
        return any(self.is_joined(name, axis) for axis in self.behind(at))

    def _cell(self, at: Sequence[int]) -> tuple[int, ...]:
        return tuple(min(n, self.blocks(axis) - 1) for n, axis in zip(at, self.axes, strict=True))

    def divided(self, names: Sequence[str]) -> list[tuple[str, int]]:
        """All dimensions of tensors that go along with an axis."""
        dims = self.call.dims
        return [
            (name, d)
            for name in names
            if name in dims
            for d, axis in enumerate(dims[name])
            if axis is not None
        ]

    def block_shape(self, result: str) -> tuple[int, ...]:
        """That of the largest block of a result."""
        boxes = (task.writes[result] for task in self.tasks.values())
        return tuple(max(map(len, places)) for places in zip(*boxes, strict=True))

    def exchange(self, argument: str, dimension: int) -> Exchange:
        """How devices get what they read of an argument that goes along with an axis."""
        axis = self.axis(argument, dimension)
        boxes = ((at, task.reads[argument][dimension]) for at, task in self._own_tasks)
        return Exchange(self._chunks(argument, dimension), self._hulls(axis, boxes))

    def handed_on(self, result: str, dimension: int) -> Exchange:
        """How devices get the places that they have of a result of what they compute of it."""
        axis = self.axis(result, dimension)
        boxes = ((at, task.writes[result][dimension]) for at, task in self._own_tasks)
        return Exchange(self._hulls(axis, boxes), self._chunks(result, dimension))

    def axis(self, name: str, dimension: int) -> str:
        """The axis that a dimension of a tensor goes along with."""
        axis = self.call.dims[name][dimension]
        assert axis is not None
        return axis

    @property
    def _own_tasks(self) -> Iterator[tuple[tuple[int, ...], Any]]:
        return ((at, task) for at, task in self.tasks.items() if not self.behind(at))

    def _hulls(self, axis: str, boxes: Iterator[tuple[tuple[int, ...], range]]) -> list[range]:
        """All that devices at each place along an axis read or compute."""
        place = self.axes.index(axis)
        found = [range(0)] * self.call.pieces[axis]
        for at, places in boxes:
            before = found[at[place]]
            if places and before:
                places = range(min(before.start, places.start), max(before.stop, places.stop))
            found[at[place]] = places or before
        return found

    def _chunks(self, name: str, dimension: int) -> list[range]:
        """The places that devices have."""
        axis, extent = self.axis(name, dimension), self.plan.shapes[name][dimension]
        pieces = self.call.pieces[axis]
        chunk = -(-extent // pieces)
        return [range(min(n * chunk, extent), min(n * chunk + chunk, extent)) for n in range(pieces)]


class DividedCall:
    """Blocks of a function at its sizes, along axes in so many pieces each.

    `dims` has for each dimension of an argument or a result the axis that it goes along with: each device has
    as many places as there are pieces of it, the last ones fewer or none. Of two axes in a `ring`, which are
    divided over the same devices, a tensor goes along with one.
    """

    def __init__(
        self,
        function: Function,
        sizes: Mapping[str, int],
        pieces: Mapping[str, int],
        ring: tuple[str, str] | None = None,
    ) -> None:
        """Raises CompileError for what cannot be divided so."""
        self.pieces, self.ring = pieces, ring or ()
        extents = {axis.name: axis.extent(sizes) for axis in function.block.axes}
        lengths = {name: -(-extents[name] // n) for name, n in pieces.items()}
        blocks = function.block.divided(tuple(lengths))
        plans = blocks.plan(sizes, lengths).stages
        if any(plan.stage.handed for plan in plans):
            raise CompileError([Diagnostic("TAD1002", "devices would wait for each other")])
        #: The arguments of blocks that are others of the function once more, and which.
        self.copies: Mapping[str, str] = blocks.copies
        self.stages = [DividedStage(self, f, plan) for f, plan in zip(blocks.functions, plans, strict=True)]
        self.dims: dict[str, list[str | None]] = {}
        for stage in self.stages:
            self._place_results(stage)
        for argument in function.program.arguments:
            self._place_argument(argument.name, len(argument.shape))
        #: What devices read or compute.
        self.used = {name for plan in plans for name in plan.division.slices}
        self.used |= {name for copy, name in self.copies.items() if copy in self.used}

    def is_gathered(self, name: str, dimension: int) -> bool:
        """Whether an argument's dimension is divided, and each device needs all of it."""
        copies = [copy for copy, of in self.copies.items() if of == name]
        return self.dims[name][dimension] is not None and any(
            stage.exchange(each, dimension).everything
            for each in (name, *copies)
            for stage in self._reading(each)
        )

    @property
    def ring_pays(self) -> bool:
        """Whether a ring joins parts, and takes no more slices of what stays than a device would gather."""
        going = sliced = 0
        for stage in (stage for stage in self.stages if stage.travelling):
            other = stage.travelling
            needing = [
                name for name in stage.function.outputs if all(stage.needs(name, axis) for axis in self.ring)
            ]
            if not all(map(stage.ring_axis, needing)):
                return False
            over = [
                (name, d)
                for name, d in stage.divided(stage.function.inputs)
                if stage.axis(name, d) in self.ring
            ]
            if any(stage.exchange(name, d).everything for name, d in over):
                return False
            for name in stage.function.inputs:
                if other in self.dims[name]:
                    going += prod(stage.plan.shapes[name])
                elif stage.needs(name, other):
                    sliced += prod(self.shape(stage, name))
        return 0 < going >= sliced

    def shape(self, stage: DividedStage, name: str) -> tuple[int, ...]:
        """That of a device's part of a tensor."""
        pairs = zip(stage.plan.shapes[name], self.dims[name], strict=True)
        return tuple(n if axis is None else -(-n // self.pieces[axis]) for n, axis in pairs)

    def _reading(self, argument: str) -> list[DividedStage]:
        return [stage for stage in self.stages if argument in stage.plan.division.slices]

    def _place_results(self, stage: DividedStage) -> None:
        for definition in stage.plan.stage.program.outputs:
            dims = self.dims[definition.name] = [None] * len(definition.shape)
            for axis in stage.plan.stage.axes:
                if definition.name in axis.dims and self._is_free(definition.name, axis.name):
                    dims[axis.dims[definition.name]] = axis.name

    def _place_argument(self, name: str, rank: int) -> None:
        """An argument, and its copies: devices have the same parts of these."""
        found: list[str | None] | None = None
        for each in (name, *(copy for copy, of in self.copies.items() if of == name)):
            dims = self.dims[each] = list[str | None]()
            reading = self._reading(each)
            for d in range(rank):
                alike = None if found is None else (found[d],)
                dims.append(self._axis_read(reading, each, alike) if reading else None)
            found = dims if found is None and reading else found
        self.dims[name] = found or self.dims[name]

    def _is_free(self, name: str, axis: str) -> bool:
        """Whether no other dimension of a tensor goes along with an axis, or one over the same devices."""
        taken = self.ring if axis in self.ring else (axis,)
        return not any(other in self.dims[name] for other in taken)

    def _axis_read(
        self, stages: Sequence[DividedStage], name: str, alike: tuple[str | None] | None
    ) -> str | None:
        """The axis with which an argument's next dimension goes along: devices get least of others.

        One that is both divided and read whole is gathered. That of a copy is `alike`, or over the same
        devices.
        """
        if alike == (None,):
            return None
        before = self.dims[name]
        d = len(before)
        extent = stages[0].plan.shapes[name][d]
        moved: dict[str, int] = {}
        allowed = self.pieces if alike is None else self.ring if alike[0] in self.ring else alike
        axes = [
            axis
            for axis in stages[0].plan.stage.axes
            if axis.name in allowed and extent >= self.pieces[axis.name] and self._is_free(name, axis.name)
        ]
        for axis in axes:
            self.dims[name] = [*before, axis.name]
            found = [stage.exchange(name, d) for stage in stages]
            if not any(exchange.everything for exchange in found):
                moved[axis.name] = sum(exchange.moved for exchange in found)
        self.dims[name] = before
        if moved:
            return min(moved, key=moved.__getitem__)
        if alike is not None:
            return alike[0]
        return next((axis.name for axis in axes if axis.dims.get(name) == d), None)


def divided(
    function: Function,
    sizes: Mapping[str, int],
    pieces: Mapping[str, int],
    ring: tuple[str, str] | None = None,
) -> DividedCall | None:
    """The function in blocks; None where it cannot be divided so, or where a ring gains nothing."""
    extents = {axis.name: axis.extent(sizes) for axis in function.block.axes}
    if any(extents[name] < n for name, n in pieces.items()):
        return None
    try:
        made = DividedCall(function, sizes, pieces, ring)
    except CompileError:
        return None
    return made if ring is None or made.ring_pays else None


def may_divide(function: Function) -> bool:
    """Whether blocks of a function are known at all."""
    program = function.program
    return not any(t.pattern is not None for t in (*program.arguments, *program.definitions))


def count(mesh: Mapping[str, int], names: Sequence[str]) -> int:
    """How many devices stand along axes of a mesh."""
    return prod(mesh[name] for name in names)
