"""Tensors of no argument, which are kept from call to call.

    let c[k: 256, n: 256] = cos(pi * (n + 0.5) * k / 256)

has the same elements in every call: its map is marked, and only the first call of a kernel computes it. Their
memory is a part of the kernel.

Before maps are fused, this is for what is expensive, and stays in the caches: what is cheap had better be
computed where it is read than come from memory. After, it is for all that is stored in each call.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace

from tadc.passes.maps.blocks import index_arrays
from tadc.passes.maps.map import Map, MapFunction, Tensor
from tadc.passes.maps.merge_folds import is_expensive
from tadc.passes.maps.row_reads import bytes_of
from tadc.passes.terms.costs import CACHED_BYTES

MOST_BYTES = 8 << 20
"""All tensors that are kept have no more bytes: a kernel holds them as long as it lives."""


def keep(function: MapFunction, fused: bool) -> MapFunction:
    """The function, whose maps are `fused` or not yet, with marks on those whose tensors are kept.

    They come first.
    """
    if function.sizes:
        return function
    kept = {tensor.name for tensor in kept_tensors(function)}
    own = {*function.results, *(load.tensor for m in function.maps if m.marks.in_place for load in m.loads())}
    left = (MOST_BYTES if fused else CACHED_BYTES) - sum(map(bytes_of, kept_tensors(function)))
    first: list[Map] = []
    rest: list[Map] = []
    for item in function.maps:
        size = sum(map(bytes_of, item.tensors))
        if _is_same(item, own, kept) and size <= left and (fused or _is_expensive(item)):
            left -= size * (not item.marks.kept)
            kept |= {tensor.name for tensor in item.tensors}
            first.append(replace(item, marks=replace(item.marks, kept=True)))
        else:
            rest.append(item)
    return replace(function, maps=(*first, *rest)) if kept else function


def _is_same(item: Map, own: set[str], kept: set[str]) -> bool:
    """Whether a map reads tensors that are kept alone, is no recurrence, and computes none with `own` memory:
    no result, and nothing that is changed in place."""
    if item.order is not None or item.marks.in_place or any(tensor.name in own for tensor in item.tensors):
        return False
    return _reads_alone(item, kept)


def _reads_alone(item: Map, kept: Container[str]) -> bool:
    """Whether a map reads tensors among these alone, and no index array."""
    return not index_arrays(item.body) and all(load.tensor in kept for load in item.loads())


def _is_expensive(item: Map) -> bool:
    return any(is_expensive(let.value) for let in item.body.all_lets())


def kept_tensors(function: MapFunction) -> tuple[Tensor, ...]:
    """The tensors of marked maps that read others of the kind alone."""
    kept: dict[str, Tensor] = {}
    for item in function.maps:
        if item.marks.kept and _reads_alone(item, kept):
            kept |= {tensor.name: tensor for tensor in item.tensors}
    return tuple(kept.values())
