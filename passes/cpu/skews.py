"""In which loops an index may move with the lane, so that a read of the body does not."""

from __future__ import annotations

from tadc.passes.cpu.packing_plan import Way
from tadc.passes.maps.accesses import Loop


def skew_steps(loop: Loop, lane: str) -> list[int]:
    """By how much the innermost binder may move with a lane, so that a read that does stays where it is."""
    binder, found = loop.binders[-1], dict[int, None]()
    for read in loop.reads:
        own, step = read.strides.get(lane, 0), read.strides.get(binder, 0)
        if own and step and own % step == 0 and abs(own // step) == 1:
            found[-own // step] = None
    return list(found)


def skewed(way: Way, body: Loop) -> list[Loop]:
    """The loops whose innermost binders do."""
    return [loop for loop in body.below() if loop.binders and loop.binders[-1] in way.skews]


def lane_step(way: Way, loop: Loop) -> int:
    """By how much the index of such a loop moves with the lane, counted from 0."""
    return way.skews[loop.binders[-1]] + loop.moved.coefficient(way.lane)
