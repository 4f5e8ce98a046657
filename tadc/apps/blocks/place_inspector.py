"""Lists the places that blocks read through index arrays, and says where in lists elements stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tadc.apps.blocks.domain_points import DomainPoints, Numbers
from tadc.apps.blocks.places_read import PLACE, PlacesRead
from tadc.apps.blocks.program_of_lists import ListedProgram, PlaceNumbers
from tadc.toolkit.language import Affine, equals_zero
from tadc.toolkit.running import Relation, relation

#: No element of an index array is so large.
INDEX_LIMIT = 2**31


@dataclass(frozen=True)
class BlockPlaces:
    """Of one block the lists, the index arrays that are made of them, and the sizes that they tell."""

    lists: tuple[Numbers, ...]
    arrays: Mapping[str, Relation]
    sizes: Mapping[str, int]


class PlaceInspector:
    """Looks at the index arrays of one block, at values of its sizes."""

    def __init__(self, points: DomainPoints) -> None:
        self.points = points
        self.arrays, self.sizes = points.arrays, points.sizes
        self._places: dict[PlacesRead, Numbers] = {}

    def block(self, program: ListedProgram) -> BlockPlaces:
        """All that the program of a block takes beside what is cut out of its arguments."""
        lists = [_united([self.places(read) for read in several]) for several in program.lists]
        for numbers in program.numbers:  # What is nowhere has to be somewhere, though nobody reads it.
            if numbers.into is not None and numbers.missing == "any" and not len(lists[numbers.into]):
                some = 1 + numbers.span.evaluate(self.sizes)
                lists[numbers.into] = np.arange(some * min(1, self._count(program, numbers)))
        lengths = zip(program.lengths, lists, strict=True)
        sizes = {form.variable: len(found) for form, found in lengths if form.variable}
        for name, (number, reach) in program.skipped.items():
            first = reach.at(self.sizes).start
            sizes[name] = first - int(np.searchsorted(lists[number], first))
        arrays = {n.name: relation(self._numbers(program, n, lists), INDEX_LIMIT) for n in program.numbers}
        return BlockPlaces(tuple(lists), arrays, sizes)

    def _count(self, program: ListedProgram, numbers: PlaceNumbers) -> int:
        return self.arrays[numbers.of].size if isinstance(numbers.of, str) else 1

    def _numbers(self, program: ListedProgram, numbers: PlaceNumbers, lists: Sequence[Numbers]) -> Numbers:
        if isinstance(numbers.of, int):
            elements = lists[numbers.of]
        else:
            elements = self.arrays[numbers.of]
            for d, number in enumerate(numbers.at):
                if number is not None:
                    elements = np.take(elements, lists[number], d)
            if numbers.rows is not None:
                rows = lists[numbers.rows]
                behind = rows[-1] + 1 if len(rows) else 0
                elements = np.take(elements, np.append(rows, behind), mode="clip")
        if numbers.into is None:
            return elements
        into = lists[numbers.into]
        wanted = elements.astype(np.int64) * numbers.factor + numbers.added.evaluate(self.sizes)
        found = np.searchsorted(into, wanted)
        if numbers.missing == "any":
            return np.minimum(found, max(0, len(into) - 1 - numbers.span.evaluate(self.sizes)))
        if numbers.missing == "end" and len(into):
            found[into[np.minimum(found, len(into) - 1)] != wanted] = len(into)
        return found

    def places(self, read: PlacesRead) -> Numbers:
        """The places of a set, in order."""
        if read not in self._places:
            rows = list(read.rows)
            lists: dict[str, Numbers] = {}
            for n, (form, others) in enumerate(read.among):
                name = form.variable or f"?among{n}"
                if form.variable is None:
                    rows.append(equals_zero(form - Affine.var(name)))
                own = self.places(others)
                lists[name] = np.intersect1d(lists[name], own) if name in lists else own
            found = self.points.points(rows, (*lists, *read.inner, PLACE), lists)
            self._places[read] = np.unique(found[PLACE])
        return self._places[read]


def _united(several: Sequence[Numbers]) -> Numbers:
    return several[0] if len(several) == 1 else np.unique(np.concatenate(several))
