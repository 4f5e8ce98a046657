"""Sparse arrays of SciPy and PyTorch as arguments: what they store, and results at the same places.

`A: f64[N, M] at (row, col)` in a program is what A stores, with index arrays that say where. A sparse array
is all of it at once: its index arrays are left out of the call. A result at the places of such an argument
comes back as one of its kind.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tadc.api.sparse_kinds import is_sparse
from tadc.backend.runtime.call_messages import declared
from tadc.backend.runtime.inspector import INDEX, INDEX_LIMIT, owners
from tadc.backend.runtime.kept_indices import Relation
from tadc.backend.runtime.parameters import Parameter
from tadc.backend.runtime.read_calls import unknown_argument
from tadc.frontend.diagnostics import ArgumentError, Diagnostic
from tadc.frontend.extents import as_form, told_sizes
from tadc.lattice.late_dataclasses import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tadc.backend.base import Kernel

    Array = NDArray[Any]


@dataclass(frozen=True)
class StoredArray:
    """What a sparse array stores: `values`, at what `arrays` of its own say.

    `subscripts` makes an index array of each dimension that has one of these; `again` a sparse array of its
    kind, of other values at the same places.
    """

    shape: tuple[int, ...]
    values: Any
    arrays: tuple[Any, ...]
    subscripts: Callable[[], list[Array]]
    again: Callable[[Any], Any]


def stored_in(value: Any, blocks: bool) -> StoredArray:
    """What a sparse array stores, as blocks if it has some and these are asked for."""
    if type(value).__module__.startswith("torch"):
        return _of_torch(value, blocks)
    if value.format in ("csr", "csc") or (value.format == "bsr" and blocks):
        return _compressed(value, value.format == "csc")
    coo = value if value.format == "coo" else value.tocoo()
    coords = tuple(coo.coords) if hasattr(coo, "coords") else (coo.row, coo.col)

    def again(values: Any) -> Any:
        made = type(coo)((values, tuple(map(np.array, coords))), shape=coo.shape)
        if value.format == "bsr":
            return made.tobsr(blocksize=value.blocksize)
        return made if value.format == "coo" else made.asformat(value.format)

    return StoredArray(tuple(coo.shape), coo.data, coords, lambda: list(coords), again)


def _compressed(value: Any, by_columns: bool) -> StoredArray:
    """Of SciPy's CSR, CSC and BSR, which may have room behind what they store."""
    shape, starts = value.shape, value.indptr
    count = int(starts[-1]) if starts.size else 0
    indices, data = value.indices[:count], value.data[:count]
    if value.format == "bsr":
        block = value.blocksize
        shape = (shape[0] // block[0], shape[1] // block[1], *block)

    def subscripts() -> list[Array]:
        found = [_owners(starts, shape[by_columns], len(indices), "indptr"), indices]
        return found[::-1] if by_columns else found

    def again(values: Any) -> Any:
        # SciPy sorts in place: another array has places of its own.
        return type(value)((values, indices.copy(), starts.copy()), shape=value.shape)

    return StoredArray(tuple(shape), data, (indices, starts), subscripts, again)


class _Malformed(Exception):
    """What says where elements are is wrong in itself: libraries do not look at arrays that were changed."""


def _owners(starts: Array, rows: int, count: int, name: str) -> Array:
    """Which of some rows each of `count` elements is in. Raises _Malformed."""
    if starts.shape != (rows + 1,):
        raise _Malformed(f"`{name}` has {starts.size} elements for {rows} rows, must have {rows + 1}")
    if starts[0] != 0 or starts[-1] != count:
        raise _Malformed(f"`{name}` is from {starts[0]} to {starts[-1]}, must be from 0 to {count}")
    falling = np.flatnonzero(starts[1:] < starts[:-1])
    if falling.size:
        n = falling[0]
        before, here = (f"`{name}[{m}]`" for m in (n, n + 1))
        raise _Malformed(f"{here} is {starts[n + 1]}, less than {before}, which is {starts[n]}")
    if count >= INDEX_LIMIT:
        # The kernel says that there are too many.
        return np.repeat(np.arange(rows), starts[1:] - starts[:-1])
    return owners(np.require(starts, INDEX, "C"), count)


def _of_torch(value: Any, blocks: bool) -> StoredArray:
    """Of PyTorch's COO, CSR, CSC, BSR and BSC."""
    import torch

    layout = str(value.layout).removeprefix("torch.sparse_")
    if layout in ("bsr", "bsc") and not blocks:
        return _of_torch(value.to_sparse_coo(), blocks)
    if layout == "coo":
        value = value.coalesce()
        indices = value.indices()
        coords = tuple(index.cpu().numpy() for index in indices)

        new = getattr(torch, f"sparse_{layout}_tensor")

        def coo(values: Any) -> Any:
            how = {"is_coalesced": True, "check_invariants": False}
            return new(indices, torch.as_tensor(values), value.shape, **how)

        return StoredArray(tuple(value.shape), value.values(), coords, lambda: list(coords), coo)
    by_columns = layout in ("csc", "bsc")
    names = ("ccol_indices", "row_indices") if by_columns else ("crow_indices", "col_indices")
    starts, others = (getattr(value, name)() for name in names)
    make = getattr(torch, f"sparse_{layout}_tensor")
    shape, values = tuple(value.shape), value.values()
    if layout in ("bsr", "bsc"):
        block = tuple(values.shape[1:3])
        shape = (shape[0] // block[0], shape[1] // block[1], *block)

    def subscripts() -> list[Array]:
        rows = shape[by_columns]
        found = [_owners(starts.cpu().numpy(), rows, len(others), names[0]), others.cpu().numpy()]
        return found[::-1] if by_columns else found

    def again(values: Any) -> Any:
        return make(starts, others, torch.as_tensor(values), value.shape, check_invariants=False)

    arrays = starts.cpu().numpy(), others.cpu().numpy()
    return StoredArray(shape, values, arrays, subscripts, again)


def _of_jax(parameter: Parameter, value: Any) -> Diagnostic | None:
    """The error (TAD0504) for a sparse array of JAX, which is one for `f.jax`."""
    if not type(value).__module__.startswith("jax"):
        return None
    name = parameter.name
    message = f"`{name}` is a sparse array of JAX ({type(value).__name__})"
    helps = ["call `f.jax`, which takes a `BCOO`", "or pass one of SciPy or PyTorch"]
    return Diagnostic("TAD0504", message, notes=[declared(parameter)], helps=helps)


def _is_integer(value: Any) -> bool:
    return isinstance(value, int | np.integer)


class SparseCall:
    """A call with sparse arrays: what the kernel takes of them, and what its results become.

    Positional arguments are the inputs in order but for index arrays that say where sparse tensors are.
    """

    def __init__(
        self,
        inputs: Sequence[Parameter],
        sizes: Sequence[str],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        refused: Callable[[Parameter, Any], Diagnostic | None] = _of_jax,
    ) -> None:
        """`sizes` are those that a call may name; `refused` says what is wrong with an array of another
        library.

        Raises ArgumentError, all that is wrong with the sparse arrays.
        """
        self._refused = refused
        patterns = {p.name: p for p in inputs if p.pattern is not None}
        places = {name for p in patterns.values() if p.pattern is not None for name in p.pattern.at}
        names = [p.name for p in inputs if p.name not in places]
        #: Positional arguments beyond those stay, for the kernel to say what is wrong.
        self.args = tuple(args[len(names) :])
        self.kwargs: dict[str, Any] = {**dict(zip(names, args, strict=False)), **kwargs}
        self._sizes = frozenset(sizes)
        self._places: dict[str, tuple[str, Any, Callable[[Any], Any]]] = {}
        given: list[tuple[Parameter, Any, StoredArray]] = []
        problems: list[Diagnostic] = []
        for name, value in list(self.kwargs.items()):
            if not self.takes(value):
                continue
            parameter = patterns.get(name)
            if parameter is None:
                method = "to_dense" if hasattr(value, "to_dense") else self.DENSE
                found = _dense_expected(name, inputs, sizes, method)
            else:
                found = self.stored_for(parameter, value)
            if isinstance(found, StoredArray) and parameter is not None:
                given.append((parameter, value, found))
            elif isinstance(found, Diagnostic):
                problems.append(found)
        self._tell_sizes([(parameter, stored) for parameter, _, stored in given])
        for parameter, value, stored in given:
            problem = wrong_shape(parameter, stored.shape, self.told) or self._take(parameter, value, stored)
            problems += [problem] if problem else []
        if problems:
            raise ArgumentError(problems)
        #: The sparse arrays by their names.
        self.given = {parameter.name: value for parameter, value, _ in given}

    def _tell_sizes(self, arrays: Sequence[tuple[Parameter, StoredArray]]) -> None:
        """Give the sizes that the shapes of sparse arrays tell, where the caller does not."""
        known = {name: int(self.kwargs[name]) for name in self._sizes if _is_integer(self.kwargs.get(name))}
        shapes = [p.pattern.shape for p, _ in arrays if p.pattern is not None]
        told_sizes(shapes, [stored.shape for _, stored in arrays], known)
        self.kwargs.update({name: size for name, size in known.items() if name in self._sizes})
        #: The sizes that are given by name, and those that sparse arrays tell.
        self.told = known

    def _take(self, parameter: Parameter, value: Any, stored: StoredArray) -> Diagnostic | None:
        """Put what a sparse array stores in its place, and its index arrays; or what is wrong."""
        pattern = parameter.pattern
        assert pattern is not None
        self.kwargs[parameter.name] = stored.values
        try:
            places = self.places_of(value, stored)
        except _Malformed as wrong:
            message = f"`{parameter.name}` is no sparse array: {wrong}"
            return Diagnostic("TAD0511", message, notes=[declared(parameter)])
        for name, place in zip(pattern.at, places, strict=False):
            if name not in self._places:
                if name in self.kwargs:
                    message = f"`{name}` is given twice: `{parameter.name}` tells it"
                    return Diagnostic("TAD0502", message, helps=["leave it out"])
                self.kwargs[name] = self.index_array(place)
                self._places[name] = parameter.name, place, stored.again
            elif not self.is_same(self._places[name][1], place):
                return self.elsewhere(parameter, name, self._places[name][0])
        return None

    def result(self, parameter: Parameter, array: Any) -> Any:
        """A result as the caller gets it: sparse where an argument is at the same places."""
        if parameter.pattern is None or parameter.pattern.at[0] not in self._places:
            return array
        return self._places[parameter.pattern.at[0]][2](array)

    # -- what libraries have of their own -----------------------------------------------------------

    #: The method that gives all elements of a sparse array.
    DENSE = "toarray"

    def takes(self, value: Any) -> bool:
        """Whether a value is a sparse array."""
        return is_sparse(value)

    def stored_for(self, parameter: Parameter, value: Any) -> StoredArray | Diagnostic:
        """What a sparse array stores, of as many dimensions as a parameter has; or what is wrong."""
        assert parameter.pattern is not None
        if (problem := self._refused(parameter, value)) is not None:
            return problem
        expected = len(parameter.pattern.shape)
        stored = stored_in(value, blocks=expected - len(parameter.pattern.at) == 2)
        if len(stored.shape) == expected:
            return stored
        message = f"`{parameter.name}` has {len(stored.shape)} dimensions, expected {expected}"
        return Diagnostic("TAD0503", message, notes=[declared(parameter)])

    def places_of(self, value: Any, stored: StoredArray) -> list[Any]:
        """What says of each dimension where the elements are. Raises _Malformed."""
        return _relations(value, stored)

    def index_array(self, place: Any) -> Any:
        """What says where, as an index array."""
        return place

    def is_same(self, one: Any, other: Any) -> bool:
        """Whether two say the same."""
        return one is other or np.array_equal(one.array, other.array)

    def elsewhere(self, parameter: Parameter, name: str, other: str) -> Diagnostic:
        """The error for elements at other places than those of another sparse array."""
        message = f"`{parameter.name}` and `{other}` store elements at other places"
        return Diagnostic("TAD0503", message, notes=[f"both are where `{name}` says", declared(parameter)])


def wrong_shape(parameter: Parameter, shape: Sequence[int], known: Mapping[str, int]) -> Diagnostic | None:
    """What is wrong with the shape of a sparse array, as far as sizes are known."""
    assert parameter.pattern is not None
    for dimension, (size, extent) in enumerate(zip(shape, parameter.pattern.shape, strict=True)):
        form = as_form(extent)
        if form.variables <= known.keys() and form.evaluate(known) != size:
            where = f"dimension {dimension} of `{parameter.name}`"
            message = f"{where} has {size} elements, expected {form.evaluate(known)}"
            return Diagnostic("TAD0503", message, notes=[declared(parameter)])
    return None


def sparse_call(kernel: Kernel, args: Sequence[Any], kwargs: Mapping[str, Any]) -> SparseCall:
    """A call of a kernel with sparse arrays. Raises ArgumentError."""
    return SparseCall(kernel.inputs, kernel.sizes.known, args, kwargs)


def _dense_expected(
    name: str, inputs: Sequence[Parameter], sizes: Sequence[str], method: str
) -> Diagnostic | None:
    parameter = next((p for p in inputs if p.name == name), None)
    if parameter is None:
        return unknown_argument(inputs, name, sizes)
    message = f"`{name}` is a sparse array, and the program has all its elements"
    helps = [f"write `{name}.{method}()`, or declare it sparse: `{name}: … at (row, col)`"]
    return Diagnostic("TAD0504", message, notes=[declared(parameter)], helps=helps)


#: By the identity of a sparse array: copies of what says where its elements are, and relations made of it.
_SEEN: dict[int, tuple[weakref.ref[Any], tuple[Array, ...], list[Relation]]] = {}


def _relations(value: Any, stored: StoredArray) -> list[Relation]:
    """The index arrays of a sparse array; those made before, if its places are still the same.

    To compare the places takes a small part of the time that it takes to sort them.
    """
    seen = _SEEN.get(id(value))
    if seen is not None and seen[0]() is value:
        pairs = zip(seen[1], stored.arrays, strict=True)
        if all(one.dtype == other.dtype and np.array_equal(one, other) for one, other in pairs):
            return seen[2]
    made = [
        Relation(np.require(array, _integers(array), "C"), size)
        for array, size in zip(stored.subscripts(), stored.shape, strict=False)
    ]
    key = id(value)
    try:
        reference = weakref.ref(value, lambda _: _SEEN.pop(key, None))
    except TypeError:
        return made
    _SEEN[key] = reference, tuple(np.array(array) for array in stored.arrays), made
    return made


def _integers(array: Array) -> Any:
    return array.dtype if array.dtype.kind in "iu" and array.dtype.isnative else np.int64
