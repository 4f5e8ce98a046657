"""Tensors that depend on no argument are kept from call to call.

    let c[k: 256, n: 256] = cos(pi * (n + 0.5) * k / 256)

has the same elements in every call: its map is marked, and only the first call of a kernel computes it. The
memory belongs to the kernel.

Before fusion, this applies to expensive tensors that fit in the caches: cheap ones are better recomputed than
loaded. After fusion, it applies to all tensors stored in each call.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace

from tadc.passes.maps.blocks import index_arrays
from tadc.passes.maps.map import Map, MapFunction, TensorDecl
from tadc.passes.maps.merge_folds import is_expensive
from tadc.passes.maps.row_reads import bytes_of
from tadc.passes.terms.costs import CACHED_BYTES
from tadc.passes.where import COMPILE_FOR_SIZES, LEAVE_OUT, SIZES_UNKNOWN, Kept, Merge, Where


def keep(function: MapFunction, fused: bool, where: Where) -> MapFunction:
    """The function, whose maps are `fused` or not yet, with marks on those whose tensors are kept.

    They come first. Raises CompileError where a tensor that is given as kept cannot be.
    """
    steps = where.wanted(Kept)
    if function.sizes:
        for step in steps or ():
            where.refuse(step, SIZES_UNKNOWN, COMPILE_FOR_SIZES)
        return function
    kept = {tensor.name for tensor in kept_tensors(function)}
    own = {*function.results, *(name for m in function.maps if m.marks.in_place for name in m.read)}
    # A kernel holds them as long as it lives.
    left = CACHED_BYTES - sum(map(bytes_of, kept_tensors(function)))
    given = {step.tensor for step in steps or ()}
    merged = {name for step in where.wanted(Merge) or () for name in step.tensors}
    first: list[Map] = []
    rest: list[Map] = []
    for item in function.maps:
        names, size = set(item.names), sum(map(bytes_of, item.tensors))
        is_kept = size <= left and (fused or any(is_expensive(let.value) for let in item.body.all_lets()))
        if steps is not None:
            is_kept = not names.isdisjoint(given) and (fused or (is_kept and names.isdisjoint(merged)))
        if is_kept and _is_same(item, own, kept):
            left -= size * (not item.marks.kept)
            kept |= names
            first.append(replace(item, marks=replace(item.marks, kept=True)))
            if fused:
                where.note(Kept(item.name))
        else:
            rest.append(item)
    for step in steps or () if fused else ():
        where.check_known(step, [step.tensor], function.tensors())
        if step.tensor not in kept | where.formulas:
            where.refuse(step, f"`{step.tensor}` is a result, or not the same in all calls", LEAVE_OUT)
    return replace(function, maps=(*first, *rest)) if kept else function


def _is_same(item: Map, own: set[str], kept: set[str]) -> bool:
    """Whether a map reads tensors that are kept alone, is no recurrence, and computes none with `own` memory:
    no result, and nothing that is changed in place."""
    if item.order is not None or item.marks.in_place or any(tensor.name in own for tensor in item.tensors):
        return False
    return _reads_alone(item, kept)


def _reads_alone(item: Map, kept: Container[str]) -> bool:
    """Whether a map reads tensors among these alone, and no index array."""
    return not index_arrays(item.body) and all(name in kept for name in item.read)


def kept_tensors(function: MapFunction) -> tuple[TensorDecl, ...]:
    """The tensors of marked maps that read others of the kind alone."""
    kept: dict[str, TensorDecl] = {}
    for item in function.maps:
        if item.marks.kept and _reads_alone(item, kept):
            kept |= {tensor.name: tensor for tensor in item.tensors}
    return tuple(kept.values())
