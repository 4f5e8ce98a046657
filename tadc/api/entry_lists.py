"""Lists of entries of sparse matrices: where they are, and sums of those of one place in the format CSR."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tadc.backend.runtime.added_entries import added
from tadc.backend.runtime.free_memory import format_bytes, free_for
from tadc.backend.runtime.inspector import INDEX, INDEX_LIMIT, owners, sorted_places
from tadc.backend.runtime.new_arrays import new_array
from tadc.backend.runtime.workspace import ALIGNMENT
from tadc.frontend.diagnostics import ArgumentError, Diagnostic
from tadc.frontend.extents import as_form, shape_at, shape_text
from tadc.frontend.print_index import form_text
from tadc.lattice.affine import Affine, Floor
from tadc.lattice.late_dataclasses import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tadc.passes.supports.entry_listing import Entries, Listing, Pairs

    Array = NDArray[Any]

#: Bytes that it takes to find where an entry, or a pair, is, and what remains of that.
_BYTES = 48


def elements_of(listing: Listing, given: Mapping[str, Any], sizes: dict[str, int]) -> dict[str, Array]:
    """The elements of the index arrays that say where entries are: those given, and what is made of them.

    Adds to the sizes how many pairs there are. Raises ArgumentError (TAD0506) where these are too many.
    """
    arrays = {name: np.asarray(given[name]) for name in listing.arrays}
    for name, (of, size) in listing.owners.items():
        arrays[name] = owners(np.require(arrays[of], INDEX, "C"), as_form(size).evaluate(sizes))
    for pairs in listing.pairs:
        found = _pairs_of(pairs, arrays, sizes)
        arrays |= dict(zip(pairs.names, found, strict=True))
        sizes[pairs.count] = found[0].size
    return arrays


def _pairs_of(pairs: Pairs, arrays: Mapping[str, Array], sizes: Mapping[str, int]) -> list[Array]:
    """The subscripts of the pairs, in the box of the first side, then in that of the second."""
    shapes = [shape_at(side.shape, sizes) for side in pairs.sides]
    one, other, below = _numbered(pairs, shapes, arrays, sizes)
    starts, places = sorted_places([other], [below])
    counts = np.diff(starts)[one]
    count = int(counts.sum(dtype=np.int64))
    what = f"pairs of places of one value, as many as {count}"
    ask_for(count, what)
    if count >= INDEX_LIMIT:
        raise ArgumentError([Diagnostic("TAD0506", f"{what}, are more than 2**31 - 1")])
    first = np.repeat(np.arange(counts.size, dtype=INDEX), counts)
    # How far a pair is behind the first one of its first place.
    behind = np.arange(count, dtype=INDEX) - np.repeat((np.cumsum(counts) - counts).astype(INDEX), counts)
    second = places[starts[one][first] + behind]
    return [
        np.ascontiguousarray(subscript, INDEX)
        for chosen, shape in zip((first, second), shapes, strict=True)
        for subscript in np.unravel_index(chosen, shape)
    ]


def _numbered(
    pairs: Pairs, shapes: Sequence[tuple[int, ...]], arrays: Mapping[str, Array], sizes: Mapping[str, int]
) -> tuple[Array, Array, int]:
    """For each place of either side a number, the same for those of the same values, and a bound of all."""
    fixed = {name: np.array(size) for name, size in sizes.items()}
    points = [{**fixed, **_places(shape, [f"#{n}" for n in range(len(shape))])} for shape in shapes]
    split, below = prod(shapes[0]), 1
    numbers = np.zeros(split + prod(shapes[1]), np.int64)
    for forms in zip(*(side.keys for side in pairs.sides), strict=True):
        found = [
            np.broadcast_to(values_of(form, point, arrays), shape).reshape(-1)
            for form, point, shape in zip(forms, points, shapes, strict=True)
        ]
        values = np.concatenate(found)
        least = values.min(initial=0)
        width = int(values.max(initial=0)) - int(least) + 1
        numbers, below = numbers * width + (values - least), below * width
        if below > 4 * numbers.size + 1024:
            numbers = np.unique(numbers, return_inverse=True)[1]
            below = numbers.size
    numbers = numbers.astype(INDEX)
    return numbers[:split], numbers[split:], below


def _places(shape: tuple[int, ...], names: Sequence[str]) -> dict[str, Array]:
    """The subscripts of all elements of a box, each along an axis of its own."""
    return dict(zip(names, np.ogrid[tuple(map(slice, shape))] if shape else (), strict=True))


def ask_for(count: int, what: str, notes: Sequence[str] = ()) -> None:
    """Raise ArgumentError (TAD0506) where there is too little memory for so many entries."""
    free = free_for(count * _BYTES)
    if free is not None:
        message = f"{what}, take {format_bytes(count * _BYTES)}, {format_bytes(free)} are available"
        helps = ["multiply by the matrix without it: `hvp` by a Hessian, `jvp` and `vjp` by a Jacobian"]
        raise ArgumentError([Diagnostic("TAD0506", message, notes=list(notes), helps=helps)])


def about(name: str, entries: Entries) -> str:
    """Which entries of a tensor a list has, and how many."""
    at = ", ".join(map(form_text, entries.at))
    return f"`{name}[{at}]` has an entry for each of [{shape_text(entries.shape)}]"


def places_of(
    entries: Entries, arrays: Mapping[str, Array], sizes: Mapping[str, int]
) -> tuple[Array, tuple[Array, ...]]:
    """Where a list has an entry, and the indices of all elements, which broadcast to its shape."""
    shape = shape_at(entries.shape, sizes)
    point: dict[str, Any] = {name: np.array(size) for name, size in sizes.items()}
    point |= _places(shape, entries.indices)
    mask = np.zeros(shape, bool)
    for rows in entries.domains:
        inside: Any = np.ones(shape, bool)
        for row in rows:
            value = values_of(row.form, point, arrays)
            inside &= value == 0 if row.equality else value >= 0
        mask |= inside
    return mask, tuple(values_of(form, point, arrays) for form in entries.at)


def flattened(indices: Sequence[Array], shape: Sequence[int], mask: Array) -> Array:
    """The places in C order of the elements where the mask holds."""
    found = np.zeros((), np.int32 if prod(shape) < INDEX_LIMIT else np.int64)
    for index, size in zip(indices, shape, strict=True):
        found = found * size + index.astype(found.dtype)
    return np.broadcast_to(found, mask.shape)[mask]


@dataclass(frozen=True)
class CsrPattern:
    """How lists of entries become a matrix in the format CSR.

    The lists stand in one array, the first element of each at one of `offsets`; `slots` says of each element
    of that which value of the matrix it is added to, one that is behind the last for what is no entry.
    """

    shape: tuple[int, int]
    offsets: tuple[int, ...]
    slots: Array
    columns: Array
    starts: Array

    @staticmethod
    def of(places: Sequence[tuple[Array, Array, Array]], shape: tuple[int, int]) -> CsrPattern:
        """The pattern of lists: of each where it has entries, and the rows and columns of these."""
        step, offsets = ALIGNMENT // 4, [0]
        for mask, _, _ in places:
            offsets.append(-(-(offsets[-1] + mask.size) // step) * step)
        rows, columns = (np.concatenate([np.zeros(0, INDEX), *(p[n] for p in places)]) for n in (1, 2))
        if max(*shape, rows.size) < INDEX_LIMIT:
            arrays = [np.require(array, INDEX, "C") for array in (rows, columns)]
            order = sorted_places(arrays, shape)[1]
        else:
            order = np.lexsort((columns, rows))
        rows, columns = rows[order], columns[order]
        is_first = np.ones(rows.size, bool)
        is_first[1:] = (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1])
        firsts = np.flatnonzero(is_first)
        wide = np.int32 if max(*shape, offsets[-1]) < INDEX_LIMIT else np.int64
        slots = np.full(offsets[-1], firsts.size, wide)
        of_entries = np.empty(rows.size, wide)
        of_entries[order] = np.cumsum(is_first) - 1
        begin = 0
        for (mask, own, _), offset in zip(places, offsets, strict=False):
            slots[offset : offset + mask.size][mask.reshape(-1)] = of_entries[begin : begin + own.size]
            begin += own.size
        starts = np.searchsorted(rows[firsts], np.arange(shape[0] + 1)).astype(wide)
        return CsrPattern(shape, tuple(offsets), slots, columns[firsts].astype(wide), starts)

    def room(self, dtype: Any) -> Array:
        """An array for the lists."""
        return new_array(self.slots.shape, dtype, self.slots.size * dtype.itemsize)

    def matrix(self, sparse: Any, values: Array) -> Any:
        """The `csr_array` of SciPy for the values of the lists, which are added one list after the other."""
        return self.matrix_of(sparse, added(values, self.slots, self.columns.size + 1)[:-1])

    def matrix_of(self, sparse: Any, data: Array) -> Any:
        """The `csr_array` of SciPy of these values."""
        # Given to it as arguments, values would be copied once more: they are in larger memory.
        made = sparse.csr_array(self.shape, dtype=data.dtype)
        made.data, made.indices, made.indptr = data, _copy(self.columns), _copy(self.starts)
        made.has_canonical_format = True
        return made


def _copy(array: Array) -> Array:
    """A copy, in memory of earlier calls."""
    made: Array = new_array(array.shape, array.dtype, array.nbytes)
    made[...] = array
    return made


def values_of(form: Affine, places: Mapping[str, Array], arrays: Mapping[str, Array]) -> Array:
    """The values of a form of places and lookups; a lookup that is out of range counts as 0."""
    total = np.array(form.constant, np.int64)
    for atom, k in form.terms:
        if isinstance(atom, str):
            total = total + places[atom].astype(np.int64) * k
        elif isinstance(atom, Floor):
            total = total + values_of(atom.numerator, places, arrays) // atom.denominator * k
        else:
            array = arrays[atom.array]
            at = [values_of(part, places, arrays) for part in atom.at]
            within = [(0 <= n) & (n < size) for n, size in zip(at, array.shape, strict=True)]
            inside = np.logical_and.reduce(np.broadcast_arrays(*within))
            if array.size:
                # Of a type that the caller chose, too narrow for a multiple, or without a sign.
                found = array[tuple(np.where(inside, n, 0) for n in at)].astype(np.int64)
                total = total + np.where(inside, found, 0) * k
            else:
                total = np.broadcast_to(total, np.broadcast_shapes(total.shape, inside.shape))
    return total
