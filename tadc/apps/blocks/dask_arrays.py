"""`f.dask`: f as a function of Dask arrays, of whose results each block is a task.

A stage is a layer of a graph: a block's task reads the chunks in which its boxes are, and what is joined of
parts is joined by tasks of the same tree as `f.block` has.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from math import isnan, prod
from typing import Any, cast

import dask.array
import dask.base
import dask.config
import numpy as np
from dask import local, threaded
from dask.base import tokenize
from dask.highlevelgraph import HighLevelGraph, MaterializedLayer
from dask.utils import parse_bytes

from tadc.apps.blocks.axes import BlockAxis, axis_of, of_stored, outer_reductions
from tadc.apps.blocks.block_calls import SLICED, read, type_problem
from tadc.apps.blocks.block_function import (
    BLOCK_BYTES,
    FunctionInBlocks,
    arrays_for_results,
    index_arrays_of,
    place_in_memory,
    require_apart,
)
from tadc.apps.blocks.block_graph import Chunks, StageGraph
from tadc.apps.blocks.block_lengths import checked_lengths, completed
from tadc.apps.blocks.block_plan import BlockPlan, Length
from tadc.apps.blocks.followed_chunks import followed
from tadc.apps.blocks.mapped_files import mapped_file
from tadc.toolkit.language import Program
from tadc.toolkit.reporting import (
    VERSION,
    CompileError,
    Diagnostic,
    checked_mapping,
    public,
    warn_of,
)
from tadc.toolkit.running import Door, Function, Parameter, numpy_type, result_type, typed_text

#: Dask's own types are of no use here.
da: Any = dask.array
base: Any = dask.base
config: Any = dask.config

#: Nobody is warned of chunks with fewer bytes.
LEAST_WARNED = 1 << 20


class DaskFunction:
    """A function of Dask arrays; made by `f.dask`.

    Arrays may also be of NumPy, in files (`numpy.memmap`, Zarr, HDF5), or lists. Results are computed where
    and when Dask does it; blocks have the bits that they have by `f.block`.

    >>> import tadc, dask.array
    >>> f = tadc.function("x: f64[N]; w: f64[3]; y[i: N - 2] = sum{k} (w[k]*x[i + k])")
    >>> y = f.dask(dask.array.arange(10.0, chunks=4), [1, 0, -1])
    >>> y
    dask.array<y, shape=(8,), dtype=float64, chunksize=(4,), chunktype=numpy.ndarray>
    >>> y.compute(scheduler="threads")
    array([-2., -2., -2., -2., -2., -2., -2., -2.])
    """

    def __init__(self, f: Function) -> None:
        self._f = f

    def __repr__(self) -> str:
        return f"<tadc.dask.DaskFunction {typed_text(self._f)}>"

    @public
    def __call__(
        self, /, *args: Any, chunks: Mapping[str, Any] | None = None, out: Any = None, **kwargs: Any
    ) -> Any:
        """f's results, one Dask array or a named tuple of them.

        `chunks` has how many places blocks have along indices of f's results, or of sums, as `f.block`
        takes them: one number, or that of each block. Without it, blocks are as the chunks of arguments
        along all such indices. `out` has arrays, in memory or in files, as `f.block` takes them: then results
        are computed at once, each block is written there, and these arrays are returned. Raises ArgumentError
        and CompileError as a call of f and as `f.block`.
        """
        f = self._f
        if f.is_open:
            return f.at_call(args, kwargs).dask(*args, chunks=chunks, out=out, **kwargs)
        call = read(f, args, kwargs, LAZY)
        arrays, sizes = call.arrays, call.sizes
        checked_mapping(chunks, "chunks", 'chunks={"i": 1000}')
        if chunks is None:
            division, lengths = self._as_chunks(arrays, sizes)
        else:
            lengths = completed(f, checked_lengths(chunks))
            division = self._divided(tuple(lengths))
        if any(axis.extent(sizes) == 0 for axis in division.axes):
            division = self._divided(())
        indices = call.index_arrays
        if indices and not any(isinstance(value, da.Array) for value in indices.values()):
            division = f.block.divided(tuple(axis.name for axis in division.axes), lists=True)
            plan = division.plan(sizes, lengths, index_arrays_of(f, indices, sizes))
        else:
            plan = division.plan(sizes, lengths)
        lazy = {n: a for n, a in arrays.items() if call.given[n] is a}
        warn_of(list(_one_chunk(division.axes, plan, lazy)))
        if out is None:
            found = _graph(division, plan, arrays, {})
        else:
            there = arrays_for_results(f, out, sizes)
            require_apart(there, call.given)
            in_threads = _in_threads(list(arrays.values()))
            into = _in_place(plan, there) if in_threads else {}
            _store(_graph(division, plan, arrays, into), there, into, in_threads)
            found = list(there.values())
        return found[0] if len(found) == 1 else result_type(f.outputs)(*found)

    def _divided(self, names: tuple[str, ...]) -> FunctionInBlocks:
        return self._f.block.divided(names)

    def _as_chunks(
        self, arrays: Mapping[str, Any], sizes: Mapping[str, int]
    ) -> tuple[FunctionInBlocks, dict[str, Length | None]]:
        """The division along all indices along which arguments have several chunks, as they have them."""
        lengths: dict[str, Length | None] = {}
        taken: set[tuple[str, int]] = set()
        program = of_stored(self._f.program)
        for name in _indices(program):
            axis = axis_of(program, name)
            if axis is None or axis.dims.items() & taken:
                continue
            try:
                own = self._lengths(axis, arrays, sizes, taken)
                if own is not None:
                    self._divided((*lengths, name))
            except CompileError:  # a recurrence goes along it, or blocks cannot be proven to be enough
                continue
            if own is not None:
                taken |= axis.dims.items()
                lengths[name] = own
        try:
            several = completed(self._f, lengths)
            self._divided(tuple(several))
            lengths = several
        except CompileError:
            pass
        return self._divided(tuple(lengths)), lengths

    def _lengths(
        self,
        axis: BlockAxis,
        arrays: Mapping[str, Any],
        sizes: Mapping[str, int],
        taken: set[tuple[str, int]],
    ) -> tuple[int, ...] | None:
        """The lengths of blocks along an axis by the chunks of the largest argument that has several.

        `taken` are dimensions whose chunks others follow: one that this axis follows joins them.
        """
        along = dict(axis.dims)
        # A gradient has chunks as what it is of, which need not be read.
        along |= {d.gradient_of: along[d.name] for d in self._f.program.outputs if d.name in along}
        own = {name: d for name, d in along.items() if name in arrays}
        several = [name for name, d in own.items() if len(arrays[name].chunks[d]) > 1]
        extent = axis.extent(sizes)
        if several:
            largest = max(several, key=lambda name: arrays[name].nbytes)
            return _fitted(arrays[largest].chunks[own[largest]], extent)
        chunks = {name: array.chunks for name, array in arrays.items()}
        left = {
            (name, d) for name, c in chunks.items() for d, along in enumerate(c) if len(along) > 1
        } - taken
        if not left or extent < 2:
            return None
        plan = self._divided((axis.name,)).plan(sizes, {axis.name: extent})
        found = [each for each in followed(plan, chunks) if (each.argument, each.dimension) in left]
        if not found:
            return None
        best = max(found, key=lambda each: arrays[each.argument].nbytes)
        taken.add((best.argument, best.dimension))
        return best.lengths


class LazyArrays(Door):
    """Dask arrays; what lies in memory is one chunk."""

    def array(self, parameter: Parameter, value: Any) -> Any | Diagnostic:
        """See Door."""
        if isinstance(value, da.Array):
            return _chunk_problem(parameter.name, value) or value
        found = SLICED.array(parameter, value)
        if isinstance(found, Diagnostic):
            return found
        return da.from_array(found, chunks=-1) if type(found) is np.ndarray else _in_file(found)

    def type_problem(self, parameter: Parameter, array: Any, value: Any) -> Diagnostic | None:
        """See Door."""
        return type_problem(parameter, array)


LAZY = LazyArrays()


def _chunk_problem(name: str, value: Any) -> Diagnostic | None:
    """What is wrong with the chunks of a Dask array."""
    kind = cast("type[Any]", type(value._meta))
    is_masked = issubclass(kind, np.ma.MaskedArray)
    if not issubclass(kind, np.ndarray) or is_masked:
        message = f"`{name}` has chunks of {kind.__module__}.{kind.__name__}, which is not read as numbers"
        made = f"`{name}.map_blocks(g)` with a g that makes arrays of NumPy of them"
        filled = f"`dask.array.ma.filled({name}, 0)` says what stands where they are masked"
        return Diagnostic("TAD0504", message, helps=[filled if is_masked else made])
    if any(isnan(length) for lengths in value.chunks for length in lengths):
        message = f"the lengths of the chunks of `{name}` are unknown"
        return Diagnostic("TAD0503", message, helps=[f"have them computed: `{name}.compute_chunk_sizes()`"])
    return None


def _in_file(value: Any) -> Any:
    """An argument in a file, in chunks of that, or where it has none in runs of neighbours."""
    meta: Any = np.empty((0,) * len(value.shape), value.dtype)
    source = mapped_file(value) or value
    if getattr(source, "chunks", None):
        limit = min(BLOCK_BYTES, parse_bytes(config.get("array.chunk-size")))
        with config.set({"array.chunk-size": limit}):
            return da.from_array(source, meta=meta)
    lengths: list[int] = []
    left = BLOCK_BYTES // value.dtype.itemsize
    for size in reversed(value.shape):
        lengths.insert(0, max(1, min(size, left)))
        left //= lengths[0]
    return da.from_array(source, chunks=tuple(lengths), meta=meta)


def _indices(program: Program) -> Iterator[str]:
    """The indices along which a program may be divided: those of results, then those of sums."""
    found = [index for d in program.outputs for index in d.indices]
    for d in program.definitions:
        found += [hint for reduction in outer_reductions(d.body) for hint in reduction.hints]
    yield from dict.fromkeys(found)


def _fitted(lengths: tuple[int, ...], extent: int) -> tuple[int, ...]:
    """Lengths that add up to an extent: the last ones are shorter, or the last one is longer."""
    found: list[int] = []
    for length in lengths:
        own = min(length, extent - sum(found))
        if own > 0:
            found.append(own)
    if found:
        found[-1] += extent - sum(found)
    return tuple(found)


def _one_chunk(axes: Sequence[BlockAxis], plan: BlockPlan, arrays: Mapping[str, Any]) -> Iterator[Diagnostic]:
    """Warnings of arguments that are one chunk along an index of which there are several blocks."""
    for n, axis in enumerate(axes):
        places = max((stage.places[n] for stage in plan.stages), key=len)
        for name, d in axis.dims.items():
            array = arrays.get(name)
            if array is None or len(places) < 2 or array.numblocks[d] > 1:
                continue
            size = array.nbytes // max(1, prod(array.numblocks))
            if size < LEAST_WARNED:
                continue
            message = f"`{name}` is one chunk along `{axis.name}`, which is divided into {len(places)} blocks"
            cost = f"its chunks of {size / 2**20:,.0f} MiB are in memory until the last block, on each worker"
            length = f"{{{d}: {len(places[0])}}}"
            helps = [f"take it apart: `{name}.rechunk({length})`, or read it in chunks"]
            yield Diagnostic("TAD1003", message, notes=[cost], helps=helps, severity="warning")


def _in_threads(arrays: Sequence[Any]) -> bool:
    """Whether it is threads of this process that compute what is made of these arrays."""
    ours: list[Any] = [None, cast("Any", threaded).get, cast("Any", local).get_sync]
    return base.get_scheduler(collections=arrays) in ours


def _in_place(plan: BlockPlan, there: Mapping[str, Any]) -> dict[str, Any]:
    """Those of arrays for results that blocks can write to: in memory, and not joined."""
    types = {d.name: d.type for stage in plan.stages for d in stage.stage.program.outputs}
    joined = {part.name for stage in plan.stages for part in stage.stage.parts}
    return {
        name: array
        for name, array in there.items()
        if name not in joined and place_in_memory(array, (), np.dtype(numpy_type(types[name]))) is not None
    }


def _store(found: Sequence[Any], there: Mapping[str, Any], in_place: Collection[str], locks: bool) -> None:
    """Compute results into arrays; chunks of those in place are views of these."""
    computed = base.persist(*found) if in_place else found
    for result, (name, array) in zip(computed, there.items(), strict=True):
        file = mapped_file(array)
        if name in in_place:
            continue
        if file is None and isinstance(array, np.ndarray) and not locks:
            array[...] = result.compute()  # other processes would write to copies
        else:
            da.store(result, file or array, lock=file is None)


def _graph(
    division: FunctionInBlocks, plan: BlockPlan, arrays: Mapping[str, Any], into: Mapping[str, Any]
) -> list[Any]:
    """f's results as Dask arrays, whose tasks write `into` some arrays."""
    names = {n: a.name for n, a in arrays.items()}
    axes = [axis.name for axis in division.axes]
    places = [stage.places for stage in plan.stages]
    token = tokenize(VERSION, str(division.whole), axes, places, dict(plan.stages[0].sizes), names)
    arrays = {**arrays, **{copy: arrays[name] for copy, name in division.copies.items()}}
    tensors = {n: Chunks(a.name, a.chunks, a.dtype) for n, a in arrays.items()}
    made: dict[str, Any] = dict(arrays)
    for n, part in enumerate(plan.stages):
        stage = StageGraph(f"blocks{n}-{token}", str(division.functions[n]), part, tensors, token, into)
        below = [made[a.name] for a in part.stage.program.arguments]
        tensors |= stage.chunks
        made |= _layered(stage, below)
    return [made[name] for name in division.whole.outputs]


def _layered(stage: StageGraph, below: list[Any]) -> dict[str, Any]:
    """The results of a stage as Dask arrays: of a layer of blocks, and one of what takes it apart."""
    layers: dict[str, Any] = {}
    layers_below: dict[str, set[str]] = {}
    for array in below:
        layers |= array.dask.layers
        layers_below |= array.dask.dependencies
    own = stage.name
    if stage.alone:
        own = stage.chunks[stage.alone].name
    layers[own] = MaterializedLayer(stage.tasks)
    layers_below[own] = {name for array in below for name in array.__dask_layers__()}
    found: dict[str, Any] = {}
    for name, chunks in stage.chunks.items():
        if not stage.alone:
            layers[chunks.name] = MaterializedLayer(stage.results[name])
            layers_below[chunks.name] = {own}
    for name, chunks in stage.chunks.items():
        graph = HighLevelGraph(layers, layers_below)
        meta: Any = np.empty((0,) * len(chunks.lengths), chunks.dtype)
        found[name] = da.Array(graph, chunks.name, chunks.lengths, meta=meta)
    return found
