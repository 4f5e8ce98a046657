"""Programs that are drawn: shapes, strides, orders of indices and spelling follow from a seed, so nobody can
have looked at them."""

from __future__ import annotations

import random
from dataclasses import replace

from bench.drawn.contractions import contraction
from bench.drawn.draw import Draw
from bench.drawn.layers import attention, layer, loss
from bench.drawn.maps import element_wise, jacobian, second, tangent
from bench.drawn.pairs import kernel_sum
from bench.drawn.steps import cell, chain, linear, orbit
from bench.drawn.windows import convolution, pool, stencil
from bench.workloads.workload import Workload

#: Kinds of programs by class.
CLASSES = {
    "contractions": (contraction,),
    "layers": (layer, attention, loss),
    "windows": (convolution, pool),
    "grids": (stencil,),
    "pairs": (kernel_sum,),
    "recurrences": (linear, cell, chain, orbit),
    "maps": (element_wise,),
    "other derivatives": (jacobian, second, tangent),
}


def drawn(seed: int, each: int) -> dict[str, list[Workload]]:
    """So many programs of each class; the n-th of a class is the same however many there are."""
    found: dict[str, list[Workload]] = {}
    for name, kinds in CLASSES.items():
        found[name] = []
        for place in range(each):
            draw = Draw(random.Random(f"{seed} {name} {place}"))
            made = kinds[place % len(kinds)](draw)
            found[name].append(replace(made, name=f"{made.name}-{place}"))
    return found
