"""Calls whose results are lists of entries, with the same index arrays: what is listed, and sums of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tadc.api.entry_lists import CsrPattern, about, ask_for, elements_of, flattened, places_of
from tadc.api.entry_parts import EntryParts
from tadc.backend.runtime.added_blocks import BlockKernel
from tadc.backend.runtime.call_sizes import SizeSymbols
from tadc.backend.runtime.host_arrays import HOST
from tadc.backend.runtime.index_arguments import IndexArguments
from tadc.backend.runtime.inspector import INDEX_LIMIT
from tadc.backend.runtime.kept_indices import Relation
from tadc.backend.runtime.known_arrays import known
from tadc.backend.runtime.read_calls import read_call
from tadc.backend.runtime.workspace import ALIGNMENT
from tadc.frontend.extents import shape_at

if TYPE_CHECKING:
    from tadc.backend.runtime.host_kernel import HostKernel
    from tadc.passes.supports.entry_listing import Listing


#: So many numbers of lists are worth a kernel of their own.
LEAST_NUMBERS = 1 << 17

#: The code that adds has a few instructions for each number of a row, of which there are so many at most.
MOST_NUMBERS = 1 << 10

#: All that is computed of a block has about so many bytes, and stays in a first-level cache.
BLOCK = 1 << 16

MOST_LINES = 31


class Assembly:
    """What is made once of the index arrays of a call.

    `arrays` are the elements of those that say where entries are, `sizes` the values of size symbols, and
    `relations` the pairs of places of one value, which the kernel takes besides.
    """

    def __init__(
        self,
        kernel: HostKernel,
        listing: Listing,
        block: Callable[[int], HostKernel],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
    ) -> None:
        """`block` compiles the kernel of so many rows. Raises ArgumentError for what is wrong with the
        arguments."""
        self.kernel, self.listing, self._block = kernel, listing, block
        inputs = [p for p in kernel.inputs if p.name not in listing.paired]
        made = [p for p in kernel.made if p.inspected and not {*p.inspected.of} & {*listing.paired}]
        told = {*(pairs.count for pairs in listing.pairs), *(p.count for p in kernel.made if p not in made)}
        free = [name for name in kernel.sizes.names if name not in told]
        self._symbols = SizeSymbols(free, [*inputs, *made], fixed=kernel.sizes.fixed)
        call = read_call(self._symbols, args, kwargs, HOST)
        self.sizes = {**self._symbols.values(call.shapes, call.sizes), **kernel.sizes.fixed}
        self._indices = IndexArguments(inputs, (), self.sizes)
        checked = self._indices.complete(call.arrays)
        self.key = call_key(kernel, listing, args, kwargs)
        by_name = {p.name: value for p, value in zip(inputs, checked, strict=True)}
        self.arrays = elements_of(listing, by_name, self.sizes)
        self.relations = {
            name: Relation(self.arrays[name], max(int(self.arrays[name].max(initial=0)) + 1, 1))
            for name in listing.paired
        }

    @cached_property
    def patterns(self) -> dict[str, CsrPattern]:
        """How the lists of each Jacobian become a matrix."""
        listing, sizes = self.listing, self.sizes
        counts = {
            about(name, one): prod(shape_at(one.shape, sizes))
            for name, several in listing.lists.items()
            for one in several
        }
        count = sum(counts.values())
        ask_for(count, f"{count} entries", [max(counts, key=counts.__getitem__, default="")])
        found: dict[str, CsrPattern] = {}
        for name, lists in listing.lists.items():
            form, split = listing.shapes[name]
            shape = shape_at(form, sizes)
            places: list[tuple[Any, Any, Any]] = []
            for entries in lists:
                mask, at = places_of(entries, self.arrays, sizes)
                rows, columns = (
                    flattened(at[:split], shape[:split], mask),
                    flattened(at[split:], shape[split:], mask),
                )
                places.append((mask, rows, columns))
            found[name] = CsrPattern.of(places, (prod(shape[:split]), prod(shape[split:])))
        return found

    @cached_property
    def blocks(self) -> tuple[BlockKernel, EntryParts] | None:
        """What computes some rows of the lists at a time, and adds these; None where that does not pay."""
        shared, lists = self.listing.rows, [one for several in self.listing.lists.values() for one in several]
        patterns = self.patterns
        count = sum(pattern.slots.size for pattern in patterns.values())
        types = {p.dtype for p in self.kernel.outputs}
        if shared is None or len(types) != 1 or not LEAST_NUMBERS <= count < INDEX_LIMIT // 2:
            return None
        (dtype,), total = types, shape_at(lists[0].shape, self.sizes)[0]
        rows = _block_rows(BLOCK // max(shared.numbers, 1), dtype.itemsize)
        if total < rows or count > MOST_NUMBERS * total or (compiled := self._block(rows)).made:
            return None
        kernel = BlockKernel(compiled, rows, shared.arguments, self.sizes)
        begins = dict(zip((p.name for p in kernel.outputs), kernel.places, strict=False))
        slots: list[Any] = []
        first = 0
        for name, pattern in patterns.items():
            for one, offset in zip(self.listing.lists[name], pattern.offsets, strict=False):
                shape = shape_at(one.shape, self.sizes)
                slots.append(first + pattern.slots[offset : offset + prod(shape)].reshape(shape))
            first += pattern.columns.size + 1
        places = [begins[one.name] // dtype.itemsize for one in lists]
        return kernel, EntryParts.of(slots, places, first, rows)

    def matrices(self, sparse: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The Jacobians at a call with these index arrays, as arrays of SciPy."""
        if self.blocks is not None:
            return self._matrices_of_blocks(sparse, args, kwargs)
        outputs = {p.name: p for p in self.kernel.outputs}
        values: dict[str, Any] = {}
        out: dict[str, Any] = {}
        for name, pattern in self.patterns.items():
            lists = [outputs[entries.name].at(self.sizes) for entries in self.listing.lists[name]]
            values[name] = pattern.room(lists[0].dtype if lists else np.dtype(np.float64))
            for one, offset in zip(lists, pattern.offsets, strict=False):
                shape = shape_at(one.shape, {})
                out[one.name] = values[name][offset : offset + prod(shape)].reshape(shape)
        self.kernel(args, {**kwargs, **self.relations}, out)
        return {name: pattern.matrix(sparse, values[name]) for name, pattern in self.patterns.items()}

    def _matrices_of_blocks(
        self, sparse: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> dict[str, Any]:
        assert self.blocks is not None
        kernel, parts = self.blocks
        given = self._indices.complete(read_call(self._symbols, args, kwargs, HOST).arrays)
        named = dict(zip(self._symbols.input_names, given, strict=True))
        sums = parts.sums(kernel, {**self.arrays, **named})
        found: dict[str, Any] = {}
        begin = 0
        for name, pattern in self.patterns.items():
            end = begin + pattern.columns.size
            found[name] = pattern.matrix_of(sparse, sums[begin:end])
            begin = end + 1
        return found


def _block_rows(room: int, size: int) -> int:
    """How many rows a block has that has so many bytes for each number in a row: an odd number of lines of
    the cache, so that one number and the next of a row are not in the same few places of it."""
    lines = min(max(room // ALIGNMENT, 1), MOST_LINES)
    return (lines - 1 | 1) * ALIGNMENT // size


def call_key(kernel: HostKernel, listing: Listing, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """What calls have in common for which the same is made; None where their index arrays may change."""
    given = {**dict(zip(kernel.sizes.input_names, args, strict=False)), **kwargs}
    seen = [known(given.get(name)) for name in listing.arrays]
    if None in seen:
        return None
    rest = [
        (name, value if name in kernel.sizes.known else np.shape(value))
        for name, value in given.items()
        if name not in listing.arrays
    ]
    return seen, sorted(rest)
