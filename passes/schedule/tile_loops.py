"""The loops that an index becomes, and their kinds: the steps that candidates of all machines are made of."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

from tadc.passes.nest.steps import Bind, BoundKind, Reorder, Split, Step, Tail

#: What a loop becomes; one that stays as it is has none.
Kind = BoundKind | Literal[""]

#: Of a tile the loops, outermost first: their kinds and how many values they have.
Within = Sequence[tuple[Kind, int]]

#: Loops with their kinds.
Loops = list[tuple[Kind, str]]

OUTWARD: tuple[Kind, ...] = ("", "grid", "block", "thread", "jam", "lane")
"""In this order loops stand, outermost first."""


def divided(
    part: Callable[[str], str], index: str, outer: Kind, inner: Within, tail: Tail, loop: str = ""
) -> tuple[list[Split], Loops]:
    """The splits of a loop of an index into one over tiles and those in a tile, of so many values each, and
    all that it becomes; `part` makes names. Those of one value there are not."""
    inner = [(kind, count) for kind, count in inner if count > 1]
    splits, found, kind, rest = list[Split](), Loops(), outer, loop or index
    for number, (within, _) in enumerate(inner):
        around, inside = part(index), part(index)
        size = math.prod(count for _, count in inner[number:])
        splits.append(Split(rest, size, "exact" if number else tail, around, inside))
        found.append((kind, around))
        kind, rest = within, inside
    return splits, [*found, (kind, rest)]


def in_order(loops: Loops) -> tuple[Step, ...]:
    """Loops in the order of their kinds, which they get."""
    by_kind: list[tuple[Kind, tuple[str, ...]]] = [
        (kind, tuple(name for one, name in loops if one == kind)) for kind in OUTWARD
    ]
    order = tuple(name for _, names in by_kind for name in names)
    bound = (Bind(kind, names) for kind, names in by_kind if kind and names)
    return (*([Reorder(order)] if order else []), *bound)
