"""The loops that an index becomes, their kinds and their order: steps that candidates of all machines are."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

from tadc.passes.nest.nest import ON_GPU
from tadc.passes.nest.steps import Bind, BoundKind, Cut, Peel, Reorder, Residues, Split, StageRead, Step, Tail

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


def with_needed_orders(loops: Sequence[str], steps: Sequence[Step]) -> tuple[Step, ...]:
    """Steps for a nest of these loops, outermost first, without orders that it has anyway.

    Loops in lockstep, copies and lanes, are computed inside of all others wherever they stand, but where
    loops are divided on a GPU, or where a loop inside of which something is copied would stand in others.
    An order is for nothing if all loops have another one before parts or blocks are made.
    """
    bound = [step for step in steps if isinstance(step, Bind)]
    is_strict = any(step.kind in ON_GPU for step in bound)
    tile = {i for step in bound if step.kind in ("jam", "lane") and not is_strict for i in step.indices}
    copied = [step.inside for step in steps if isinstance(step, StageRead) and step.inside]

    def as_seen(order: Sequence[str]) -> tuple[list[str], list[set[str]]]:
        """The loops around others, and those around each in which something is copied."""
        around = [set(order[: order.index(name)] if name in order else order) for name in copied]
        return [name for name in order if name not in tile], around

    natural, kept = list(loops), list[Step]()
    for number, step in enumerate(steps):
        match step:
            case Split() | Residues():
                natural = _in_two(natural, step)
            case Cut(outer=outer):
                natural.insert(0, outer)
            case Reorder(indices=indices) if set(indices) <= set(natural):
                if as_seen(natural) == as_seen(indices) or _is_soon_another(natural, steps[number + 1 :]):
                    continue
                natural = list(indices)
            case _:
                pass
        kept.append(step)
    return tuple(kept)


def _in_two(natural: list[str], step: Split | Residues) -> list[str]:
    """The loops after one has become two; an index of a reduction is none of them."""
    if step.index not in natural:
        return natural
    place = natural.index(step.index)
    return [*natural[:place], step.outer, step.inner, *natural[place + 1 :]]


def _is_soon_another(natural: list[str], steps: Sequence[Step]) -> bool:
    """Whether all these loops are put in order again, before an order matters."""
    for step in steps:
        match step:
            case Split(tail="rest" | "again"):
                # Two loops beside each other: what is put outside of them then is outside of each.
                return False
            case Split():
                natural = _in_two(natural, step)
            case Reorder(indices=indices) if set(indices) == set(natural):
                return True
            case Peel() | Residues() | Cut():
                return False
            case _:
                pass
    return False
