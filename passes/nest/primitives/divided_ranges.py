"""Primitives on what is computed at a time: ranges for threads, rows of a chain."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from tadc.frontend.terms import Domain
from tadc.lattice.affine import ZERO, Affine, Constraint
from tadc.passes.nest.nest import At, Body, Bound, Either, For, Nest
from tadc.passes.nest.primitives.rewriting import DoesNotFit, greatest, least, with_loops
from tadc.passes.nest.steps import Rows, Threads, When

RANGE = ("begin", "end")
PART = ("part_begin", "part_end")
"""The ends of a range of threads, where a range of steps is given too."""

SECOND = "second"
BEGIN, END = (Affine.var(name) for name in RANGE)


def threads(
    nest: Nest,
    step: Threads,
    extents: Mapping[str, Affine],
    *,
    is_whole: bool,
    names: tuple[str, str] = RANGE,
) -> Nest:
    """A range of values of one of the indices alone, whose ends are arguments.

    With `is_whole`, a range has as many values as a grain, or all. Where there are other names than `RANGE`
    for the ends, it has one index.
    """
    for index in step.indices:
        if index not in extents:
            raise DoesNotFit(f"there is no loop `{index}`")
    if len(step.indices) == 1:
        (index,) = step.indices
        size, few = extents[index], 0
        if is_whole and size.is_constant:
            few = min(step.grains[0], size.constant)
        begin, end = map(Affine.var, names)
        rows = [Constraint(end - begin - few), Constraint(size - end)]
        if (grain := step.grains[0]) > 1:
            rows.append(Constraint(begin - begin.floordiv(grain) * grain, equality=True))
        # A range ends where the next one begins, or with the index: tiles of what is left have a common size.
        common = math.gcd(grain, size.constant) if size.is_constant else 1
        if 1 < common < grain:
            rows.append(Constraint(end - end.floordiv(common) * common, equality=True))
        nest = _with_ranges(nest, names, tuple(rows))
        return _within(nest, index, size, names, ends_there=False)
    if names != RANGE:
        raise DoesNotFit("where steps are given, threads divide one index")
    parts: list[At] = []
    second = Affine.var(SECOND)
    is_second = (Constraint(second - 1),)
    for number, index in enumerate(step.indices):
        size, part = extents[index], f"{index}_part"
        # The end may be one of the other index.
        inside = Affine.var(part)
        pairs = [(ZERO, BEGIN), (size, inside)] if number == 0 else [(BEGIN, ZERO), (inside, size)]
        parts.append(At(part, least(END, size)))
        for word, (then, otherwise) in zip(RANGE, pairs, strict=True):
            parts.append(At(f"{index}_{word}", Either(is_second, then, otherwise)))
    nest = _with_ranges(nest, (SECOND, *RANGE), (Constraint(second), Constraint(1 - second)))
    for index in step.indices:
        names_of = (f"{index}_begin", f"{index}_end")
        nest = _within(nest, index, extents[index], names_of, ends_there=False)
    return replace(nest, body=(*parts, *nest.body))


def rows(nest: Nest, step: Rows, extents: Mapping[str, Affine]) -> Nest:
    """A range of an index alone, in which tiles end."""
    if step.index not in extents:
        raise DoesNotFit(f"there is no loop `{step.index}`")
    size = extents[step.index]
    nest = _with_ranges(nest, RANGE, (Constraint(END - BEGIN - step.count), Constraint(size - END)))
    return _within(nest, step.index, size, RANGE, ends_there=True)


def _with_ranges(nest: Nest, names: tuple[str, ...], rows: Domain) -> Nest:
    """The nest with further arguments, of which these rows hold."""
    begin = Constraint(Affine.var(names[-2]))
    return replace(nest, ranges=(*nest.ranges, *names), known=(*nest.known, begin, *rows))


def _within(nest: Nest, index: str, size: Affine, names: tuple[str, str], *, ends_there: bool) -> Nest:
    """The loops of an index, of values in a range alone; a group belongs where it starts."""

    def rule(loop: For) -> Body:
        c = loop.group
        begin, end = (-((-Affine.var(name)).floordiv(c)) * c for name in names)
        if c > 1 and ends_there:
            raise DoesNotFit(f"`{index}` is in groups")
        # The names of two ranges are those of ends that are in range.
        is_one = names in (RANGE, PART)
        start: Bound = begin if loop.start == ZERO and not is_one else greatest(loop.start, begin)
        stop: Bound = end if loop.stop == size and not is_one else least(loop.stop, end)
        limit = loop.reach or (ZERO, size)
        reach = (limit[0], Affine.var(names[1])) if ends_there else limit
        return (replace(loop, start=start, stop=stop, reach=reach),)

    return with_loops(nest, index, rule)


def when(nest: Nest, step: When) -> Nest:
    """The nest for sizes of which all tests hold."""
    return replace(nest, known=(*nest.known, *(row for test in step.tests for row in test.rows())))
