"""Which loops of reductions stand in parts, or are shifted, of the nest that other steps make.

Where the bounds of a loop move with a tile, or its steps are blocks, the part that all points take in has no
masks and no bounds. Where a choice asks for an equality, all but a few steps have the other branch alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine
from tadc.lattice.bounds import Bound, Level, Unbounded
from tadc.lattice.effort import EliminationLimit
from tadc.lattice.emptiness import tight
from tadc.lattice.loop_nests import loop_nest
from tadc.passes.maps.blocks import indices_bound
from tadc.passes.maps.map import Block, Choice, Fold, Map
from tadc.passes.nest.emit import Scope, facts_of, in_tile, named_as, tile_of, trips
from tadc.passes.nest.fold_blocks import whole_blocks, whole_levels
from tadc.passes.nest.moving_bounds import shift_of
from tadc.passes.nest.nest import At, Body, Compute, For, If, Know, Nest, Stage
from tadc.passes.nest.steps import Join, Peel, Shift, Split, Steps
from tadc.passes.nest.tile import lockstep_variable
from tadc.passes.schedule.splits import MOST_TERMS


def with_parts(maps: Iterable[Map], steps: Steps, made: Callable[[Steps], Nest]) -> Steps:
    """Steps for maps, and those that take loops of reductions apart in the nest that is made with them."""
    has_joined = any(isinstance(step, Join) for step in steps)
    if not has_joined and not any(_may_have(item, steps) for item in maps):
        return steps
    nest = made(steps)
    scope = Scope(None, {}, nest.known, {})  # pyright: ignore[reportArgumentType]  # no code is made
    return (*steps, *dict.fromkeys(_of_body(nest.body, scope)))


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


def _of_body(body: Body, scope: Scope) -> Iterator[Peel | Shift]:
    """The parts of reductions in statements."""
    for statement in body:
        match statement:
            case For(body=inner):
                for inside in _inside(statement, scope):
                    yield from _of_body(inner, inside)
            case If(rows=rows, then=then, otherwise=otherwise):
                yield from _of_body(then, scope.knowing(*scope.rows(rows)))
                yield from _of_body(otherwise, scope)
            case At(index=index, value=value):
                made = scope.form(value) if isinstance(value, Affine) else Affine.var(index)
                scope = named_as(index, value, made, scope)
            case Know(rows=rows):
                scope = scope.knowing(*scope.rows(rows))
            case Stage(turns=turns):
                scope = replace(scope, forms={**scope.forms, **{index: Affine.var(index) for index in turns}})
            case Compute(block=block):
                yield from _of_block(block, replace(scope, tile=tile_of(statement, scope)))
            case _:
                pass


def _inside(loop: For, scope: Scope) -> Iterator[Scope]:
    """The scope in a loop, or those of its values that are written out."""
    if loop.kind == "unroll":
        yield from (scope.naming(loop.index, Affine.const(value)) for value in trips(loop))
    elif loop.kind in ("jam", "lane"):
        yield in_tile(loop, scope)
    else:
        index = Affine.var(loop.index)
        ends = tuple(scope.form(end) for end in (loop.start, loop.stop) if isinstance(end, Affine))
        rows = facts_of(loop, index, ends if len(ends) == 2 else (), scope)
        yield scope.naming(loop.index, index).knowing(*rows)


def _of_block(block: Block, scope: Scope, *, in_part: bool = False) -> Iterator[Peel | Shift]:
    """The parts of reductions in a block; in a part of a loop no loop is taken apart."""
    for let in block.lets:
        match let.value:
            case Fold(body=body) as fold if fold.is_in_tile:
                inside = scope.naming(fold.indices[0], Affine.var(lockstep_variable(fold)))
                yield from _of_block(body, inside, in_part=in_part)
            case Fold(body=body, rows=rows) as fold:
                is_plain = not (fold.is_in_lockstep or _is_in_turns(fold, scope))
                found = tuple(_of_loops(fold, scope, in_part=in_part)) if is_plain else ()
                yield from found
                inner = in_part or any(isinstance(step, Peel) for step in found)
                yield from _of_block(body, scope.knowing(*scope.rows(rows)), in_part=inner)
            case Choice(rows=rows, then=then, otherwise=otherwise):
                yield from _of_block(then, scope.knowing(*scope.rows(rows)), in_part=in_part)
                yield from _of_block(otherwise, scope, in_part=in_part)
            case _:
                pass


def _is_in_turns(fold: Fold, scope: Scope) -> bool:
    """Whether room is filled before turns of a reduction, whose indices are named there: it has no parts."""
    return not scope.forms.keys().isdisjoint(fold.indices)


def _of_loops(fold: Fold, scope: Scope, *, in_part: bool) -> Iterator[Peel | Shift]:
    """The loops of a reduction that are shifted, and the outermost one that can be taken apart."""
    rows, facts, tile = scope.rows(fold.rows), (*scope.facts, *scope.tile.facts), scope.tile.ranges
    try:
        nest = tight(loop_nest(fold.indices, rows, facts), facts)
    except (Unbounded, EliminationLimit):
        return
    bound, masked = dict[str, Affine](), _moves([row.form for row in (*nest.outside, *nest.inside)], scope)
    for number, level in enumerate(nest.levels):
        level, *later = [_bound_level(each, bound) for each in nest.levels[number:]]
        ends = [*(b.form for b in level.lower), *(b.form for b in level.upper)]
        is_counted = not later and fold.loop == "unroll" and len(ends) == 2 and _span(level).is_constant
        shift = None if is_counted and not masked else shift_of(level, {}, tile.keys())
        if shift is not None:
            yield Shift(level.name)
            bound[level.name] = Affine.var(level.name) + shift.by
            if any(shift.others) and not masked:
                masked = shift.steps <= MOST_TERMS
                yield from () if masked else (Peel(level.name, ()),)
        elif not (masked or in_part or is_counted):
            own = [row.substitute(bound) for row in rows]
            whole = None if nest.inside else whole_blocks(levels=[level, *later], rows=own, ranges=tile)
            if (whole is not None and later != whole_levels(later, whole.steps)) or _moves(ends, scope):
                met = ()
            else:
                met = next(_equalities(fold, level.name), None) if scope.tile.width > 1 else None
            if met is not None:
                yield Peel(level.name, met)
                in_part = True
        masked = masked or (shift is None and _moves(ends, scope))


def _bound_level(level: Level, bound: Mapping[str, Affine]) -> Level:
    """A loop whose bounds have values of indices around it."""
    lower, upper = (
        tuple(Bound(b.form.substitute(bound), b.divisor) for b in ends) for ends in (level.lower, level.upper)
    )
    return Level(level.name, lower, upper)


def _moves(forms: Iterable[Affine], scope: Scope) -> bool:
    """Whether forms hold a variable of the tile."""
    return any(not form.variables.isdisjoint(scope.tile.ranges) for form in forms)


def _span(level: Level) -> Affine:
    """How far the ends of a loop are apart."""
    return level.upper[0].floor() - level.lower[0].ceil()


def _equalities(fold: Fold, index: str) -> Iterator[Domain]:
    """Those by which a choice is made at one value of an index."""
    for let in fold.body.lets:
        for row in let.value.rows if isinstance(let.value, Choice) else ():
            if fold.meeting(row) == index:
                yield (row,)
