"""Stores of one thread of a GPU: values of copies that are consecutive and aligned are stored together."""

from __future__ import annotations

from collections.abc import Sequence

from tadc.dialect.mlir import ir
from tadc.lattice.affine import Affine
from tadc.lattice.late_dataclasses import dataclass, replace
from tadc.passes.gpu.thread_lanes import divisor, run_of
from tadc.passes.nest.lockstep import at_copy
from tadc.passes.nest.stores import Elements, StorePlace, TileStores
from tadc.passes.nest.tile import LANE, Copy, at


@dataclass
class RunStores(TileStores):
    """Stores that wait for the values of all copies, so that their loads are under way together.

    The values of a run of copies are stored as a vector, all or none of them.
    """

    def add(self, elements: Elements) -> None:
        """Take in the values of the next copies."""
        self.waiting.append(elements)

    def end(self) -> None:
        """Store all values, tensor after tensor: then the code that makes them is not moved to a store."""
        if self.joins:
            super().end()
            return
        for number, place in enumerate(self.places):
            run, groups = self.run_of_all(place), dict[tuple[int, ...], list[tuple[Copy, ir.Value]]]()
            for copy, values in (element for elements in self.waiting for element in elements):
                key = tuple(n for name, n in copy.items() if name != run)
                groups.setdefault(key, []).append((copy, values[number]))
            for group in groups.values():
                self.store_group(place, sorted(group, key=lambda element: element[0][run] if run else 0))

    def run_of_all(self, place: StorePlace) -> str | None:
        """The variable of copies along which a tensor is stored as vectors, in all of its buffers."""
        if self.tile.width > 1:
            return None
        found = {run_of(buffer, place.forms, self.tile.copies) for buffer in place.buffers}
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

    def store_group(self, place: StorePlace, group: Sequence[tuple[Copy, ir.Value]]) -> None:
        """Store the value of a copy, or those of a run as a vector, where they are within the map."""
        (first, value), *others = group
        forms = [at(form, first) for form in place.forms]

        def fill(inside: ir.InsertionPoint) -> list[ir.Value]:
            lanes, stored, there = self.lanes, value, forms
            if others:
                lanes, there = replace(lanes, width=len(group)), [*forms[:-1], forms[-1] + Affine.var(LANE)]
                values, type = [value for _, value in group], lanes.type(value.type)
                stored = self.low.create("vector.from_elements", [type], values, inside).results[0]
            for buffer in place.buffers:
                lanes.store(stored, buffer, there, inside)
            return []

        rows = at_copy(self.within, first)
        if rows:
            self.low.choose(self.low.holds(rows, self.point), [], fill, None, self.point)
        else:
            fill(self.point)
