"""What functions of C return, and when."""

from __future__ import annotations

from tadc.backend.runtime.call_checks import INDEX, MEMORY, SIZES, UNREAD
from tadc.backend.runtime.call_messages import WORDS
from tadc.lattice.late_dataclasses import dataclass


@dataclass(frozen=True)
class Status:
    """What a function returns: the name in C, the number, when, and what is said elsewhere then."""

    name: str
    number: int
    about: str
    said: tuple[str, ...] = ()

    def __str__(self) -> str:
        codes = dict.fromkeys(WORDS[what][0] for what in self.said)
        return f"{', '.join(codes)}: {self.about}" if codes else self.about


OK = Status("TADC_OK", 0, "the outputs are computed")
BAD_SIZE = Status(
    "TADC_BAD_SIZE",
    1,
    "a size is less than 0 or too large, or the program is not defined for these sizes",
    ("size range", SIZES.what),
)
NULL = Status("TADC_NULL", 2, "a tensor with elements is NULL", (UNREAD.what,))
NO_SCRATCH = Status("TADC_NO_SCRATCH", 3, "scratch is NULL, and some is needed", (MEMORY.what,))

BAD_INDEX = Status(
    "TADC_BAD_INDEX", 4, "an element of an index array is out of range, or less than one before it", (INDEX,)
)

STATUSES = (OK, BAD_SIZE, NULL, NO_SCRATCH, BAD_INDEX)
"""Every number that is returned; the first that holds, but for 0."""
