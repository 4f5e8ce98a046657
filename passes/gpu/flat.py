"""Maps whose elements depend on those at their own place alone, over one index: the place in memory.

    y[i, j] = exp(x[i, j])        y[n] = exp(x[n]), n from 0 below total = N*M

No index is divided then, and vectors go on from one row to the next.
"""

from __future__ import annotations

import math
from dataclasses import replace

from tadc.lattice.affine import Affine, Constraint
from tadc.passes.maps.blocks import BlockNames, with_reads
from tadc.passes.maps.map import Map, MapFunction, TensorDecl


def flat_map(function: MapFunction, item: Map, index: str) -> tuple[MapFunction, Map, str]:
    """The map over one `index`, in a function whose tensors have one dimension; the size that is the
    product of its extents, "" where that is a number.

    What it reads is a scalar, or has its shape and is read at its own place.
    """
    names = BlockNames({index, *function.sizes, *item.indices, *function.tensors()})
    is_known = all(extent.is_constant for extent in item.extents)
    size = "" if is_known else names.new("total")
    total = Affine.const(math.prod(e.constant for e in item.extents)) if is_known else Affine.var(size)

    def flat(tensor: TensorDecl) -> TensorDecl:
        return replace(tensor, shape=(total,)) if tensor.shape else tensor

    tensors, place = tuple(map(flat, item.tensors)), (Affine.var(index),)
    body = with_reads(item.body, lambda tensor, at: (tensor, place if at else at))
    made = replace(item, tensors=tensors, indices=(index,), extents=(total,), body=body)
    used = {load.tensor for load in item.loads()}
    given = tuple(flat(tensor) for name, tensor in function.tensors().items() if name in used)
    sizes = function.sizes if is_known else (*function.sizes, size)
    known = function.known if is_known else (*function.known, Constraint(total))
    return replace(function, arguments=given, maps=(made,), sizes=sizes, known=known), made, size
