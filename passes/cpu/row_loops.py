"""The loop of a chain: all of its maps over a few rows, then over the next.

Rows are run through in steps; the last step of a range takes what is left too, so none has fewer rows than a
step, which a tile of each map fits in. Tensors that only maps of the chain use have the rows of each step in
the same place of their memory, which stays in a cache: each range has a place of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tadc.dialect.mlir import ir
from tadc.passes.maps.lower_body import BodyLowering
from tadc.passes.maps.map import Map, MapFunction
from tadc.passes.maps.memory_of_tensors import Memory

ROW_RANGE = ("begin", "end")
"""The arguments of the function over a range of rows."""


SHIFT = ("shift",)
"""The further argument of maps in it: row i of what no other map reads is in the place i - shift."""


def divided(count: int, rows: int) -> tuple[int, int]:
    """The rows that are divided among threads, and what ranges begin at multiples of."""
    return count // rows * rows, rows


def at_once(item: Map) -> int:
    """How many values of the first index of a map in a chain run at a time."""
    return 1 if item.marks.steps else item.marks.rows


@dataclass(frozen=True)
class Part:
    """The function of a map in a chain: its name, which of the buffers it takes, and for how many rows one
    value of its first index stands."""

    name: str
    used: Sequence[int]
    scale: int = 1


def near_tensors(chain: Sequence[Map], function: MapFunction, memory: Memory) -> dict[str, int]:
    """The tensors in between, of a function's memory, that none but these maps computes and reads; by which
    of their dimensions rows are."""
    own = set(map(id, chain))
    others = (item for item in function.maps if id(item) not in own)
    read = {load.tensor for item in others for load in item.loads()}
    made = {tensor.name: item.marks.row for item in chain for tensor in item.tensors}
    between = {tensor.name for tensor in memory.temporaries} - read
    return {name: row for name, row in made.items() if name in between}


def row_loop(block: ir.Block, parts: Sequence[Part], count: int, rows: int, shifts: bool) -> None:
    """Fill a function over buffers and a range of `count` rows: it calls the parts for `rows` at a time.

    With `shifts`, rows of all steps are where those of the first are.
    """
    point = ir.InsertionPoint(block)
    low = BodyLowering(block.owner.context)
    *buffers, begin, end = block.arguments
    begins = low.variable(begin)
    stop = low.index(divided(count, rows)[0], point)
    end = low.select(low.compare("eq", end, stop, point), low.index(count, point), end, point)
    last = low.variable(end)
    past = low.affine([last - (rows - 1)], point)
    made = low.create("scf.for", [], [begin, past, low.index(rows, point)], point, regions=1)
    inner = ir.Block.create_at_start(made.regions[0], [low.index_type], [low.location])
    inside, start = ir.InsertionPoint(inner), inner.arguments[0]
    following = low.variable(start) + rows
    until = low.affine([following], inside)
    left = low.affine([last - following], inside)
    is_last = low.compare("slt", left, low.index(rows, inside), inside)
    until = low.select(is_last, end, until, inside)
    ends = low.variable(start), low.variable(until)
    for part in parts:
        first, stop = (low.affine([-(-end).floordiv(part.scale)], inside) for end in ends)
        operands = [*(buffers[n] for n in part.used), first, stop]
        if shifts:
            operands.append(low.affine([ends[0] - begins], inside))
        low.create("func.call", [], operands, inside, {"callee": ir.FlatSymbolRefAttr.get(part.name)})
    low.create("scf.yield", [], [], inside)
    low.create("func.return", [], [], point)
