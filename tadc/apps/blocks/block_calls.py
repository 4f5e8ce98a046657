"""Calls of functions in blocks: arguments of which slices are read later, sparse arrays, and sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tadc.toolkit.reporting import Diagnostic
from tadc.toolkit.running import (
    HOST,
    Door,
    Function,
    Parameter,
    Relation,
    SparseCall,
    is_lazy,
    is_sparse,
    parameters_of,
    read_call,
    result_type,
    size_symbols_of,
)


class SlicedArrays(Door):
    """What has a shape and gives arrays for slices stays where it is; all else is read as by a call of f."""

    def seen(self, parameter: Parameter, value: Any) -> Any | Diagnostic:
        """See Door."""
        if parameter.below is None:
            return super().seen(parameter, value)
        found = HOST.seen(parameter, value)
        return found.array if isinstance(found, Relation) else found

    def array(self, parameter: Parameter, value: Any) -> Any | Diagnostic:
        """See Door."""
        is_sliceable = hasattr(value, "shape") and hasattr(value, "__getitem__") and not is_lazy(value)
        return value if is_sliceable else HOST.array(parameter, value)

    def type_problem(self, parameter: Parameter, array: Any, value: Any) -> Diagnostic | None:
        """See Door."""
        if not hasattr(value, "dtype"):
            return HOST.type_problem(parameter, array, value)
        return type_problem(parameter, array) if isinstance(value.dtype, np.dtype) else None


SLICED = SlicedArrays()


def type_problem(parameter: Parameter, array: Any) -> Diagnostic | None:
    """What is wrong with the type of elements of an array, of which none is read."""
    example = np.empty((0,) * len(array.shape), array.dtype)
    return HOST.type_problem(parameter, example, example)


@dataclass(frozen=True)
class BlockCall:
    """A call: what is `given` by the name of each input, what the door makes `arrays` of, and all sizes.

    Of a sparse array given are what it stores, and relations that say where.
    """

    f: Function
    given: Mapping[str, Any]
    arrays: Mapping[str, Any]
    sizes: Mapping[str, int]
    sparse: SparseCall | None

    @property
    def index_arrays(self) -> dict[str, Any]:
        """Those that are given."""
        return {name: self.given[name] for name in self.f.program.index_arrays()}

    def results(self, found: Sequence[Any]) -> Any:
        """What a call gives: one result, or a tuple; sparse where results are at places of a sparse array."""
        if self.sparse is not None:
            _, outputs = parameters_of(self.f.program)
            found = [self.sparse.result(p, array) for p, array in zip(outputs, found, strict=True)]
        return found[0] if len(found) == 1 else result_type(self.f.outputs)(*found)


def read(f: Function, args: Sequence[Any], kwargs: Mapping[str, Any], door: Door) -> BlockCall:
    """A call of f. Raises ArgumentError as f."""
    symbols = size_symbols_of(f.program)
    sparse = None
    if any(map(is_sparse, (*args, *kwargs.values()))):
        sparse = SparseCall(symbols.inputs, symbols.known, args, kwargs)
        args, kwargs = sparse.args, sparse.kwargs
    call = read_call(symbols, args, kwargs, door)
    sizes = dict(symbols.values(call.shapes, call.sizes))
    given, arrays = (dict(zip(f.inputs, each, strict=True)) for each in (call.values, call.arrays))
    return BlockCall(f, given, arrays, sizes, sparse)


def with_places(f: Function, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """What is given by name, of sparse arrays what they store and where. Raises ArgumentError."""
    if not any(map(is_sparse, given.values())):
        return given
    symbols = size_symbols_of(f.program)
    return SparseCall(symbols.inputs, symbols.known, (), given).kwargs
