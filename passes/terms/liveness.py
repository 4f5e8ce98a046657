"""Which definitions a program needs."""

from __future__ import annotations

from collections.abc import Sequence

from tadc.frontend.program import Definition
from tadc.frontend.terms import tensors_read


def needed(definitions: Sequence[Definition]) -> tuple[Definition, ...]:
    """The definitions that are returned, or read by one that is needed, in order."""
    kept: list[Definition] = []
    wanted: set[str] = set()
    for definition in reversed(definitions):
        if definition.is_output or definition.name in wanted:
            kept.append(definition)
            wanted |= tensors_read([definition.body])
    return tuple(kept[::-1])
