"""Tensors of which memory has some rows alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tadc.lattice.affine import Affine, Constraint
from tadc.passes.nest.nest import Nest
from tadc.passes.nest.primitives.rewriting import with_places


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
