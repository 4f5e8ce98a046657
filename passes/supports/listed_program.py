"""A program whose tensors become lists of entries: its terms, and the index arrays that are added to it."""

from __future__ import annotations

from tadc.frontend.dtypes import INDEX_TYPE
from tadc.frontend.extents import as_form, extent
from tadc.frontend.program import Argument, Inspected, Program
from tadc.lattice.late_dataclasses import dataclass, field, replace
from tadc.passes.supports.entry_listing import ListedSide, Pairs
from tadc.passes.supports.joined_places import pair_arrays
from tadc.passes.terms.algebra import Algebra
from tadc.passes.terms.names import Names


class NotListed(Exception):
    """A Jacobian whose entries cannot be listed; the text says why."""


@dataclass
class Listed:
    """The program, whose sizes grow, with names that are free in it."""

    program: Program
    owners: dict[str, Argument] = field(default_factory=dict[str, Argument])
    pairs: dict[tuple[ListedSide, ListedSide], Pairs] = field(
        default_factory=dict[tuple[ListedSide, ListedSide], Pairs]
    )

    def __post_init__(self) -> None:
        self.terms, self.algebra = self.program.terms, Algebra(self.program.terms)
        self.names = Names(self.program)

    def arguments(self) -> tuple[Argument, ...]:
        """The arguments of the program, and what is added."""
        joined = [argument for pairs in self.pairs.values() for argument in pair_arrays(pairs)]
        # A kernel takes what is made of other index arrays after all that is passed.
        return (*self.program.arguments, *joined, *self.owners.values())

    def paired(self, sides: tuple[ListedSide, ListedSide]) -> Pairs:
        """The index arrays of the pairs of two sides, whose number is one more size."""
        if sides not in self.pairs:
            count = self.names.free("pairs")
            names = tuple(self.names.free("pair") for side in sides for _ in side.shape)
            self.pairs[sides] = Pairs(count, sides, names)
            self.program = replace(self.program, sizes=(*self.program.sizes, count))
        return self.pairs[sides]

    def owner(self, starts: str) -> Argument | None:
        """The index array of the owners in an increasing one."""
        argument = self.program.index_arrays().get(starts)
        if argument is None or not argument.increasing or argument.below is None:
            return None
        if starts not in self.owners:
            count, rows = extent(as_form(argument.below) - 1), extent(as_form(argument.shape[0]))
            about = Inspected("owner", (starts,))
            self.owners[starts] = Argument(
                f"{starts}.owner", INDEX_TYPE, (count,), below=rows, inspected=about
            )
        return self.owners[starts]
