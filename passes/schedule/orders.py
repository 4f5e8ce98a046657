"""Which orders of loops a schedule has to name, of those that a planner wants."""

from __future__ import annotations

from collections.abc import Sequence

from tadc.passes.nest.nest import ON_GPU
from tadc.passes.nest.steps import Bind, Cut, Peel, Reorder, Residues, Split, StageRead, Step


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
