"""The integer points of domains with index arrays, by NumPy: all at once, an array for each variable.

Variables get values one after the other, the one first that adds the fewest points. What tells them: rows
that bound a variable, a list of places that it takes, elements of an index array between bounds, and
bounds of elements that do not fall, which are bounds of where these stand.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tadc.toolkit.language import Affine, Constraint, Floor, Lookup

#: Places, or any numbers that index arrays have.
Numbers = NDArray[np.int64]

#: Of each variable the values, one beside the other.
Points = Mapping[str, Numbers]


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


@dataclass(frozen=True)
class _ValueRuns:
    """How variables go on from each point: positions from a start up to a stop, and what these stand for."""

    starts: Numbers
    stops: Numbers
    values: Callable[[Numbers], dict[str, Numbers]]

    @property
    def count(self) -> int:
        return int(np.maximum(0, self.stops - self.starts).sum())


@dataclass
class DomainPoints:
    """Index arrays and sizes, and the points of domains of these. `kept` gets what is sorted."""

    arrays: Mapping[str, Numbers]
    sizes: Mapping[str, int]
    increasing: Collection[str]
    kept: dict[str, SortedElements]

    def points(
        self,
        rows: Iterable[Constraint],
        names: Collection[str],
        lists: Mapping[str, Numbers] | None = None,
        outer: Points | None = None,
    ) -> Points:
        """All points of variables at which rows hold, and variables that have a list take places of it.

        Rows bound them, and have these variables, sizes, and those that each of the `outer` points has.
        """
        return _PointSearch(self, list(rows), dict.fromkeys(names), dict(lists or {}), outer or {}).points()

    def sorted(self, name: str) -> SortedElements:
        """The elements of an index array in order."""
        if name not in self.kept:
            self.kept[name] = SortedElements(self.arrays[name])
        return self.kept[name]

    def value(self, form: Affine, point: Points) -> Any:
        """What a form is at points; elements that no array has are others of it."""
        total: Any = np.int64(form.constant)
        for atom, k in form.terms:
            if isinstance(atom, Lookup):
                array = self.arrays[atom.array]
                at = [self.value(part, point) for part in atom.at]
                limits = zip(at, array.shape, strict=True)
                inside = tuple(np.clip(n, 0, max(0, size - 1)) for n, size in limits)
                value = array[inside] if array.size else np.zeros(np.broadcast(*at).shape, np.int64)
            elif isinstance(atom, Floor):
                value = self.value(atom.numerator, point) // atom.denominator
            else:
                value = point[atom] if atom in point else self.sizes[atom]
            total = total + k * value
        return total

    def holds(self, row: Constraint, point: Points) -> Any:
        """Whether a row holds at points."""
        value = self.value(row.form, point)
        return (value == 0) if row.equality else (value >= 0)


class _PointSearch:
    """The points of one domain, variable by variable."""

    def __init__(
        self,
        of: DomainPoints,
        rows: list[Constraint],
        names: dict[str, None],
        lists: dict[str, Numbers],
        outer: Points,
    ) -> None:
        self.of = of
        self.rows = rows
        self.left = names
        self.lists = lists
        self.known = {*of.sizes, *outer}
        self.count = len(next(iter(outer.values()), (None,)))
        self.point: dict[str, Numbers] = {**outer}

    def points(self) -> Points:
        self._sift()
        while self.left:
            ways = [way for name in self.left for way in self._ways(name)]
            best = min(ways, key=lambda way: way.count)
            lengths = np.maximum(0, best.stops - best.starts)
            found = best.values(runs(best.starts, best.stops))
            self.point = {name: np.repeat(values, lengths) for name, values in self.point.items()} | found
            self.count = int(lengths.sum())
            for name in found:
                del self.left[name]
            self.known |= found.keys()
            self._sift()
        return self.point

    def _sift(self) -> None:
        """Leave out points at which rows do not hold, and those that are in no list."""
        told = [row for row in self.rows if row.form.variables <= self.known]
        self.rows = [row for row in self.rows if row not in told]
        holds = np.ones(self.count, bool)
        for name in self.lists.keys() & self.point.keys():
            holds &= np.isin(self.point[name], self.lists.pop(name))
        for row in told:
            holds &= self.of.holds(row, self.point)
        if not holds.all():
            self.point = {name: values[holds] for name, values in self.point.items()}
            self.count = int(np.count_nonzero(holds))

    def _ways(self, name: str) -> Iterator[_ValueRuns]:
        lows, highs = self._bounds(name, [form for row in self.rows for form in row.inequalities])
        listed = self.lists.get(name)
        if listed is not None:
            starts = np.searchsorted(listed, self._most(lows)) if lows else self._all(0)
            stops = np.searchsorted(listed, -self._most([-h for h in highs]), "right") if highs else None
            stops = self._all(len(listed)) if stops is None else stops
            yield _ValueRuns(starts, stops, lambda at: {name: listed[at]})
        elif lows and highs:
            stops = 1 - self._most([-high for high in highs])
            yield _ValueRuns(self._most(lows), stops, lambda at: {name: at})
        for atom in self._atoms():
            names = [form.variable for form in atom.at]
            if names[:1] == [name] and self.left.keys() >= {*names} and len({*names}) == len(names):
                yield from self._elements(atom, [n for n in names if n is not None])

    def _elements(self, atom: Lookup, names: Sequence[str]) -> Iterator[_ValueRuns]:
        """Where elements of an index array stand that lie between bounds."""
        lows: list[Any] = []
        highs: list[Any] = []
        for form in (form for row in self.rows for form in row.inequalities):
            self._add_bound(Affine.atom(atom), form.coefficient(atom), form, lows, highs)
        if lows and highs:
            elements = self.of.sorted(atom.array)
            starts = np.searchsorted(elements.values, self._most(lows))
            stops = np.searchsorted(elements.values, -self._most([-h for h in highs]), "right")

            def values(at: Numbers) -> dict[str, Numbers]:
                shape = self.of.arrays[atom.array].shape
                return dict(zip(names, np.unravel_index(elements.order[at], shape), strict=True))

            yield _ValueRuns(starts, stops, values)

    def _bounds(self, name: str, forms: Sequence[Affine]) -> tuple[list[Any], list[Any]]:
        """What a variable is at least, and at most, by rows and by where elements of index arrays stand."""
        lows: list[Any] = []
        highs: list[Any] = []
        own = Affine.var(name)
        for form in forms:
            self._add_bound(own, form.coefficient(name), form, lows, highs)
            for atom, k in form.terms:
                if isinstance(atom, Lookup) and atom.array in self.of.increasing and len(atom.at) == 1:
                    self._add_places(own, atom, k, form, lows, highs)
        for atom in self._atoms():
            for at, size in zip(atom.at, self.of.arrays[atom.array].shape, strict=True):
                self._add_bound(own, at.coefficient(name), at, lows, highs)
                self._add_bound(own, -at.coefficient(name), Affine.const(size - 1) - at, lows, highs)
        return lows, highs

    def _add_bound(self, own: Affine, k: int, form: Affine, lows: list[Any], highs: list[Any]) -> None:
        """What `form >= 0` says of an atom that has a factor there."""
        rest = form - own * k
        if k and rest.variables <= self.known:
            value = self.of.value(rest, self.point)
            (lows if k > 0 else highs).append(-(value // k) if k > 0 else value // -k)

    def _add_places(
        self, own: Affine, atom: Lookup, k: int, form: Affine, lows: list[Any], highs: list[Any]
    ) -> None:
        """What `form >= 0` says of where an element stands in an array whose elements do not fall."""
        behind, array = atom.at[0] - own, self.of.arrays[atom.array]
        found: tuple[list[Any], list[Any]] = [], []
        self._add_bound(Affine.atom(atom), k, form, *found)
        if behind.variables <= self.known:
            offset = self.of.value(behind, self.point)
            lows += [np.searchsorted(array, value) - offset for value in found[0]]
            highs += [np.searchsorted(array, value, "right") - 1 - offset for value in found[1]]

    def _atoms(self) -> list[Lookup]:
        return list(dict.fromkeys(atom for row in self.rows for atom in row.form.lookups()))

    def _most(self, several: Sequence[Any]) -> Numbers:
        found = several[0]
        for other in several[1:]:
            found = np.maximum(found, other)
        return np.broadcast_to(found, self.count)

    def _all(self, value: int) -> Numbers:
        return np.full(self.count, value)


def runs(starts: Numbers, stops: Numbers) -> Numbers:
    """All numbers from each start up to its stop."""
    lengths = np.maximum(0, stops - starts)
    before = np.cumsum(lengths) - lengths
    return np.arange(int(lengths.sum())) + np.repeat(starts - before, lengths)
