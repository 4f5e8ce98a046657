"""Lists of entries of sparse matrices: where they are, and sums of those of one place in the format CSR."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tadc.backend.runtime.index_arguments import values_of
from tadc.backend.runtime.inspector import INDEX, INDEX_LIMIT, owners, sorted_places
from tadc.frontend.extents import as_form

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tadc.frontend.program import Argument
    from tadc.passes.supports.entries import Entries

    Array = NDArray[Any]


def elements_of(arguments: Iterable[Argument], given: Mapping[str, Any]) -> dict[str, Array]:
    """The elements of the index arrays among arguments: of those given, and of the owners made of them."""
    arrays: dict[str, Array] = {}
    for argument in arguments:
        if argument.inspected is None:
            arrays[argument.name] = np.asarray(given[argument.name])
        else:
            starts = np.require(arrays[argument.inspected.of[0]], INDEX, "C")
            arrays[argument.name] = owners(starts, int(starts[-1]) if starts.size else 0)
    return arrays


def places_of(
    entries: Entries, arrays: Mapping[str, Array], sizes: Mapping[str, int]
) -> tuple[Array, tuple[Array, ...]]:
    """Where a list has an entry, and the indices of all elements, which broadcast to its shape."""
    shape = tuple(as_form(size).evaluate(sizes) for size in entries.shape)
    axes = np.ogrid[tuple(map(slice, shape))] if shape else ()
    point: dict[str, Any] = {name: np.array(size) for name, size in sizes.items()}
    point |= dict(zip(entries.indices, axes, strict=True))
    mask = np.zeros(shape, bool)
    for rows in entries.domains:
        inside: Any = np.ones(shape, bool)
        for row in rows:
            value = values_of(row.form, point, arrays)
            inside &= value == 0 if row.equality else value >= 0
        mask |= inside
    return mask, tuple(values_of(form, point, arrays) for form in entries.at)


@dataclass(frozen=True)
class CsrPattern:
    """How entries become a matrix in the format CSR, without a sum for a place that has none.

    `order` has the entries by row, by column, then as they are listed; `firsts` where in that the entries of
    each place begin.
    """

    shape: tuple[int, int]
    order: Array
    firsts: Array
    columns: Array
    starts: Array

    @staticmethod
    def of(rows: Array, columns: Array, shape: tuple[int, int]) -> CsrPattern:
        """The pattern of entries in these rows and columns."""
        if max(*shape, rows.size) < INDEX_LIMIT:
            arrays = [np.require(array, INDEX, "C") for array in (rows, columns)]
            order = sorted_places(arrays, shape)[1]
        else:
            order = np.lexsort((columns, rows))
        rows, columns = rows[order], columns[order]
        is_first = np.ones(rows.size, bool)
        is_first[1:] = (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1])
        firsts = np.flatnonzero(is_first)
        starts = np.searchsorted(rows[firsts], np.arange(shape[0] + 1))
        wide = np.int32 if max(*shape, rows.size) < INDEX_LIMIT else np.int64
        return CsrPattern(shape, order, firsts, columns[firsts].astype(wide), starts.astype(wide))

    def matrix(self, sparse: Any, values: Sequence[Array]) -> Any:
        """The `csr_array` of SciPy for the values of the entries, list after list."""
        data = np.concatenate(values)[self.order]
        if self.firsts.size < data.size:
            data = np.add.reduceat(data, self.firsts)
        made = sparse.csr_array((data, self.columns.copy(), self.starts.copy()), shape=self.shape)
        made.has_canonical_format = True
        return made
