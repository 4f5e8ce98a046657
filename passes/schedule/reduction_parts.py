"""Which loops of reductions stand in parts, of the nest that other steps make: `peel k`.

Where the bounds of a loop move with a tile, or its steps are blocks, the part that all points take in has no
masks and no bounds. Where a choice asks for an equality, all but a few steps have the other branch alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from tadc.lattice.affine import Affine, Constraint
from tadc.lattice.bounds import Bound, Level, Unbounded
from tadc.lattice.effort import EliminationLimit
from tadc.lattice.emptiness import tight
from tadc.lattice.loop_nests import loop_nest
from tadc.passes.maps.map import Block, Choice, Fold, Let, Load, Map
from tadc.passes.nest.emit import Scope, facts_of, in_tile, named_as, tile_of, trips
from tadc.passes.nest.fold_blocks import whole_blocks, whole_levels
from tadc.passes.nest.moving_bounds import MOST_TERMS, shift_of
from tadc.passes.nest.nest import At, Body, Compute, For, If, Know, Nest
from tadc.passes.nest.steps import Peel, Steps
from tadc.passes.nest.tile import lockstep_variable


def with_parts(maps: Iterable[Map], steps: Steps, made: Callable[[Steps], Nest]) -> Steps:
    """Steps for maps, and those that take loops of reductions apart in the nest that is made with them."""
    if not any(isinstance(let.value, Fold) for item in maps for let in item.body.all_lets()):
        return steps
    nest = made(steps)
    scope = Scope(None, {}, nest.known, {})  # pyright: ignore[reportArgumentType]  # no code is made
    return (*steps, *dict.fromkeys(_of_body(nest.body, scope)))


def _of_body(body: Body, scope: Scope) -> Iterator[Peel]:
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


def _of_block(block: Block, scope: Scope, *, in_part: bool = False) -> Iterator[Peel]:
    """The parts of reductions in a block; in a part of a loop no loop is taken apart."""
    for let in block.lets:
        match let.value:
            case Fold(body=body) as fold if fold.is_in_tile:
                inside = scope.naming(fold.indices[0], Affine.var(lockstep_variable(fold)))
                yield from _of_block(body, inside, in_part=in_part)
            case Fold(body=body, rows=rows) as fold:
                is_whole = in_part or fold.is_in_lockstep or _is_copied(fold)
                found = () if is_whole else tuple(_parts(fold, scope))
                yield from found
                yield from _of_block(body, scope.knowing(*scope.rows(rows)), in_part=in_part or bool(found))
            case Choice(rows=rows, then=then, otherwise=otherwise):
                yield from _of_block(then, scope.knowing(*scope.rows(rows)), in_part=in_part)
                yield from _of_block(otherwise, scope, in_part=in_part)
            case _:
                pass


def _is_copied(fold: Fold) -> bool:
    """Whether threads of a GPU copy what it reads for some turns at a time: these have no parts."""
    loads = (let.value for let in fold.body.all_lets() if isinstance(let.value, Load))
    return any(load.shared and load.inside in fold.indices for load in loads)


def _parts(fold: Fold, scope: Scope) -> Iterator[Peel]:
    """The loop of a reduction that is taken apart, the outermost one that can be."""
    rows, facts = scope.rows(fold.rows), (*scope.facts, *scope.tile.facts)
    try:
        nest = tight(loop_nest(fold.indices, rows, facts), facts)
    except (Unbounded, EliminationLimit):
        return
    if _moves([row.form for row in (*nest.outside, *nest.inside)], scope):
        return
    bound = dict[str, Affine]()
    for number, level in enumerate(nest.levels):
        levels = [
            Level(each.name, *(tuple(Bound(b.form.substitute(bound), b.divisor) for b in ends)
                               for ends in (each.lower, each.upper)))
            for each in nest.levels[number:]
        ]  # fmt: skip
        level, *later = levels
        ends = [*(b.form for b in level.lower), *(b.form for b in level.upper)]
        if not later and fold.loop == "unroll" and len(ends) == 2 and _span(level).is_constant:
            return
        shift = shift_of(level, {}, scope.tile.ranges.keys())
        if shift is not None:
            if any(shift.others) and shift.steps <= MOST_TERMS:
                return
            bound[level.name] = Affine.var(level.name) + shift.by
            continue
        own = [row.substitute(bound) for row in rows]
        whole = None if nest.inside else whole_blocks(levels, own, scope.tile.ranges)
        if whole is not None and later != whole_levels(later, whole.steps):
            yield Peel(level.name, ())
            return
        if _moves(ends, scope):
            yield Peel(level.name, ())
            return
        for let in fold.body.lets if scope.tile.width > 1 else ():
            for row in _equalities(let):
                if fold.meeting(row) == level.name:
                    yield Peel(level.name, (row,))
                    return


def _moves(forms: Iterable[Affine], scope: Scope) -> bool:
    """Whether forms hold a variable of the tile."""
    return any(not form.variables.isdisjoint(scope.tile.ranges) for form in forms)


def _span(level: Level) -> Affine:
    """How far the ends of a loop are apart."""
    return level.upper[0].floor() - level.lower[0].ceil()


def _equalities(let: Let) -> Iterator[Constraint]:
    """Those that a choice is made by."""
    return (row for row in let.value.rows if row.equality) if isinstance(let.value, Choice) else iter(())
