"""Tensors of which memory has the last steps alone, whose subscripts are taken modulo their number, or some
rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tadc.lattice.affine import Affine, Constraint
from tadc.passes.maps.blocks import Placing, with_reads
from tadc.passes.maps.map import Map, MapFunction, Window
from tadc.passes.maps.memory_of_tensors import in_memory
from tadc.passes.nest.nest import Nest
from tadc.passes.nest.primitives.rewriting import with_places


def windowed(nest: Nest, windows: Mapping[str, Window]) -> Nest:
    """The nest where tensors that have windows are in the memory of these."""
    if windows.keys().isdisjoint(tensor.name for tensor in nest.tensors):
        return nest
    body = with_places(nest.body, _place_in(windows))
    return replace(nest, tensors=in_memory(nest.tensors, windows), body=body)


def _place_in(windows: Mapping[str, Window]) -> Placing:
    return lambda tensor, at: (tensor, windows[tensor].place(at) if tensor in windows else at)


def readers_of_windows(function: MapFunction) -> MapFunction:
    """The function where maps that are no recurrences read tensors with windows in the memory of these."""
    windows = function.windows

    def one(item: Map) -> Map:
        body = item.body if item.order is not None else with_reads(item.body, _place_in(windows))
        return replace(item, tensors=in_memory(item.tensors, windows), body=body)

    return replace(function, maps=tuple(map(one, function.maps))) if windows else function


def shifted(nest: Nest, tensors: Mapping[str, int], shift: str, first: Affine) -> Nest:
    """The nest where row i of some tensors is at the place i - `shift`, an index argument, in the dimension
    that rows are. It is no more than the `first` row that the nest computes."""

    def place(tensor: str, at: tuple[Affine, ...]) -> tuple[str, tuple[Affine, ...]]:
        if (row := tensors.get(tensor)) is None:
            return tensor, at
        return tensor, (*at[:row], at[row] - Affine.var(shift), *at[row + 1 :])

    body = with_places(nest.body, place)
    known = (*nest.known, Constraint(Affine.var(shift)), Constraint(first - Affine.var(shift)))
    return replace(nest, ranges=(*nest.ranges, shift), known=known, body=body)
