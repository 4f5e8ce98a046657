"""Which loops of reductions stand in parts, or are shifted, of the nest that other steps make.

Where the bounds of a loop move with a tile, or its steps are blocks, the part that all points take in has no
masks and no bounds. Where a choice asks for an equality, all but a few steps have the other branch alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine
from tadc.passes.maps.blocks import indices_bound
from tadc.passes.maps.map import Choice, Fold, Map
from tadc.passes.nest.emit import EmitScope
from tadc.passes.nest.fold_loops import rows_of
from tadc.passes.nest.nest import Nest
from tadc.passes.nest.primitives.fold_parts import moved_by, peel_fold, peeled, shift, shifted
from tadc.passes.nest.primitives.folds_in_tiles import FoldPlace, loops_of, with_folds
from tadc.passes.nest.primitives.rewriting import DoesNotFit
from tadc.passes.nest.steps import Join, Peel, Shift, Split, Steps
from tadc.passes.schedule.splits import MOST_TERMS


def with_parts(maps: Iterable[Map], steps: Steps, made: Callable[[Steps], Nest]) -> Steps:
    """Steps for maps, and those that take loops of reductions apart in the nest that is made with them."""
    has_joined = any(isinstance(step, Join) for step in steps)
    if not has_joined and not any(_may_have(item, steps) for item in maps):
        return steps
    found = list[Peel | Shift]()

    def rule(fold: Fold, place: FoldPlace) -> Fold:
        for step, fold in _of_loops(fold, place):
            found.append(step)
        return fold

    nest = made(steps)
    with_folds(nest, rule)
    wanted = sorted(dict.fromkeys(found), key=lambda step: isinstance(step, Peel))
    return (*steps, *(_that_fit(nest, wanted) if len(wanted) > 1 else wanted))


def _that_fit(nest: Nest, steps: Iterable[Peel | Shift]) -> Iterator[Peel | Shift]:
    """The steps but those for which others before them, of other reductions, leave nothing to change."""
    for step in steps:
        try:
            nest = shift(nest, step) if isinstance(step, Shift) else peel_fold(nest, step)
        except DoesNotFit:
            continue
        yield step


def _may_have(item: Map, steps: Steps) -> bool:
    """Whether a map has a reduction that is split, or moves with other indices, or meets an equality."""
    split = {step.index for step in steps if isinstance(step, Split)}
    names = {*item.indices, *indices_bound(item.body)}
    for let in item.body.all_lets():
        match let.value:
            case Fold(indices=own, rows=rows):
                if not split.isdisjoint(own) or any((row.form.variables & names) - {*own} for row in rows):
                    return True
            case Choice(rows=rows):
                if any(row.equality for row in rows):
                    return True
            case _:
                pass
    return False


def _of_loops(fold: Fold, place: FoldPlace) -> Iterator[tuple[Peel | Shift, Fold]]:
    """The loops of a reduction that are shifted, and the outermost one that can be taken apart, with what
    each step makes of it."""
    masked, in_part, scope = False, any(other.parts for other in place.around), place.scope
    loops = loops_of(fold, scope)
    for number, index in enumerate(fold.indices):
        if loops is None:
            return
        level, is_last = loops.levels[number], number + 1 == len(fold.indices)
        ends = [row.form for row in rows_of(level)]
        masked = masked or _moves([row.form for row in (*loops.outside, *loops.inside)], scope)
        is_counted = is_last and fold.loop == "unroll" and len(ends) == 2
        is_counted = is_counted and (level.upper[0].floor() - level.lower[0].ceil()).is_constant
        moved = moved_by(level, place)
        if moved is not None:
            fold = shifted(fold, Shift(index), place)
            loops = loops_of(fold, scope)
            yield Shift(index), fold
        masked = masked or (moved is not None and not moved.alone and moved.steps <= MOST_TERMS)
        wanted = (moved is None or not moved.alone) and not (masked or in_part or is_counted)
        for step in _parts(fold, index, scope) if wanted else ():
            made = peeled(fold, step, loops, scope)
            if made.parts:
                fold, in_part = made, True
                yield step, fold
                break
        masked = masked or (moved is None and _moves(ends, scope))


def _parts(fold: Fold, index: str, scope: EmitScope) -> Iterator[Peel]:
    """How the loop over an index may be taken apart, the best first."""
    yield Peel(index, ())
    if scope.tile.width > 1:
        yield from (Peel(index, met) for met in _equalities(fold, index))


def _moves(forms: Iterable[Affine], scope: EmitScope) -> bool:
    return any(not form.variables.isdisjoint(scope.tile.ranges) for form in forms)


def _equalities(fold: Fold, index: str) -> Iterator[Domain]:
    """Those by which a choice is made at one value of an index."""
    for let in fold.body.lets:
        for row in let.value.rows if isinstance(let.value, Choice) else ():
            if fold.meeting(row) == index:
                yield (row,)
