"""Primitives on how elements get to memory: interleaved, past the caches."""

from __future__ import annotations

from dataclasses import replace

from tadc.passes.nest.nest import Compute, Nest
from tadc.passes.nest.primitives.rewriting import DoesNotFit, rewrite_computes
from tadc.passes.nest.steps import Stream


def stream(nest: Nest, step: Stream) -> Nest:
    """Vectors that are whole lines of the cache go past it."""
    for tensor in step.tensors:
        if tensor not in nest.computed:
            raise DoesNotFit(f"`{tensor}` is not computed here")
        (shape,) = (found.shape for found in nest.tensors if found.name == tensor)
        if not all(extent.is_constant for extent in shape):
            raise DoesNotFit(f"it is not known where lines of `{tensor}` start: its extents are no numbers")

    def rule(compute: Compute) -> Compute:
        stores = (
            replace(store, streams=True) if store.tensor in step.tensors else store
            for store in compute.stores
        )
        return replace(compute, stores=tuple(stores))

    return replace(nest, body=rewrite_computes(nest.body, rule))


def interleave(nest: Nest) -> Nest:
    """Vectors of copies are interleaved in registers where lanes are stored far apart."""
    return replace(nest, body=rewrite_computes(nest.body, lambda compute: replace(compute, weaves=True)))
