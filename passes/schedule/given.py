"""A schedule that is given for the maps of a function, in the place of the one that would be chosen."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from tadc.frontend.diagnostics import Diagnostic
from tadc.frontend.source import Source
from tadc.frontend.suggest import nearest_help
from tadc.passes.maps.at_sums import pair_of
from tadc.passes.maps.filled_tensors import set_in_place
from tadc.passes.maps.map import Map, MapFunction
from tadc.passes.maps.recurrence import recurrence_of, sweep_of
from tadc.passes.nest import steps as st
from tadc.passes.nest.nest import ON_GPU, At, Extreme, For, Nest, Stage
from tadc.passes.nest.nest_verifier import verify
from tadc.passes.nest.plain import going_down
from tadc.passes.nest.primitives.apply import apply_steps
from tadc.passes.nest.primitives.rewriting import DoesNotFit, loops_in, statements_in
from tadc.passes.nest.sum_points import nest_of
from tadc.passes.schedule.reader import ReadMap, read_schedule
from tadc.passes.terms.costs import ELEMENT, STACK
from tadc.passes.where import does_not_fit

GPU_STEPS = st.When, st.Flatten, st.InBlocks, st.MergeLoops, st.Room
"""The steps that only kernels of a GPU take, but those that bind loops."""

Given = Mapping[str, st.Steps]
"""The steps for maps, by a tensor that each computes."""


def given_schedule(source: Source, functions: Sequence[MapFunction]) -> Given:
    """The steps of a text for the maps of functions; those that it does not name get what is chosen.

    Raises CompileError: TAD0611 where the text does not read, TAD0612 where a step does not fit.
    """
    found: dict[str, st.Steps] = {}
    for read, item, function in maps_given(source, functions):
        own = set(item.names)
        check_first(read, found.keys() & own, source)
        steps = read.schedule.steps
        if others := set(read.schedule.tensors) - own:
            merge = f"`merge {', '.join(read.schedule.tensors)}`"
            text, help = f"`{min(others)}` has a map of its own", f"write {merge} below `function`"
            raise does_not_fit(text, read.span, help, source)

        def made(steps: st.Steps, item: Map = item, function: MapFunction = function) -> Nest:
            # What is not among the points of a map in place is there.
            steps = tuple(s for s in steps if not (item.marks.in_place and isinstance(s, st.Points)))
            return apply_steps(nest_of(function, item), steps)

        check_steps(read, source, _of_cpu(steps) or _of_pair(function, item) or problem_of(steps, item), made)
        nest = made(steps)
        wrong = _twice(steps, nest, item) or _too_large(steps, nest)
        if wrong is not None:
            number, text, help = wrong
            raise does_not_fit(text, read.spans[number], help, source)
        found |= dict.fromkeys(own, steps)
    return found


def maps_given(
    source: Source, functions: Sequence[MapFunction]
) -> Iterator[tuple[ReadMap, Map, MapFunction]]:
    """What a text has for maps of functions. Raises CompileError where there is no such map."""
    maps = {tensor.name: (item, each) for each in functions for item in each.maps for tensor in item.tensors}
    for read in read_schedule(source):
        for name in read.schedule.tensors:
            if name not in maps:
                help = nearest_help(name, maps, "`--emit schedule` has the maps")
                raise does_not_fit(f"no map computes `{name}`", read.span, help, source)
        yield read, *maps[read.schedule.tensors[0]]


def check_first(read: ReadMap, above: Collection[str], source: Source) -> None:
    """Raises CompileError where what a map computes has steps above."""
    if above:
        name = min(above)
        raise does_not_fit(f"`{name}` has steps above", read.span, "leave these or those out", source)


def check_steps(
    read: ReadMap, source: Source, problem: Problem | None, made: Callable[[st.Steps], Nest]
) -> None:
    """Raises CompileError for a problem that was found, and for the first step that does not fit those before
    it: by what is `made` of these."""
    steps = read.schedule.steps
    if problem is not None:
        number, text, help = problem
        raise does_not_fit(text, read.spans[number] if read.spans else read.span, help, source)
    for count in range(1, len(steps) + 1):
        try:
            made(steps[:count])
        except DoesNotFit as error:
            help = "`--emit nest` has the loops and values, `--emit schedule` steps that fit"
            raise does_not_fit(str(error), read.spans[count - 1], help, source) from None
    wrong = _first_wrong(steps, made)
    if wrong is not None:
        number, found = wrong
        assert found.primary is not None
        assert found.source is not None
        line = found.source.line(found.source.position(found.primary.span.start)[0]).strip()
        notes = [f"in the nest that the steps make: `{line}`", *found.notes]
        help = "`--emit scheduled-nest` shows what the steps before it make"
        raise does_not_fit(f"then {found.primary.text}", read.spans[number], help, source, notes)


def _first_wrong(steps: st.Steps, made: Callable[[st.Steps], Nest]) -> tuple[int, Diagnostic] | None:
    """What is wrong with the nest that the steps make, and the number of the step that makes it so."""
    found: tuple[int, Diagnostic] | None = None
    for count in range(len(steps), 0, -1):
        wrong = verify(made(steps[:count]))
        if not wrong:
            break
        found = count - 1, wrong[0]
    return found


def _of_cpu(steps: Sequence[st.Step]) -> Problem | None:
    """The first step that only kernels of a GPU take."""
    for number, step in enumerate(steps):
        if isinstance(step, GPU_STEPS) or (isinstance(step, st.Bind) and step.kind in ON_GPU):
            return number, "only kernels of a GPU take it", "leave the step out, or name a GPU by `--target`"
    return None


def _of_pair(function: MapFunction, item: Map) -> Problem | None:
    if item.marks.at_sum and pair_of(function, item) is None:
        return 0, "the map is computed at the points of another one's sum", "give steps for that one"
    return None


def _twice(steps: Sequence[st.Step], nest: Nest, item: Map) -> Problem | None:
    """The first split whose tiles overlap where no element may be computed twice."""
    cuts = {step.outer for step in steps if isinstance(step, st.Cut)}
    blocks = [loop for loop in loops_in(nest.body) if loop.index in cuts]
    inside = {inner.index for loop in blocks for inner in loops_in(loop.body) if _moves_back(inner)}
    joined = "in blocks of a reduction: elements would be joined twice"
    reasons = [(inside, joined, "end tiles by `rest`, or put the blocks inside")]
    if item.marks.tape is not None and (sweep := sweep_of(item)) is not None:
        own = [loop for loop in loops_in(nest.body) if loop.index == item.indices[sweep.index]]
        in_steps = {inner.index for loop in own for inner in loops_in(loop.body)}
        moved = {loop.index for loop in loops_in(nest.body) if _moves_back(loop)} - in_steps
        reasons.append((moved, "but the map is computed again from later steps", "end tiles by `rest`"))
    for tiles, text, help in reasons:
        for number, step in enumerate(steps):
            if isinstance(step, st.Split) and step.outer in tiles:
                return number, f"its last tile is moved back, {text}", help
    return None


def _too_large(steps: Sequence[st.Step], nest: Nest) -> Problem | None:
    """The last buffer, where all of them are more than the stack has room for."""
    rooms = [each.tensor for each in statements_in(nest.body) if isinstance(each, Stage)]
    total = sum(math.prod(e.constant for e in room.shape) * ELEMENT[room.type] for room in rooms)
    if total <= STACK:
        return None
    number = max(n for n, step in enumerate(steps) if isinstance(step, st.StageRead | st.Scatter))
    text = f"the buffers take {total} bytes, of {STACK} that the stack has for them"
    return number, text, "`cut` the reduction around it, or copy for fewer loops"


def _moves_back(loop: For) -> bool:
    """Whether the tiles of a loop do not begin where its index says."""
    first = loop.body[0] if loop.body else None
    return isinstance(first, At) and isinstance(first.value, Extreme)


Problem = tuple[int, str, str]
"""The number of a step, what is wrong with it, and a help."""


def problem_of(steps: Sequence[st.Step], item: Map) -> Problem | None:
    """What of the steps cannot be done for a map, whatever its loops are."""
    ranges = [n for n, step in enumerate(steps) if isinstance(step, st.Threads | st.Rows)]
    in_steps = rows_in(steps) and sweep_of(item) is not None
    if len(ranges) > (2 if in_steps and any(isinstance(step, st.Threads) for step in steps) else 1):
        return ranges[-1], "ranges of a map are given once", "leave the step out"
    tiles = {step.index: step.factor for step in steps if isinstance(step, st.Split)}
    is_cut = any(isinstance(step, st.Cut) for step in steps)
    bound = set[str]()
    for number, step in enumerate(steps):
        match step:
            case st.Bind(indices=indices):
                bound.update(indices)
            case st.Split(index=index) | st.Residues(index=index) | st.Reverse(index=index) if index in bound:
                return number, f"`{index}` has its kind already", "split it before"
            case st.Threads(indices=indices, grains=grains) if is_cut:
                for index, grain in zip(indices, grains, strict=True):
                    if grain % (tile := tiles.get(index, 1)):
                        text = "between blocks of a reduction, no two threads may compute one element"
                        return number, text, f"ranges begin at multiples of a tile: `threads {index} {tile}`"
            case st.Rows():
                wanted = rows_of(item)
                if wanted is None:
                    return number, "the map is in no chain", "leave the step out"
                if step != wanted:
                    return number, "the chain has other rows", f"write `rows {wanted.index} {wanted.count}`"
            case st.Threads(indices=indices) if in_steps or item.marks.sweep is not None:
                recurrence = recurrence_of(item)
                if len(indices) != 1 or recurrence is None or indices[0] in recurrence.ordered:
                    text = "threads divide an index of each step"
                    return number, text, "name one that the steps do not go along"
            case st.Join() if item.marks.in_place or any(isinstance(step, st.Rows) for step in steps):
                text = (
                    "its rows are those of other maps too"
                    if ranges
                    else "it is computed at some points alone"
                )
                return number, text, "leave the step out"
            case st.Cut() if item.marks.kept:
                text = "its elements are kept from call to call, which may see a block's"
                return number, text, "leave the step out"
            case st.Points(rows=rows) if not item.marks.in_place or rows != set_in_place(item):
                return number, "elements at other points would not be computed", "leave the step out"
            case _:
                pass
    return _of_recurrence(steps, item)


def rows_in(steps: Sequence[st.Step]) -> bool:
    """Whether steps are for a range of rows, or of steps of a recurrence."""
    return any(isinstance(step, st.Rows) for step in steps)


def rows_of(item: Map) -> st.Rows | None:
    """The range in which a map of a chain or a recurrence runs, of so many rows or more; None of others."""
    marks = item.marks
    if marks.at_sum:
        return None
    sweep = sweep_of(item) if marks.chain is None else marks.sweep
    if sweep is None:
        count = 1 if marks.steps else marks.rows
        return None if marks.chain is None else st.Rows(item.indices[marks.row], count)
    index, recurrence = item.indices[sweep.index], recurrence_of(item)
    return st.Rows(going_down(index) if recurrence is not None and index in recurrence.down else index, 1)


def _of_recurrence(steps: Sequence[st.Step], item: Map) -> Problem | None:
    """What of the steps changes the order in which the elements of a recurrence are computed."""
    recurrence = recurrence_of(item)
    if recurrence is None:
        return None
    loops = {going_down(n) if n in recurrence.down else n: n for n in recurrence.ordered}
    ordered, free = list(loops), set(item.indices) - recurrence.batch - set(recurrence.ordered)
    for number, step in enumerate(steps):
        help = f"its steps are in the order of {', '.join(ordered) or recurrence.order}"
        wrong = number, "elements of the recurrence would be computed in another order", help
        match step:
            case st.Split(index=index, tail="rest") if index in loops and recurrence.order is None:
                place = ordered.index(index)
                ordered[place : place + 1] = step.outer, step.inner
                loops |= dict.fromkeys((step.outer, step.inner), loops[index])
            case (
                st.Split(index=index, outer=outer, inner=inner)
                | st.Residues(index=index, outer=outer, inner=inner)
            ):
                free |= {outer, inner} if index in free else set()
                if index in loops or recurrence.order is not None:
                    return wrong
            case st.Reorder(indices=names):
                inside = [name for name in names if name in loops or name in free]
                kept = [name for name in ordered if name in names]
                if inside[: len(kept)] != kept or recurrence.order is not None:
                    return wrong
            case st.Bind(kind, indices=names) if kind != "unroll" and not loops.keys().isdisjoint(names):
                return wrong
            case st.Reverse(index=index) if index in loops:
                return wrong
            case st.Threads(indices=names) if not rows_in(steps) and not recurrence.batch.issuperset(names):
                rows = rows_of(item)
                return (*wrong[:2], f"write `rows {rows.index} {rows.count}` too") if rows else wrong
            case st.Cut() | st.Join():
                return wrong
            case _:
                pass
    return None
