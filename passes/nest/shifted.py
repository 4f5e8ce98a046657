"""Tensors of which memory has some rows alone."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TypeVar

from tadc.lattice.affine import Affine
from tadc.passes.maps.map import Let, Load
from tadc.passes.nest.nest import Nest, Store
from tadc.passes.nest.primitives.rewriting import rewrite_stores, rewrite_values

Access = TypeVar("Access", Load, Store)


def shifted(nest: Nest, tensors: Collection[str], shift: str) -> Nest:
    """The nest where row i of some tensors is at the place i - `shift`, an index argument."""

    def moved(of: Access) -> Access:
        return replace(of, at=(of.at[0] - Affine.var(shift), *of.at[1:])) if of.tensor in tensors else of

    def read(let: Let) -> Let:
        return replace(let, value=moved(let.value)) if isinstance(let.value, Load) else let

    body = rewrite_stores(rewrite_values(nest.body, read), moved)
    return replace(nest, ranges=(*nest.ranges, shift), body=body)
