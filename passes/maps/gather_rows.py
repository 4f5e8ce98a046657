"""What all rows of a map read, apart in memory, gathered once.

    e[i, j] = exp(a[i, j] - a[j, j])

becomes

    g[j] = a[j, j]
    e[i, j] = exp(a[i, j] - g[j])

whose vectors of neighbours in j are loaded whole.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from tadc.lattice.affine import Affine
from tadc.passes.maps.blocks import Names
from tadc.passes.maps.map import Block, Let, Load, Map, Tensor


def gathered(item: Map, tensors: Mapping[str, Tensor], names: Names) -> tuple[list[Map], Map]:
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
            own = Load(one.tensors[0].name, tuple(map(Affine.var, used)), let.value.type)
            made.append(replace(one, place=let.place))
            let = replace(let, value=own)
        lets.append(let)
    if not made:
        return made, item
    return made, replace(item, body=Block(tuple(lets), item.body.gives))


def _apart(load: Load, item: Map, tensors: Mapping[str, Tensor]) -> list[str] | None:
    """The indices that a load depends on, where it is to be gathered."""
    used = frozenset[str]().union(*(form.variables for form in load.at))
    is_plain = used <= set(item.indices[1:]) and not any(list(form.floors()) for form in load.at)
    if not item.indices or not is_plain:
        return None
    shape = [extent.constant for extent in tensors[load.tensor].shape]
    step = sum(
        form.coefficient(item.indices[-1]) * math.prod(shape[n + 1 :]) for n, form in enumerate(load.at)
    )
    return [name for name in item.indices if name in used] if abs(step) > 1 else None


def _gather(item: Map, load: Load, used: list[str], name: str) -> Map:
    """The map that gathers what a load reads along these indices."""
    extents = dict(zip(item.indices, item.extents, strict=True))
    shape = tuple(extents[index] for index in used)
    body = Block((Let(("%0",), load),), ("%0",))
    return Map((Tensor(name, load.type, shape),), tuple(used), shape, body)
