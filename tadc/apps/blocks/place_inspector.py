"""Lists the places that blocks read through index arrays, and says where in lists elements stand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tadc.apps.blocks.places_read import PLACE, PlacesRead
from tadc.apps.blocks.program_of_lists import ListedProgram, PlaceNumbers
from tadc.toolkit.language import Affine, Floor, Lookup
from tadc.toolkit.running import Relation, relation

#: Places, or any numbers that index arrays have.
Numbers = NDArray[np.int64]

#: No element of an index array is so large.
INDEX_LIMIT = 2**31


@dataclass
class SortedElements:
    """The elements of an index array in order, each with where it stands, row by row."""

    array: Numbers
    order: Numbers = field(init=False)
    values: Numbers = field(init=False)

    def __post_init__(self) -> None:
        flat = self.array.ravel()
        self.order = np.argsort(flat, kind="stable")
        self.values = flat[self.order]

    def between(self, first: Numbers, last: Numbers) -> tuple[Numbers, ...]:
        """The subscripts of all elements that lie from the first to the last of some pair."""
        starts = np.searchsorted(self.values, first)
        stops = np.searchsorted(self.values, last, side="right")
        return np.unravel_index(self.order[_runs(starts, stops)], self.array.shape)


@dataclass(frozen=True)
class BlockPlaces:
    """Of one block the lists, the index arrays that are made of them, and the sizes that they tell."""

    lists: tuple[Numbers, ...]
    arrays: Mapping[str, Relation]
    sizes: Mapping[str, int]


class PlaceInspector:
    """Looks at the index arrays of one block, at values of its sizes."""

    def __init__(
        self, arrays: Mapping[str, Numbers], sizes: Mapping[str, int], kept: dict[str, SortedElements]
    ) -> None:
        """`kept` gets what is sorted."""
        self.arrays = arrays
        self.sizes = sizes
        self._kept = kept
        self._places: dict[PlacesRead, Numbers] = {}

    def block(self, program: ListedProgram) -> BlockPlaces:
        """All that the program of a block takes beside what is cut out of its arguments."""
        lists = [_united([self.places(read) for read in several]) for several in program.lists]
        for numbers in program.numbers:  # What is nowhere has to be somewhere, though nobody reads it.
            if numbers.into is not None and numbers.missing == "any" and not len(lists[numbers.into]):
                lists[numbers.into] = np.zeros(min(1, self._count(program, numbers)), np.int64)
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
            for d, number in enumerate(program.dims[numbers.of]):
                if number is not None:
                    elements = np.take(elements, lists[number], d)
        if numbers.into is None:
            return elements
        into, wanted = lists[numbers.into], elements + numbers.added
        found = np.searchsorted(into, wanted)
        if numbers.missing == "any":
            return np.minimum(found, max(0, len(into) - 1))
        if numbers.missing == "end" and len(into):
            found[into[np.minimum(found, len(into) - 1)] != wanted] = len(into)
        return found

    def places(self, read: PlacesRead) -> Numbers:
        """The places of a set, in order."""
        if read not in self._places:
            self._places[read] = self._listed(read)
        return self._places[read]

    def _listed(self, read: PlacesRead) -> Numbers:
        point = self._points(read)
        size = next((len(values) for values in point.values()), 1)
        holds = np.ones(size, bool)
        lows: list[Any] = []
        highs: list[Any] = []
        for row in read.rows:
            k = 0 if PLACE in point else row.form.coefficient(PLACE)
            if not k:
                value = self._value(row.form, point)
                holds &= (value == 0) if row.equality else (value >= 0)
                continue
            for form in row.inequalities:
                k = form.coefficient(PLACE)
                rest = self._value(form - Affine.var(PLACE) * k, point)
                (lows if k > 0 else highs).append(-(rest // k) if k > 0 else rest // -k)
        for form, others in read.among:
            if form.variable is None:
                holds &= np.isin(self._value(form, point), self.places(others))
        if PLACE in point:
            return np.unique(point[PLACE][holds])
        first = np.broadcast_to(np.maximum.reduce(np.broadcast_arrays(*lows)), size)
        last = np.broadcast_to(np.minimum.reduce(np.broadcast_arrays(*highs)), size)
        return np.unique(_runs(first[holds], last[holds] + 1))

    def _points(self, read: PlacesRead) -> dict[str, Numbers]:
        """Values of the variables of a set, one beside the other: all that may be, and some more."""
        atoms = [a for form in _forms(read) for a in form.lookups()]
        inside = {name for atom in atoms for form in atom.at for name in form.variables}
        wanted = [name for name in (*read.inner, PLACE) if name in inside or name != PLACE]
        ranges = {form.variable: self.places(p) for form, p in read.among if form.variable is not None}
        point = self._sorted_points(read, [name for name in wanted if name not in ranges])
        for name in wanted:
            if name in point:
                continue
            own = ranges[name] if name in ranges else self._range(name, read, atoms)
            size = next((len(values) for values in point.values()), 1)
            point = {other: np.repeat(values, len(own)) for other, values in point.items()}
            point[name] = np.tile(own, size)
        return point

    def _sorted_points(self, read: PlacesRead, wanted: Sequence[str]) -> dict[str, Numbers]:
        """Those of variables that are the subscripts of an index array of which rows bound the elements."""
        for form, others in read.among:
            if (atom := form.lookup) is not None and (names := _subscripts(atom, wanted)):
                found = self.places(others)
                return dict(zip(names, self._sorted(atom.array).between(found, found), strict=True))
        for atom in dict.fromkeys(a for form in _forms(read) for a, _ in form.terms if isinstance(a, Lookup)):
            names = _subscripts(atom, wanted)
            sides = [side for row in read.rows for side in row.inequalities if side.coefficient(atom)]
            lows: list[int] = []
            highs: list[int] = []
            for side in sides:
                k = side.coefficient(atom)
                rest = side - Affine.atom(atom) * k
                if rest.variables <= self.sizes.keys() and not rest.has_lookups:
                    value = int(self._value(rest, {}))
                    (lows if k > 0 else highs).append(-(value // k) if k > 0 else value // -k)
            if names and lows and highs:
                first, last = np.array([max(lows)]), np.array([min(highs)])
                return dict(zip(names, self._sorted(atom.array).between(first, last), strict=True))
        return {}

    def _sorted(self, name: str) -> SortedElements:
        if name not in self._kept:
            self._kept[name] = SortedElements(self.arrays[name])
        return self._kept[name]

    def _range(self, name: str, read: PlacesRead, atoms: Iterable[Lookup]) -> Numbers:
        """All that a variable may be, by rows that have no other and by the shapes of index arrays."""
        low, high = 0, None
        for row in read.rows:
            for form in row.inequalities:
                k = form.coefficient(name)
                rest = form - Affine.var(name) * k
                if k and rest.variables <= self.sizes.keys() and not rest.has_lookups:
                    value = int(self._value(rest, {}))
                    if k > 0:
                        low = max(low, -(value // k))
                    else:
                        high = value // -k if high is None else min(high, value // -k)
        for atom in atoms:
            for size, form in zip(self.arrays[atom.array].shape, atom.at, strict=True):
                if form.variable == name:
                    high = size - 1 if high is None else min(high, size - 1)
        assert high is not None
        return np.arange(low, max(low, high + 1))

    def _value(self, form: Affine, point: Mapping[str, Numbers]) -> Any:
        total: Any = np.int64(form.constant)
        for atom, k in form.terms:
            if isinstance(atom, Lookup):
                array = self.arrays[atom.array]
                at = [self._value(part, point) for part in atom.at]
                limits = zip(at, array.shape, strict=True)
                inside = tuple(np.clip(n, 0, max(0, size - 1)) for n, size in limits)
                value = array[inside] if array.size else np.zeros(np.broadcast(*at).shape, np.int64)
            elif isinstance(atom, Floor):
                value = self._value(atom.numerator, point) // atom.denominator
            else:
                value = point[atom] if atom in point else self.sizes[atom]
            total = total + k * value
        return total


def _forms(read: PlacesRead) -> list[Affine]:
    return [*(row.form for row in read.rows), *(form for form, _ in read.among)]


def _subscripts(atom: Lookup, wanted: Sequence[str]) -> list[str]:
    """The variables that an element of an index array stands at, where each is alone; else none."""
    names = [form.variable for form in atom.at]
    found = [name for name in names if name is not None and name in wanted]
    return found if len(set(found)) == len(names) else []


def _united(several: Sequence[Numbers]) -> Numbers:
    return several[0] if len(several) == 1 else np.unique(np.concatenate(several))


def _runs(starts: Numbers, stops: Numbers) -> Numbers:
    """All numbers from each start up to its stop."""
    lengths = np.maximum(0, stops - starts)
    before = np.cumsum(lengths) - lengths
    return np.arange(int(lengths.sum())) + np.repeat(starts - before, lengths)
