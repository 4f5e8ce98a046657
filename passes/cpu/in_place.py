"""Maps that complete another in its memory, on a thin set (`maps/thin_sets.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tadc.dialect.index_maps import parse_set
from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine, Constraint
from tadc.passes.cpu.set_loops import set_loops
from tadc.passes.cpu.splits import PLAIN
from tadc.passes.cpu.tile_loops import TileLoops
from tadc.passes.cpu.tile_schedule import Schedule
from tadc.passes.maps.lower_body import BodyLowering
from tadc.passes.maps.tile_values import owner, yielded


def in_place_loops(op: Any, sizes: Sequence[Affine], low: BodyLowering, point: Any) -> None:
    """Lower a map that is marked IN_PLACE to loops over the points of its set."""
    tiles = TileLoops(op, sizes, low, Schedule(1, tuple(range(len(sizes)))), [PLAIN] * len(sizes))
    set_loops(tiles, thin_set(op), low.known, point)


def thin_set(op: Any) -> Domain:
    """The rows of the set, over indices `d0, d1, …` of a map that is marked."""
    block = op.regions[0].blocks[0]
    guard = owner(yielded(block))
    number = {value: Affine.var(f"d{n}") for n, value in enumerate(block.arguments)}
    names = {f"d{n}": number[value] for n, value in enumerate(guard.operands)}
    rows = parse_set(str(guard.attributes["where"])).constraints
    return tuple(Constraint(row.form.substitute(names), row.equality) for row in rows)
