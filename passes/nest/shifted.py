"""Tensors of which memory has some rows alone."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from tadc.lattice.affine import Affine
from tadc.passes.maps.map import Let, Load
from tadc.passes.nest.nest import Compute, Nest, Store
from tadc.passes.nest.primitives.rewriting import rewrite_computes, rewrite_lets


def shifted(nest: Nest, tensors: Collection[str], shift: str) -> Nest:
    """The nest where row i of some tensors is at the place i - `shift`, an index argument."""

    def moved(at: tuple[Affine, ...]) -> tuple[Affine, ...]:
        return (at[0] - Affine.var(shift), *at[1:])

    def read(let: Let) -> Let:
        if isinstance(let.value, Load) and let.value.tensor in tensors:
            return replace(let, value=replace(let.value, at=moved(let.value.at)))
        return let

    def write(store: Store) -> Store:
        return replace(store, at=moved(store.at)) if store.tensor in tensors else store

    def one(compute: Compute) -> Compute:
        stores = tuple(write(store) for store in compute.stores)
        return replace(compute, block=rewrite_lets(compute.block, read), stores=stores)

    return replace(nest, ranges=(*nest.ranges, shift), body=rewrite_computes(nest.body, one))
