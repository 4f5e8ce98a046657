"""Primitives on reductions: cut in blocks, over lanes, in strided steps."""

from __future__ import annotations

from dataclasses import replace

from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine, Constraint
from tadc.lattice.bounds import Level, Unbounded
from tadc.lattice.loop_nests import loop_nest
from tadc.passes.maps.blocks import Renaming
from tadc.passes.maps.closest_bounds import counted_from
from tadc.passes.maps.map import Fold, Let, Takes
from tadc.passes.nest.loop_bounds import extreme_of
from tadc.passes.nest.nest import At, Body, Extreme, For, Nest, Store
from tadc.passes.nest.primitives import rewriting as rw
from tadc.passes.nest.primitives.rewriting import DoesNotFit
from tadc.passes.nest.steps import Cut, FoldLanes, FoldThreads, Leap


def fold_lanes(nest: Nest, step: FoldLanes) -> Nest:
    """The innermost loop of a reduction takes vectors, whose lanes are joined at the end."""
    takes = Takes(lanes=step.lanes, parts=step.parts)
    return rw.rewrite_folds(nest, step.fold, lambda fold: replace(fold, takes=takes))


def fold_threads(nest: Nest, step: FoldThreads) -> Nest:
    """Some threads share a reduction: the same number shares each of those that are shared."""
    takes = Takes(threads=step.threads, warp=step.warp)

    def rule(fold: Fold) -> Fold:
        if len(step.threads) != len(fold.indices):
            raise DoesNotFit(f"`{step.fold}` has {len(fold.indices)} indices, not {len(step.threads)}")
        return replace(fold, takes=takes)

    made = rw.rewrite_folds(nest, step.fold, rule)
    shared = {(one.together, one.warp) for one in rw.shared_takes(made.body)}
    if len(shared) > 1 or takes.together % takes.warp:
        raise DoesNotFit("as many threads, in whole warps, share each reduction that is shared")
    return made


def leap(nest: Nest, step: Leap) -> Nest:
    """The innermost loop of a reduction takes steps a vector apart at once."""

    def rule(fold: Fold) -> Fold:
        if not fold.indices or counted_from(fold.indices[-1], fold.rows) is None:
            raise DoesNotFit(f"the steps of `{step.fold}` are not counted from a linear form")
        return replace(fold, takes=Takes(parts=step.parts, leap=step.steps))

    return rw.rewrite_folds(nest, step.fold, rule)


def unroll_fold(nest: Nest, index: str) -> Nest:
    """The steps of the innermost loop of a reduction are written out."""

    def is_it(let: Let) -> bool:
        return isinstance(let.value, Fold) and let.value.indices[-1:] == (index,)

    def one(let: Let) -> Let:
        if not isinstance(let.value, Fold) or not is_it(let):
            return let
        return replace(let, value=replace(let.value, takes=replace(let.value.takes, unrolled=True)))

    if not any(map(is_it, rw.lets_in(nest.body))):
        raise DoesNotFit(f"`{index}` is no loop, and no innermost index of a reduction")
    return replace(nest, body=rw.rewrite_values(nest.body, one))


def cut(nest: Nest, step: Cut) -> Nest:
    """A reduction in blocks of an index, in a loop around all: results are in memory between two blocks."""
    rw.check_new(nest, step.outer)
    fold = _the_value(nest, step.fold)
    level = _level(nest, fold, step.index)
    first, stop, last, end = (f"{step.outer}_{word}" for word in ("first", "stop", "last", "end"))
    start, limit, outer, index = (Affine.var(name) for name in (first, stop, step.outer, step.index))
    bounds: Body = (
        At(first, extreme_of("max", (b.ceil() for b in level.lower))),
        At(stop, extreme_of("min", (b.floor() + 1 for b in level.upper))),
        # It runs once at least: then all elements are stored, also where the reduction has no term.
        At(last, Extreme("max", (limit, start + 1))),
    )
    block_end = At(end, Extreme("min", (outer + step.steps, limit)))
    rows: Domain = (Constraint(index - outer), Constraint(Affine.var(end) - 1 - index))
    is_first = Constraint(outer - start, True)

    def narrowed(found: Fold) -> Fold:
        if step.steps > 1 or len(found.indices) == 1:
            return replace(found, rows=(*rows, *found.rows))
        # Of one value no loop is left inside.
        fixed = Renaming(forms={step.index: outer})
        kept = tuple(name for name in found.indices if name != step.index)
        return replace(found, indices=kept, rows=fixed.rows(found.rows), body=fixed.block(found.body))

    def joining(store: Store) -> Store:
        return replace(store, joins=fold.kind, fresh=(*store.fresh, is_first))

    inner = rw.rewrite_folds(nest, step.fold, narrowed)
    body = (block_end, *rw.rewrite_stores(inner.body, joining))
    loop = For(step.outer, start, Affine.var(last), step.steps, "seq", body)
    return replace(nest, body=(*bounds, loop))


def _the_value(nest: Nest, name: str) -> Fold:
    """The reduction that is the one value of a nest, as it stands."""
    for compute in rw.computes_in(nest.body):
        for let in compute.block.lets:
            if name in let.names and compute.block.gives == let.names and isinstance(let.value, Fold):
                return let.value
    raise DoesNotFit(f"`{name}` is not the one reduction that is stored")


def _level(nest: Nest, fold: Fold, index: str) -> Level:
    """The loop over an index of a reduction whose set depends on sizes alone."""
    if index not in fold.indices:
        raise DoesNotFit(f"`{index}` is no index of the reduction")
    try:
        levels = loop_nest(fold.indices, fold.rows, nest.known).levels
    except Unbounded:
        raise DoesNotFit("the set of the reduction has no bounds of its own") from None
    level = levels[fold.indices.index(index)]
    known = {*nest.sizes, *nest.ranges}
    if any(not b.form.variables <= known for b in (*level.lower, *level.upper)):
        raise DoesNotFit(f"the bounds of `{index}` move with other indices")
    return level
