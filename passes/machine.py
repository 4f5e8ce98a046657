"""What schedules know of the processor."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Machine:
    """`vector_bytes` is the size of a vector, 0 for none; `registers` is how many a loop may use."""

    vector_bytes: int = 64
    registers: int = 28
