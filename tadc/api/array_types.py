"""The types that arrays of a call say, for programs with types as parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from tadc.caller.boundary import usage
from tadc.frontend.diagnostics import ArgumentError, Diagnostic
from tadc.frontend.dtypes import DEFAULT, DTYPES, FLOATS, types_listed
from tadc.frontend.type_parameters import TypeParameters

_NAMES = {
    word: name for name in FLOATS for word in (name, DTYPES[name].library, *DTYPES[name].elsewhere.split())
}


def type_of(value: Any) -> str | None:
    """The type of an array of floats; None of what has none, as a number, a list or an array of integers."""
    dtype = getattr(value, "dtype", None)
    if dtype is None or getattr(value, "weak_type", False):
        return None
    return _NAMES.get(str(dtype).rpartition(".")[2])


def types_of_call(
    parameters: TypeParameters, arrays: Mapping[str, Any], roles: Mapping[str, str]
) -> dict[str, str]:
    """The types that arrays by name give, cotangents and tangents of tensors (`roles`) where no other does.

    Raises ArgumentError (TAD0512) for arrays of several types for one parameter.
    """
    types: dict[str, str] = {}
    problems: list[Diagnostic] = []
    for name in parameters.names:
        found = [(a, t) for a, t in _typed(arrays) if parameters.tensors.get(a) == name]
        # What is declared with a type says nothing of another's; an output may state none.
        found = found or [(a, t) for a, t in _typed(arrays) if _of(parameters, roles.get(a)) == name]
        first: dict[str, str] = {}
        for array, type in found:
            first.setdefault(type, array)
        if len(first) > 1:
            problems.append(parameters.conflict(name, [(array, type) for type, array in first.items()]))
        types[name] = next(iter(first), DEFAULT)
    if problems:
        raise ArgumentError(problems)
    return types


def _typed(arrays: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    return ((name, type) for name, value in arrays.items() if (type := type_of(value)) is not None)


def _of(parameters: TypeParameters, tensor: str | None) -> str | None:
    """The parameter of a tensor; of one that states no type the only one there is."""
    if tensor is None:
        return None
    return parameters.tensors.get(tensor, parameters.names[0] if len(parameters.names) == 1 else None)


def checked_types(parameters: TypeParameters | None, dtype: Any) -> dict[str, str]:
    """The types that `dtype=` gives: one for all parameters, or one for each. Raises UsageError."""
    if parameters is None:
        raise usage("the program has no type parameter", "declare tensors with one: `x: T[N]`")
    each = isinstance(dtype, Mapping)
    given: dict[str, Any] = (
        dict(cast("Mapping[str, Any]", dtype)) if each else dict.fromkeys(parameters.names, dtype)
    )
    unknown = [name for name in given if name not in parameters.names]
    if unknown:
        raise usage(
            f"the program has no type parameter `{unknown[0]}`", f"it has {', '.join(parameters.names)}"
        )
    missing = [name for name in parameters.names if name not in given]
    if missing:
        raise usage(f"`{missing[0]}` needs a type", f"give one: `dtype={{'{missing[0]}': 'f32', …}}`")
    return {name: _checked(given[name]) for name in parameters.names}


def _checked(type: Any) -> str:
    word = type if isinstance(type, str) else getattr(type, "__name__", None) or str(type)
    found = _NAMES.get(word.rpartition(".")[2])
    if found is None:
        raise usage(f"{type!r} is no element type", f"the element types are {types_listed('and')}")
    return found
