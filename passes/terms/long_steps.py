"""Recurrences of so many bytes that what reads their steps is worth computing along with them."""

from __future__ import annotations

from tadc.passes.terms.costs import LINE, SECOND

LEAST_ROW = 4 * LINE
"""Steps of fewer bytes are loops of a few elements, which keep them in registers from step to step."""

LEAST_SWEPT = SECOND // 2
"""Steps that take fewer bytes in all stay in the second-level cache, where maps run one after the other."""

LARGE_BYTES = 32 * SECOND
"""Steps that take so many bytes in all are in no cache. Threads divide the batch of a recurrence, not where
other maps run along with it: that has to be worth so much."""


def is_worth_running_along(row: int | None, total: int | None, has_batch: bool) -> bool:
    """Whether maps should run along with a recurrence for windows, of these bytes in a step and in all, None
    where sizes are not known: for a batch they are to be known to be large."""
    if row is not None and row < LEAST_ROW:
        return False
    if has_batch:
        return (total or 0) >= LARGE_BYTES
    return total is None or total >= LEAST_SWEPT
