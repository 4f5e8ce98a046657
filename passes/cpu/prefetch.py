"""Lines that the next tile will read are asked for while one is computed.

The processor sees ahead along a row, but not from the rows of one tile to those of the next, and a row of a
few kilobytes ends before it has caught up. Where a tensor is so large that it comes from memory, a long
innermost loop of a sum runs in steps of a line, and before each the line that the next tile reads there is
asked for, in each of its rows. What vectors read from rows far apart is asked for at each step. It may be
outside of the tensor: then it is not used. Where what the loops inside a step read is one run of memory, its
lines are asked for in their order instead (`runs`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tadc.dialect.mlir import ir
from tadc.lattice.affine import ZERO, Affine
from tadc.lattice.bounds import Level
from tadc.passes.cpu.runs import Run
from tadc.passes.maps.tile_values import LANE, at
from tadc.passes.nest.caches import LINE, element_bytes, is_large

if TYPE_CHECKING:
    from tadc.passes.cpu.tile_reductions import TileReduction

LEAST_STEPS = 64
"""Loops of fewer steps are not worth it."""

LEAST_COPIES = 16
"""Nor are bodies of fewer copies."""

FAR = 1024
"""Rows so many bytes apart at least are not seen by the processor as one stream."""

_STEP = "step"


class Prefetch:
    """What one innermost loop of a reduction asks for."""

    def __init__(self, of: TileReduction, level: Level, bound: Mapping[str, Affine]) -> None:
        """`bound` has the indices of the loops around it."""
        self.of, self.level, self.bound = of, level, bound
        self.low, self.lanes = of.body.low, of.body.lanes
        self.rows: list[Any] = []
        """Reads of one element for all lanes, along rows of their own for the copies of a tile."""
        self.vectors: list[Any] = []
        """Reads of vectors from a row further each step."""
        self.runs: list[Any] = []
        """Reads of a run."""
        if self.is_long():
            self.look()

    def is_long(self) -> bool:
        """Whether the loop is long, and its body large."""
        of, level = self.of, self.level
        if of.over_lanes or of.body.tile.leaps or len(list(of.body.tile.points(of.carried))) < LEAST_COPIES:
            return False
        lower, upper = level.lower, level.upper
        if len(lower) != 1 or len(upper) != 1:
            return False
        span = upper[0].floor() + 1 - lower[0].ceil()
        return not span.is_constant or span.constant >= LEAST_STEPS

    def look(self) -> None:
        """Find the reads."""
        self.place(Affine.var(_STEP))
        for op in self.operations():
            if (
                op.name != "tad.read"
                or op in self.of.body.panels.by_read
                or not _is_large(op.operands[0].type)
            ):
                continue
            if op in self.of.body.runs:
                self.runs.append(op)
                continue
            *others, last = self.subscripts(op)
            names = frozenset[str]().union(*(form.variables for form in others))
            if LANE in names or any(list(form.floors()) for form in (*others, last)):
                continue
            if LANE in last.variables:
                is_far = last.coefficient(LANE) == 1 and _STEP not in last.variables
                if is_far and self.distance(op, others) >= FAR:
                    self.vectors.append(op)
            elif (
                last.coefficient(_STEP) == 1
                and _STEP not in names
                and names & self.of.body.tile.copies.keys()
            ):
                self.rows.append(op)

    def distance(self, read: Any, others: list[Affine]) -> int:
        """The bytes from what one step reads to what the next reads."""
        shape = read.operands[0].type.shape
        strides = [math.prod(shape[n + 1 :]) for n in range(len(others))]
        moved = sum(k * form.coefficient(_STEP) for k, form in zip(strides, others, strict=True))
        return abs(moved) * element_bytes(read.operands[0].type)

    def loop(
        self,
        ends: tuple[Any, Any],
        carried: list[Any],
        inside: Callable[[Affine, list[Any], Any], list[Any]],
        point: Any,
    ) -> list[Any]:
        """The loop between two ends, which makes what is `inside`."""
        one_loop, low, name = self.of.one_loop, self.low, self.level.name

        def each(index: Affine, values: list[Any], here: Any) -> list[Any]:
            self.ask(self.vectors, index, here)
            for read in self.runs:
                self.ask_run(read, self.of.body.runs[read], index, here)
            return inside(index, values, here)

        if not self.rows:
            return one_loop(name, (*ends, 1), carried, each, point)
        stop = low.variable(ends[1])
        line = LINE // max(element_bytes(read.operands[0].type) for read in self.rows)

        def step(index: Affine, values: list[Any], here: Any) -> list[Any]:
            self.ask(self.rows, index, here)
            until = low.affine([index + line, stop], here, "affine.min")
            return one_loop(name, (low.affine([index], here), until, 1), values, each, here)

        return one_loop(name, (*ends, line), carried, step, point)

    def ask(self, reads: list[Any], index: Affine, point: Any) -> None:
        """Ask for what the next tile reads: along the lanes, or along the rows."""
        if not reads:
            return
        self.place(index)
        tile = self.of.body.tile
        for read in reads:
            forms = self.subscripts(read)
            along = LANE in forms[-1].variables
            names = tile.along(frozenset[str]().union(*(form.variables for form in forms)))
            first = forms[-1].substitute({LANE: Affine.const(0)})
            further = sum(first.coefficient(n) * tile.copies[n] for n in names) or tile.width
            forms[-1] = first + further if along else first
            for copy in tile.points(names):
                there = copy if along else {n: number + tile.copies[n] for n, number in copy.items()}
                self.lanes.prefetch(
                    self.low.memrefs[read.operands[0]], [at(form, there) for form in forms], point
                )

    def ask_run(self, read: Any, run: Run, index: Affine, point: Any) -> None:
        """Ask for the next lines of a run."""
        forms, block = self.low.forms, self.of.op.block
        before = {argument: forms[argument] for argument in block.arguments}
        at_first = dict.fromkeys(self.of.body.tile.ranges, ZERO)
        bases = [form.substitute(at_first) for form in before.values()]
        self.place(index)
        steps = ZERO
        for n, (tile, inside) in run.indices.items():
            steps += bases[n].floordiv(tile) * inside
            bases[n] = ZERO
        bases[run.index] += run.tile
        forms.update(zip(block.arguments, bases, strict=True))
        for n, inside in run.binders.items():
            argument, lowest = self.of.block.arguments[n], self.of.nest.levels[n].lower[0].ceil()
            steps += (forms[argument] - lowest) * inside
            forms[argument] = lowest
        self.place_indices(block, self.of.block)
        line = LINE // element_bytes(read.operands[0].type)
        *others, last = self.subscripts(read)
        for n in range(run.lines):
            at_line = [*others, last + (steps * run.lines + n) * line]
            self.lanes.prefetch(self.low.memrefs[read.operands[0]], at_line, point, nearest=False)
        forms.update(before)
        self.place_indices(block)

    def place(self, index: Affine) -> None:
        """Give the reduction's indices their values."""
        values = {**self.bound, self.level.name: index}
        for argument, name in zip(self.of.block.arguments, self.of.names, strict=True):
            self.low.forms[argument] = values[name]
        self.place_indices(self.of.block)

    def place_indices(self, *blocks: Any) -> None:
        """Give the indices that blocks compute their values, where those that they depend on are known."""
        for operation in (operation for block in blocks for operation in block.operations):
            op = operation.operation
            if op.name == "tad.index" and all(v in self.low.forms for v in op.operands):
                self.low.forms[op.results[0]] = self.low.subscripts(op, op.operands)[0]

    def operations(self) -> list[Any]:
        """Those of the reduction's body, none in guards."""
        return [operation.operation for operation in self.of.block.operations]

    def subscripts(self, read: Any) -> list[Affine]:
        """The subscripts of a read."""
        return self.low.subscripts(read, list(read.operands)[1:])


def _is_large(tensor: Any) -> bool:
    """Whether a tensor has rows and comes from memory."""
    return isinstance(tensor, ir.RankedTensorType) and tensor.rank >= 2 and is_large(tensor)
