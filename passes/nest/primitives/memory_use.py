"""Primitives on memory: how elements are read and stored."""

from __future__ import annotations

from dataclasses import replace

from tadc.passes.maps.map import Let, Load
from tadc.passes.nest.nest import Body, For, Nest, Store
from tadc.passes.nest.primitives.rewriting import (
    DoesNotFit,
    folds_in,
    lets_in,
    load_of,
    rewrite_computes,
    rewrite_stores,
    rewrite_values,
    with_loops,
)
from tadc.passes.nest.steps import Interleave, Stream, Transpose

WRITTEN_OUT = ("jam", "unroll")
"""The kinds of loops whose values stand side by side in code."""


def stream(nest: Nest, step: Stream) -> Nest:
    """Vectors that are whole lines of the cache go past it."""
    for tensor in step.tensors:
        if tensor not in nest.computed:
            raise DoesNotFit(f"`{tensor}` is not computed here")
        (shape,) = (found.shape for found in nest.tensors if found.name == tensor)
        if not all(extent.is_constant for extent in shape):
            raise DoesNotFit(f"it is not known where lines of `{tensor}` start: its extents are no numbers")

    def one(store: Store) -> Store:
        return replace(store, streams=True) if store.tensor in step.tensors else store

    return replace(nest, body=rewrite_stores(nest.body, one))


def interleave(nest: Nest, step: Interleave) -> Nest:
    """Vectors of the values of a loop are interleaved in registers where lanes are stored far apart."""

    def inside(loop: For) -> Body:
        if loop.kind not in WRITTEN_OUT:
            raise DoesNotFit(f"the values of `{loop.index}` are neither copies nor written out")
        body = rewrite_computes(loop.body, lambda c: replace(c, interleaved=loop.index))
        return (replace(loop, body=body),)

    return with_loops(nest, step.index, inside)


def transpose(nest: Nest, step: Transpose) -> Nest:
    """A read is made along a loop of copies, or one that is written out, and transposed in registers."""

    def one(let: Let) -> Let:
        is_it = step.read in let.names and isinstance(let.value, Load)
        return replace(let, value=replace(let.value, along=step.index)) if is_it else let

    def inside(loop: For) -> Body:
        if loop.kind not in WRITTEN_OUT:
            raise DoesNotFit(f"the values of `{loop.index}` are no copies, nor written out")
        return (replace(loop, body=rewrite_values(loop.body, one)),)

    if not any(step.read in let.names and isinstance(let.value, Load) for let in lets_in(nest.body)):
        raise DoesNotFit(f"`{step.read}` is no read there")
    folds = (fold for fold in folds_in(nest.body) if step.index == fold.indices[-1])
    around = [fold for fold in folds if load_of(fold, step.read)]
    if around:
        if any(fold.loop != "unroll" for fold in around):
            raise DoesNotFit(f"the steps of `{step.index}` are not written out")
        return replace(nest, body=rewrite_values(nest.body, one))
    return with_loops(nest, step.index, inside)
