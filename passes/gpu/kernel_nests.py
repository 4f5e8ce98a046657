"""Maps to the nests of kernels: steps are taken on the plain nest of a map."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tadc.lattice.affine import Affine
from tadc.passes.gpu.flat import flat_map
from tadc.passes.gpu.interleaved import Place, placed
from tadc.passes.maps.map import Map, MapFunction
from tadc.passes.nest.nest import Body, For, Nest, Statement
from tadc.passes.nest.plain import plain_nest
from tadc.passes.nest.primitives.apply import apply_steps
from tadc.passes.nest.primitives.rewriting import rewritten
from tadc.passes.nest.steps import Flatten, Steps
from tadc.passes.nest.windowed import windowed


@dataclass(frozen=True)
class KernelNest:
    """The nest of a kernel, and the steps that made it of the plain nest of a map in a function; `total` is
    a size that is the product of `extents`. Tensors of a chain that are `inner` have shared memory alone."""

    function: MapFunction
    item: Map
    steps: Steps
    nest: Nest
    total: str = ""
    extents: tuple[Affine, ...] = ()
    inner: frozenset[str] = frozenset()


def kernel_nest(function: MapFunction, item: Map, steps: Steps, places: Mapping[str, Place]) -> KernelNest:
    """The nest that steps make of a map. Raises DoesNotFit for a step that cannot be taken."""
    total, extents, flat = "", (), next((step for step in steps if isinstance(step, Flatten)), None)
    if flat is not None:
        extents = item.extents
        function, item, total = flat_map(function, item, flat.index)
    taken = [step for step in steps if step is not flat]
    nest = placed(apply_steps(plain_nest(function, item), taken), places)
    if item.order is not None:
        nest = _in_teams(windowed(nest, function.windows))
    return KernelNest(function, item, steps, nest, total, extents)


def _in_teams(nest: Nest) -> Nest:
    """The nest of a recurrence where each thread takes every so many values of loops that threads divide."""

    def rule(statement: Statement) -> Body | None:
        if isinstance(statement, For) and statement.kind == "thread":
            return (replace(statement, teams=nest.block),)
        return None

    return replace(nest, body=rewritten(nest.body, rule))
