"""Properties of a CPU by which schedules are chosen. Costs are in half cycles, because a processor starts two
vector operations per cycle."""

from __future__ import annotations

from typing import ClassVar

from tadc.lattice.late_dataclasses import dataclass
from tadc.passes.maps.machine import Machine


@dataclass(frozen=True)
class CpuMachine(Machine):
    """`vector_bytes` is the size of a vector, 0 for none; there are so many `registers` for these.

    A map of fewer operations than `least_work` gets no vectors: they would save less time than it takes to
    compile them.
    """

    vector_bytes: int = 64
    registers: int = 32
    least_work: int = 0

    dispatch: ClassVar[int] = 1 << 15
    """So many operations are worth a dispatch to threads, as in `backend/cpu/pool.ll`; half as many are worth
    that threads wait for each other after a step of a recurrence: two of `LEAST_PART` in
    `backend/splitting.py`."""

    folds: int = 1
    """Whether an instruction takes one operand from memory: those of AVX do."""
    inside: int = 4
    """So many values has a function such as `exp` at once, its result among them."""

    line: int = 64
    """The bytes of a line of the cache."""
    sets: int = 64
    """Of so many places far apart, lines do not stay in the first cache: it has so many sets."""
    ways: int = 8
    """So many lines stay in each of them."""
    l2: int = 2 << 20
    """The bytes of the second cache."""
    share: int = 8 << 20
    """A tensor of so many bytes is in no cache of one's own any more when it is read again."""
    far: int = 1024
    """Rows so many bytes apart stand on too many pages, may share the sets of a cache, and
    are not seen as one stream."""
    streams: int = 32
    """Of so many places that are read or written by turns, the processor sees which lines come next."""

    panels: int = 8
    """Panels for lanes take this part of the second cache at most, and so do those for rows: they stay there,
    and fit on the stack."""
    inner: int = 2
    """Inner loops may touch so many bytes, as a part of it."""
    streamed: float = 8
    """An element of a higher cost takes longer to compute than the line that it is in to be read."""

    latency: int = 8
    """An addition takes so long, and so many may be under way at once."""
    hidden: int = 4
    """So many copies hide what steps of loops in a body of fewer than `little` operations wait for."""
    little: int = 32
    unrolled: int = 8
    """A reduction of so many steps is no loop: they are written out."""
    row: int = 32
    """Of a recurrence so many steps at most are written out, where they are a row of each lane, else half of
    them by turns: registers hold what is transposed."""
    miss: float = 8
    """A line of the second cache, where it is not clear beforehand that it is wanted."""
    again: float = 2
    """A line of the second cache that was in the first a short while ago."""
    lost: float = 32
    """A line that was in the first cache a tile before, and is wanted at once."""
    afar: float = 4
    """A line from behind the second cache, that the processor sees coming."""
    scattered_lines: int = 8
    """So many lines more does one cost that it does not see coming."""
    next_lines: int = 4
    """What is fewer lines further on is seen as the next of one stream."""

    broadcast: float = 0.75
    """One element for all lanes."""
    load: float = 1.0
    """A vector of consecutive elements."""
    unaligned: float = 0.75
    """What a vector costs more that may be in two lines of the cache: those are two loads."""
    reversed: float = 1.5
    """A vector whose elements stand in reverse order."""
    gather: float = 1.2
    """One lane of a vector that is not consecutive in memory."""
    gather_looked_up: float = 2.5
    """That where an index array says which element."""
    short: float = 1.0
    """That of a short vector of a few copies, which are read together and transposed."""
    shuffle: float = 2
    """A round in which vectors that are transposed are shuffled."""
    scatter: float = 1.5
    """Storing one lane of a vector that is not consecutive in memory."""
    gather_far: float = 2.5
    """A lane of a vector whose lanes are in lines of their own that share the sets of a cache."""
    scatter_far: float = 2.5
    """That where each lane has a line of its own."""
    interleaved: float = 0.75
    """That where vectors of copies are interleaved."""
    switch: float = 1
    """Going from one tensor to the next when several are written by turns: vectors that share a line of the
    cache are written together only one after the other."""
    join_lanes: float = 3
    """Joining the halves of a vector once."""

    copy: float = 1.0
    """Copying a lane of a vector that is consecutive, but far from the one before."""
    copy_transposed: float = 0.5
    """Copying one that is consecutive along the reduction."""
    copy_row: float = 0.6
    """Copying an element of rows that are consecutive in memory."""
    copy_far_row: float = 2.0
    """Copying one of rows that are not."""

    @property
    def l1(self) -> int:
        """The bytes of the first cache."""
        return self.sets * self.ways * self.line
