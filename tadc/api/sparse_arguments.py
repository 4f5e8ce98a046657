"""Sparse arrays of SciPy and PyTorch as arguments: what they store, and results at the same places.

`A: f64[N, M] at (row, col)` in a program is what A stores, with index arrays that say where. A sparse array
is all of it at once: its index arrays are left out of the call. A result at the places of such an argument
comes back as one of its kind.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tadc.api.sparse_kinds import is_sparse
from tadc.backend.runtime.host_arrays import Parameter, declared, unknown_argument
from tadc.backend.runtime.inspector import INDEX, owners
from tadc.backend.runtime.kept_indices import Relation
from tadc.frontend.diagnostics import ArgumentError, Diagnostic
from tadc.frontend.extents import symbol_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


@dataclass(frozen=True)
class Stored:
    """What a sparse array stores: `values`, at what `arrays` of its own say.

    `subscripts` makes an index array of each dimension that has one of these; `again` a sparse array of its
    kind, of other values at the same places.
    """

    shape: tuple[int, ...]
    values: Any
    arrays: tuple[Any, ...]
    subscripts: Callable[[], list[Array]]
    again: Callable[[Any], Any]


def stored_in(value: Any, blocks: bool) -> Stored:
    """What a sparse array stores, as blocks if it has some and these are asked for."""
    if type(value).__module__.startswith("torch"):
        return _of_torch(value, blocks)
    if value.format in ("csr", "csc") or (value.format == "bsr" and blocks):
        return _compressed(value, value.format == "csc")
    coo = value if value.format == "coo" else value.tocoo()
    coords = tuple(coo.coords) if hasattr(coo, "coords") else (coo.row, coo.col)

    def again(values: Any) -> Any:
        made = type(coo)((values, coords), shape=coo.shape)
        return made if value.format == "coo" else made.asformat(value.format)

    return Stored(tuple(coo.shape), coo.data, coords, lambda: list(coords), again)


def _compressed(value: Any, by_columns: bool) -> Stored:
    """Of SciPy's CSR, CSC and BSR."""
    shape = value.shape
    if value.format == "bsr":
        block = value.blocksize
        shape = (shape[0] // block[0], shape[1] // block[1], *block)

    def subscripts() -> list[Array]:
        found = [_owners(value.indptr), value.indices]
        return found[::-1] if by_columns else found

    def again(values: Any) -> Any:
        return type(value)((values, value.indices, value.indptr), shape=value.shape)

    return Stored(tuple(shape), value.data, (value.indices, value.indptr), subscripts, again)


def _owners(starts: Any) -> Array:
    """Which row or column each element is in."""
    starts = np.require(starts, INDEX, "C")
    return owners(starts, int(starts[-1]) if starts.size else 0)


def _of_torch(value: Any, blocks: bool) -> Stored:
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

        return Stored(tuple(value.shape), value.values(), coords, lambda: list(coords), coo)
    by_columns = layout in ("csc", "bsc")
    names = ("ccol_indices", "row_indices") if by_columns else ("crow_indices", "col_indices")
    starts, others = (getattr(value, name)() for name in names)
    make = getattr(torch, f"sparse_{layout}_tensor")
    shape, values = tuple(value.shape), value.values()
    if layout in ("bsr", "bsc"):
        block = tuple(values.shape[1:3])
        shape = (shape[0] // block[0], shape[1] // block[1], *block)

    def subscripts() -> list[Array]:
        found = [_owners(starts.cpu().numpy()), others.cpu().numpy()]
        return found[::-1] if by_columns else found

    def again(values: Any) -> Any:
        return make(starts, others, torch.as_tensor(values), value.shape, check_invariants=False)

    arrays = starts.cpu().numpy(), others.cpu().numpy()
    return Stored(shape, values, arrays, subscripts, again)


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
    ) -> None:
        """Raises ArgumentError, all that is wrong with the sparse arrays."""
        patterns = {p.name: p for p in inputs if p.pattern is not None}
        places = {name for p in patterns.values() if p.pattern is not None for name in p.pattern.at}
        names = [p.name for p in inputs if p.name not in places]
        #: Positional arguments beyond those stay, for the kernel to say what is wrong.
        self.args = tuple(args[len(names) :])
        self.kwargs: dict[str, Any] = {**dict(zip(names, args, strict=False)), **kwargs}
        self._sizes = frozenset(sizes)
        self._told: dict[str, tuple[str, Any, Callable[[Any], Any]]] = {}
        problems: list[Diagnostic] = []
        for name, value in list(self.kwargs.items()):
            if is_sparse(value):
                parameter = patterns.get(name)
                found = (
                    _dense_expected(name, inputs, sizes)
                    if parameter is None
                    else self._take(parameter, value)
                )
                problems += [found] if found else []
        if problems:
            raise ArgumentError(problems)

    def _take(self, parameter: Parameter, value: Any) -> Diagnostic | None:
        """Put what a sparse array stores in its place, and its index arrays; or what is wrong."""
        pattern = parameter.pattern
        assert pattern is not None
        dense = len(pattern.shape) - len(pattern.at)
        stored = stored_in(value, blocks=dense == 2)
        if len(stored.shape) != len(pattern.shape):
            message = f"`{parameter.name}` has {len(stored.shape)} dimensions, expected {len(pattern.shape)}"
            return Diagnostic("TAD0503", message, notes=[declared(parameter)])
        for dimension, (size, extent) in enumerate(zip(stored.shape, pattern.shape, strict=True)):
            symbol = symbol_of(extent)
            expected: Any = extent
            if symbol is not None and symbol in self._sizes:
                expected = self.kwargs.setdefault(symbol, size)
            if isinstance(expected, int) and expected != size:
                where = f"dimension {dimension} of `{parameter.name}`"
                message = f"{where} has {size} elements, expected {expected}"
                return Diagnostic("TAD0503", message, notes=[declared(parameter)])
        self.kwargs[parameter.name] = stored.values
        relations = _relations(value, stored)
        for name, relation in zip(pattern.at, relations, strict=False):
            if name not in self._told:
                if name in self.kwargs:
                    message = f"`{name}` is given twice: `{parameter.name}` tells it"
                    return Diagnostic("TAD0502", message, helps=["leave it out"])
                self.kwargs[name] = relation
                self._told[name] = parameter.name, relation, stored.again
            elif not _same(self._told[name][1], relation):
                other = self._told[name][0]
                message = f"`{parameter.name}` and `{other}` store elements at other places"
                note = f"both are where `{name}` says"
                return Diagnostic("TAD0503", message, notes=[note, declared(parameter)])
        return None

    def result(self, parameter: Parameter, array: Any) -> Any:
        """A result as the caller gets it: sparse where an argument is at the same places."""
        if parameter.pattern is None or parameter.pattern.at[0] not in self._told:
            return array
        return self._told[parameter.pattern.at[0]][2](array)


def sparse_call(kernel: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> SparseCall:
    """A call of a kernel with sparse arrays. Raises ArgumentError."""
    sizes = kernel.sizes
    return SparseCall(kernel.inputs, (*sizes.names, *sizes.fixed) if sizes is not None else (), args, kwargs)


def _dense_expected(name: str, inputs: Sequence[Parameter], sizes: Sequence[str]) -> Diagnostic | None:
    parameter = next((p for p in inputs if p.name == name), None)
    if parameter is None:
        return unknown_argument(inputs, name, sizes)
    message = f"`{name}` is a sparse array, and the program has all its elements"
    helps = [f"write `{name}.toarray()`, or declare it sparse: `{name}: … at (row, col)`"]
    return Diagnostic("TAD0504", message, notes=[declared(parameter)], helps=helps)


def _same(one: Relation, other: Relation) -> bool:
    return one is other or np.array_equal(one.array, other.array)


#: By the identity of a sparse array: copies of what says where its elements are, and relations made of it.
_SEEN: dict[int, tuple[weakref.ref[Any], tuple[Array, ...], list[Relation]]] = {}


def _relations(value: Any, stored: Stored) -> list[Relation]:
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
