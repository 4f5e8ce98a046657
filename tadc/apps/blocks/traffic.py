"""What blocks cost before any of them runs: bytes moved, memory, operations, counted from their domains."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heapreplace
from itertools import chain, repeat
from math import ceil
from typing import TYPE_CHECKING, Literal

from tadc.apps.blocks.block_places import Box, bytes_of, cut, within
from tadc.apps.blocks.block_plan import BlockPlan, BlockTask, StagePlan
from tadc.apps.blocks.counted_operations import depend_on_elements, operations_at
from tadc.toolkit.language import Program, count_program, specialised
from tadc.toolkit.reporting import ShownAsTables
from tadc.toolkit.transforms import with_fibres

if TYPE_CHECKING:
    from rich.table import Table


@dataclass(frozen=True)
class StageTraffic:
    """Of one stage: bytes, and weighted operations as `tadc.statistics` counts them.

    A block's own are those places of a tensor that go along with an axis and are the block's; of a tensor
    that does not go along with another axis, the first block there has them. `moved` are what blocks read
    beside their own, with the index arrays that say where this stands in lists; `copied` is what each worker
    needs whole, once. Boxes are the least, so no other way to compute these blocks moves less. `joined` are
    parts of sums. `memory` is the most that one block has of boxes and results.

    Where index arrays are given, `each` has the operations of each block, counted for their elements. Else
    `operations` are those of the results, without what blocks compute twice: "estimated" as if the elements
    of index arrays were spread evenly where these tell how many there are, "at most" so many where it takes
    too long to count them.
    """

    blocks: int
    own: int
    moved: int
    copied: int
    joined: int
    written: int
    memory: int
    operations: int
    counted: Literal["exact", "at most", "estimated"] = "exact"
    each: tuple[int, ...] = ()

    @property
    def largest(self) -> int:
        """The operations of the block that has the most."""
        return max(self.each, default=-(-self.operations // self.blocks))


@dataclass(frozen=True)
class BlockTraffic(ShownAsTables):
    """What blocks of a function cost on some workers; `str` of it is a table with a row for each stage."""

    stages: tuple[StageTraffic, ...]
    workers: int

    @property
    def moved(self) -> int:
        """All bytes that workers get from others."""
        return sum(s.moved + s.copied * (min(self.workers, s.blocks) - 1) + s.joined for s in self.stages)

    @property
    def memory(self) -> int:
        """The most bytes that a block of any stage has."""
        return max(s.memory for s in self.stages)

    @property
    def operations(self) -> int:
        """The operations of the worker that has the most blocks, and at least those of the largest block."""
        return sum(
            max(s.largest, ceil(s.blocks / self.workers) * s.operations // s.blocks) for s in self.stages
        )

    def simulated(
        self,
        workers: Sequence[int] = (1, 10, 100, 1000),
        *,
        seconds_per_task: float = 200e-6,
        bytes_per_second: float = 1e9,
        operations_per_second: float = 1e10,
    ) -> dict[int, float]:
        """Seconds on so many workers by a model: where more of them gain nothing.

        One scheduler hands out a block every `seconds_per_task`, to the worker that is free first; a block
        takes as long as to get what it reads of others and to compute. Stages wait for each other.
        """
        rates = seconds_per_task, bytes_per_second, operations_per_second
        return {count: sum(_seconds(stage, count, *rates) for stage in self.stages) for count in workers}

    def _tables(self) -> list[Table]:
        from rich import box
        from rich.table import Table

        counts = "own", "moved", "copied to each", "joined", "written", "a block"
        heads = ("stage", "blocks", *counts, "operations", "largest block")
        table = Table(*heads, box=box.SIMPLE, title=f"blocks on {self.workers:,} workers")
        for n, s in enumerate(self.stages):
            sizes = s.own, s.moved, s.copied, s.joined, s.written, s.memory
            operations = (_operations_text(s, count) for count in (s.operations, s.largest))
            table.add_row(str(n + 1), f"{s.blocks:,}", *map(_bytes_text, sizes), *operations)
        return [table]


def _seconds(stage: StageTraffic, workers: int, task: float, bandwidth: float, speed: float) -> float:
    free = [0.0] * min(workers, stage.blocks)
    moved = (stage.moved + stage.joined) / stage.blocks / bandwidth
    each = stage.each or repeat(stage.operations / stage.blocks, stage.blocks)
    first = stage.copied / bandwidth
    end = 0.0
    for n, operations in enumerate(each):
        done = max(free[0], n * task) + moved + operations / speed + (first if n < len(free) else 0)
        heapreplace(free, done)
        end = max(end, done)
    return end


def traffic_of(plan: BlockPlan, workers: int) -> BlockTraffic:
    """What all blocks of a plan cost."""
    return BlockTraffic(tuple(_stage(stage) for stage in plan.stages), workers)


def _stage(stage: StagePlan) -> StageTraffic:
    program = stage.stage.program
    tasks = [stage.task(cell) for cell in stage.cells]
    types = {t.name: t.type for t in (*program.arguments, *program.outputs)}
    along = {a.name for a in program.arguments if any(a.name in axis.dims for axis in stage.stage.axes)}
    first = tasks[0].reads
    single = {n for n in first if n in along or any(task.reads[n] != first[n] for task in tasks)}
    parts = {part.name for part in stage.stage.parts}
    own = read = joined = written = 0
    for task in tasks:
        own += sum(bytes_of(_own(stage, task, name), types[name]) for name in along & single)
        read += sum(bytes_of(task.reads[name], types[name]) for name in single) + _numbers(task)
        read += sum(bytes_of(b.box, types[b.of]) for b in task.before.values())
        results = [
            (n, bytes_of(b, types[n])) for n, b in task.writes.items() if stage.is_written(n, task.cell)
        ]
        joined += sum(size for name, size in results if name in parts)
        written += sum(size for name, size in results if name not in parts)
    work = count_program(with_fibres(_at(program, stage)))
    each = tuple(_operations(stage, task) for task in tasks) if stage.arrays else ()
    is_even = not each and depend_on_elements(program)
    return StageTraffic(
        len(tasks),
        own,
        read - own,
        sum(bytes_of(box, types[name]) for name, box in first.items() if name not in single),
        joined,
        written,
        max(_numbers(t) + sum(bytes_of(box, types[n]) for n, box in _boxes(t)) for t in tasks),
        sum(each) if each else work.weighted,
        "exact" if each else "at most" if not work.exact else "estimated" if is_even else "exact",
        each,
    )


def _operations(stage: StagePlan, task: BlockTask) -> int:
    """What a block computes with its index arrays."""
    arrays = {name: cut(stage.arrays[name], box) for name, box in task.reads.items() if name in stage.arrays}
    arrays |= {name: relation.array for name, relation in task.arrays.items()}
    return operations_at(stage.program, stage.points(arrays, task.sizes, {}))


def _boxes(task: BlockTask) -> Iterator[tuple[str, Box]]:
    return chain(task.reads.items(), task.writes.items())


def _numbers(task: BlockTask) -> int:
    """The bytes of index arrays that are made for a block."""
    return sum(relation.array.nbytes for relation in task.arrays.values())


def _own(stage: StagePlan, task: BlockTask, name: str) -> Box:
    """What a block reads of the places that are its own."""
    found = list(task.reads[name])
    for axis, places, n in zip(stage.stage.axes, stage.places, task.cell, strict=True):
        d = axis.dims.get(name)
        if d is None and n > 0:
            return (range(0),)
        if d is not None:
            last = n + 1 == len(places)
            stop = stage.shapes[name][d] if last else places[n].stop
            found[d] = within(found[d], places[n].start, stop)
    return tuple(found)


def _at(program: Program, stage: StagePlan) -> Program:
    return specialised(program, {name: stage.sizes[name] for name in program.sizes})


def _operations_text(stage: StageTraffic, count: int) -> str:
    text = f"{count:.3g}"
    return {"exact": text, "at most": f"at most {text}", "estimated": f"{text}, estimated"}[stage.counted]


def _bytes_text(size: int) -> str:
    for unit, prefix in ((1 << 40, "Ti"), (1 << 30, "Gi"), (1 << 20, "Mi"), (1 << 10, "Ki")):
        if size >= 10 * unit:
            return f"{size // unit:,} {prefix}B"
    return f"{size:,} B"
