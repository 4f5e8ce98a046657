"""Attributes of maps that say how they are to be computed."""

from __future__ import annotations

from collections.abc import Mapping

from tadc.dialect.locations import name_of
from tadc.dialect.mlir import ir
from tadc.passes.maps.buffers import maps_of
from tadc.passes.rewrites.parts import Mark

CHAIN = "tad.chain"
"""The number of the chain that a map is in, and how many rows of it run at a time."""

ROW = "tad.row"
"""The number of the index that counts the rows of the chain that the map is in, where it is not the first."""

STEPS = "tad.chain_steps"
"""The first index numbers the steps of the chain that the map is in."""

IN_PLACE = "tad.in_place"
"""The elements are those of another tensor but on a thin set; these alone are computed, in its memory."""

PARTS = "tad.parts"
"""The elements are long parts of a reduction: a tile has one of them, a thread a few."""

JOINED = "tad.joined"
"""Nothing long is left to do: vectors would be more code, and no faster."""

WINDOW = "tad.window"
"""Of the tensors in between the elements of the last steps alone are kept: of how many steps, and the weights
of subscripts whose sum is the step of an element."""

SWEEP = "tad.sweep"
"""The chain of a map runs some steps of a recurrence at a time: which index of the map follows these, how
many steps one value of it takes, where they begin, and whether they go down."""

TAPE = "tad.tape"
"""A map that runs along with a recurrence runs again for a chain that goes back over the steps: the number of
that, how many states are saved, how many steps a state has, and which steps are to be at hand."""

KEPT = "tad.kept"
"""The elements are the same in all calls: the first one computes them, and a kernel keeps them."""


def mark_maps(function: ir.Operation, marks: Mapping[str, Mark]) -> None:
    """Give the maps of these names their marks, for schedules to see."""
    attributes = {"parts": PARTS, "joined": JOINED}
    for op in maps_of(function):
        if (mark := marks.get(name_of(op.location))) is not None:
            op.attributes[attributes[mark]] = ir.UnitAttr.get(op.context)
