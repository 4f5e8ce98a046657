"""Schedules that are given for kernels of a GPU: what of their steps its threads and its memory cannot do."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain

from tadc.frontend.source import Source, Span
from tadc.lattice.affine import ZERO, Affine
from tadc.passes.gpu.given_teams import last_of, problems_of_steps, problems_of_teams, sharing_of
from tadc.passes.gpu.kernels import Kernels, KernelSteps, NestKernel
from tadc.passes.gpu.occupancy import VECTOR_BYTES
from tadc.passes.gpu.recurrence_steps import ways_of_recurrence
from tadc.passes.gpu.row_chains import Chain
from tadc.passes.gpu.thread_loops import boxed, nested, trips
from tadc.passes.gpu.thread_tiles import is_flat
from tadc.passes.maps.blocks import indices_bound
from tadc.passes.maps.machine import Gpu
from tadc.passes.maps.map import Map, MapFunction
from tadc.passes.nest import steps as st
from tadc.passes.nest.loop_bounds import turns_of
from tadc.passes.nest.nest import DIVIDED, At, Body, Compute, For, Know, Nest
from tadc.passes.nest.primitives.rewriting import DoesNotFit, computes_in, loops_in, shared_folds
from tadc.passes.schedule.accesses import Accesses
from tadc.passes.schedule.given import Problem, check_first, check_steps, does_not_fit, maps_given, problem_of
from tadc.passes.schedule.reader import ReadMap
from tadc.passes.schedule.text import step_text
from tadc.passes.terms.costs import ELEMENT

TAKEN = st.Split, st.Reorder, st.Bind, st.InBlocks, st.StageRead, st.Points, st.Flatten, st.When
"""The steps that kernels take."""

TAILS = "exact", "overlap", "guard", "branch"
"""How their tiles end."""

SharedBytes = Callable[[Kernels, NestKernel], int]


def given_kernels(source: Source, functions: Sequence[Kernels], shared_bytes: SharedBytes) -> KernelSteps:
    """The steps of a text for the kernels of functions; maps that it does not name get what is chosen.

    `shared_bytes` makes a kernel, to see how much memory the threads of a block share.

    Raises CompileError: TAD0611 where the text does not read, TAD0612 where a step does not fit.
    """
    found: dict[str, tuple[st.Steps, ...]] = {}
    last: dict[str, ReadMap] = {}
    for read, item, function in maps_given(source, [each.maps for each in functions]):
        (of,) = (each for each in functions if each.maps is function)
        steps, name = read.schedule.steps, item.name
        items = of.together(item)
        if item.marks.chain is not None:
            name = items[0].name
            check_first(read, found.keys() & {name}, source)
        _check(read, items, of, shared_bytes, source)
        found[name], last[name] = (*found.get(name, ()), steps), read
    for read in last.values():
        for step, span in zip(read.schedule.steps, read.spans, strict=True):
            if isinstance(step, st.When):
                help = "write steps without `when` for them, below these"
                raise does_not_fit("for all other sizes there are no steps", span, help, source)
    return found


def _check(
    read: ReadMap, items: Sequence[Map], of: Kernels, shared_bytes: SharedBytes, source: Source
) -> None:
    """Raises CompileError for a step that a kernel cannot take."""
    steps, (item, *_) = read.schedule.steps, items

    def refused(problem: Problem) -> Exception:
        number, text, help = problem
        span: Span = read.spans[number] if read.spans else read.span
        return does_not_fit(text, span, help, source)

    def nest(steps: st.Steps) -> Nest:
        return of.made(items, steps).nest

    is_chain = item.marks.chain is not None
    found = (
        problems_of_steps(steps, Chain(of.maps, items).plain(), items)
        if is_chain
        else _not_taken(steps, item)
    )
    problem = next(chain(found, _of_steps(steps, item, of.maps, of.gpu)), None)
    if item.order is not None:
        check_steps(read, source, problem or _of_recurrence(steps, item, of), nest)
        return
    check_steps(read, source, problem or (None if is_chain else problem_of(steps, item)), nest)
    kernel = of.of_steps("kernel", items, steps)
    divided = problems_of_teams if is_chain else _of_threads
    for problem in chain(_of_nest(steps, kernel.made.nest, of.gpu, divided), _of_total(steps, kernel)):
        raise refused(problem)
    try:
        used = shared_bytes(of, kernel)
    except DoesNotFit as error:
        raise refused((last_of(steps, st.StageRead), str(error), "leave this read out")) from None
    if used > of.gpu.static_shared:
        text = f"a block would share {used} bytes of memory, and has {of.gpu.static_shared}"
        number = last_of(steps, (st.StageRead, st.Bind, st.Room))
        raise refused((number, text, "take fewer steps or threads, or smaller tiles"))


def _of_steps(steps: st.Steps, item: Map, function: MapFunction, gpu: Gpu) -> Iterator[Problem]:
    """What of the steps cannot be done, whatever the loops are."""
    for number, step in enumerate(steps):
        refused = partial(_problem, number)
        match step:
            case st.When() if number:
                yield refused("it stands before all others", "move it to the first line")
            case st.Flatten(index=index):
                accesses = Accesses(item, function)
                if any(not isinstance(other, st.When) for other in steps[:number]):
                    yield refused("the loops that stand before it would be gone", "move it before these")
                if not item.indices or not is_flat(accesses):
                    yield refused("an element depends on others than those at its place", "leave it out")
                if index in (*function.sizes, *function.tensors(), *item.indices):
                    yield refused(f"the name `{index}` is taken", "write another one")
            case st.InBlocks(threads=threads) if threads % gpu.warp or threads > gpu.block:
                text = f"a block has whole warps of {gpu.warp} threads, and no more than {gpu.block}"
                yield refused(text, f"write `in_blocks {8 * gpu.warp}`")
            case st.InBlocks() if any(isinstance(other, st.InBlocks) for other in steps[:number]):
                yield refused("it stands above already", "leave the step out")
            case st.Bind(warp=warp) if warp not in (0, gpu.warp):
                yield refused(f"a warp has {gpu.warp} threads", f"write `warp {gpu.warp}`, or leave it out")
            case _:
                pass


def _not_taken(steps: st.Steps, item: Map) -> Iterator[Problem]:
    """The steps that kernels of one map do not take."""
    reduced = set(indices_bound(item.body))
    for number, step in enumerate(steps):
        if not isinstance(step, TAKEN):
            yield number, "kernels of a GPU do not take it", "leave the step out"
        elif isinstance(step, st.StageRead) and step.fill != "threads":
            yield number, "only threads copy what is read", "write `by threads`"
        elif isinstance(step, st.Split) and step.index in reduced:
            reduced |= {step.outer, step.inner}
        elif isinstance(step, st.Split) and step.tail not in TAILS:
            yield number, "tiles of a GPU do not end so", "write `guard`, `branch` or `overlap`"
        elif isinstance(step, st.Bind) and step.teams:
            yield number, "teams of threads are for maps that run one after the other", "leave `teams` out"


def _of_recurrence(steps: st.Steps, item: Map, of: Kernels) -> Problem | None:
    """Where steps divide a recurrence in another way than those that are known to be right."""
    own = [step for step in steps if not isinstance(step, st.When | st.InBlocks)]
    ways = [
        [step for step in way if not isinstance(step, st.InBlocks)]
        for _, way in ways_of_recurrence(item, of.maps, of.gpu)
    ]
    if own in ways and any(isinstance(step, st.InBlocks) for step in steps):
        return None
    texts = (" ".join(map(step_text, way)) or "no steps" for way in ways)
    text = "elements of the recurrence would be computed in another order, or read before they are there"
    return len(steps) - 1, text, f"write {' or '.join(f'`{each}`' for each in texts)}, and `in_blocks`"


def _problem(number: int, text: str, help: str) -> Problem:
    return number, text, help


Divided = Callable[[st.Steps, Nest, Gpu], Iterator[Problem]]


def _of_nest(steps: st.Steps, nest: Nest, gpu: Gpu, divided: Divided) -> Iterator[Problem]:
    """What of the nest that the steps make threads cannot run."""
    if not nest.block:
        yield len(steps) - 1, "how many threads a block has is missing", f"add `in_blocks {8 * gpu.warp}`"
    bytes_each = max(ELEMENT[tensor.type] for tensor in nest.tensors)
    for loop in loops_in(nest.body):
        width = turns_of(loop) if loop.kind == "lane" else 1
        if width is None or width & (width - 1) or width * bytes_each > VECTOR_BYTES:
            text = f"vectors of a GPU are 2, 4 or more elements, of {VECTOR_BYTES} bytes in all at most"
            yield last_of(steps, st.Bind, "lane"), text, f"take {VECTOR_BYTES // bytes_each} elements"
    yield from divided(steps, nest, gpu)


def _of_threads(steps: st.Steps, nest: Nest, gpu: Gpu) -> Iterator[Problem]:
    """What of the nest of a map cannot be divided among threads."""
    inside, threads, before = nest.body, list[For](), Body()
    bound = partial(_problem, last_of(steps, st.Bind))
    outer = nest.body[0] if len(nest.body) == 1 and isinstance(nest.body[0], For) else None
    if outer is not None and outer.kind in ("grid", "block"):
        inside = nested(outer)[-1].body
        if outer.kind == "block" and isinstance(loop := inside[-1], For) and loop.kind == "thread":
            threads, before = nested(loop), inside[:-1]
            inside = threads[-1].body
    others = (nested(loop)[-1].body for loop in loops_in(before) if loop.kind in DIVIDED)
    for loop in (each for body in (inside, *others) for each in loops_in(body)):
        if loop.kind in DIVIDED:
            help = "let loops of `grid`, or of `block` and then of `thread`, be the outermost: `reorder`"
            yield bound(f"the loop `{loop.index}` is divided where it stands in another", help)
    if threads:
        ends, rows = boxed(threads)
        counts = [trips(each, loop.step) for each, loop in zip(ends, threads, strict=True)]
        if rows or not all(count.is_constant for count in counts):
            yield bound("how many threads its loops need is not known", "split them by numbers")
        elif (points := math.prod(count.constant for count in counts)) != nest.block:
            text = f"a block has {nest.block} threads, and its loops over threads have {points} points"
            yield last_of(steps, st.InBlocks), text, f"write `in_blocks {points}`, or other tiles"
    kind = "" if outer is None else outer.kind
    yield from _of_meeting(steps, nest, inside, kind)


def _of_total(steps: st.Steps, kernel: NestKernel) -> Iterator[Problem]:
    """A product of sizes counts the blocks of one loop alone."""
    made = kernel.made
    outer = next((loop for loop in loops_in(made.nest.body) if loop.kind in DIVIDED), None)
    if made.total and outer is not None:
        loops = nested(outer)
        if len(loops) > 1 or (outer.start, outer.stop) != (ZERO, Affine.var(made.total)):
            help = "bind the loop over tiles alone"
            yield last_of(steps, st.Bind), f"`{outer.index}` and loops in it are divided together", help


def _of_meeting(steps: st.Steps, nest: Nest, inside: Body, kind: str) -> Iterator[Problem]:
    """What keeps threads that wait for each other from coming to the same place."""
    folds = [(sharing_of(steps, fold), fold) for fold in shared_folds(inside)]
    for number, _ in folds:
        refused = partial(_problem, number)
        if not all(map(_is_met, inside)):
            yield refused("not all threads come here equally often", "tiles end by `guard`, if at all")
        if any(loop.kind == "lane" for loop in loops_in(inside)):
            yield refused("threads that share have no vectors", "leave `lane` out")
    own = [let.value for compute in computes_in(inside) for let in compute.block.lets]
    for number, fold in folds:
        if kind not in ("", "grid"):
            yield number, "loops are divided among the threads of a block already", "divide them by `grid`"
        elif fold.warp == 1 and (nest.block % fold.count or fold not in own):
            help = "their number divides that of a block, and the reduction is in no other"
            yield number, "not all of these threads meet", help
        elif fold.warp > 1 and fold.count not in (fold.warp, nest.block):
            text = f"{fold.count} threads are neither a warp nor a block"
            yield number, text, f"share it among {fold.warp} or {nest.block}"
        elif any(_has_shared_inside(compute) for compute in computes_in(inside)):
            yield number, "threads that share the reduction around it do not meet here", "leave one out"


def _is_met(statement: object) -> bool:
    """Whether all threads run what is in a statement as often as each other."""
    match statement:
        case At() | Know() | Compute():
            return True
        case For():
            return turns_of(statement) is not None and all(map(_is_met, statement.body))
        case _:
            return False


def _has_shared_inside(compute: Compute) -> bool:
    """Whether threads share a reduction inside of one that they share."""
    shared = [fold for fold in compute.block.folds() if fold.loop == "thread"]
    return any(inner.loop == "thread" for fold in shared for inner in fold.body.folds())
