"""Why a box is enough, and the least: for each of its sides a read of a place there, and where it is read.

That it is enough is proven when the program of a block is checked: each of its reads is in range of the slice
for all indices and all sizes that a call is let through with. That it is the least is shown by an integer
point of the iteration domain at which the first place of a dimension is read, and one for the last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

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

    def __str__(self) -> str:
        at = f"dimension {self.dimension} of {self.tensor}, {self.place}"
        if self.point is None:
            return f"{at}: read nowhere"
        where = ", ".join(f"{name} = {value}" for name, value in self.point.items())
        return f"{at}: {self.reader} reads it as {self.form}" + (f" at {where}" if where else "")


def witnesses(stage: StagePlan, task: BlockTask) -> Iterator[Witness]:
    """For each dimension that is divided the first and last place of a block's box, and who reads it.

    Of a list of places there is none: it has those alone that elements of index arrays name.
    """
    program = stage.division
    sizes = stage.sizes_at(task.places)
    for argument in stage.stage.program.arguments:
        if argument.name not in task.reads or stage.has_lists(argument.name):
            continue
        for d, (part, places) in enumerate(
            zip(program.slices[argument.name], task.reads[argument.name], strict=True)
        ):
            if part is None or not places:
                continue
            reads = [r for r in program.reads if (r.tensor, r.dimension) == (argument.name, d)]
            for place in dict.fromkeys((places[0], places[-1])):
                yield _witness(argument.name, d, place, reads, sizes)


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
