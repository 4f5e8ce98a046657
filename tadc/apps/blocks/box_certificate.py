"""Why a box is enough, and the least: for each of its sides a read of a place there, and where it is read.

That it is enough is proven when the program of a block is checked: each of its reads is in range of the slice
for all indices and all sizes that a call is let through with. That it is the least is shown by an integer
point of the iteration domain at which the first place of a dimension is read, and one for the last. Of a list
of places, which index arrays tell, each place has such a point, and all points are gone through: what they
read is in the list.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tadc.apps.blocks.block_places import Places
from tadc.apps.blocks.block_plan import BlockTask, StagePlan
from tadc.apps.blocks.block_program import ReadOfBlock
from tadc.toolkit.language import Affine, Constraint, Domain, SearchLimit, equals_zero, find_point


@dataclass(frozen=True)
class Witness:
    """A place at the side of a box, and where it is read.

    `point` has the indices of the reader, and those of its sums; it is None where no read is of that place:
    then the box has more than is read, as the least one over the rationals does.
    """

    tensor: str
    dimension: int
    place: int
    reader: str
    form: str
    point: Mapping[str, int] | None
    #: Whether the place is in the box.
    is_inside: bool = True

    def __str__(self) -> str:
        at = f"dimension {self.dimension} of {self.tensor}, {self.place}"
        if self.point is None:
            return f"{at}: read nowhere"
        where = ", ".join(f"{name} = {value}" for name, value in self.point.items())
        beyond = "" if self.is_inside else ", and it is not in the box"
        return f"{at}: {self.reader} reads it as {self.form}" + (f" at {where}" if where else "") + beyond


def witnesses(stage: StagePlan, task: BlockTask) -> Iterator[Witness]:
    """For each dimension that is divided the first and last place of a block's box, and who reads it.

    Of a list of places it is each place, and each that is read and not in the list.
    """
    program = stage.division
    sizes = stage.sizes_at(task.places)
    for argument in stage.stage.program.arguments:
        name = argument.name
        for d, places in enumerate(task.reads.get(name, ())):
            reads = [r for r in program.reads if (r.tensor, r.dimension) == (name, d)]
            if stage.listed is not None and stage.listed.dims[name][d] is not None:
                if argument.is_index_array:  # It is what tells lists.
                    continue
                yield from _of_list(stage, task, places, reads, Witness(name, d, 0, "", "", None))
            elif program.slices[name][d] is not None and places:
                for place in dict.fromkeys((places[0], places[-1])):
                    yield _witness(name, d, place, reads, sizes)


def _of_list(
    stage: StagePlan, task: BlockTask, places: Places, reads: Sequence[ReadOfBlock], nowhere: Witness
) -> Iterator[Witness]:
    """Who reads each place of a list, and what else is read, of all points at which anything is."""
    sizes = stage.sizes_at(task.places)
    points, between = stage.points(stage.arrays, sizes, {}), stage.lists_between(task)
    found: dict[int, Witness] = {}
    for read in reads:
        forms = (read.form, *(row.form for row in read.where))
        names = dict.fromkeys(n for form in forms for n in sorted(form.variables) if n not in sizes)
        lists = between.get(read.reader, {})
        at = points.points(read.where, names, lists)
        values, first = np.unique(points.value(read.form, at), return_index=True)
        spoken = {name: Affine.var(said) for name, said in read.spoken.items()}
        for place, n in zip(values.tolist(), first, strict=True):
            point = {read.spoken.get(name, name): int(several[n]) for name, several in at.items()}
            text = str(read.form.substitute(spoken))
            found.setdefault(place, replace(nowhere, place=place, reader=read.reader, form=text, point=point))
    for place in places:
        yield found.pop(place, replace(nowhere, place=place))
    yield from (replace(witness, is_inside=False) for witness in found.values())


def _witness(
    tensor: str, dimension: int, place: int, reads: list[ReadOfBlock], sizes: Mapping[str, int]
) -> Witness:
    values = {name: Affine.const(value) for name, value in sizes.items()}
    for read in reads:
        form = read.form.substitute(values)
        point = _point((*_at(read.where, values), equals_zero(form - place)))
        if point is not None:
            shown = {read.spoken.get(name, name): value for name, value in point.items()}
            spoken = {name: Affine.var(said) for name, said in read.spoken.items()}
            return Witness(tensor, dimension, place, read.reader, str(read.form.substitute(spoken)), shown)
    return Witness(tensor, dimension, place, "", "", None)


def _at(rows: Domain, values: Mapping[str, Affine]) -> tuple[Constraint, ...]:
    found = (row.substitute(values) for row in rows)
    return tuple(row for row in found if not (row.form.is_constant and row.holds({})))


def _point(rows: Domain) -> dict[str, int] | None:
    try:
        return find_point(rows)
    except SearchLimit:
        return None
