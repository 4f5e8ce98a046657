"""Applies the steps of a schedule to the plain nest of a map, one after the other."""

from __future__ import annotations

from collections.abc import Sequence

from tadc.passes.nest.nest import Nest
from tadc.passes.nest.primitives import folds, loops, memory, ranges, staging
from tadc.passes.nest.steps import (
    Bind,
    Cut,
    Fits,
    FoldLanes,
    Interleave,
    Leap,
    Peel,
    Reorder,
    Residues,
    Reverse,
    Rows,
    Split,
    Stage,
    Step,
    Stream,
    Threads,
    Transpose,
)


def apply_steps(nest: Nest, steps: Sequence[Step]) -> Nest:
    """The nest that a schedule makes of a plain one. Raises DoesNotFit for a step that cannot be taken."""
    plain, place = nest, 0
    while place < len(steps):
        step = steps[place]
        place += 1
        match step:
            case Peel():
                peels = [step]
                while place < len(steps) and isinstance(another := steps[place], Peel):
                    peels.append(another)
                    place += 1
                nest = loops.peel(nest, peels)
            case Split():
                nest = loops.split(nest, step, _unit(steps, step))
            case Fits():
                nest = loops.fits(nest, step, plain.body)
            case _:
                nest = _one(nest, step)
    return nest


def _one(nest: Nest, step: Step) -> Nest:
    """The nest that one step makes of another."""
    match step:
        case Residues():
            return loops.residues(nest, step)
        case Reorder():
            return loops.reorder(nest, step)
        case Reverse():
            return loops.reverse(nest, step)
        case Bind():
            return loops.bind(nest, step)
        case Cut():
            return folds.cut(nest, step)
        case FoldLanes():
            return folds.fold_lanes(nest, step)
        case Leap():
            return folds.leap(nest, step)
        case Stage():
            return staging.stage(nest, step)
        case Stream():
            return memory.stream(nest, step)
        case Interleave():
            return memory.interleave(nest)
        case Threads():
            return ranges.threads(nest, step)
        case Rows():
            return ranges.rows(nest, step)
        case Transpose():
            # Where loads can be transposed, code is made so.
            return nest
        case _:
            raise NotImplementedError(type(step).__name__)


def _unit(steps: Sequence[Step], step: Split) -> int:
    """The values of a tile that are taken together: those of a vector."""
    again = (other for other in steps if isinstance(other, Split) and other.index == step.inner)
    found = next(again, None)
    return found.factor if found is not None else 1
