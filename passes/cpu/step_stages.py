"""Which maps of a step threads may compute without waiting for each other.

Each thread has a range of an index of every map. A map that reads what another computes in the same step, in
the same range, may follow it at once; one that reads more waits until all threads are done: it is in the next
stage of the step. Where no map reads beyond its range at any step, nobody waits at all.
"""

from __future__ import annotations

from collections.abc import Sequence

from tadc.lattice.affine import Affine
from tadc.lattice.late_dataclasses import dataclass
from tadc.lattice.polyhedron import implied
from tadc.passes.maps.map import Map
from tadc.passes.maps.recurrence import reads_of, sweep_of


@dataclass(frozen=True)
class Stepped:
    """A map that runs by steps; threads `divided` this index of it, None where one of them computes all.

    Maps that have as many values of the index have the same ranges.
    """

    item: Map
    divided: str | None


def stages_of(parts: Sequence[Stepped]) -> list[list[int]]:
    """The maps of a step by number, those together that need not wait for each other."""
    stages: list[list[int]] = [[]]
    for number, part in enumerate(parts):
        if any(_waits(part, parts[other], same_step=True) for other in stages[-1]):
            stages.append([])
        stages[-1].append(number)
    return stages


def is_free(parts: Sequence[Stepped]) -> bool:
    """Whether no thread reads what another one computes in any step."""
    return not any(_waits(part, other, same_step=False) for part in parts for other in parts)


def _waits(reader: Stepped, writer: Stepped, *, same_step: bool) -> bool:
    """Whether a map may read what another thread computes of a map, in the same step or in any."""
    here, there = sweep_of(reader.item), sweep_of(writer.item)
    assert here is not None
    assert there is not None
    own = here.step([Affine.var(name) for name in reader.item.indices])
    sign = -1 if here.down else 1
    for tensor in writer.item.tensors:
        for at, facts in reads_of(reader.item, tensor.name):
            back = (own - there.step(at)) * sign
            if same_step and implied(back - 1, facts):
                continue
            if not _in_one_range(reader, writer, at):
                return True
    return False


def _in_one_range(reader: Stepped, writer: Stepped, at: Sequence[Affine]) -> bool:
    """Whether the thread that computes an element is the one that reads it."""
    if reader.divided is None or writer.divided is None:
        return reader.divided is writer.divided
    axes = [
        part.item.indices.index(name) for part, name in ((reader, reader.divided), (writer, writer.divided))
    ]
    extents = [part.item.extents[axis] for part, axis in zip((reader, writer), axes, strict=True)]
    return extents[0] == extents[1] and at[axes[1]] == Affine.var(reader.divided)
