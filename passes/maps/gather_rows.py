"""What all rows of a map read, apart in memory, gathered once.

    e[i, j] = exp(a[i, j] - a[j, j])

becomes

    g[j] = a[j, j]
    e[i, j] = exp(a[i, j] - g[j])

whose vectors of neighbours in j are loaded whole. Sums over j get the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from tadc.lattice.affine import Affine, box
from tadc.passes.maps.blocks import BlockNames
from tadc.passes.maps.machine import TYPICAL
from tadc.passes.maps.map import Block, Fold, Let, Load, Map, TensorDecl
from tadc.passes.terms.costs import ELEMENT


def gathered(item: Map, tensors: Mapping[str, TensorDecl], names: BlockNames) -> tuple[list[Map], Map]:
    """The maps that gather, and the map that reads what they do in the place of elements that do not depend
    on its first index and are no neighbours where those of its last index are.

    `names` are those of all tensors.
    """
    made: list[Map] = []
    lets: list[Let] = []
    for let in item.body.lets:
        used = _apart(let.value, item, tensors) if isinstance(let.value, Load) else None
        if used is not None and isinstance(let.value, Load):
            one = _gather(item, let.value, used, names.new("t"))
            own = Load(one.name, tuple(map(Affine.var, used)), let.value.type)
            made.append(replace(one, place=let.place))
            let = replace(let, value=own)
        lets.append(let)
    return made, replace(item, body=Block(tuple(lets), item.body.gives)) if made else item


def _apart(load: Load, item: Map, tensors: Mapping[str, TensorDecl]) -> list[str] | None:
    """The indices that a load depends on, where it is to be gathered."""
    used = frozenset[str]().union(*(form.variables for form in load.at))
    is_plain = used <= set(item.indices[1:]) and not any(list(form.inner_atoms()) for form in load.at)
    if not item.indices or not is_plain:
        return None
    shape = [extent.constant for extent in tensors[load.tensor].shape]
    step = sum(
        form.coefficient(item.indices[-1]) * math.prod(shape[n + 1 :]) for n, form in enumerate(load.at)
    )
    return [name for name in item.indices if name in used] if abs(step) > 1 else None


def _gather(item: Map, load: Load, used: list[str], name: str) -> Map:
    extents = dict(zip(item.indices, item.extents, strict=True))
    return _copy(load, tuple(used), tuple(extents[index] for index in used), name)


def _copy(load: Load, indices: tuple[str, ...], shape: tuple[Affine, ...], name: str) -> Map:
    """The map of a tensor with the elements that are loaded at these indices."""
    body = Block((Let(("%0",), load),), ("%0",))
    return Map((TensorDecl(name, load.type, shape),), indices, shape, body)


def gathered_in_sums(
    item: Map, tensors: Mapping[str, TensorDecl], names: BlockNames
) -> tuple[list[Map], Map]:
    """The maps that gather, and the map whose sums, over one index from 0 on, read what they do in the place
    of elements that depend on that index alone and lie a line of the cache apart or more.

    `names` are those of all tensors.
    """
    made: list[Map] = []
    lets: list[Let] = []
    for let in item.body.lets:
        count = _count(let.value) if isinstance(let.value, Fold) else 0
        if isinstance(let.value, Fold) and count:
            fold, inner = let.value, list[Let]()
            for each in fold.body.lets:
                load = each.value
                if isinstance(load, Load) and _is_apart(load, fold.indices[0], tensors):
                    one = _copy(load, fold.indices, (Affine.const(count),), names.new("t"))
                    own = Load(one.name, (Affine.var(fold.indices[0]),), load.type)
                    made.append(replace(one, place=each.place))
                    each = replace(each, value=own)
                inner.append(each)
            let = replace(let, value=replace(fold, body=Block(tuple(inner), fold.body.gives)))
        lets.append(let)
    return made, replace(item, body=Block(tuple(lets), item.body.gives)) if made else item


def _count(fold: Fold) -> int:
    """The number of values of the index of a sum that begins with 0; 0 of anything else."""
    if fold.kind != "sum" or len(fold.indices) != 1:
        return 0
    ends = [row.form.constant for row in fold.rows if row.form.coefficient(fold.indices[0]) == -1]
    count = min(ends, default=-1) + 1
    return count if set(fold.rows) == set(box(fold.indices, [count])) else 0


def _is_apart(load: Load, index: str, tensors: Mapping[str, TensorDecl]) -> bool:
    """Whether the elements of a load lie apart for an index, on which alone they depend."""
    used = frozenset[str]().union(*(form.variables for form in load.at))
    if used != frozenset([index]) or any(list(form.inner_atoms()) for form in load.at):
        return False
    shape = [extent.constant for extent in tensors[load.tensor].shape]
    step = sum(form.coefficient(index) * math.prod(shape[n + 1 :]) for n, form in enumerate(load.at))
    return abs(step) * ELEMENT[load.type] >= TYPICAL.line
