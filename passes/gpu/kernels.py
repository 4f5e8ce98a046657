"""The kernels of a function: maps get plans, plans are steps, steps make nests; those of chains too.

Gather form needs no atomics: each element is computed by one thread, or by a group of threads that join
their results in a fixed order, and stored once. The kernels of a function run in the order of the text.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from tadc.dialect.locations import ProgramLocations
from tadc.dialect.mlir import ir
from tadc.lattice.affine import Affine, Constraint
from tadc.lattice.late_dataclasses import dataclass, field, replace
from tadc.passes.gpu.interleaved import InterleavedPlace, placed, places_of
from tadc.passes.gpu.recurrence_steps import steps_of_recurrence
from tadc.passes.gpu.row_chains import Chain
from tadc.passes.gpu.schedule import kernels_of
from tadc.passes.maps.blocks import BlockNames, with_reads
from tadc.passes.maps.buffers import location_of
from tadc.passes.maps.machine import Gpu
from tadc.passes.maps.map import Map, MapFunction, Marks, TensorDecl
from tadc.passes.maps.memory_of_tensors import Memory, chains_in, memory_of
from tadc.passes.maps.read_maps import read_maps
from tadc.passes.maps.size_tests import SizeTest
from tadc.passes.nest.nest import Nest, Stage
from tadc.passes.nest.plain import plain_nest
from tadc.passes.nest.primitives.apply import apply_steps
from tadc.passes.nest.primitives.map_loops import bind
from tadc.passes.nest.primitives.rewriting import loops_in
from tadc.passes.nest.steps import Bind, Flatten, Steps, When
from tadc.passes.nest.windowed import readers_of_windows, windowed
from tadc.passes.schedule.reduction_parts import with_parts

KernelSteps = Mapping[str, tuple[Steps, ...]]
"""The steps of the kernels of maps, by a tensor that each computes."""


@dataclass(frozen=True)
class KernelNest:
    """The nest of a kernel, and the steps that made it of the plain nest of maps of these `indices`; `total`
    is a size that is the product of `extents`."""

    indices: tuple[str, ...]
    steps: Steps
    nest: Nest
    total: str = ""
    extents: tuple[Affine, ...] = ()


@dataclass(frozen=True)
class NestKernel:
    """A kernel by its name, the maps that it computes, its nest, and the sizes that it is for: those where
    all of `when` holds, and all of none of `unless`."""

    name: str
    maps: tuple[Map, ...]
    made: KernelNest
    when: tuple[SizeTest, ...] = ()
    unless: tuple[tuple[SizeTest, ...], ...] = ()

    @property
    def tensors(self) -> tuple[str, ...]:
        """What it computes."""
        return tuple(name for item in self.maps for name in item.names)

    def about(self) -> str:
        """The name, and what it is of several maps."""
        chain = "" if len(self.maps) == 1 else ": a chain of maps, which a block runs one after the other"
        return f"{self.name}{chain}"


@dataclass(frozen=True)
class Kernels:
    """What becomes kernels: a `tad` function for a GPU; maps of which steps are `given` get these."""

    function: ir.Operation
    gpu: Gpu
    given: KernelSteps = field(default_factory=dict[str, tuple[Steps, ...]])

    @cached_property
    def maps(self) -> MapFunction:
        """The maps as data."""
        return readers_of_windows(_one_after_the_other(read_maps(self.function)))

    @cached_property
    def places(self) -> dict[str, InterleavedPlace]:
        """The tensors that are stored in the rows of others."""
        return places_of(self.maps)

    @cached_property
    def memory(self) -> Memory:
        """The tensors in memory."""
        found, wholes = memory_of(self.maps), {name: place.whole.name for name, place in self.places.items()}
        return replace(found, replaced={**found.replaced, **wholes})

    def all(self) -> Iterator[NestKernel]:
        """The kernels in order; of those of one map the first runs that is for the sizes."""
        maps, name = self.maps.maps, self.maps.name
        wholes = {place.whole.name for place in self.places.values()}
        for together in chains_in(maps):
            items, kernel = [maps[n] for n in together], f"{name}_{together[0]}"
            if items[0].name not in wholes:
                yield from self.of_maps(kernel, items)

    def location(self, kernel: NestKernel) -> ir.Location:
        """Where what a kernel computes was defined."""
        return location_of(kernel.maps[0], ProgramLocations(self.function.context))

    def together(self, item: Map) -> list[Map]:
        """The maps of the chain that a map is in, or it alone."""
        number = item.marks.chain
        return [item] if number is None else [each for each in self.maps.maps if each.marks.chain == number]

    def of_maps(self, name: str, items: Sequence[Map]) -> Iterator[NestKernel]:
        """The kernels of a map, or of those of a chain: for other sizes others."""
        before: list[tuple[SizeTest, ...]] = []
        given = self.given.get(items[0].name)
        for number, steps in enumerate(given or self.with_parts(items)):
            kernel = self.of_steps(f"{name}_{number}" if number else name, items, steps)
            yield replace(kernel, unless=tuple(before))
            before.append(kernel.when)

    def with_parts(self, items: Sequence[Map]) -> Iterator[Steps]:
        """The chosen steps, and those that take loops of reductions apart."""

        def made(steps: Steps) -> Nest:
            return self.made(items, steps).nest

        return (with_parts(items, each, made) for each in self.chosen(items))

    def chosen(self, items: Sequence[Map]) -> Iterator[Steps]:
        """The steps of the kernels of maps that are the best here."""
        (item, *_) = items
        if item.marks.chain is not None:
            return iter([Chain(self.maps, items).chosen(self.gpu)])
        if item.order is not None:
            return iter(steps_of_recurrence(item, self.maps, self.gpu))
        return kernels_of(self.gpu, item, self.maps)

    def of_steps(self, name: str, items: Sequence[Map], steps: Steps) -> NestKernel:
        """The kernel that steps make of maps. Raises DoesNotFit for a step that cannot be taken."""
        names = {name: Affine.var(f"s{n}") for n, name in enumerate(self.maps.sizes)}
        when = (test.over(names) for step in steps if isinstance(step, When) for test in step.tests)
        return NestKernel(name, tuple(items), self.made(items, steps), tuple(when))

    def made(self, items: Sequence[Map], steps: Steps) -> KernelNest:
        """The nest that steps make of maps. Raises DoesNotFit for a step that cannot be taken."""
        if items[0].marks.chain is not None:
            return chain_nest(self.maps, items, steps)
        return kernel_nest(self.maps, items[0], steps, self.places)


def _one_after_the_other(function: MapFunction) -> MapFunction:
    """The function where maps run after a recurrence, not along with it as on a CPU: it keeps all steps."""
    maps = (replace(item, marks=Marks()) if item.marks.sweep is not None else item for item in function.maps)
    return replace(function, maps=tuple(maps))


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
    return KernelNest(item.indices, steps, nest, total, extents)


def chain_nest(function: MapFunction, items: Sequence[Map], steps: Steps) -> KernelNest:
    """The nest that steps make of a chain: what of its plain nest is in no memory near the threads is an
    argument. Raises DoesNotFit for a step that cannot be taken."""
    nest = apply_steps(Chain(function, items).plain(), steps)
    given = tuple(s.tensor for s in nest.body if isinstance(s, Stage))
    body = tuple(s for s in nest.body if not isinstance(s, Stage))
    computed = (*nest.computed, *(tensor.name for tensor in given))
    nest = replace(nest, tensors=(*nest.tensors, *given), computed=computed, body=body)
    return KernelNest(items[0].indices, steps, nest)


def flat_map(function: MapFunction, item: Map, index: str) -> tuple[MapFunction, Map, str]:
    """The map over one `index`, in a function whose tensors have one dimension; the size that is the
    product of its extents, "" where that is a number.

        y[i, j] = exp(x[i, j])        y[n] = exp(x[n]), n from 0 below total = N*M

    No index is divided then, and vectors go on from one row to the next. What it reads is a scalar, or has
    its shape and is read at its own place.
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
    used = item.read
    given = tuple(flat(tensor) for name, tensor in function.tensors().items() if name in used)
    sizes = function.sizes if is_known else (*function.sizes, size)
    known = function.known if is_known else (*function.known, Constraint(total))
    return replace(function, arguments=given, maps=(made,), sizes=sizes, known=known), made, size
