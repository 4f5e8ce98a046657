"""Applies the steps of a schedule to the plain nest of a map, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from tadc.lattice.affine import Affine
from tadc.passes.nest import steps as st
from tadc.passes.nest.nest import Nest
from tadc.passes.nest.primitives import (
    divided_ranges,
    fold_parts,
    joined_loops,
    map_loops,
    memory_use,
    merged_loops,
    prefetch,
    reductions,
    scattered,
    staging,
    visited_points,
)
from tadc.passes.nest.primitives.rewriting import DoesNotFit, loops_in

PRIMITIVES: dict[type[st.Step], Callable[[Nest, Any], Nest]] = {
    st.Residues: map_loops.residues,
    st.Shift: fold_parts.shift,
    st.Reorder: map_loops.reorder,
    st.Reverse: map_loops.reverse,
    st.Bind: map_loops.bind,
    st.InBlocks: lambda nest, step: replace(nest, block=step.threads),
    st.When: divided_ranges.when,
    st.Cut: reductions.cut,
    st.Scatter: scattered.scatter,
    st.StageRead: staging.stage,
    st.MergeLoops: merged_loops.merge,
    st.Room: merged_loops.room,
    st.Stream: memory_use.stream,
    st.Interleave: memory_use.interleave,
    st.Points: visited_points.points,
    st.Prefetch: prefetch.prefetch,
    st.Transpose: memory_use.transpose,
}
"""The primitive for each step that needs nothing but the nest."""


def apply_steps(nest: Nest, steps: Sequence[st.Step]) -> Nest:
    """The nest that a schedule makes of a plain one. Raises DoesNotFit for a step that cannot be taken."""
    joins = [step for step in steps if isinstance(step, st.Join)]
    if joins != list(steps[: len(joins)]):
        raise DoesNotFit("indices are joined before all other steps")
    for join in joins:
        nest = joined_loops.join(nest, join)
    steps = _ranges_first(steps[len(joins) :])
    plain, place, again = nest, 0, list[tuple[st.Split, Nest]]()
    extents = {loop.index: loop.stop for loop in loops_in(nest.body) if isinstance(loop.stop, Affine)}
    while place < len(steps):
        step = steps[place]
        place += 1
        match step:
            case st.Peel():
                peels = [step]
                while place < len(steps) and isinstance(another := steps[place], st.Peel):
                    peels.append(another)
                    place += 1
                nest = map_loops.peel(nest, peels)
            case st.Split():
                if step.tail == "again":
                    again.append((step, nest))
                nest = map_loops.split(nest, step, _unit(steps, step), is_even=_is_even(steps, step))
            case st.Threads():
                is_whole, names = _has_whole_ranges(steps, step), names_of_threads(steps)
                nest, plain = (
                    divided_ranges.threads(each, step, extents, is_whole=is_whole, names=names)
                    for each in (nest, plain)
                )
            case st.Rows():
                nest = divided_ranges.rows(nest, step, extents)
                plain = divided_ranges.rows(plain, step, extents)
            case st.Fits():
                nest = _again(nest, again)
                again = []
                nest = map_loops.fits(nest, step, plain, extents)
            case _:
                nest = PRIMITIVES[type(step)](nest, step)
    return _again(nest, again)


def _ranges_first(steps: Sequence[st.Step]) -> list[st.Step]:
    """The steps, ranges of the map's own indices before what makes other loops of these."""
    own = [step for step in steps if isinstance(step, st.Threads | st.Rows)]
    others = [step for step in steps if step not in own]
    count = 0
    while count < len(others) and isinstance(others[count], st.Reorder | st.Peel | st.Reverse):
        count += 1
    return [*others[:count], *own, *others[count:]]


def names_of_threads(steps: Sequence[st.Step]) -> tuple[str, str]:
    """The ends of ranges of threads: other ones where a range of steps is given too."""
    in_steps = any(isinstance(step, st.Rows) for step in steps)
    return divided_ranges.PART if in_steps else divided_ranges.RANGE


def _has_whole_ranges(steps: Sequence[st.Step], step: st.Threads) -> bool:
    """Whether each range has whole tiles: between blocks of a reduction no two threads may compute one
    element, so the last range takes what is left too."""
    moved_back = {s.index for s in steps if isinstance(s, st.Split) and s.tail in ("overlap", "again")}
    is_cut = any(isinstance(other, st.Cut) for other in steps)
    return is_cut and not moved_back.isdisjoint(step.indices)


def _again(nest: Nest, found: Sequence[tuple[st.Split, Nest]]) -> Nest:
    """The nest where tiles of these splits are moved back in a pass of their own."""
    for step, before in found:
        nest = map_loops.once_more(nest, step, before)
    return nest


def _is_even(steps: Sequence[st.Step], split: st.Split) -> bool:
    """Whether ranges of threads, and tiles around, begin at multiples of the factor."""
    factor, index = split.factor, split.index
    for step in reversed(steps[: steps.index(split)]):
        match step:
            case st.Residues(outer=outer) if outer == index:
                factor, index = factor * step.factor, step.index
            case st.Split(inner=inner) if inner == index:
                if step.tail != "clip" or step.factor % factor:
                    return False
                index = step.index
            case st.Peel() if step.index == index:
                return False
            case _:
                pass
    grains = {n: grain for s in steps if isinstance(s, st.Threads) for n, grain in zip(s.indices, s.grains)}
    return grains.get(index, factor) % factor == 0


def _unit(steps: Sequence[st.Step], step: st.Split) -> int:
    """The values of a tile that are taken together: those of a vector."""
    again = (other for other in steps if isinstance(other, st.Split) and other.index == step.inner)
    found = next(again, None)
    return found.factor if found is not None else 1
