"""What a call gives, by position and by name, as what a kernel takes: read here for all ways into kernels.

A way in is a `Door`, which knows the arrays of its library. One `ArgumentError` lists all that is wrong with
names, with sizes that are given, and with each array by itself; what is wrong between these says
`SizeSymbols.values`. `call_messages.py` has the codes and the texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from keyword import iskeyword
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tadc.backend.runtime.call_messages import said, shape_problem
from tadc.backend.runtime.kept_indices import Relation
from tadc.frontend.diagnostics import ArgumentError, Diagnostic
from tadc.frontend.extents import symbol_of, symbols_in
from tadc.frontend.size_values import SizeValues, size_values
from tadc.frontend.suggest import did_you_mean
from tadc.frontend.wording import counted

if TYPE_CHECKING:
    from tadc.backend.runtime.call_sizes import SizeSymbols
    from tadc.backend.runtime.parameters import Parameter


class Door:
    """What a way into kernels knows of arrays: how a value is one, which types fit, and which layouts and
    devices keep it from being read."""

    sparse = "one of SciPy or PyTorch, as `scipy.sparse.csr_array({})`"
    """What to make of a dense array for a sparse tensor."""

    def array(self, parameter: Parameter, value: Any) -> Any | Diagnostic:
        """A value as an array, or why it is none that can be read."""
        raise NotImplementedError

    def type_problem(self, parameter: Parameter, array: Any, value: Any) -> Diagnostic | None:
        """What is wrong with the type of an array that was made of a value."""
        raise NotImplementedError

    def as_read(self, parameter: Parameter, array: Any, value: Any) -> Any | Diagnostic:
        """What is passed on of an array of the right type and shape, or why it cannot be."""
        return array

    def seen(self, parameter: Parameter, value: Any) -> Any | Diagnostic:
        """What is passed on of a value, or the first that is wrong with it."""
        array = self.array(parameter, value)
        if isinstance(array, Diagnostic):
            return array
        problem = self.type_problem(parameter, array, value) or shape_problem(parameter, tuple(array.shape))
        return problem or self.as_read(parameter, array, value)


class ReadCall(NamedTuple):
    """The values of the inputs in order, what the door passes on of them, and the sizes that are given by
    name, or by a `tadc.relation` where no array tells them."""

    values: Sequence[Any]
    arrays: list[Any]
    sizes: SizeValues

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Those of the arrays."""
        return tuple([array.shape for array in self.arrays])


def read_call(symbols: SizeSymbols, args: Sequence[Any], kwargs: Mapping[str, Any], door: Door) -> ReadCall:
    """What a call gives to a kernel with these sizes and their inputs.

    Raises ArgumentError (TAD0501 to TAD0506, TAD0508), all that is wrong.
    """
    inputs, values = symbols.inputs, args
    sizes: SizeValues = {}
    problems: list[Diagnostic] = []
    of_sizes: list[Diagnostic] = []
    missing: list[str] = []
    if kwargs or symbols.untold or len(args) != len(inputs):
        given = given_sizes(symbols, args, kwargs)
        sizes = size_values(given, of_sizes)
        missing = [name for name in symbols.untold if name not in given]
        named = {name: value for name, value in kwargs.items() if name not in symbols.known}
        inputs, values, problems = _paired(symbols, args, named, door)
    arrays: list[Any] = []
    for parameter, value in zip(inputs, values, strict=True):
        array = door.seen(parameter, value)
        if isinstance(array, Diagnostic):
            problems.append(array)
        else:
            arrays.append(array)
    if not (problems or missing or of_sizes):
        return ReadCall(values, arrays, sizes)
    if problems:
        # A sparse array in the place of one that is wrong would tell some.
        told = symbols_in(
            [extent for p in symbols.inputs if p.pattern is not None for extent in p.pattern.shape]
        )
        missing = [name for name in missing if name not in told]
    of_sizes += [said("size missing", name=name) for name in missing]
    raise ArgumentError([*problems, *of_sizes])


def by_position(names: Sequence[str], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Sequence[Any] | None:
    """The arguments in the order of the names; None where one is missing, unknown or given twice."""
    if len(args) + len(kwargs) != len(names):
        return None
    try:
        return [*args, *[kwargs[name] for name in names[len(args) :]]]
    except KeyError:
        return None


def given_sizes(symbols: SizeSymbols, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The sizes that a call gives by name, and those that no array tells and a `tadc.relation` does."""
    given: dict[str, Any] = {}
    arrays = {**dict(zip(symbols.input_names, args, strict=False)), **kwargs} if symbols.untold else {}
    for parameter in symbols.inputs if arrays else ():
        value = arrays.get(parameter.name)
        symbol = symbol_of(parameter.below) if parameter.below is not None else None
        if isinstance(value, Relation) and symbol in symbols.untold:
            given.setdefault(symbol, value.below)
    return {**given, **{name: value for name, value in kwargs.items() if name in symbols.known}}


def _paired(
    symbols: SizeSymbols, args: Sequence[Any], kwargs: Mapping[str, Any], door: Door
) -> tuple[Sequence[Parameter], list[Any], list[Diagnostic]]:
    """The inputs that a call gives in order, their values, and what is wrong with names.

    Raises ArgumentError for a call that is one of sparse arrays, or gives all arguments as one.
    """
    inputs, names = symbols.inputs, symbols.input_names
    if dense := _dense(inputs, args, kwargs, door.sparse):
        raise ArgumentError(dense)
    most = len(names)
    if len(args) == 1 and isinstance(args[0], Mapping) and not kwargs:
        raise ArgumentError([said("one mapping", signature=_signature(inputs))])
    values: dict[str, Any] = dict(zip(names, args, strict=False))
    problems: list[Diagnostic] = []
    if len(args) > most:
        given = counted(len(args), "positional argument")
        problems.append(
            said("too many", signature=_signature(inputs), given=given, most=most, surplus=len(args) - most)
        )
    for name, value in kwargs.items():
        if name not in names:
            problems.append(unknown_argument(inputs, name, symbols.known))
        elif name in values:
            problems.append(said("twice", name=name, number=names.index(name) + 1))
        else:
            values[name] = value
    missing = [
        said("missing", name=name, written=_by_name(name), signature=_signature(inputs))
        for name in names
        if name not in values
    ]
    found = [p for p in inputs if p.name in values]
    return found, [values[p.name] for p in found], missing + problems


def _signature(parameters: Sequence[Parameter]) -> str:
    if not parameters:
        return "the function takes no arguments"
    return f"the function takes `{', '.join(map(str, parameters))}`"


def _by_name(name: str) -> str:
    return f"{name}=…" if not iskeyword(name) else f"**{{{name!r}: …}}"


def _dense(
    parameters: Sequence[Parameter], args: Sequence[Any], kwargs: Mapping[str, Any], make: str
) -> list[Diagnostic]:
    """Errors (TAD0504) for dense arrays in a call that is one of sparse arrays: without the index arrays."""
    sparse = [p for p in parameters if p.pattern is not None]
    places = {name for p in sparse if p.pattern is not None for name in p.pattern.at}
    names = [p.name for p in parameters if p.name not in places]
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    if not sparse or len(args) > len(names) or places & kwargs.keys() or set(names) - given.keys():
        return []
    problems: list[Diagnostic] = []
    for p in sparse:
        if p.pattern is None or np.ndim(given[p.name]) != len(p.pattern.shape):
            continue
        names = ", ".join(f"`{name}`" for name in p.pattern.at)
        helps = [f"or pass what it stores by name, with {names}"]
        problems.append(said("dense", p, made=make.format(p.name), helps=helps))
    return problems


def unknown_argument(parameters: Sequence[Parameter], name: str, sizes: Sequence[str]) -> Diagnostic:
    """The error (TAD0502) for a name that is no argument's."""
    notes = [f"its sizes are {', '.join(f'`{size}`' for size in sizes)}"] if sizes else []
    helps = did_you_mean(name, [*(p.name for p in parameters), *sizes, "out"])
    if iskeyword(name[:-1]) and name[:-1] in [p.name for p in parameters]:
        helps = [f"by name it is passed as `{_by_name(name[:-1])}`"]
    elif name == "stream":
        helps = ["`stream=` is for arrays on a GPU: leave it out"]
    elif name == "dtype":
        helps = ["the program says the types, as in `x: f32[3]`"]
    return said("unknown", name=name, signature=_signature(parameters), notes=notes, helps=helps)
