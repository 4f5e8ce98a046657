"""Attributes of maps that say how they are to be computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tadc.dialect.mlir import ir

PARTS = "tad.parts"
"""The elements are long parts of a reduction: a tile has one of them, a thread a few."""

TURNS = "tad.turns"
"""Maps with the same number take turns: each so many values of its first index."""

JOINED = "tad.joined"
"""Nothing long is left to do: vectors would be more code, and no faster."""


@dataclass(frozen=True)
class Turn:
    """The number of the maps that take turns together, and how many values of the first index each takes."""

    number: int
    values: int


def turn_of(op: Any) -> Turn | None:
    """How a map takes turns with others, if it does."""
    if TURNS not in op.attributes:
        return None
    number, values = (ir.IntegerAttr(a).value for a in ir.ArrayAttr(op.attributes[TURNS]))
    return Turn(number, values)
