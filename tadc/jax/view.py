"""`f.jax`: what takes arrays of JAX, numbers and lists by position or name, and gives arrays of JAX."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
# JAX leaves much of itself untyped.

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache, cached_property
from importlib import import_module
from typing import Any

import jax
import numpy as np

from tadc.api.function import Function
from tadc.api.sparse_kinds import is_sparse
from tadc.backend.runtime.frameworks import is_traced
from tadc.backend.runtime.index_arguments import require_indices
from tadc.backend.runtime.python_names import result_type
from tadc.backend.runtime.read_calls import by_position, given_sizes, read_call
from tadc.caller.boundary import leaving
from tadc.caller.python_signatures import signature_of, typed_text
from tadc.frontend.diagnostics import ArgumentError, CompileError, Diagnostic
from tadc.frontend.forks import new_lock
from tadc.frontend.size_values import size_values
from tadc.jax.array_doors import OUTER, TRACED, is_jax_value
from tadc.jax.derived import Derived
from tadc.jax.primitive import call
from tadc.jax.sparse_arrays import SparseArrays
from tadc.jax.traced_shapes import require_types
from tadc.native.watched_calls import error_within


class JaxFunction:
    """A function of tadc on arrays of JAX, under any of JAX's transformations.

    Arguments come by position or by name; one result is an array, several are a named tuple. What an argument
    is converts to the program's type by JAX's rules of promotion, never to a narrower type.

    A call raises ArgumentError that lists all that is wrong with types and shapes, when JAX traces it.
    """

    def __init__(self, f: Function, fixed_order: bool = False) -> None:
        self.function = f
        #: What JAX's rules make of the function; for other modules of tadc.
        self.derived = Derived(f, fixed_order=fixed_order)
        self._symbols = self.derived.shapes.symbols
        self._result: Any = None
        if len(f.outputs) > 1:
            with _naming:
                self._result = _result(f.outputs)
        self._has_sparse = any(p.pattern is not None for p in self._symbols.inputs)
        #: Whether a call without names is that of what JAX compiles.
        self._is_plain = not (f.is_open or self._symbols.untold or self._has_sparse)
        self._call = jax.jit(self._traced, static_argnames=self._symbols.known, inline=True)
        self.__name__ = next(iter(f.outputs))
        self.__doc__ = f"{typed_text(f)}, computed by a kernel of tadc."
        self.__signature__: Any = signature_of(f)

    def __repr__(self) -> str:
        return f"<jax of {self.function!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return JaxFunction, (self.function, self.derived.fixed_order)

    @cached_property
    def in_fixed_order(self) -> JaxFunction:
        """The function that joins parts of sums, of several devices, as `f.block` does those of blocks."""
        return JaxFunction(self.function, fixed_order=True)

    def _alike(self, f: Function) -> JaxFunction:
        return f.jax.in_fixed_order if self.derived.fixed_order else f.jax

    def __deepcopy__(self, _memo: Any) -> JaxFunction:
        return self

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Evaluate. Raises ArgumentError that lists all that is wrong with the arguments."""
        __tracebackhide__ = True
        try:
            if self._is_plain and not kwargs:
                return self._call(*args)
            if self.function.is_open:
                return self._alike(self.function.at_call(args, kwargs))(*args, **kwargs)
            if self._has_sparse and any(map(is_sparse, (*args, *kwargs.values()))):
                return self._sparse(args, kwargs)
            args, kwargs = self._arranged(args, kwargs)
            return self._call(*args, **kwargs)
        except (TypeError, ValueError, RuntimeError, OverflowError) as error:
            other = error
        try:
            return self._explained(args, kwargs, other)
        except CompileError as error:
            leaving(error)
            raise

    def _explained(self, args: Sequence[Any], kwargs: Mapping[str, Any], error: Exception) -> Any:
        """What a call gives that JAX or tadc refused: an error in the words of any call, or results where it
        can be done. Raises the error itself where nothing is known of it."""
        if not isinstance(error, CompileError) and (found := error_within(error)):
            raise found from None
        values = [*args, *kwargs.values()]
        is_said = isinstance(error, CompileError) and (self._has_sparse or all(map(is_jax_value, values)))
        if is_said or self.function.is_open:
            raise error
        if not self._has_sparse and any(map(is_sparse, values)):
            return self._sparse(args, kwargs)
        call = read_call(self._symbols, args, kwargs, OUTER)
        if any(made is not value for made, value in zip(call.arrays, call.values, strict=True)):
            return self(*call.arrays, **call.sizes)
        if "TAD0511" in str(error) and not any(map(is_traced, jax.tree.leaves(values))):
            require_indices(self._symbols, call)
        raise error

    def _sparse(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """A call with sparse arrays: one with what they store."""
        call = SparseArrays(self._symbols.inputs, self._symbols.untold, args, kwargs)
        if not call.args and set(self.function.inputs) <= call.kwargs.keys():
            # One that arrays tell, too: what a sparse one says is lost in what it stores.
            self._symbols.values([np.shape(call.kwargs[name]) for name in self.function.inputs], call.told)
        try:
            found = self(*call.args, **call.kwargs)
        except ArgumentError as error:
            raise ArgumentError(call.explained(error.diagnostics)) from None
        pairs = zip(self.derived.shapes.outputs, found if self._result else (found,), strict=True)
        results = [call.result(p, a) for p, a in pairs]
        return self._result(*results) if self._result else results[0]

    def lower(self, /, *args: Any, **kwargs: Any) -> Any:
        """As of what `jax.jit` returns."""
        if self.function.is_open:
            return self._alike(self.function.at_call(args, kwargs)).lower(*args, **kwargs)
        args, kwargs = self._arranged(args, kwargs)
        return self._call.lower(*args, **kwargs)

    def _arranged(self, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Arrays by position if none is missing: older versions of JAX have names of their own there, as
        `fun`; and sizes as numbers that JAX can keep functions by. Raises ArgumentError."""
        problems: list[Diagnostic] = []
        sizes = size_values(given_sizes(self._symbols, args, kwargs), problems)
        if problems:
            raise ArgumentError(problems)
        arrays = {name: value for name, value in kwargs.items() if name not in self._symbols.known}
        values = by_position(self.function.inputs, args, arrays)
        return (args, {**arrays, **sizes}) if values is None else (values, sizes)

    def _traced(self, /, *args: Any, **kwargs: Any) -> Any:
        """A call whose arrays JAX traces."""
        derived, untold = self.derived, self._symbols.untold
        require_types(derived.shapes.inputs, derived.shapes.outputs)
        read = read_call(self._symbols, args, kwargs, TRACED)
        if untold:
            derived = self._alike(self.function.at({name: read.sizes[name] for name in untold})).derived
        if len(read.sizes) > len(untold):
            derived.shapes.sizes(read.shapes, read.sizes)
        found = call(derived, read.arrays)
        return self._result(*found) if self._result else found[0]


#: Names are given one after another: JAX takes each once.
_naming = new_lock()


@cache
def _result(names: tuple[str, ...]) -> Any:
    """The named tuple of several results, which exported programs know by its names."""
    made = result_type(names)
    with suppress(ImportError):  # of what JAX needs to export
        export = import_module("jax.export")
        export.register_namedtuple_serialization(made, serialized_name=f"tadc.Result({', '.join(names)})")
    return made
