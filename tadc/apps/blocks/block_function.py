"""`f.block(i=1000)`: a function of one block of f's results, and f block by block."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, cast

import numpy as np

from tadc.apps.blocks.axes import BlockAxis, axes_of, of_stored
from tadc.apps.blocks.batch_axes import BatchAxis, batch_axes
from tadc.apps.blocks.block_calls import SLICED, read, with_places
from tadc.apps.blocks.block_lengths import checked_lengths, completed, named_axis
from tadc.apps.blocks.block_places import Box, cut, subscripts
from tadc.apps.blocks.block_plan import BlockPlan, Length, StagePlan, plan_of
from tadc.apps.blocks.block_program import SLICING, BlockProgram, divided
from tadc.apps.blocks.block_stages import BlockStage, stages
from tadc.apps.blocks.block_tasks import function_here
from tadc.apps.blocks.box_certificate import Witness, witnesses
from tadc.apps.blocks.box_pictures import draw
from tadc.apps.blocks.joining import Joined
from tadc.apps.blocks.program_of_lists import ListedProgram, listed
from tadc.apps.blocks.read_copies import read_apart
from tadc.apps.blocks.traffic import BlockTraffic, traffic_of
from tadc.toolkit.language import bytes_of_type, shape_at, size_sources, specialised
from tadc.toolkit.reporting import (
    ArgumentError,
    CompileError,
    Diagnostic,
    Source,
    checked_choice,
    checked_number,
    public,
    usage,
)
from tadc.toolkit.running import (
    HOST,
    Array,
    Function,
    IndexArguments,
    KeptIndexArray,
    Relation,
    function_of_text,
    numpy_type,
    size_symbols_of,
    typed_text,
)

#: Errors for a read that is not proven to be in range, at all or with so much work.
_UNPROVEN = {"TAD0302", "TAD0312", "TAD0318"}

#: Blocks have about so many bytes of arguments and results where no length is given.
BLOCK_BYTES = 32 << 20


class BlockFunction:
    """A function of one block of the results of f, with the boxes of the arguments that a block reads.

    Made by `f.block`. `function` is a Function of the slices of a block, printed as any other; where the
    results of all blocks are needed before f can go on, as the sum below a softmax, `functions` has one for
    each stage. Called with f's arguments, a block computes all of f's results, block by block: arguments may
    be whatever has a shape and gives NumPy arrays for slices (`numpy.memmap`, Zarr, HDF5), and so may the
    arrays of `out` that results are written to. For the same blocks the results have the same bits,
    and where no sum is divided, those of f.

    >>> import tadc
    >>> f = tadc.function("x: f64[N]; w: f64[3]; y[i: N - 2] = sum{k} (w[k]*x[i + k])")
    >>> block = f.block(i=2)
    >>> print(block)
    x: f64[i_size + 2]
    w: f64[3]
    y: f64[i_size]
    <BLANKLINE>
    y[i] = sum{k}_0^2 (w[k] * x[i + k])
    <BLANKLINE>
    >>> block([1, 2, 3, 4, 5], [1, 0, 1])
    array([4., 6., 8.])
    >>> block.boxes(N=5)[1]
    {'x': (slice(2, 5, None),), 'w': (slice(0, 3, None),)}
    """

    def __init__(self, f: Function, lengths: Mapping[str, Length | None]) -> None:
        """Blocks of so many places along each of these indices; None for as many as fit a few megabytes.

        Raises CompileError: TAD0212 where sizes of f need values first, TAD1001 for an index that no
        output and no sum of one has, TAD1002 for one along which a recurrence goes.
        """
        if f.per_value is not None:
            raise f.per_value.needs_values()
        f.require_types()
        self.whole = f
        self.lengths = completed(f, lengths)
        self._division: FunctionInBlocks = f.block.divided(tuple(self.lengths), lists=True)
        self.axes = self._division.axes
        #: The arguments of blocks that are others of f once more, in other slices, and which.
        self.copies = self._division.copies
        self.functions = self._division.functions

    @property
    def function(self) -> Function:
        """The function of a block: of its first stage, where there are several."""
        return self.functions[0]

    def __str__(self) -> str:
        """The program of a block, of each stage."""
        return "\n".join(map(str, self.functions))

    def __repr__(self) -> str:
        lengths = ", ".join(f"{name}={length or '…'}" for name, length in self.lengths.items())
        return f"<tadc.BlockFunction ({lengths}) of {typed_text(self.whole)}>"

    def _repr_html_(self) -> str:
        return "\n".join(f._repr_html_() for f in self.functions)  # pyright: ignore[reportPrivateUsage]

    @property
    def has_lists(self) -> bool:
        """Whether index arrays tell what blocks read: plans need them for that."""
        return self._division.has_lists

    @public
    def plan(self, **given: Any) -> BlockPlan:
        """All blocks at values of f's sizes: what each of them reads and computes.

        Where f's index arrays are given too, by name, it has the places that these tell; without them, all
        that they may tell. Raises ArgumentError for elements of them that are out of range.
        """
        return self._plan(given, self.lengths)

    def _plan(self, given: Mapping[str, Any], lengths: Mapping[str, Length | None]) -> BlockPlan:
        given = with_places(self.whole, given)
        sizes = self._all(given)
        arrays = {name: given[name] for name in self.whole.program.index_arrays() if name in given}
        if arrays and len(arrays) == len(self.whole.program.index_arrays()):
            return self._division.plan(sizes, lengths, index_arrays_of(self.whole, arrays, sizes))
        return self.whole.block.divided(tuple(self.lengths)).plan(sizes, lengths)

    def _all(self, given: Mapping[str, Any]) -> Mapping[str, int]:
        """The values of f's sizes, of which none is missing."""
        arrays = [a for a in self.whole.program.arguments if a.name in given]
        shapes = [np.shape(given[a.name]) for a in arrays]
        told = {s.symbol: 0 for s in size_sources([a.shape for a in arrays])}
        sizes = {name: given[name] for name in self.whole.program.sizes if name in given}
        specialised(self.whole.program, sizes)  # Raises where the program is not defined at these sizes.
        for source in size_sources([a.shape for a in arrays]):
            told[source.symbol] = source.value(shapes[source.argument][source.dimension], told | sizes)
        sizes = told | sizes
        missing = [name for name in self.whole.program.sizes if name not in sizes]
        if missing:
            raise usage(
                f"size `{missing[0]}` is missing",
                f"give it by name, `{missing[0]}=…`, to the command by `--size {missing[0]}=…`",
            )
        return sizes

    @public
    def boxes(self, **given: Any) -> list[dict[str, tuple[Any, ...]]]:
        """For each block of the first stage, what it reads of each argument, at values of f's sizes.

        Of each dimension that is a slice, or an array of places where index arrays tell them, which are given
        as for `plan`.
        """
        stage = self.plan(**given).stages[0]
        tasks = (stage.task(cell) for cell in stage.cells)
        return [{name: subscripts(box) for name, box in task.reads.items()} for task in tasks]

    @public
    def traffic(self, workers: int = 1, **given: Any) -> BlockTraffic:
        """What all blocks cost on so many workers, at values of f's sizes; one each if no length is given.

        What is read through index arrays counts whole, and operations are estimated where their elements
        tell how many there are, unless index arrays are given as for `plan`.

        >>> import tadc
        >>> f = tadc.function("x: f64[N]; w: f64[3]; y[i: N - 2] = sum{k} (w[k]*x[i + k])")
        >>> found = f.block().traffic(workers=1000, N=10**9)
        >>> found.moved, found.memory
        (39960, 16000040)
        """
        checked_number(workers, "workers", 1, "a number from 1 on")
        lengths, shared = dict(self.lengths), set[str]()
        for axis in self.axes:
            if lengths[axis.name] is None and shared.isdisjoint(axis.dims):
                shared |= axis.dims.keys() & {*self.whole.outputs}
                extent = max(1, axis.extent(self._all(with_places(self.whole, given))))
                lengths[axis.name] = -(-extent // workers)
        return traffic_of(self._plan(given, lengths), workers)

    @public
    def certificate(self, **given: Any) -> list[Witness]:
        """For each block of the first stage who reads the first and the last places of its boxes.

        >>> import tadc
        >>> f = tadc.function("x: f64[N]; w: f64[3]; y[i: N - 2] = sum{k} (w[k]*x[i + k])")
        >>> for witness in f.block(i=50).certificate(N=100)[2:]:
        ...     print(witness)
        dimension 0 of x, 50: y reads it as i + k at i = 50, k = 0
        dimension 0 of x, 99: y reads it as i + k at i = 97, k = 2
        """
        stage = self.plan(**given).stages[0]
        return [found for cell in stage.cells for found in witnesses(stage, stage.task(cell))]

    @public
    def plot(self, kind: str = "svg", **given: Any) -> bytes:
        """A picture (svg, png or pdf) of the boxes that the middle block reads and computes, at sizes of f.

        Of tensors of more dimensions the last two are drawn. Raises CompileError (TAD0802) without
        matplotlib.
        """
        checked_choice(kind, "kind", ("svg", "png", "pdf"))
        plan = self.plan(**given)
        if not all(plan.stages[0].places):
            raise usage("at these sizes there is no block to draw", "give larger sizes")
        return draw(plan, kind=kind)

    @public
    def __call__(self, /, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        """f's results, computed block by block. Raises ArgumentError as a call of f."""
        call = read(self.whole, args, kwargs, SLICED)
        sizes = call.sizes
        if any(axis.extent(sizes) == 0 for axis in self.axes):
            return self.whole(*args, out=out, **kwargs)
        stored = arrays_for_results(self.whole, out, sizes)
        require_apart(stored, call.arrays)
        arrays = {**call.arrays, **{copy: call.arrays[name] for copy, name in self.copies.items()}}
        plan = self._plan({**call.index_arrays, **sizes}, self.lengths)
        for f, stage in zip(self.functions, plan.stages, strict=True):
            arrays |= _computed(str(f), stage, arrays, stored)
        return call.results([stored[name] for name in self.whole.outputs])


def arrays_for_results(f: Function, out: Any, sizes: Mapping[str, int]) -> dict[str, Any]:
    """Where results are written to: of those that `out` has none for new arrays. Raises UsageError."""
    given: dict[str, Any] = {}
    if isinstance(out, Mapping):
        given = dict(cast("Mapping[str, Any]", out))
    elif out is not None:
        several = cast("Sequence[Any]", out) if isinstance(out, tuple | list) else [out]
        given = dict(zip(f.outputs, several, strict=False))
    found: dict[str, Any] = {}
    for d in f.program.outputs:
        shape = shape_at(d.shape, sizes)
        found[d.name] = given[d.name] if d.name in given else np.empty(shape, numpy_type(d.type))
        if tuple(found[d.name].shape) != shape:
            raise usage(f"`out` for `{d.name}` has the shape {found[d.name].shape}, not {shape}")
    return found


def require_apart(there: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Raise UsageError where a result is written to memory of an argument, which other blocks still read."""
    for result, array in there.items():
        for name, value in arrays.items():
            both = issubclass(type(array), np.ndarray) and issubclass(type(value), np.ndarray)
            if both and np.may_share_memory(array, value):
                raise usage(
                    f"`out` for `{result}` is memory of `{name}`, which later blocks still read",
                    f"give another array: `out=np.empty({array.shape}, np.{array.dtype})`",
                )


class FunctionInBlocks:
    """A function divided along indices: the stages, and of each the program and the function of a block.

    With `lists` blocks have lists of the places that they read through index arrays, else all of these.
    """

    def __init__(self, f: Function, names: Iterable[str], lists: bool = False) -> None:
        """Raises CompileError as BlockFunction. Without an index all is one block."""
        self.whole = f
        names = tuple(names)
        program, self.copies = read_apart(of_stored(f.program), names)
        self.axes: list[BlockAxis] = []
        for name in names:
            self.axes.append(named_axis(program, name, self.axes))
        made = [(stage, *_proven(stage, lists)) for stage in stages(program, self.axes)]
        self._made = [(stage, division, listed) for stage, division, listed, _ in made]
        self.functions = tuple(function for _, _, _, function in made)

    @property
    def has_lists(self) -> bool:
        """Whether index arrays tell what blocks read."""
        return any(listed is not None for _, _, listed in self._made)

    def plan(
        self,
        sizes: Mapping[str, int],
        lengths: Mapping[str, Length | None],
        arrays: Mapping[str, KeptIndexArray] | None = None,
    ) -> BlockPlan:
        """The blocks of so many places. Raises UsageError for lengths that do not add up to an axis.

        A plan is kept with index arrays, for calls with the same elements.
        """
        found = {a.name: lengths[a.name] or self._length(a, sizes) for a in self.axes}
        if not arrays:
            return plan_of(self._made, sizes, found, {})
        first, *others = arrays.values()
        key = self, tuple(found.items()), tuple(sizes.items()), *others
        if key not in first.made:
            inspected = {name: kept.array for name, kept in arrays.items()}
            first.keep(key, plan_of(self._made, sizes, found, inspected), others)
        return first.made[key]

    def _length(self, axis: BlockAxis, sizes: Mapping[str, int]) -> int:
        """How many places blocks have along an axis of which nobody says it."""
        extent = max(1, axis.extent(sizes))
        program = self.whole.program
        along = [t for t in (*program.arguments, *program.definitions) if t.name in axis.dims]
        total = sum(int(np.prod(shape_at(t.shape, sizes))) * bytes_of_type(t.type) for t in along)
        return max(1, min(extent, BLOCK_BYTES * extent // max(1, total)))


def _computed(
    text: str, stage: StagePlan, arrays: Mapping[str, Any], stored: Mapping[str, Any]
) -> dict[str, Any]:
    """The results of a stage; those that are results of the whole function are in `stored` too."""
    joined: dict[tuple[str, Box], Joined] = {}
    found: dict[str, Any] = {}
    for d in stage.stage.program.outputs:
        found[d.name] = stored.get(d.name)
        if found[d.name] is None:
            found[d.name] = np.empty(stage.shapes[d.name], numpy_type(d.type))
    versions = {tuple(stage.task(cell).lengths.items()) for cell in stage.usual_cells}
    for cell in stage.cells:
        task = stage.task(cell)
        f = function_here(text, task.lengths if tuple(task.lengths.items()) in versions else {})
        given = {name: cut(arrays[name], box) for name, box in task.reads.items()}
        given |= {name: b.filled(cut(found[b.of], b.box)) for name, b in task.before.items()}
        written = {n: box for n, box in task.writes.items() if stage.is_written(n, cell)}
        there = {
            d.name: place_in_memory(found[d.name], written[d.name], np.dtype(numpy_type(d.type)))
            for d in stage.stage.program.outputs
            if d.name in written and stage.part(d.name) is None
        }
        results = f(**given, **task.arrays, **task.sizes, out=there)
        several = dict(zip(f.outputs, results if len(f.outputs) > 1 else (results,), strict=True))
        for name, box in written.items():
            part = stage.part(name)
            if part is not None:
                joined.setdefault((name, box), Joined(part.kind)).add(several[name])
            elif there[name] is None:
                found[name][subscripts(box)] = several[name]
    for (name, box), parts in joined.items():
        found[name][subscripts(box)] = parts.result()
    return found


def place_in_memory(array: Any, box: Box, dtype: np.dtype[Any]) -> Array | None:
    """Where a block is written in place; None for what is no array in memory of its type."""
    if not issubclass(type(array), np.ndarray) or array.dtype != dtype:
        return None
    # With the dots it is a view where there are no dimensions too.
    return np.asarray(array[*subscripts(box), ...])


def _proven(stage: BlockStage, lists: bool) -> tuple[BlockProgram, ListedProgram | None, Function]:
    """The function of a block. A slice is all of a dimension where no proof says that it has what is read."""
    for slicing in SLICING:
        division = divided(stage, slicing)
        found = listed(division.program, division.known, division.own) if lists else None
        for program in (found, division) if found is not None else (division,):
            try:
                function = function_of_text(Source(program.text, "<block>"))
            except CompileError as error:
                is_last = slicing == SLICING[-1] and program is division
                if is_last or not {d.code for d in error.diagnostics} <= _UNPROVEN:
                    raise
            else:
                return division, found if program is found else None, function
    raise AssertionError


def index_arrays_of(
    f: Function, given: Mapping[str, Any], sizes: Mapping[str, int]
) -> dict[str, KeptIndexArray]:
    """f's index arrays as kernels read them, and what is known of them. Raises ArgumentError as a call."""
    parameters = [p for p in size_symbols_of(f.program).inputs if p.below is not None]
    values: list[Any] = []
    for parameter in parameters:
        value = given[parameter.name]
        found = value if isinstance(value, Relation) else HOST.seen(parameter, value)
        if isinstance(found, Diagnostic):
            raise ArgumentError([found])
        values.append(found)
    return IndexArguments(parameters, (), sizes).found(values)


class Divide:
    """`f.block`: blocks of f's results."""

    def __init__(self, f: Function) -> None:
        self._f = f
        self._divided: dict[tuple[bool, tuple[str, ...]], FunctionInBlocks] = {}

    def divided(self, names: tuple[str, ...], lists: bool = False) -> FunctionInBlocks:
        """f divided along these indices, for any lengths of blocks; kept with f."""
        key = lists and bool(self._f.program.index_arrays()), names
        if key not in self._divided:
            self._divided[key] = FunctionInBlocks(self._f, names, key[0])
        return self._divided[key]

    @public
    def __call__(self, /, **lengths: int | Sequence[int] | None) -> BlockFunction:
        """A block of so many places along each of these indices of f's results, or of sums.

        What goes along with an index is divided too: a cotangent with its output, a gradient with what it
        is of; and so are results that have as many places along an index of their own. Without an index each
        result is divided along its first one. Several lengths, as those of chunks
        of Dask, are of one block each; None as a length is as many places as fit a few megabytes. Raises
        UsageError for what is no length, CompileError as its class.
        """
        return BlockFunction(self._f, checked_lengths(lengths))

    @property
    def axes(self) -> list[BlockAxis]:
        """What may be divided at once: indices of results, then of sums."""
        return axes_of(read_apart(of_stored(self._f.program))[0])

    @cached_property
    def batch_axes(self) -> tuple[BatchAxis, ...]:
        """Of these the ones along which f itself computes a block, of blocks of its arguments."""
        return tuple(batch_axes(self._f.program))

    def __repr__(self) -> str:
        return f"<blocks of {typed_text(self._f)}>"
