"""Reads and stores whose elements are side by side along a few copies, or a few steps of a reduction, where
lanes are far apart: vectors of them are transposed in registers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tadc.lattice.affine import Affine
from tadc.passes.maps.closest_bounds import counted_from
from tadc.passes.maps.map import Ask, Block, Choice, Fold, Load
from tadc.passes.nest.squares import FEWEST, TOGETHER, are_side_by_side, is_transposable
from tadc.passes.schedule.candidate import Candidate


def transposed_reads(
    block: Block, tiling: Candidate, factors: Mapping[str, int]
) -> Iterator[tuple[str, str]]:
    """The reads of a block that are transposed, each with the index along which its elements are.

    An index in groups is so many times the number of its group, by `factors`.
    """
    if is_transposable(tiling.width):
        yield from _reads(block, (), tiling, factors)


def _reads(
    block: Block, steps: Sequence[str], tiling: Candidate, factors: Mapping[str, int]
) -> Iterator[tuple[str, str]]:
    for let in block.lets:
        match let.value:
            case Load(at=forms):
                index = beside(forms, tiling, factors, steps)
                if index is not None:
                    yield let.names[0], index
            case Choice(then=then, otherwise=otherwise):
                yield from _reads(then, (), tiling, factors)
                yield from _reads(otherwise, (), tiling, factors)
            case Fold() as fold:
                yield from _reads(fold.body, _few_steps(fold), tiling, factors)
            case _:
                pass


def _few_steps(fold: Fold) -> tuple[str, ...]:
    """The innermost index of a reduction, where its steps are as few as a short vector has elements."""
    counted = counted_from(fold.indices[-1], fold.rows)
    asks = any(isinstance(let.value, Ask) for let in fold.body.lets)
    count = counted[1] if counted is not None else None
    return fold.indices[-1:] if count and FEWEST <= count <= TOGETHER and not asks else ()


def beside(
    forms: Sequence[Affine], tiling: Candidate, factors: Mapping[str, int], steps: Sequence[str] = ()
) -> str | None:
    """The index of a few copies, or of a few `steps`, along which the elements of these subscripts are."""
    lanes = tiling.lane or None
    if lanes is None:
        return None
    groups = {name: Affine.var(name) * factor for name, factor in factors.items() if factor > 1}
    places = [form.substitute(groups) for form in forms]
    few = (name for name, count in tiling.blocks.items() if count >= FEWEST and name != lanes)
    return next((name for name in (*few, *steps) if are_side_by_side(places, name, lanes)), None)
