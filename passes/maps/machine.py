"""What schedules know of the processor."""

from __future__ import annotations

from dataclasses import dataclass

MULTIPROCESSORS = 132
"""Those of a large GPU; blocks of threads are small enough that all have some."""


@dataclass(frozen=True)
class Machine:
    """`vector_bytes` is the size of a vector, 0 for none; `registers` is how many a loop may use.

    A map of fewer operations than `least_work` gets no vectors: they would save less time than it takes to
    compile them.
    """

    vector_bytes: int = 64
    registers: int = 28
    least_work: int = 0
