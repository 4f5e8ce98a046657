"""A schedule that is given for the maps of a function, in the place of the one that would be chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tadc.frontend.diagnostics import CompileError, Diagnostic, Label
from tadc.frontend.source import Source, Span
from tadc.frontend.suggest import closest
from tadc.lattice.affine import Affine
from tadc.passes.maps.map import Fold, Map, MapFunction
from tadc.passes.maps.recurrence import recurrence_of
from tadc.passes.nest.nest import At, Body, Bound, Compute, Extreme, For, If, Nest
from tadc.passes.nest.plain import going_down, plain_nest
from tadc.passes.nest.primitives.apply import apply_steps
from tadc.passes.nest.primitives.rewriting import DoesNotFit, bound_forms, loops_in
from tadc.passes.nest.steps import (
    Bind,
    Cut,
    Points,
    Reorder,
    Residues,
    Reverse,
    Rows,
    Split,
    Step,
    Steps,
    Threads,
)
from tadc.passes.schedule.accesses import all_forms
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
        text = (
            "its last tile is moved back, inside of the blocks of a reduction: elements would be joined twice"
        )
        raise _does_not_fit(text, read.spans[number], "end tiles by `rest`, or put the blocks inside", source)
    moving = _moving_with_points(apply_steps(nest, steps).body, frozenset())
    if moving:
        text = f"`{moving}` differs between points that are computed in lockstep"
        raise _does_not_fit(text, read.span, "write `jam` and `lane` for the loops inside of a tile", source)
    unnamed = _unnamed(apply_steps(nest, steps))
    if unnamed:
        text = f"`{unnamed}` is not known where it is used, in the loops that these steps make"
        raise _does_not_fit(text, read.span, "stage `over` all that moves a read inside of the loop", source)


def _unnamed(nest: Nest) -> str:
    """An index that a nest uses where it is not named; "" without."""

    def visit(body: Body, known: frozenset[str]) -> str:
        for statement in body:
            used, found = frozenset[str](), ""
            match statement:
                case At(index=index, value=value):
                    used, known = _names_of(value) - known, known | {index}
                case For(index=index, start=start, stop=stop, body=inner):
                    used = (_names_of(start) | _names_of(stop)) - known
                    found = visit(inner, known | {index})
                case If(rows=rows, then=then, otherwise=otherwise):
                    used = frozenset(name for row in rows for name in row.form.variables) - known
                    found = visit(then, known) or visit(otherwise, known)
                case Compute(block=block, stores=stores):
                    folds = (let.value for let in block.all_lets() if isinstance(let.value, Fold))
                    here = known.union(*(fold.indices for fold in folds))
                    forms = [*all_forms(block), *(form for store in stores for form in store.at)]
                    used = frozenset(name for form in forms for name in form.variables) - here
                case _:
                    pass
            if used or found:
                return min(used, default=found)
        return ""

    return visit(nest.body, frozenset((*nest.sizes, *nest.ranges)))


def _twice(steps: Sequence[Step], nest: Nest) -> int | None:
    """The number of a split whose tiles overlap inside of the blocks of a reduction."""
    cuts = {step.outer for step in steps if isinstance(step, Cut)}
    blocks = [loop for loop in loops_in(nest.body) if loop.index in cuts]
    inside = {inner.index for loop in blocks for inner in loops_in(loop.body) if _moves_back(inner)}
    splits = ((n, step) for n, step in enumerate(steps) if isinstance(step, Split))
    return next((n for n, step in splits if step.tail == "overlap" and step.outer in inside), None)


def _moving_with_points(body: Body, moving: frozenset[str]) -> str:
    """A loop whose ends differ between points in lockstep, or an index that is a choice there; "" without."""
    for statement in body:
        found = ""
        match statement:
            case At(index=index, value=value) if not _names_of(value).isdisjoint(moving):
                moving |= {index}
                found = "" if isinstance(value, Affine) else index
            case For(index=index, start=start, stop=stop):
                found = "" if (_names_of(start) | _names_of(stop)).isdisjoint(moving) else index
                in_lockstep = frozenset([index]) if statement.kind in ("jam", "lane") else frozenset[str]()
                found = found or _moving_with_points(statement.body, moving | in_lockstep)
            case If(then=then, otherwise=otherwise):
                found = _moving_with_points(then, moving) or _moving_with_points(otherwise, moving)
            case _:
                pass
        if found:
            return found
    return ""


def _names_of(bound: Bound) -> frozenset[str]:
    """What a bound depends on."""
    return frozenset[str]().union(*(form.variables for form in bound_forms(bound)))


def _moves_back(loop: For) -> bool:
    """Whether the tiles of a loop do not begin where its index says."""
    first = loop.body[0] if loop.body else None
    return isinstance(first, At) and isinstance(first.value, Extreme)


_Problem = tuple[int, str, str]
"""The number of a step, what is wrong with it, and a help."""


def _problem(steps: Sequence[Step], item: Map) -> _Problem | None:
    """What of the steps cannot be done for a map, whatever its loops are."""
    ranges = [n for n, step in enumerate(steps) if isinstance(step, Threads | Rows)]
    if len(ranges) > 1:
        return ranges[1], "ranges of a map are given once", "leave the step out"
    tiles = {step.index: step.factor for step in steps if isinstance(step, Split)}
    is_cut = any(isinstance(step, Cut) for step in steps)
    bound = set[str]()
    for number, step in enumerate(steps):
        match step:
            case Bind(indices=indices):
                bound.update(indices)
            case Split(index=index) | Residues(index=index) | Reverse(index=index) if index in bound:
                return number, f"`{index}` has its kind already", "split it before"
            case Threads(indices=indices, grains=grains) if is_cut:
                for index, grain in zip(indices, grains, strict=True):
                    if grain % (tile := tiles.get(index, 1)):
                        text = "between blocks of a reduction, no two threads may compute one element"
                        return number, text, f"ranges begin at multiples of a tile: `threads {index} {tile}`"
            case Rows():
                rows = 1 if item.marks.steps else item.marks.rows
                if item.marks.chain is None:
                    return number, "the map is in no chain", "leave the step out"
                if step.index != item.indices[0] or step.count != rows:
                    return number, "the chain has other rows", f"write `rows {item.indices[0]} {rows}`"
            case Points() if not item.marks.in_place:
                return number, "elements at other points would not be computed", "leave the step out"
            case _:
                pass
    return _of_recurrence(steps, item)


def _of_recurrence(steps: Sequence[Step], item: Map) -> _Problem | None:
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
            case (
                Split(index=index, outer=outer, inner=inner) | Residues(index=index, outer=outer, inner=inner)
            ):
                free |= {outer, inner} if index in free else set()
                if index in loops or recurrence.order is not None:
                    return wrong
            case Reorder(indices=names):
                inside = [name for name in names if name in loops or name in free]
                kept = [name for name in ordered if name in names]
                if inside[: len(kept)] != kept or recurrence.order is not None:
                    return wrong
            case Bind(indices=names) if not loops.keys().isdisjoint(names):
                return wrong
            case Reverse(index=index) if index in loops:
                return wrong
            case Threads(indices=names) if not recurrence.batch.issuperset(names):
                return wrong
            case Cut():
                return wrong
            case _:
                pass
    return None


def _does_not_fit(text: str, span: Span, help: str, source: Source) -> CompileError:
    label = Label(span, text)
    return CompileError(
        [Diagnostic("TAD0612", "this step of the schedule does not fit", label, helps=[help], source=source)]
    )
