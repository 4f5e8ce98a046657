"""One block of memory for all tensors in between, of the size that a function tells.

Where sizes are known, tensors are laid out as for calls from Python. Else tensors that are in use at
different times share a slot, which is as large as the largest of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tadc.backend.runtime.interface import Interface
from tadc.backend.runtime.workspace import ALIGNMENT, Temporary, workspace
from tadc.native.ir_lines import Lines, Value


@dataclass(frozen=True)
class Scratch:
    """Where each tensor in between starts, and how many bytes there are, as values of a function's body."""

    offsets: tuple[Value, ...]
    bytes: Value


def lay_out(lines: Lines, interface: Interface, sizes: Mapping[str, Value]) -> Scratch:
    """The layout where the sizes have these values, computed in the body of a function."""
    between = interface.temporaries
    if all(t.tensor.is_static for t in between):
        known = workspace(between)
        return Scratch(tuple(map(str, known.offsets)), str(known.bytes))
    slots, total = slots_of(between), "0"
    starts: list[Value] = []
    for slot in slots:
        starts.append(total)
        largest = "0"
        for shape in dict.fromkeys((t.tensor.dtype.itemsize, t.tensor.shape) for t in slot):
            size = lines.product(shape[0], shape[1], sizes)
            largest = size if largest == "0" else lines.larger(largest, size)
        total = lines.binary("add", total, lines.up_to(largest, ALIGNMENT))
    place = {id(t): start for slot, start in zip(slots, starts, strict=True) for t in slot}
    return Scratch(tuple(place[id(t)] for t in between), total)


def slots_of(temporaries: Sequence[Temporary]) -> list[list[Temporary]]:
    """The tensors of each slot, no two in use at a time; those of one shape together if they can."""
    slots: list[list[Temporary]] = []
    for here in sorted(temporaries, key=lambda t: (t.first, t.last)):
        free = [slot for slot in slots if all(t.last < here.first or here.last < t.first for t in slot)]
        alike = [slot for slot in free if slot[0].tensor.shape == here.tensor.shape]
        if alike or free:
            (alike or free)[0].append(here)
        else:
            slots.append([here])
    return slots
