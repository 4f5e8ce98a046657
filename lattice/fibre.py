"""Fibres of index arrays: a level of a domain, beside its rows.

    ptr[b] <= q < ptr[b + 1]

says that q runs over fibre b: over what is between two neighbours in an array, as over the entries of row b
of a sparse matrix. A domain has two rows for it, which bound loops as any others do. That they are one thing
is asked here: no other module compares elements of an array with those behind them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from tadc.lattice.affine import ZERO, Affine, Constraint, Lookup
from tadc.lattice.late_dataclasses import dataclass, replace


def following(element: Lookup) -> Lookup:
    """The next element in the last dimension of its array."""
    return replace(element, at=(*element.at[:-1], element.at[-1] + 1))


@dataclass(frozen=True)
class Fibre:
    """`start <= place < stop`, elements of index arrays; `rows` say it, and no more if `exactly`."""

    place: Affine
    start: Lookup
    stop: Lookup
    rows: tuple[Constraint, Constraint]
    exactly: bool = True

    @staticmethod
    def between(place: Affine, start: Lookup, stop: Lookup) -> Fibre:
        """What a place is in from one element up to another."""
        low = Constraint(place - Affine.atom(start))
        return Fibre(place, start, stop, (low, Constraint(Affine.atom(stop) - 1 - place)))

    @staticmethod
    def at(place: Affine, start: Lookup) -> Fibre:
        """What a place is in from one element up to the next one."""
        return Fibre.between(place, start, following(start))

    @property
    def array(self) -> str:
        """The array that says where it begins."""
        return self.start.array

    @property
    def values(self) -> tuple[Affine, ...]:
        """Which one it is of its array."""
        return self.start.at

    @property
    def owner(self) -> Lookup | None:
        """The element at the place itself that says in which one this is, if one does."""
        found = self.values[0].lookup if len(self.values) == 1 else None
        return found if found is not None and found.at == (self.place,) else None

    @property
    def is_one(self) -> bool:
        """Whether it is from one element of an array up to the next, so one fibre or a part of it."""
        return self.array == self.stop.array and self.ends_one_behind

    @property
    def ends_one_behind(self) -> bool:
        """Whether it ends at the place behind that where it begins, of the same array or another: what is
        left of a fibre after some parts may begin at an element of an array of its own."""
        return bool(self.values) and self.stop.at == following(self.start).at

    @property
    def some(self) -> Constraint:
        """That it is not empty."""
        return Constraint(Affine.atom(self.stop) - Affine.atom(self.start) - 1)

    def is_all(self, rows: Iterable[Constraint]) -> bool:
        """Whether rows say this and nothing else."""
        return self.exactly and set(rows) == set(self.rows)


def ranges_in(rows: Iterable[Constraint]) -> Iterator[Fibre]:
    """What is from one element of an index array up to another, or a part of that.

    `k * start <= e` and `e < k * stop` say it of `e // k`.
    """
    bounds = [
        (row, atom, k)
        for row in rows
        if not row.equality
        for atom, k in row.form.terms
        if isinstance(atom, Lookup)
    ]
    for low, start, k in bounds:
        if k > 0:
            continue
        value = low.form - Affine.atom(start) * k
        for high, stop, factor in bounds:
            fewer = value + high.form - Affine.atom(stop) * factor + 1
            if factor == -k and fewer.is_constant and fewer.constant <= 0:
                # Of what is between, what a row begins or ends with.
                shown = value if value.constant == 0 else value - fewer
                yield Fibre(shown.floordiv(-k), start, stop, (low, high), not fewer.constant)


def fibres_in(rows: Iterable[Constraint], arrays: Collection[str] | None = None) -> Iterator[Fibre]:
    """The fibres, or parts of fibres, of all index arrays or of some."""
    return (found for found in ranges_in(rows) if found.is_one and (arrays is None or found.array in arrays))


def fibre_of(index: str, rows: Iterable[Constraint]) -> Fibre | None:
    """The fibre that an index runs over, or a part of; None where it runs over none."""
    return next((found for found in over(index, rows) if found.is_one), None)


def over(index: str, rows: Iterable[Constraint]) -> Iterator[Fibre]:
    """What an index runs over from one element up to another, or a part of that."""
    place = Affine.var(index)
    for found in ranges_in(rows):
        if found.place - found.place.constant == place:
            yield replace(found, place=place, exactly=found.exactly and found.place == place)


def rises(row: Constraint) -> Lookup | None:
    """The element that one behind is more than, if a row says so: that a fibre is not empty."""
    for start, k in row.form.terms:
        if isinstance(start, Lookup) and start.at and k == -1 and row == Fibre.at(ZERO, start).some:
            return start
    return None
