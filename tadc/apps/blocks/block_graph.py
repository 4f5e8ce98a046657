"""The tasks of a stage, as a graph of Dask's: keys, and calls on keys. Nothing here needs Dask."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from math import prod
from operator import getitem
from typing import Any

import numpy as np

from tadc.apps.blocks.block_places import Box, subscripts
from tadc.apps.blocks.block_plan import BlockTask, StagePlan
from tadc.apps.blocks.block_tasks import (
    BoxLayout,
    ComputeBlock,
    CutPiece,
    JoinParts,
    PartOfBlock,
    StitchBox,
)
from tadc.apps.blocks.chunked_tensors import Chunks, Key
from tadc.apps.blocks.inner_parts import parts_of
from tadc.apps.blocks.joining import tree
from tadc.toolkit.reporting import VERSION
from tadc.toolkit.running import Array, numpy_type

Tasks = dict[Key, Any]

#: Of chunks with so many bytes, pieces of less than a half are cut where the chunk is.
_WHOLE = 1 << 20


@dataclass
class StageGraph:
    """The tasks of a stage: `tasks` those of blocks, and of each result those that make its chunks.

    Keys of blocks have the name of the stage, or of its result where that is one, not joined. Results that
    are not are written `into` arrays of this process, where there are such.
    """

    name: str
    text: str
    plan: StagePlan
    tensors: Mapping[str, Chunks]
    token: str
    into: Mapping[str, Array] = field(default_factory=dict[str, Array])
    tasks: Tasks = field(default_factory=Tasks)
    results: dict[str, Tasks] = field(default_factory=dict[str, Tasks])
    chunks: dict[str, Chunks] = field(default_factory=dict[str, Chunks])
    #: The only result of blocks, where that is not joined: keys of blocks are those of its chunks.
    alone: str = ""

    def __post_init__(self) -> None:
        blocks = [self.plan.task(cell) for cell in self.plan.cells]
        outputs = self.plan.stage.program.outputs
        self._versions = {
            tuple(part.lengths.items())
            for cell in self.plan.usual_cells
            for part in parts_of(self.plan, self.plan.task(cell), self.tensors)
        }
        self.alone = outputs[0].name if len(outputs) == 1 and not self.plan.part(outputs[0].name) else ""
        self._often = _read_often(blocks)
        for d in outputs:
            boxes = {task.writes[d.name] for task in blocks if self.plan.is_written(d.name, task.cell)}
            self.chunks[d.name] = Chunks(
                f"{d.name}-{self.token}",
                tuple(map(_lengths, zip(*boxes, strict=True))) if d.shape else (),
                np.dtype(numpy_type(d.type)),
            )
            self.results[d.name] = {}
        parts: dict[tuple[str, Key], list[Key]] = {}
        for task in blocks:
            self._add_block(task, parts)
        for (name, key), keys in parts.items():
            self._add_joins(name, key, keys)

    def _add_block(self, task: BlockTask, parts: dict[tuple[str, Key], list[Key]]) -> None:
        """The task of a block, and what takes its results apart."""
        key: Key = (self.name, *task.cell)
        if self.alone:
            if not prod(map(len, task.writes[self.alone])) and self._chunk(self.alone, task) in self.tasks:
                return
            key = self._chunk(self.alone, task)
        layouts: dict[str, tuple[BoxLayout, np.dtype[Any]]] = {}
        chunks: list[list[Key]] = []
        for name, box in task.reads.items():
            layout, keys = self._read(name, box)
            layouts[name] = layout, self.tensors[name].dtype
            chunks.append(keys)
        for name, steps in task.before.items():
            layout, keys = self._read(steps.of, steps.box, self.chunks[steps.of])
            layouts[name] = layout, self.chunks[steps.of].dtype
            chunks.append(keys)
        self.tasks[key] = (self._computation(task, layouts), *chunks)
        if self.alone:
            return
        several = len(task.writes) > 1
        for n, name in enumerate(task.writes):
            if not self.plan.is_written(name, task.cell):
                continue
            result = self._chunk(name, task)
            is_empty = not prod(map(len, task.writes[name]))
            if is_empty and prod(self.chunks[name].shape):
                continue
            if self.plan.part(name) is not None:
                own: Key = (f"{name}_part-{self.token}", *task.cell)
                parts.setdefault((name, result), []).append(own if several else key)
                if several:
                    self.results[name][own] = (getitem, key, n)
            else:
                self.results[name][result] = (getitem, key, n) if several else key

    def _computation(
        self, task: BlockTask, layouts: Mapping[str, tuple[BoxLayout, np.dtype[Any]]]
    ) -> ComputeBlock:
        """What computes a block, as one or in parts."""
        parts = parts_of(self.plan, task, self.tensors)
        made: list[PartOfBlock] = []
        for part in parts:
            is_usual = tuple(part.lengths.items()) in self._versions
            lengths: Mapping[str, int] = part.lengths if is_usual else {}
            inside = (_inside(part.reads, task.reads), _inside(part.writes, task.writes))
            made.append(PartOfBlock(part.sizes, lengths, *(inside if len(parts) > 1 else ())))
        results = {name: (tuple(map(len, box)), self.chunks[name].dtype) for name, box in task.writes.items()}
        into = {
            name: self.into[name][*subscripts(box), ...]
            for name, box in task.writes.items()
            if name in self.into and self.plan.is_written(name, task.cell)
        }
        return ComputeBlock(self.text, VERSION, layouts, results, made, task.arrays, task.before, into)

    def _chunk(self, name: str, task: BlockTask) -> Key:
        """The key of the chunk that a block writes; beyond the last one along a dimension it is that."""
        chunks = self.chunks[name]
        at = (
            min(bisect_right(starts, places.start) - 1, len(starts) - 1)
            for starts, places in zip(chunks.starts, task.writes[name], strict=True)
        )
        return (chunks.name, *at)

    def _add_joins(self, name: str, key: Key, parts: Sequence[Key]) -> None:
        """The tasks that join parts of a chunk, as `Joined` does."""
        part = self.plan.part(name)
        assert part is not None
        tasks, join = self.results[name], JoinParts(part.kind)
        made = 0

        def joined(one: Key, other: Key) -> Key:
            nonlocal made
            made += 1
            is_last = made == len(parts) - 1
            own: Key = key if is_last else (f"{name}_{part.kind}-{self.token}", *key[1:], made)
            tasks[own] = (join, one, other)
            return own

        if len(parts) == 1:
            tasks[key] = parts[0]
        else:
            tree(parts, joined)

    def _read(self, name: str, box: Box, tensor: Chunks | None = None) -> tuple[BoxLayout, list[Key]]:
        """How a box is made, and of which tasks' results.

        What several blocks read of several chunks is a task of its own, and so is a small piece of a chunk.
        """
        tensor = tensor or self.tensors[name]
        keys: list[Key] = []
        pieces: list[Box | None] = []
        for key, piece in tensor.pieces(box):
            if piece is not None and self._is_cut(tensor, key, piece):
                own: Key = (f"{name}_piece-{self.token}", *_numbers(key[1:], piece))
                self.tasks[own] = (CutPiece(piece), key)
                key, piece = own, None
            keys.append(key)
            pieces.append(piece)
        layout = BoxLayout(tensor.lengths_of(box), tuple(pieces))
        if len(keys) < 2 or (name, box) not in self._often:
            return layout, keys
        whole: Key = (f"{name}_box-{self.token}", self.name, *_numbers((), box))
        self.tasks[whole] = (StitchBox(layout, tensor.dtype), keys)
        return BoxLayout(tuple((len(places),) for places in box), (None,)), [whole]

    def _is_cut(self, tensor: Chunks, key: Key, piece: Box) -> bool:
        taken = prod(map(len, piece)) * tensor.dtype.itemsize
        return tensor.bytes_of(key) >= max(_WHOLE, 2 * taken + 1)


def _inside(part: Mapping[str, Box], block: Mapping[str, Box]) -> dict[str, tuple[slice, ...]]:
    """Where boxes of a part are in those of its block."""
    return {
        name: tuple(
            slice(some[0] - all[0], some[-1] + 1 - all[0]) if some else slice(0, 0)
            for some, all in zip(box, block[name], strict=True)
        )
        for name, box in part.items()
    }


def _read_often(blocks: Sequence[BlockTask]) -> set[tuple[str, Box]]:
    """The boxes that more than one block reads."""
    seen: set[tuple[str, Box]] = set()
    found: set[tuple[str, Box]] = set()
    for task in blocks:
        for read in task.reads.items():
            (found if read in seen else seen).add(read)
    return found


def _lengths(several: Sequence[range]) -> tuple[int, ...]:
    """The lengths along a dimension that is written in these places; none is empty but the only one."""
    places = sorted({(p.start, p.stop) for p in several})
    return tuple(stop - start for start, stop in places if stop > start) or (0,)


def _numbers(chunk: Sequence[int], piece: Box) -> Iterator[int | str]:
    yield from chunk
    for s in piece:
        yield from (s.start, s.stop) if isinstance(s, range) else (sha256(s.array.tobytes()).hexdigest(),)
