"""Lists of the entries of tensors: of which elements there is one at each place, also as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tadc.lattice.affine import Affine, Constraint
from tadc.lattice.form_json import Json, form_json, form_of
from tadc.lattice.late_dataclasses import dataclass

if TYPE_CHECKING:
    from tadc.frontend.extents import Extent, Shape
    from tadc.frontend.terms import Domain


@dataclass(frozen=True)
class Entries:
    """A list of entries of a tensor.

    `at` says of which element there is one at each point of `indices`, where one of the `domains` holds.
    """

    name: str
    indices: tuple[str, ...]
    shape: Shape
    at: tuple[Affine, ...]
    domains: tuple[Domain, ...] = ()


@dataclass(frozen=True)
class ListedSide:
    """One of a pair: the places `#0, #1, …` in a box, found by the values of forms of these."""

    shape: Shape
    keys: tuple[Affine, ...]


@dataclass(frozen=True)
class Pairs:
    """All pairs of places of two sides whose forms have the same values, as many as the size `count` says.

    `names` are those of index arrays, one for each dimension of the first side, then of the second.
    """

    count: str
    sides: tuple[ListedSide, ListedSide]
    names: tuple[str, ...]


@dataclass(frozen=True)
class ListedRows:
    """Of lists that share their first index: the arguments that have it too, and are read in the row of an
    element alone; how many numbers all that is computed has in a row.
    """

    arguments: tuple[str, ...]
    numbers: int


@dataclass(frozen=True)
class Listing:
    """What there is to know of lists of entries at a call.

    - `lists` of each output, and the `shapes` of the outputs, with how many of the dimensions are rows.
    - `arrays` are the index arrays that are given, `owners` those that are made of one of
      these, of so many elements: of which row of it each place is.
    - `pairs` are listed at a call, in order, and passed besides.
    - `rows` there are where some rows of all lists can be computed by themselves.
    """

    lists: Mapping[str, tuple[Entries, ...]]
    shapes: Mapping[str, tuple[Shape, int]]
    arrays: tuple[str, ...]
    owners: Mapping[str, tuple[str, Extent]]
    pairs: tuple[Pairs, ...]
    rows: ListedRows | None = None

    @property
    def paired(self) -> tuple[str, ...]:
        """The names of the index arrays of pairs."""
        return tuple(name for pairs in self.pairs for name in pairs.names)

    def as_json(self) -> Json:
        """Lists, strings and numbers that `from_json` reads."""
        lists = {name: [_entries_json(one) for one in several] for name, several in self.lists.items()}
        shapes = {name: [_shape_json(shape), rows] for name, (shape, rows) in self.shapes.items()}
        pairs = [[p.count, [_side_json(side) for side in p.sides], p.names] for p in self.pairs]
        owners = {name: [of, _shape_json((size,))] for name, (of, size) in self.owners.items()}
        rows = self.rows and [self.rows.arguments, self.rows.numbers]
        return [lists, shapes, self.arrays, owners, pairs, rows]

    @staticmethod
    def from_json(found: Json) -> Listing:
        """The lists that `as_json` wrote. Raises KeyError, TypeError or ValueError for anything else."""
        lists, shapes, arrays, owners, pairs, rows = found
        return Listing(
            {name: tuple(_entries(*one) for one in several) for name, several in lists.items()},
            {name: (_shape(shape), int(rows)) for name, (shape, rows) in shapes.items()},
            tuple(arrays),
            {name: (of, _shape(size)[0]) for name, (of, size) in owners.items()},
            tuple(
                Pairs(count, (_side(*one), _side(*two)), tuple(names)) for count, (one, two), names in pairs
            ),
            None if rows is None else ListedRows(tuple(rows[0]), int(rows[1])),
        )


def _entries_json(entries: Entries) -> Json:
    domains = [[[form_json(row.form), row.equality] for row in rows] for rows in entries.domains]
    return [entries.name, entries.indices, _shape_json(entries.shape), _forms_json(entries.at), domains]


def _entries(name: str, indices: Json, shape: Json, at: Json, domains: Json) -> Entries:
    rows = tuple(tuple(Constraint(form_of(form), bool(equality)) for form, equality in d) for d in domains)
    return Entries(name, tuple(indices), _shape(shape), tuple(map(form_of, at)), rows)


def _side_json(side: ListedSide) -> Json:
    return [_shape_json(side.shape), _forms_json(side.keys)]


def _side(shape: Json, keys: Json) -> ListedSide:
    return ListedSide(_shape(shape), tuple(map(form_of, keys)))


def _forms_json(forms: Sequence[Affine]) -> Json:
    return [form_json(form) for form in forms]


def _shape_json(shape: Shape) -> Json:
    return [size if isinstance(size, int) else form_json(size) for size in shape]


def _shape(found: Json) -> Shape:
    return tuple(size if isinstance(size, int) else form_of(size) for size in found)
