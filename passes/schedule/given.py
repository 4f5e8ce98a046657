"""A schedule that is given for the maps of a function, in the place of the one that would be chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tadc.frontend.diagnostics import CompileError, Diagnostic, Label
from tadc.frontend.source import Source, Span
from tadc.frontend.suggest import closest
from tadc.passes.maps.map import Map, MapFunction
from tadc.passes.nest.nest import At, Extreme, For, Nest
from tadc.passes.nest.plain import plain_nest
from tadc.passes.nest.primitives.apply import apply_steps
from tadc.passes.nest.primitives.rewriting import DoesNotFit, loops_in
from tadc.passes.nest.steps import Cut, Rows, Split, Step, Steps, Threads
from tadc.passes.schedule.reader import ReadMap, read_schedule

Given = Mapping[str, Steps]
"""The steps for maps, by a tensor that each computes."""


def given_schedule(source: Source, functions: Sequence[MapFunction]) -> Given:
    """The steps of a text for the maps of functions; those that it does not name get what is chosen.

    Raises CompileError: TAD0611 where the text does not read, TAD0612 where a step does not fit.
    """
    maps = {tensor.name: (item, each) for each in functions for item in each.maps for tensor in item.tensors}
    found: dict[str, Steps] = {}
    for read in read_schedule(source):
        for name in read.schedule.tensors:
            if name not in maps:
                near = closest(name, maps)
                help = f"did you mean `{near}`?" if near else "`--emit schedule` has the maps"
                raise _does_not_fit(f"no map computes `{name}`", read.span, help, source)
        item, function = maps[read.schedule.tensors[0]]
        _check(read, item, function, source)
        found |= {tensor.name: read.schedule.steps for tensor in item.tensors}
    return found


def _check(read: ReadMap, item: Map, function: MapFunction, source: Source) -> None:
    """Raises CompileError for the first step that does not fit those before it."""
    steps, nest = read.schedule.steps, plain_nest(function, item)
    problem = _problem(steps, item)
    if problem is not None:
        number, text, help = problem
        raise _does_not_fit(text, read.spans[number], help, source)
    for count in range(1, len(steps) + 1):
        try:
            apply_steps(nest, steps[:count])
        except DoesNotFit as error:
            help = "`--emit nest` has the loops and values, `--emit schedule` steps that fit"
            raise _does_not_fit(str(error), read.spans[count - 1], help, source) from None
    number = _twice(steps, apply_steps(nest, steps))
    if number is not None:
        text = "its last tile is moved back, inside of the blocks of a reduction: elements would be joined twice"
        raise _does_not_fit(text, read.spans[number], "end tiles by `rest`, or put the blocks inside", source)


def _twice(steps: Sequence[Step], nest: Nest) -> int | None:
    """The number of a split whose tiles overlap inside of the blocks of a reduction."""
    cuts = {step.outer for step in steps if isinstance(step, Cut)}
    blocks = [loop for loop in loops_in(nest.body) if loop.index in cuts]
    inside = {inner.index for loop in blocks for inner in loops_in(loop.body) if _moves_back(inner)}
    splits = ((n, step) for n, step in enumerate(steps) if isinstance(step, Split))
    return next((n for n, step in splits if step.tail == "overlap" and step.outer in inside), None)


def _moves_back(loop: For) -> bool:
    """Whether the tiles of a loop do not begin where its index says."""
    first = loop.body[0] if loop.body else None
    return isinstance(first, At) and isinstance(first.value, Extreme)


def _problem(steps: Sequence[Step], item: Map) -> tuple[int, str, str] | None:
    """What of the steps threads and chains cannot do: the number of the step, what is wrong, and a help."""
    is_cut = any(isinstance(step, Cut) for step in steps)
    tiles = {step.index: step.factor for step in steps if isinstance(step, Split)}
    for number, step in enumerate(steps):
        if isinstance(step, Threads) and is_cut:
            for index, grain in zip(step.indices, step.grains, strict=True):
                tile = tiles.get(index, 1)
                if grain % tile:
                    text = "between blocks of a reduction, no two threads may compute one element"
                    return number, text, f"ranges begin at multiples of a tile: write `threads {index} {tile}`"
        if isinstance(step, Rows):
            rows = 1 if item.marks.steps else item.marks.rows
            if item.marks.chain is None or step.index != item.indices[0] or step.count != rows:
                text = "the map is in no chain" if item.marks.chain is None else "the chain has other rows"
                fits = f"`rows {item.indices[0]} {rows}` fits" if rows else "leave the step out"
                return number, text, fits
    return None


def _does_not_fit(text: str, span: Span, help: str, source: Source) -> CompileError:
    label = Label(span, text)
    return CompileError(
        [Diagnostic("TAD0612", "this step of the schedule does not fit", label, helps=[help], source=source)]
    )
