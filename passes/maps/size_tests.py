"""What must hold of sizes for a kernel to be the one that runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tadc.lattice.affine import Affine, Constraint
from tadc.lattice.late_dataclasses import dataclass

if TYPE_CHECKING:
    from tadc.frontend.terms import Domain


@dataclass(frozen=True)
class SizeTest:
    """The product of extents, forms over the sizes, is from `least` to `most`; None is no bound."""

    extents: tuple[Affine, ...]
    least: int = 0
    most: int | None = None

    def holds(self, sizes: Sequence[int]) -> bool:
        """Whether it does for sizes of the function, `s0, s1, …`, in order."""
        value = product_at(self.extents, sizes)
        return self.least <= value and (self.most is None or value <= self.most)

    def rows(self) -> Domain:
        """What it says of a single extent; nothing of products."""
        if len(self.extents) != 1:
            return ()
        (form,), most = self.extents, self.most
        if most is None:
            return (Constraint(form - self.least),)
        if most == self.least:
            return (Constraint(form - most, equality=True),)
        return Constraint(form - self.least), Constraint(most - form)

    def over(self, names: Mapping[str, Affine]) -> SizeTest:
        """The condition over other sizes."""
        return SizeTest(tuple(form.substitute(names) for form in self.extents), self.least, self.most)


def product_at(extents: Sequence[Affine], sizes: Sequence[int]) -> int:
    """The product of extents, 0 where one is below 1."""
    point = {f"s{n}": size for n, size in enumerate(sizes)}
    return math.prod(max(extent.evaluate(point), 0) for extent in extents)
