"""A call in blocks, one for each device, in numbers: what is divided, and what neighbours lend."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

from tadc.api.function import Function
from tadc.frontend.diagnostics import CompileError, Diagnostic
from tadc.lattice.late_dataclasses import dataclass


@dataclass(frozen=True)
class Lent:
    """How many places neighbours before and behind lend each device; all lend all where `everything`."""

    before: int
    behind: int
    everything: bool = False


class DividedCall:
    """Blocks of a function at its sizes, along axes in so many pieces each.

    `dims` has for each dimension of an argument or a result the axis that it goes along with: each device has
    as many places as there are pieces of it, the last ones fewer or none.
    """

    def __init__(self, function: Function, sizes: Mapping[str, int], pieces: Mapping[str, int]) -> None:
        """Raises CompileError for what cannot be divided so."""
        self.pieces = pieces
        extents = {axis.name: axis.extent(sizes) for axis in function.block.axes}
        lengths = {name: -(-extents[name] // n) for name, n in pieces.items()}
        self.blocks = function.block.divided(tuple(lengths))
        self.stages: Sequence[Any] = self.blocks.plan(sizes, lengths).stages
        if any(stage.stage.handed for stage in self.stages):
            raise CompileError([Diagnostic("TAD1002", "devices would wait for each other")])
        self.dims: dict[str, list[str | None]] = {}
        #: What devices read or compute.
        self.used = {name for stage in self.stages for name in stage.division.slices}
        for stage in self.stages:
            self._place_results(stage)
        for argument in function.program.arguments:
            reading = [stage for stage in self.stages if argument.name in stage.division.slices]
            dims: list[str | None] = []
            for _ in argument.shape:
                dims.append(self._axis_read(reading, argument.name, dims) if reading else None)
            self.dims[argument.name] = dims

    def cells(self, stage: Any) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Where each device stands along the axes, and its block: the last one for those behind it."""
        names = [axis.name for axis in stage.stage.axes]
        for at in product(*(range(self.pieces[name]) for name in names)):
            last = [len(places) - 1 if stage.is_divided else 0 for places in stage.places]
            yield at, tuple(map(min, at, last))

    def is_aligned(self, names: Sequence[str]) -> bool:
        """Whether devices compute of these results the places that they have of them."""
        for stage in self.stages:
            for at, cell in self.cells(stage):
                boxes: Mapping[str, Any] = stage.task(cell).writes if at == cell else {}
                for name in boxes.keys() & set(names):
                    for d, places in enumerate(boxes[name]):
                        if not self._has(stage, name, d, at, places):
                            return False
        return True

    def lent(self, stage: Any, name: str, dimension: int) -> Lent:
        """What devices need of others of an argument of a stage that goes along with an axis."""
        axis = self.dims[name][dimension]
        assert axis is not None
        place = [a.name for a in stage.stage.axes].index(axis)
        chunk = self.chunk(stage.shapes[name][dimension], axis)
        before = behind = 0
        for at, cell in self.cells(stage):
            places = stage.task(cell).reads[name][dimension]
            if at == cell and places:
                before = max(before, at[place] * chunk - places.start)
                behind = max(behind, places.stop - (at[place] + 1) * chunk)
        is_one = not stage.is_divided or len(stage.places[place]) < 2
        return Lent(before, behind, everything=is_one or before + behind >= chunk)

    def is_lent_whole(self, name: str, dimension: int) -> bool:
        """Whether an argument's dimension is divided, and each device needs all of it."""
        reading = [stage for stage in self.stages if name in stage.division.slices]
        return self.dims[name][dimension] is not None and any(
            self.lent(stage, name, dimension).everything for stage in reading
        )

    def chunk(self, extent: int, axis: str) -> int:
        """How many places a device has."""
        return -(-extent // self.pieces[axis])

    def shape(self, stage: Any, name: str) -> tuple[int, ...]:
        """That of a device's part of a tensor."""
        axes = self.dims[name]
        return tuple(
            n if axis is None else self.chunk(n, axis)
            for n, axis in zip(stage.shapes[name], axes, strict=True)
        )

    def _place_results(self, stage: Any) -> None:
        for definition in stage.stage.program.outputs:
            dims: list[str | None] = [None] * len(definition.shape)
            for axis in stage.stage.axes:
                if definition.name in axis.dims:
                    dims[axis.dims[definition.name]] = axis.name
            self.dims[definition.name] = dims

    def _axis_read(self, stages: Sequence[Any], name: str, before: Sequence[str | None]) -> str | None:
        """The axis with which an argument's next dimension goes along: each device reads little of others.

        One that is both divided and read whole, as the bodies that attract each other, is lent whole.
        """
        d = len(before)
        extent = stages[0].shapes[name][d]
        axes = [a for a in stages[0].stage.axes if a.name not in before and extent >= self.pieces[a.name]]
        for axis in axes:
            self.dims[name] = [*before, axis.name]
            if not any(self.lent(stage, name, d).everything for stage in stages):
                return axis.name
        return next((axis.name for axis in axes if axis.dims.get(name) == d), None)

    def _has(self, stage: Any, name: str, dimension: int, at: Sequence[int], places: range) -> bool:
        axis = self.dims[name][dimension]
        extent = stage.shapes[name][dimension]
        if axis is None:
            return places == range(extent)
        chunk = self.chunk(extent, axis)
        start = at[[a.name for a in stage.stage.axes].index(axis)] * chunk
        return places == range(start, max(start, min(start + chunk, extent)))


def divided(function: Function, sizes: Mapping[str, int], pieces: Mapping[str, int]) -> DividedCall | None:
    """The function in blocks; None where it cannot be divided so."""
    extents = {axis.name: axis.extent(sizes) for axis in function.block.axes}
    if any(extents[name] < n for name, n in pieces.items()):
        return None
    try:
        made = DividedCall(function, sizes, pieces)
    except CompileError:
        return None
    return made if made.is_aligned(function.outputs) else None


def may_divide(function: Function) -> bool:
    """Whether blocks of a function are known at all."""
    program = function.program
    return not any(t.pattern is not None for t in (*program.arguments, *program.definitions))


def count(mesh: Mapping[str, int], names: Sequence[str]) -> int:
    """How many devices stand along axes of a mesh."""
    return prod(mesh[name] for name in names)
