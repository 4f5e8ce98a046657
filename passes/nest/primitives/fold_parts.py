"""Loops of reductions in a tile: taken apart, and counted from where each point's own begin.

    y[i] = sum{k} (x[i + k] * w[k]) for 0 <= k <= i, in a tile i = i0 + l with l < 8

Points of a tile run the loop over k in lockstep, where not all have an element under masks. In the part with
k <= i0 all have one, whatever l is: apart from the rest, it has no masks. Of an index in blocks, `k0` with
0 <= k1 <= 31 and 32*k0 + k1 < N, all blocks but the last have all steps: in the part with 32*k0 + 31 < N.
All parts have the points in the order that they have without.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine, Constraint
from tadc.lattice.bounds import Level
from tadc.lattice.late_dataclasses import dataclass, replace
from tadc.lattice.loop_nests import LoopNest
from tadc.lattice.polyhedron import implied, is_empty
from tadc.passes.maps.blocks import Renaming
from tadc.passes.maps.map import Fold
from tadc.passes.nest.emit import EmitScope
from tadc.passes.nest.fold_blocks import steps_of
from tadc.passes.nest.fold_loops import rows_of
from tadc.passes.nest.nest import Nest
from tadc.passes.nest.primitives.folds_in_tiles import FoldPlace, loops_of, with_folds
from tadc.passes.nest.primitives.rewriting import DoesNotFit
from tadc.passes.nest.steps import Peel, Shift
from tadc.passes.nest.vector_lanes import extreme


def peel_fold(nest: Nest, step: Peel) -> Nest:
    """The loop over an index of a reduction in parts: what all points of a tile take in, or where one of them
    may meet an equality, stands apart."""
    if step != Peel(step.index, step.rows):
        raise DoesNotFit(f"`{step.index}` is of a reduction: without groups, room and other parts")

    def one(fold: Fold, place: FoldPlace) -> Fold:
        if step.index not in fold.indices or fold.parts:
            return fold
        if any(fold.meeting(row) != step.index for row in step.rows):
            raise DoesNotFit(f"no equality says which `{step.index}` is met")
        return peeled(fold, step, loops_of(fold, place.scope), place.scope)

    return _changed(nest, with_folds(nest, one), f"`{step.index}` of a reduction has no parts here")


def shift(nest: Nest, step: Shift) -> Nest:
    """Each point of a tile counts the steps of a loop of a reduction from where its own begin."""
    made = with_folds(nest, lambda fold, place: shifted(fold, step, place))
    return _changed(nest, made, f"no bounds of `{step.index}` move with a tile")


def _changed(nest: Nest, made: Nest, why: str) -> Nest:
    if made == nest:
        raise DoesNotFit(why)
    return made


# -- shifts ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TileShift:
    """The closest bounds of a loop move `by` the same with a tile, a number of `steps` apart; `alone` says
    whether there are no others."""

    by: Affine
    steps: int
    alone: bool


def shifted(fold: Fold, step: Shift, place: FoldPlace) -> Fold:
    """A reduction with an index counted from where the bounds of each point are; as it is where they do not
    move."""
    scope = place.scope
    in_parts = {name for part in fold.parts for row in part for name in row.form.variables}
    loops = loops_of(fold, scope) if step.index in {*fold.indices} - in_parts else None
    found = loops and moved_by(loops.levels[fold.indices.index(step.index)], place)
    if not found:
        return fold
    there = Renaming(forms={step.index: Affine.var(step.index) + found.by})
    rows = tuple(
        Constraint(scope.form(row.form), row.equality) if step.index in row.form.variables else row
        for row in fold.rows
    )
    return replace(fold, rows=there.rows(rows), body=there.block(fold.body))


def moved_by(level: Level, place: FoldPlace) -> TileShift | None:
    """How the closest bounds of a level move with variables of a tile; None if they do not."""
    moving, written = place.scope.tile.ranges.keys(), {n: last + 1 for n, last in place.written.items()}
    lower = [b.ceil() for b in level.lower]
    upper = [b.floor() + 1 for b in level.upper]
    pairs = ((_move(low, moving), extreme(high - low, written, 1)) for low in lower for high in upper)
    known = [(apart.constant, by) for by, apart in pairs if by is not None and apart.is_constant]
    if not known:
        return None
    steps, by = min(known, key=lambda pair: pair[0])
    alone = all(_move(form, moving) == by for form in (*lower, *upper))
    return TileShift(by, steps, alone) if by.terms else None


def _move(form: Affine, moving: Set[str]) -> Affine | None:
    """How a form moves with the tile; None where not by a multiple."""
    names = sorted(form.variables & moving)
    part = Affine.of({name: form.coefficient(name) for name in names}, 0)
    return None if (form - part).variables & moving else part


# -- parts -------------------------------------------------------------------------------------------


def peeled(fold: Fold, step: Peel, loops: LoopNest | None, scope: EmitScope) -> Fold:
    """A reduction with the loop over an index in parts; as it is where it has one part alone."""
    if loops is None:
        return fold
    place = fold.indices.index(step.index)
    outer = tuple(row for level in loops.levels[:place] for row in rows_of(level))
    tested = (*outer, *loops.outside, *loops.inside)
    if any(not row.form.variables.isdisjoint(scope.tile.ranges) for row in tested):
        return fold  # all of it is under masks
    known = (*scope.facts, *scope.tile.facts, *outer)
    if step.rows:
        found = _around(scope.rows(step.rows)[0], step.index, scope.tile.ranges)
    else:
        found = _before_and_after(loops, scope.rows(fold.rows), place, known, scope.tile.ranges)
    rows = (*known, *scope.rows(fold.rows))
    parts = tuple(part for part in found if not is_empty((*rows, *part)))
    return replace(fold, parts=parts) if len(parts) > 1 else fold


def _around(row: Constraint, index: str, ranges: Mapping[str, int]) -> list[Domain]:
    """The part of a loop where a point of the tile may meet an equality, and those before and after it."""
    form = row.form * (1 if row.form.coefficient(index) > 0 else -1)
    most, least = extreme(form, ranges, 1), extreme(form, ranges, -1)
    return [(Constraint(-most - 1),), (Constraint(most), Constraint(-least)), (Constraint(least - 1),)]


def _before_and_after(
    loops: LoopNest, rows: Domain, place: int, known: Domain, ranges: Mapping[str, int]
) -> list[Domain]:
    """The part of a loop in which bounds hold for all points of a tile, and all steps of those inside; those
    before it by one bound after the other, and those after it."""
    level = loops.levels[place]
    steps = None if loops.inside else whole_steps(loops.levels[place:], rows)
    found = rows_of(level) if steps is None else steps[1]
    if any(not lookup.variables.isdisjoint(ranges) for row in found for lookup in row.form.lookups()):
        return []  # nothing is known of what all points have
    every = {**ranges, **(steps[0] if steps is not None else {})}
    worst = {row: Constraint(extreme(row.form, every, -1)) for row in found}
    hull = [Constraint(extreme(row.form, ranges, 1)) for row in rows_of(level)]
    lower, upper = list[Constraint](), list[Constraint]()
    for row in sorted(found, key=lambda row: row.form.variables.isdisjoint(ranges)):
        side = lower if row.form.coefficient(level.name) > 0 else upper
        if worst[row] != row and not implied(worst[row].form, (*known, *hull, *side)):
            side.append(worst[row])
    if not (lower or upper):
        return []
    # What moves with the tile is outermost: what is left of whole blocks is the same for all points.
    upper.reverse()
    before = [(*lower[:n], Constraint(-row.form - 1)) for n, row in enumerate(lower)]
    after = [(*lower, Constraint(-row.form - 1), *upper[n + 1 :]) for n, row in enumerate(upper)]
    middle = (*lower, *upper)
    return [] if is_empty((*known, *hull, *middle)) else [*before, middle, *after]


def whole_steps(
    levels: Sequence[Level], rows: Sequence[Constraint]
) -> tuple[Mapping[str, int], Domain] | None:
    """How many steps the loops inside of the first have, and the rows that say where these are whole; None
    where it is no loop over blocks of known numbers of steps of the others."""
    index, later = levels[0].name, frozenset(level.name for level in levels[1:])
    steps = {name: steps_of(name, rows) for name in later}
    about = ((row, row.form.variables) for row in rows)
    mixed = tuple(row for row, own in about if own & {index, *later} and not (len(own) == 1 and own <= later))
    is_counted = all(steps.values()) and not any(row.equality for row in mixed)
    if not is_counted or all(row.form.variables.isdisjoint(later) for row in mixed):
        return None
    for row in mixed:
        k = row.form.coefficient(index)
        rest = row.form - Affine.var(index) * k
        if not k or index in rest.variables:
            return None
        span = extreme(rest, steps, 1) - extreme(rest, steps, -1)
        if not span.is_constant or span.constant >= abs(k):
            return None
    return steps, mixed
