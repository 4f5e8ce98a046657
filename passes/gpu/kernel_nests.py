"""Maps to the nests of kernels: steps are taken on the plain nest of a map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tadc.lattice.affine import Affine
from tadc.passes.gpu.flat import flat_map
from tadc.passes.gpu.interleaved import InterleavedPlace, placed
from tadc.passes.gpu.row_chains import Chain
from tadc.passes.maps.map import Map, MapFunction
from tadc.passes.nest.nest import Nest, Stage
from tadc.passes.nest.plain import plain_nest
from tadc.passes.nest.primitives.apply import apply_steps
from tadc.passes.nest.primitives.map_loops import bind
from tadc.passes.nest.primitives.rewriting import loops_in
from tadc.passes.nest.steps import Bind, Flatten, Steps
from tadc.passes.nest.windowed import windowed


@dataclass(frozen=True)
class KernelNest:
    """The nest of a kernel, and the steps that made it of the plain nest of maps in a function; `total` is
    a size that is the product of `extents`."""

    function: MapFunction
    item: Map
    steps: Steps
    nest: Nest
    total: str = ""
    extents: tuple[Affine, ...] = ()


def kernel_nest(
    function: MapFunction, item: Map, steps: Steps, places: Mapping[str, InterleavedPlace]
) -> KernelNest:
    """The nest that steps make of a map. Raises DoesNotFit for a step that cannot be taken."""
    total, extents, flat = "", (), next((step for step in steps if isinstance(step, Flatten)), None)
    if flat is not None:
        extents = item.extents
        function, item, total = flat_map(function, item, flat.index)
    taken = [step for step in steps if step is not flat]
    nest = placed(apply_steps(plain_nest(function, item), taken), places)
    if item.order is not None:
        # Each thread takes every so many values of loops that threads divide.
        nest = windowed(nest, function.windows)
        threads = tuple(loop.index for loop in loops_in(nest.body) if loop.kind == "thread")
        nest = bind(nest, Bind("thread", threads, teams=nest.block))
    return KernelNest(function, item, steps, nest, total, extents)


def chain_nest(function: MapFunction, items: Sequence[Map], steps: Steps) -> KernelNest:
    """The nest that steps make of a chain: what of its plain nest is in no memory near the threads is an
    argument. Raises DoesNotFit for a step that cannot be taken."""
    nest = apply_steps(Chain(function, items).plain(), steps)
    given = tuple(s.tensor for s in nest.body if isinstance(s, Stage))
    body = tuple(s for s in nest.body if not isinstance(s, Stage))
    computed = (*nest.computed, *(tensor.name for tensor in given))
    nest = replace(nest, tensors=(*nest.tensors, *given), computed=computed, body=body)
    return KernelNest(function, items[0], steps, nest)
