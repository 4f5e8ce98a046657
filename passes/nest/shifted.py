"""Tensors of which memory has some rows alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from tadc.lattice.affine import Affine, Constraint
from tadc.passes.maps.map import Let, Load
from tadc.passes.nest.nest import Nest, Store
from tadc.passes.nest.primitives.rewriting import rewrite_stores, rewrite_values

Access = TypeVar("Access", Load, Store)


def shifted(nest: Nest, tensors: Mapping[str, int], shift: str, first: Affine) -> Nest:
    """The nest where row i of some tensors is at the place i - `shift`, an index argument, in the dimension
    that rows are. It is no more than the `first` row that the nest computes."""

    def moved(of: Access) -> Access:
        row = tensors.get(of.tensor)
        if row is None:
            return of
        return replace(of, at=(*of.at[:row], of.at[row] - Affine.var(shift), *of.at[row + 1 :]))

    def read(let: Let) -> Let:
        return replace(let, value=moved(let.value)) if isinstance(let.value, Load) else let

    body = rewrite_stores(rewrite_values(nest.body, read), moved)
    known = (*nest.known, Constraint(Affine.var(shift)), Constraint(first - Affine.var(shift)))
    return replace(nest, ranges=(*nest.ranges, shift), known=known, body=body)
