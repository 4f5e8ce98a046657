"""Stores of one thread of a GPU: values of copies that are consecutive and aligned are stored together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tadc.dialect.mlir import ir
from tadc.lattice.affine import Affine
from tadc.passes.gpu.thread_lanes import ThreadLanes, divisor, run_of
from tadc.passes.maps.tile_values import LANE
from tadc.passes.nest.lockstep import at_copy
from tadc.passes.nest.stores import Elements, TileStores
from tadc.passes.nest.tile import Copy, at


@dataclass
class RunStores(TileStores):
    """Stores that wait for the values of all copies, so that their loads are under way together.

    The values of a run of copies are stored as a vector, all or none of them.
    """

    def add(self, elements: Elements) -> None:
        """Take in the values of the next copies."""
        self.waiting.append(elements)

    def end(self) -> None:
        """Store all values."""
        run = None if self.joins or self.tile.width > 1 else self.run_of_all()
        if run is None:
            super().end()
            return
        groups: dict[tuple[int, ...], list[tuple[Copy, list[Any]]]] = {}
        for copy, values in (element for elements in self.waiting for element in elements):
            key = tuple(n for name, n in copy.items() if name != run)
            groups.setdefault(key, []).append((copy, values))
        for group in groups.values():
            self.store_vectors(sorted(group, key=lambda element: element[0][run]))

    def run_of_all(self) -> str | None:
        """The variable of copies along which all tensors are stored as vectors."""
        buffers = [(buffer, place.forms) for place in self.places for buffer in place.buffers]
        found = {run_of(buffer, forms, self.tile.copies) for buffer, forms in buffers}
        name = found.pop() if len(found) == 1 else None
        return name if name is not None and self.is_whole(name) else None

    def is_whole(self, name: str) -> bool:
        """Whether the first of the copies along a variable is within the map only if all of them are."""
        for row in self.within:
            step = row.form.coefficient(name)
            rest = row.form - Affine.var(name) * step
            if (row.equality and step) or name in rest.variables:
                return False
            if step and (step != -1 or divisor(rest + 1) % self.tile.copies[name]):
                return False
        return True

    def store_vectors(self, run: list[tuple[Copy, list[Any]]]) -> None:
        """Store the values of the copies of a run."""
        first, lanes = run[0][0], ThreadLanes(self.low, len(run))

        def fill(inside: ir.InsertionPoint) -> list[Any]:
            for number, place in enumerate(self.places):
                values = [one[number] for _, one in run]
                type = lanes.type(values[0].type)
                vector = self.low.create("vector.from_elements", [type], values, inside).results[0]
                *others, last = (at(form, first) for form in place.forms)
                for buffer in place.buffers:
                    lanes.store(vector, buffer, [*others, last + Affine.var(LANE)], inside)
            return []

        rows = at_copy(self.within, first)
        if rows:
            self.low.choose(self.low.holds(rows, self.point), [], fill, None, self.point)
        else:
            fill(self.point)
