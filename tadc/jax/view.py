"""`f.jax`: what takes arrays of JAX, numbers and lists by position or name, and gives arrays of JAX."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
# JAX leaves much of itself untyped.

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tadc.api.array_kinds import as_numpy_array
from tadc.api.function import Function
from tadc.api.sparse_kinds import is_sparse
from tadc.backend.runtime.call_sizes import size_missing, told_by_relations
from tadc.backend.runtime.frameworks import is_traced
from tadc.backend.runtime.host_arrays import arrange, converted
from tadc.backend.runtime.index_arguments import IndexArguments
from tadc.backend.runtime.inspector import INDEX_LIMIT
from tadc.backend.runtime.kept_indices import Relation
from tadc.backend.runtime.parameters import Parameter
from tadc.backend.runtime.python_names import result_type
from tadc.caller.boundary import leaving
from tadc.caller.python_signatures import signature_of, typed_text
from tadc.compiler.kernel_interface import parameters_of, size_symbols_of
from tadc.frontend.diagnostics import ArgumentError, CompileError, Diagnostic
from tadc.frontend.forks import new_lock
from tadc.frontend.size_values import SizeValues, size_values
from tadc.jax.derived import Derived
from tadc.jax.primitive import call
from tadc.jax.relation_tree import unpacked
from tadc.jax.sparse_arrays import SparseArrays
from tadc.jax.traced_shapes import array_type_problem, require_types


class JaxFunction:
    """A function of tadc on arrays of JAX, under any of JAX's transformations.

    Arguments come by position or by name; one result is an array, several are a named tuple. What an argument
    is converts to the program's type by JAX's rules of promotion, never to a narrower type.

    A call raises ArgumentError that lists all that is wrong with types and shapes, when JAX traces it.
    """

    def __init__(self, f: Function) -> None:
        self.function = f
        #: The sizes that no array tells, which a call gives by name.
        names = () if f.per_value is None else f.per_value.symbols
        self._untold = tuple(dict.fromkeys((*names, *f.program.unbound_sizes())))
        self._derived: Derived | None = None
        self._result: Any = None
        if len(f.outputs) > 1:
            with _naming:
                self._result = _result(f.outputs)
        self._has_sparse = any(p.pattern is not None for p in self._parameters())
        #: Whether a call without names is that of what JAX compiles.
        self._is_plain = f.type_parameters is None and not self._untold and not self._has_sparse
        self._size_names = tuple(dict.fromkeys((*self._untold, *f.program.sizes, *dict(f.program.given))))
        self._call = jax.jit(self._traced, static_argnames=self._size_names, inline=True)
        self.__name__ = next(iter(f.outputs))
        self.__doc__ = f"{typed_text(f)}, computed by a kernel of tadc."
        self.__signature__: Any = signature_of(f)

    def __repr__(self) -> str:
        return f"<jax of {self.function!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return JaxFunction, (self.function,)

    def __deepcopy__(self, _memo: Any) -> JaxFunction:
        return self

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Evaluate. Raises ArgumentError that lists all that is wrong with the arguments."""
        __tracebackhide__ = True
        try:
            if self._is_plain and not kwargs:
                return self._call(*args)
            f = self.function
            if f.type_parameters is not None:
                return f.typed(f.types_of(args, kwargs)).jax(*args, **kwargs)
            if self._has_sparse and any(map(is_sparse, (*args, *kwargs.values()))):
                return self._sparse(args, kwargs)
            if self._untold or (kwargs and any(name in kwargs for name in self._size_names)):
                told = told_by_relations(self._parameters(), args, kwargs)
                given = {**{name: told[name] for name in self._untold if name in told}, **kwargs}
                kwargs = {**kwargs, **self._sizes(given)}
            if kwargs:
                args, kwargs = self._by_position(args, kwargs)
            return self._call(*args, **kwargs)
        except (TypeError, ValueError, RuntimeError, OverflowError) as error:
            other = error
        try:
            return self._explained(args, kwargs, other)
        except CompileError as error:
            leaving(error)
            raise

    def _explained(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], error: Exception) -> Any:
        """What a call gives that JAX or tadc refused: an error in the words of any call, or results where it
        can be done. Raises the error itself where nothing is known of it."""
        if isinstance(error, CompileError) and not isinstance(error, ArgumentError):
            raise error
        values = [*args, *kwargs.values()]
        if self._has_sparse and isinstance(error, ArgumentError):
            raise error
        if not self._has_sparse and any(map(is_sparse, values)):
            return self._sparse(args, kwargs)
        problems: list[Diagnostic] = []
        by_name = {p.name: p for p in self._parameters()}
        names = [*self.function.inputs[: len(args)], *[""] * (len(args) - len(by_name)), *kwargs]
        adapted = [_adapted(by_name.get(n), v, problems) for n, v in zip(names, values, strict=True)]
        if not problems and any(one is not other for one, other in zip(adapted, values, strict=True)):
            return self(*adapted[: len(args)], **dict(zip(kwargs, adapted[len(args) :], strict=True)))
        if not problems and "TAD0511" in str(error) and not any(map(is_traced, jax.tree.leaves(values))):
            problems = self._wrong_indices(args, kwargs)
        if not problems:
            raise error
        raise ArgumentError(problems) from error

    def _sparse(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """A call with sparse arrays: one with what they store."""
        call = SparseArrays(self._parameters(), self._untold, args, kwargs)
        if not call.args and set(self.function.inputs) <= call.kwargs.keys():
            # One that arrays tell, too: what a sparse one says is lost in what it stores.
            symbols = size_symbols_of(self.function.program)
            symbols.values([np.shape(call.kwargs[name]) for name in self.function.inputs], call.told)
        try:
            found = self(*call.args, **call.kwargs)
        except ArgumentError as error:
            raise ArgumentError(call.explained(error.diagnostics)) from None
        _, outputs = parameters_of(self.function.program)
        results = [
            call.result(p, a) for p, a in zip(outputs, found if self._result else (found,), strict=True)
        ]
        return self._result(*results) if self._result else results[0]

    def _wrong_indices(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Diagnostic]:
        """Errors (TAD0511) that name an element and its value."""
        parameters = self._parameters()
        given = {name: value for name, value in kwargs.items() if name not in self._size_names}
        arranged = arrange(parameters, args, given, self._size_names)
        arrays = [np.require(value, None, "C") for value in arranged]
        named = {name: kwargs[name] for name in self._size_names if name in kwargs}
        try:
            sizes = size_symbols_of(self.function.program).values([a.shape for a in arrays], named)
            IndexArguments(parameters, (), sizes).complete(arrays)
        except ArgumentError as error:
            return error.diagnostics
        return []

    def lower(self, /, *args: Any, **kwargs: Any) -> Any:
        """As of what `jax.jit` returns."""
        f = self.function
        if f.type_parameters is not None:
            return f.typed(f.types_of(args, kwargs)).jax.lower(*args, **kwargs)
        args, kwargs = self._by_position(args, kwargs)
        return self._call.lower(*args, **kwargs)

    def _by_position(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arrays that are given by name, by position if none is missing: older versions of JAX have names of
        their own there, as `fun`."""
        left = self.function.inputs[len(args) :]
        if not all(name in kwargs for name in left):
            return args, kwargs
        rest = {name: value for name, value in kwargs.items() if name not in left}
        return (*args, *(kwargs[name] for name in left)), rest

    def _sizes(self, given: Mapping[str, Any]) -> SizeValues:
        """The sizes of a call, as numbers that JAX can keep functions by. Raises ArgumentError."""
        problems: list[Diagnostic] = []
        sizes = size_values({name: given[name] for name in self._size_names if name in given}, problems)
        if problems:
            raise ArgumentError(problems)
        return sizes

    def _parameters(self) -> tuple[Parameter, ...]:
        return parameters_of(self.function.program)[0]

    def _traced(self, /, *args: Any, **kwargs: Any) -> Any:
        """A call whose arrays JAX traces."""
        sizes = {name: kwargs[name] for name in self._size_names if name in kwargs}
        arrays = {name: value for name, value in kwargs.items() if name not in sizes}
        parameters = self._parameters()
        if arrays or len(args) != len(parameters):
            made = "a BCOO, as `jax.experimental.sparse.BCOO.fromdense({})`"
            args = tuple(arrange(parameters, args, arrays, self._size_names, _problem, made))
        derived = self._for_sizes(args, sizes)
        parameters = derived.shapes.inputs
        require_types(parameters, derived.shapes.outputs)
        values = [_array(p, value) for p, value in zip(parameters, args, strict=True)]
        problems = [_problem(p, value) for p, value in zip(parameters, values, strict=True)]
        if any(problems):
            raise ArgumentError([problem for problem in problems if problem])
        if sizes.keys() - set(self._untold):
            derived.shapes.sizes(tuple(tuple(value.shape) for value in values), sizes)
        found = call(derived, [_typed(p, v) for p, v in zip(parameters, values, strict=True)])
        return self._result(*found) if self._result else found[0]

    def _for_sizes(self, args: Sequence[Any], sizes: Mapping[str, Any]) -> Derived:
        """The function; where it is one for each value of sizes, that of the call's."""
        f = self.function
        if f.per_value is not None:
            f = f.at_call([jnp.asarray(value) for value in args], sizes)
        untold = f.program.unbound_sizes()
        missing = [size_missing(name) for name in untold if name not in sizes]
        if missing:
            raise ArgumentError(missing)
        f = f.at({name: sizes[name] for name in untold})
        return self.derived if f is self.function else f.jax.derived

    @property
    def derived(self) -> Derived:
        """What JAX's rules make of the function; for other modules of tadc."""
        if self._derived is None:
            self._derived = Derived(self.function)
        return self._derived


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


def _problem(parameter: Parameter, value: Any) -> Diagnostic | None:
    return array_type_problem(parameter, _array(parameter, value))


def _array(parameter: Parameter, value: Any) -> Any:
    """A value as an array; a list of Python's numbers is of the program's type, as one number is."""
    value = unpacked(value)
    if isinstance(value, list | tuple) and all(_is_real_number(n) for n in jax.tree.leaves(value)):
        return jnp.asarray(value, parameter.dtype)
    return jnp.asarray(value)


def _typed(parameter: Parameter, array: Any) -> Any:
    """An array of the parameter's type; an index that 32 bits do not hold becomes one out of range."""
    made = array.astype(parameter.dtype)
    if parameter.below is None or np.can_cast(array.dtype, parameter.dtype):
        return made
    return jnp.where((array >= 0) & (array < INDEX_LIMIT), made, -1)


def _is_real_number(value: Any) -> bool:
    """Whether a value, which may be traced, came as a number of Python without an imaginary part."""
    array = jnp.asarray(value)
    return array.weak_type and array.dtype.kind in "biuf"


def _adapted(parameter: Parameter | None, value: Any, problems: list[Diagnostic]) -> Any:
    """What JAX takes for no array as one of NumPy; what is wrong with it joins the problems."""
    if parameter is None or isinstance(value, jax.Array | Relation) or _is_plain(parameter, value):
        return value
    found = converted(parameter, as_numpy_array(value))
    if isinstance(found, Diagnostic):
        problems.append(found)
        return value
    return found


def _is_plain(parameter: Parameter, value: Any) -> bool:
    """Whether a value is what JAX takes, or says itself what is wrong with."""
    if parameter.below is not None or not isinstance(value, PLAIN_KINDS) or type(value) is np.ma.MaskedArray:
        return False
    try:
        kind = np.asarray(value).dtype
    except Exception:  # whatever the library of the value raises
        return False
    size = 16 if kind.kind == "c" else 8
    return kind.kind in "biufcV" and kind.isnative and kind.names is None and kind.itemsize <= size


PLAIN_KINDS = (bool, int, float, complex, list, tuple, np.ndarray, np.generic)
"""The types of what JAX may take beside its own arrays."""
