"""Reductions where they stand in a nest: what is known there, and which indices around are in lockstep."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache

from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine
from tadc.lattice.bounds import Unbounded
from tadc.lattice.effort import EliminationLimit, apart, spend
from tadc.lattice.emptiness import tight
from tadc.lattice.late_dataclasses import dataclass, field, replace
from tadc.lattice.loop_nests import LoopNest, loop_nest
from tadc.passes.maps.map import Block, Choice, Fold, Let
from tadc.passes.nest.emit import EmitScope, facts_of, named_as, trips
from tadc.passes.nest.nest import At, Body, Compute, For, If, Know, Nest, Statement
from tadc.passes.nest.tile import Tile


@dataclass(frozen=True)
class FoldPlace:
    """Where a reduction stands: in the scope of statements, in others, the outermost first, and in loops that
    are `written` out, by the last values of these."""

    scope: EmitScope
    around: tuple[Fold, ...] = ()
    written: Mapping[str, int] = field(default_factory=dict[str, int])

    def knowing(self, rows: Domain) -> FoldPlace:
        """The place where more holds."""
        return replace(self, scope=self.scope.knowing(*self.scope.rows(rows)))

    def naming(self, index: str, form: Affine) -> FoldPlace:
        """The place where an index has a value."""
        return replace(self, scope=self.scope.naming(index, form))

    def in_tile(self, index: str, kind: str, count: int, stop: int) -> FoldPlace:
        """The place where an index in lockstep has so many values, which are below a number."""
        scope, tile = self.scope.naming(index, Affine.var(index)), self.scope.tile
        tile = Tile(count if kind == "lane" else tile.width, {**tile.copies, index: stop})
        return replace(self, scope=replace(scope, tile=tile))


Rule = Callable[[Fold, FoldPlace], Fold]
"""What stands for a reduction whose loops run one value after the other, in its place."""


def with_folds(nest: Nest, rule: Rule) -> Nest:
    """The nest where reductions are what a rule makes of them, those around others first.

    In a place an index in lockstep stands for itself: it is a variable of the tile, from 0 to its last value.
    """
    scope = EmitScope(None, {}, nest.known, {})  # pyright: ignore[reportArgumentType]  # no code is made
    return replace(nest, body=_body(nest.body, FoldPlace(scope), rule))


def loops_of(fold: Fold, scope: EmitScope) -> LoopNest | None:
    """The loops of a reduction in a place; None where they are not known."""
    made, entries = _loops(fold.indices, scope.rows(fold.rows), (*scope.facts, *scope.tile.facts))
    spend(entries)
    return made


@lru_cache(maxsize=1 << 8)
def _loops(indices: tuple[str, ...], rows: Domain, facts: Domain) -> tuple[LoopNest | None, int]:
    """The loops over a set, with the work that they take: each step asks for those of the same reductions."""
    with apart() as meter:
        before, made = meter.left, None
        with suppress(Unbounded, EliminationLimit):
            made = tight(loop_nest(indices, rows, facts), facts)
        return made, before - meter.left


def _body(body: Body, place: FoldPlace, rule: Rule) -> Body:
    made = list[Statement]()
    for statement in body:
        match statement:
            case For(body=inner):
                statement = replace(statement, body=_body(inner, _inside(statement, place), rule))
            case If(rows=rows, then=then, otherwise=otherwise):
                then = _body(then, place.knowing(rows), rule)
                statement = replace(statement, then=then, otherwise=_body(otherwise, place, rule))
            case At(index=index, value=value):
                scope = place.scope
                form = scope.form(value) if isinstance(value, Affine) else Affine.var(index)
                place = replace(place, scope=named_as(index, value, form, scope))
            case Know(rows=rows):
                place = place.knowing(rows)
            case Compute(block=block):
                statement = replace(statement, block=_block(block, place, rule))
            case _:
                pass
        made.append(statement)
    return tuple(made)


def _inside(loop: For, place: FoldPlace) -> FoldPlace:
    """The place in a loop."""
    index, scope = Affine.var(loop.index), place.scope
    if loop.kind in ("jam", "lane"):
        values = trips(loop)
        if len(values) == 1:
            return place.naming(loop.index, Affine.const(values.start))
        return place.in_tile(loop.index, loop.kind, len(values), values[-1] + 1)
    if loop.kind == "unroll":
        place = replace(place, written={**place.written, loop.index: max(trips(loop), default=0)})
    ends = tuple(scope.form(end) for end in (loop.start, loop.stop) if isinstance(end, Affine))
    rows = facts_of(loop, index, ends if len(ends) == 2 else (), scope)
    return replace(place, scope=scope.naming(loop.index, index).knowing(*rows))


def _block(block: Block, place: FoldPlace, rule: Rule) -> Block:
    return replace(block, lets=tuple(_let(let, place, rule) for let in block.lets))


def _let(let: Let, place: FoldPlace, rule: Rule) -> Let:
    match let.value:
        case Fold(body=body, indices=indices) as fold if fold.is_in_tile:
            inside = place.in_tile(indices[0], fold.loop, fold.count, fold.count)
            return replace(let, value=replace(fold, body=_block(body, inside, rule)))
        case Fold() as fold:
            # What goes on from turn to turn is taken apart around it.
            made = fold if fold.is_in_lockstep or fold.first else rule(fold, place)
            inside = replace(place.knowing(made.rows), around=(*place.around, made))
            return replace(let, value=replace(made, body=_block(made.body, inside, rule)))
        case Choice(rows=rows, then=then, otherwise=otherwise) as choice:
            then, otherwise = _block(then, place.knowing(rows), rule), _block(otherwise, place, rule)
            return replace(let, value=replace(choice, then=then, otherwise=otherwise))
        case _:
            return let
