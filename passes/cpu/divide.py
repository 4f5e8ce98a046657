"""Which index of a map is divided among threads.

Elements are independent, so any index is; but one of few values gives too few parts, and the loop over
the one that is divided has no constant bounds. Where sizes are symbols the choice is made at run time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tadc.lattice.affine import Affine
from tadc.passes.cpu.packing_plan import Packed
from tadc.passes.cpu.tile_loops import Ends
from tadc.passes.cpu.tile_schedule import Schedule
from tadc.passes.maps.lower_body import BodyLowering

FEW = 32
"""An index of fewer values is divided only if there is no better one."""

MANY = 1024
"""An index after one of unknown extent may be divided, if it has so many values, or unknown many."""

MULTIPLE = 64
"""Ranges of the innermost index begin at its multiples: vectors are whole, cache lines seldom shared."""


AGAIN = 0.2
"""What part of its time a map takes longer for each loop outside of that over the index that is divided: what
the inner loops read is further away when they run again."""

RANGES = 8
"""So many ranges, about, are made of an index: four for each thread, as in `backend/pool.ll`."""


def dividable(shape: Sequence[Affine], schedule: Schedule | None) -> tuple[int, ...]:
    """The position of the index to divide; of two where it is known at run time alone which is better."""
    if schedule is not None and (schedule.packed is not None or all(e.is_constant for e in shape)):
        wasted = {axis: _wasted(axis, shape, schedule) for axis in schedule.order}
        best = min(wasted, key=lambda axis: wasted[axis], default=None)
        return (best,) if best is not None and wasted[best] < 1 else ()
    unknown = next((n for n, extent in enumerate(shape) if not extent.is_constant), len(shape))
    known = [extent.constant for extent in shape[:unknown]]
    if unknown < len(shape) and all(extent < FEW for extent in known):
        inner = range(unknown + 1, len(shape))
        return (unknown, *[n for n in inner if not shape[n].is_constant or shape[n].constant >= MANY][:1])
    large = [n for n, extent in enumerate(known) if extent >= FEW]
    if large:
        return (large[0],)
    most = max(known, default=0)
    return (known.index(most),) if most > 1 else ()


def dividable_batch(shape: Sequence[Affine], batch: frozenset[int]) -> tuple[int, ...]:
    """The index to divide of those along which a recurrence does not go: no thread waits for another."""
    many = (n for n in sorted(batch) if not shape[n].is_constant or shape[n].constant >= FEW)
    found = next(many, max(batch, key=lambda n: shape[n].constant, default=None))
    return () if found is None or (shape[found].is_constant and shape[found].constant < 2) else (found,)


def _wasted(axis: int, shape: Sequence[Affine], schedule: Schedule) -> float:
    """What two threads lose that divide an index: what all ranges read or pack again, the time one waits."""
    extent = shape[axis].constant if shape[axis].is_constant else MANY
    grain = _grain(axis, shape, schedule)
    # The last tile is moved back, but where results are packed for.
    tiles = max(1, -(-extent // grain) if schedule.packed is None else extent // grain)
    each = -(-tiles // RANGES)
    ranges = -(-tiles // each)
    waits = 2 * min(-(-ranges // 2) * each, tiles) / tiles - 1
    # Where there are few ranges, more threads than two would wait.
    waits += 0.1 / ranges
    if schedule.packed is None:
        # Each range runs through the loops outside of that over the index.
        return waits + AGAIN * schedule.order.index(axis)
    return waits + _packed_again(axis, extent, ranges, schedule.packed)


def _packed_again(axis: int, extent: int, ranges: int, packed: Packed) -> float:
    """What part of the time ranges of an index take to pack what one packs already."""
    name, rows = f"b{axis}", packed.rows
    again = float(ranges - 1)
    if name in packed.names | packed.around:
        again = 0.0
    elif rows is not None and name == rows.name:
        # All chunks of rows pack for lanes again anyway.
        again = max(0.0, ranges * rows.chunk / extent - 1)
    repeats = again * packed.share
    if rows is not None and name not in rows.names | {rows.name}:
        repeats += (ranges - 1) * rows.share
    return repeats


def _grain(axis: int, shape: Sequence[Affine], schedule: Schedule | None) -> int:
    """What ranges of an index begin at multiples of: none but the last has a tile that is moved back."""
    tile = 1 if schedule is None else schedule.extent(axis)
    if axis < len(shape) - 1 or (schedule is not None and schedule.packed is not None):
        return tile
    return -(-MULTIPLE // tile) * tile


def _divided(axis: int, shape: Sequence[Affine], schedule: Schedule | None) -> Affine:
    """The elements that are divided; the last range takes those after them too.

    Where a reduction runs in blocks, results are in memory between them: no two threads may compute one
    element, so the tile that is moved back at the end overlaps with none of another range.
    """
    extent = shape[axis]
    if schedule is None or schedule.packed is None or schedule.packed.block is None:
        return extent
    tile = schedule.extent(axis)
    return extent.floordiv(tile) * tile if axis == schedule.lanes else extent


def range_names(axes: Sequence[int]) -> tuple[str, ...]:
    """The arguments of a function over a range of one of these indices."""
    return ((), ("begin", "end"), ("second", "begin", "end"))[len(axes)]


def range_arguments(
    axes: Sequence[int],
    shape: Sequence[Affine],
    schedule: Schedule | None,
    lowering: BodyLowering,
    point: Any,
) -> list[Any]:
    """What the arguments are for the whole map: `second`, then how many values the range may have at most,
    and what its ends are multiples of."""
    extents = [lowering.affine([_divided(axis, shape, schedule)], point) for axis in axes]
    multiples = [lowering.index(_grain(axis, shape, schedule), point) for axis in axes]
    if len(axes) == 1:
        return [*extents, *multiples]
    few = lowering.compare("slt", extents[0], lowering.index(FEW, point), point)
    fewer = lowering.compare("slt", extents[0], extents[1], point)
    truth = few.type
    second = lowering.create("arith.andi", [truth], [few, fewer], point).results[0]
    number = lowering.create("arith.index_castui", [lowering.index_type], [second], point).results[0]
    return [number, *(lowering.select(second, pair[1], pair[0], point) for pair in (extents, multiples))]


def ends_of(
    axes: Sequence[int],
    shape: Sequence[Affine],
    schedule: Schedule | None,
    given: Sequence[Any],
    lowering: BodyLowering,
    point: Any,
) -> Ends:
    """The ends of the indices that such arguments stand for."""
    if not axes:
        return {}
    begin, end = given[-2:]
    if len(axes) == 1:
        extent, divided = shape[axes[0]], _divided(axes[0], shape, schedule)
        if divided != extent:
            last = lowering.compare("eq", end, lowering.affine([divided], point), point)
            end = lowering.select(last, lowering.affine([extent], point), end, point)
        return {axes[0]: (lowering.variable(begin), lowering.variable(end))}
    zero = lowering.index(0, point)
    second = lowering.compare("ne", given[0], zero, point)
    ends: dict[int, tuple[Affine, Affine]] = {}
    for number, axis in enumerate(axes):
        extent = lowering.affine([shape[axis]], point)
        pairs = [(begin, zero), (end, extent)]
        # Of the first index the other way round.
        ordered = pairs if number else [(b, a) for a, b in pairs]
        first, last = (lowering.select(second, a, b, point) for a, b in ordered)
        ends[axis] = (lowering.variable(first), lowering.variable(last))
    return ends
