"""The elements of a map at the points of a set alone, one at a time.

What equations of the set say of an index is solved as all others are, so that loops visit its points alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from tadc.dialect.mlir import ir
from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine, Constraint, box
from tadc.lattice.bounds import Bound, Level
from tadc.lattice.nest import loop_nest
from tadc.lattice.solve import solve
from tadc.passes.cpu.tile_loops import TileLoops
from tadc.passes.maps.lower_body import BodyLowering


def set_loops(tiles: TileLoops, rows: Domain, known: Domain, point: Any) -> None:
    """Store the elements where rows over the indices `d0, d1, …` hold; `known` holds of all other values."""
    low = tiles.low
    names = [f"d{n}" for n in range(len(tiles.sizes))]
    numbers = itertools.count()
    found = solve(names, [*box(names, tiles.sizes), *rows], known, lambda _: f"z{next(numbers)}")
    if found is None:
        return
    nest = loop_nest(found.kernel, found.domain, [*known, *found.guards])
    values = [found.substitution[name] for name in names]
    guarded = partial(_nest, tiles, nest.levels, (*nest.inside,), values)
    _where(low, (*found.guards, *nest.outside), point, guarded)


def _nest(
    tiles: TileLoops, levels: Sequence[Level], rows: Sequence[Constraint], forms: Sequence[Affine], point: Any
) -> None:
    """Loops over the levels that are left; inside, the element where its rows hold."""
    low = tiles.low
    if not levels:
        known = tuple(rows)

        def element(inside: Any) -> None:
            tiles.values(forms, known, inside, partial(tiles.stores.store, forms, inside))

        _where(low, known, point, element)
        return
    level, rest = levels[0], levels[1:]
    lower = low.affine([bound.ceil() for bound in level.lower], point, "affine.max")
    upper = low.affine([bound.floor() for bound in level.upper], point, "affine.min")
    inside = loop_over(low, low.variable(lower), low.variable(upper), point)
    name = {level.name: low.variable(inside.block.arguments[0])}
    below = [Level(o.name, _moved(o.lower, name), _moved(o.upper, name)) for o in rest]
    moved = [row.substitute(name) for row in rows]
    _nest(tiles, below, moved, [form.substitute(name) for form in forms], inside)
    low.create("scf.yield", [], [], inside)


def _moved(bounds: Sequence[Bound], names: Mapping[str, Affine]) -> tuple[Bound, ...]:
    """Bounds in which loop variables are known."""
    return tuple(Bound(bound.form.substitute(names), bound.divisor) for bound in bounds)


def loop_over(low: BodyLowering, first: Affine, last: Affine, point: Any) -> Any:
    """A loop over the values of an index, both ends included; where its body goes."""
    start, stop = low.affine([first], point), low.affine([last + 1], point)
    one = low.constant(low.index_type, 1, point)
    made = low.create("scf.for", [], [start, stop, one], point, regions=1)
    return ir.InsertionPoint(ir.Block.create_at_start(made.regions[0], [low.index_type], [low.location]))


def _where(low: BodyLowering, rows: Sequence[Constraint], point: Any, fill: Any) -> None:
    """Code that runs where the rows hold."""
    if not rows:
        fill(point)
        return

    def then(inside: Any) -> list[Any]:
        fill(inside)
        return []

    low.choose(low.holds(tuple(rows), point), [], then, None, point)
