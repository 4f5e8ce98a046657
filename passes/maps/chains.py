"""Maps that run together for rows that stay in the caches of a CPU.

A map that reads much besides its rows would load it again for every few rows, so it is not part of a chain.
Elements that a row reads through an index array also form a tensor of these rows: another map that reads
through the same array finds them in the cache.
"""

from __future__ import annotations

from tadc.lattice.late_dataclasses import dataclass, field
from tadc.passes.maps.map import Marks
from tadc.passes.maps.row_reads import RowReads, bytes_of
from tadc.passes.maps.run_together import RowMachine, RunTogether
from tadc.passes.terms.costs import LARGER, SECOND

NEAR = 3 * SECOND // 16
"""So many bytes stay near."""

LEAST_BYTES = 2 * NEAR
"""Tensors of fewer bytes stay in the caches anyway."""

ROWS = 12
"""Rows run in multiples of so many, where there are: tiles of 2, 3, 4, 6 or 12 rows fit."""


@dataclass(frozen=True, kw_only=True)
class InCaches(RowMachine):
    """Rows in the caches of a CPU, divided by threads into so many `ranges`, unless they are `given`."""

    deepest: int = 1
    gathers: bool = True
    sums_of_read: bool = False
    least: int = field(default_factory=lambda: LEAST_BYTES)
    ranges: int
    given: bool = False

    def fits(self, member: RowReads) -> bool:
        """Whether what a map reads elsewhere stays near."""
        return self.given or member.again < LEAST_BYTES

    def marks(self, together: RunTogether, number: int, given: int = 0) -> Marks | None:
        """How the maps run, with sums whose parts are far smaller than what they are sums of."""
        if given:
            return Marks(chain=number, rows=given)
        rows, used, found = _rows(together, self.ranges), together.used, list[RowReads]()
        for member in together.sums:
            parts = -(-together.count // rows) * bytes_of(member.item.tensors[0])
            if LARGER * parts <= max(bytes_of(together.tensors[name]) for name in member.near & used):
                found.append(member)
        together.sums = found
        return Marks(chain=number, rows=rows) if together.count > 1 and together.saved >= self.least else None


def _rows(together: RunTogether, ranges: int) -> int:
    """How many rows run at a time: as many as what is read again stays near for."""
    each = together.saved // max(together.count, 1)
    rows = max(1, min(NEAR // max(each, 1), -(-together.count // ranges)))
    return rows - (rows % ROWS if rows > ROWS else 0)
