"""Tensors in between with another order of indices, in memory and in all that reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from tadc.lattice.affine import Affine
from tadc.passes.maps.blocks import with_reads
from tadc.passes.maps.map import Map, MapFunction

T = TypeVar("T")


def turned(function: MapFunction, item: Map, order: Sequence[int]) -> MapFunction:
    """The function where what a map computes has its indices in another order."""
    tensors = {tensor.name for tensor in item.tensors}
    marks = item.marks if item.marks.chain is None else replace(item.marks, row=order.index(item.marks.row))

    def put(forms: Sequence[T]) -> tuple[T, ...]:
        return tuple(forms[n] for n in order)

    def place(tensor: str, at: tuple[Affine, ...]) -> tuple[str, tuple[Affine, ...]]:
        return tensor, put(at) if tensor in tensors else at

    def one(other: Map) -> Map:
        made = replace(other, body=with_reads(other.body, place))
        if other.tensors != item.tensors:
            return made
        return replace(
            made,
            tensors=tuple(replace(tensor, shape=put(tensor.shape)) for tensor in item.tensors),
            indices=put(item.indices),
            extents=put(item.extents),
            marks=marks,
        )

    return replace(function, maps=tuple(map(one, function.maps)))


def to_last(forms: Sequence[T]) -> tuple[T, ...]:
    """The first form comes last."""
    return (*forms[1:], forms[0])
