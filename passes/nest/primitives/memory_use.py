"""Primitives on memory: how elements are stored, and what the threads of a block share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tadc.passes.maps.map import Fold, Let, Load
from tadc.passes.nest.nest import Nest, Store
from tadc.passes.nest.primitives.rewriting import (
    DoesNotFit,
    computes_in,
    rewrite_computes,
    rewrite_folds,
    rewrite_stores,
)
from tadc.passes.nest.steps import Interleave, Share, Stream


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
    """Vectors of copies are interleaved in registers where lanes are stored far apart."""
    return replace(nest, body=rewrite_computes(nest.body, lambda c: replace(c, interleaves=True)))


def share(nest: Nest, step: Share) -> Nest:
    """Threads of a block copy what reads read to memory that they share."""
    if not step.fold:
        for compute in computes_in(nest.body):
            _check_loads(step.reads, compute.block.all_lets())
        return replace(nest, body=rewrite_computes(nest.body, lambda c: replace(c, shared=step.reads)))

    def rule(fold: Fold) -> Fold:
        if len(step.steps) != len(fold.indices):
            raise DoesNotFit(f"`{step.fold}` has {len(fold.indices)} indices, each with a number of steps")
        _check_loads(step.reads, fold.body.all_lets())
        return replace(fold, takes=replace(fold.takes, steps=step.steps, shared=step.reads))

    return rewrite_folds(nest, step.fold, rule)


def _check_loads(reads: Iterable[str], lets: Iterable[Let]) -> None:
    """Raise DoesNotFit for a name that is none of the loads."""
    found = {let.names[0] for let in lets if isinstance(let.value, Load)}
    for read in reads:
        if read not in found:
            raise DoesNotFit(f"`{read}` is no read there")
