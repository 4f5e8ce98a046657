"""The nest of a chain: all of its maps over a few rows, then over the next.

Rows are run through in steps; the last step of a range takes what is left too, so none has fewer rows than a
step, which a tile of each map fits in. Tensors that only maps of the chain use have the rows of each step in
the same place of their memory, which stays in a cache: each range has a place of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tadc.lattice.affine import Affine, Constraint
from tadc.passes.cpu.calls import Callee, calling
from tadc.passes.maps.map import Map, MapFunction, TensorDecl
from tadc.passes.maps.memory_of_tensors import Memory
from tadc.passes.nest.nest import At, Call, Either, For, Nest, Statement
from tadc.passes.nest.primitives.divided_ranges import BEGIN, END, RANGE

SHIFT = "shift"
"""The further argument of maps in it: row i of what no other map reads is in the place i - shift."""


def divided(count: int, rows: int) -> tuple[int, int]:
    """The rows that are divided among threads, and what ranges begin at multiples of."""
    return count // rows * rows, rows


def at_once(item: Map) -> int:
    """How many values of the first index of a map in a chain run at a time."""
    return 1 if item.marks.steps else item.marks.rows


def near_tensors(chain: Sequence[Map], function: MapFunction, memory: Memory) -> dict[str, int]:
    """The tensors in between, of a function's memory, that none but these maps computes and reads; by which
    of their dimensions rows are."""
    own = set(map(id, chain))
    others = (item for item in function.maps if id(item) not in own)
    read = {name for item in others for name in item.read}
    made = {tensor.name: item.marks.row for item in chain for tensor in item.tensors}
    between = {tensor.name for tensor in memory.temporaries} - read
    return {name: row for name, row in made.items() if name in between}


def row_nest(
    name: str, parts: Sequence[tuple[Callee, int]], tensors: Mapping[str, TensorDecl], count: int, rows: int
) -> Nest:
    """The nest over a range of `count` rows that calls the parts for `rows` at a time; for so many rows one
    value of their first index stands."""
    row, stop, until = map(Affine.var, ("row", "stop", "until"))
    divides, _ = divided(count, rows)
    following: Statement = At("until", row + rows)
    if divides < count:
        following = At("until", Either((Constraint(stop - row - 2 * rows),), row + rows, stop))
    calls: list[Statement] = []
    for part, scale in parts:
        ends = tuple(-(-end).floordiv(scale) for end in (row, until))
        shift = (row - BEGIN,) if SHIFT in part.nest.ranges else ()
        calls.append(Call(part.nest.name, part.tensors, (*ends, *shift)))
    loop = For("row", BEGIN, stop - (rows - 1), rows, "seq", (following, *calls))
    last = At("stop", Either((Constraint(END - divides, equality=True),), Affine.const(count), END))
    body = (last if divides < count else At("stop", END), loop)
    known = (
        Constraint(BEGIN),
        Constraint(BEGIN - BEGIN.floordiv(rows) * rows, equality=True),
        Constraint(END - END.floordiv(rows) * rows, equality=True),
        Constraint(END - BEGIN - rows),
        Constraint(divides - END),
    )
    return calling(name, [part for part, _ in parts], tensors, RANGE, known, body)
