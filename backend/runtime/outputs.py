"""The arrays that a call writes: new ones, or those of `out=`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from tadc.backend.runtime.call_messages import said, wrong_shape
from tadc.backend.runtime.inspector import Array
from tadc.backend.runtime.parameters import Parameter
from tadc.frontend.diagnostics import ArgumentError, Diagnostic
from tadc.frontend.dtypes import DTYPES
from tadc.frontend.suggest import did_you_mean

T = TypeVar("T")

OUT = {"code": "TAD0505", "subject": "`out` for "}
"""How what is said of arrays is said of those of `out=`."""


def given_outputs(outputs: Sequence[Parameter], out: Any) -> list[Array | None]:
    """The arrays of NumPy that `out=` gives for outputs, as `given_arrays`."""
    return given_arrays(outputs, out, _to_write, share_memory)


def given_arrays(
    outputs: Sequence[Parameter], out: Any, look: Callable[[Parameter, Any], T], meet: Callable[[T, T], bool]
) -> list[T | None]:
    """What `look` sees of the array that `out=` gives for each output, None where it gives none.

    `out` is an array where there is one output, a dict by name, or a tuple or list in order, in which None
    asks for a new array. `look` raises ArgumentError; `meet` says whether two share memory.

    Raises:
        ArgumentError: TAD0505, all that is wrong.
    """
    problems: list[Diagnostic] = []
    values = _by_name(outputs, out, problems)
    given: list[T | None] = []
    for parameter in outputs:
        value = values.get(parameter.name)
        try:
            given.append(None if value is None else look(parameter, value))
        except ArgumentError as error:
            problems += error.diagnostics
    if not problems:
        problems = _shared([(p.name, a) for p, a in zip(outputs, given, strict=True) if a is not None], meet)
    if problems:
        raise ArgumentError(problems)
    return given


def _by_name(outputs: Sequence[Parameter], out: Any, problems: list[Diagnostic]) -> dict[str, Any]:
    """What `out=` gives for each output that it names; what it names wrongly is added to the problems."""
    names = [p.name for p in outputs]
    if not isinstance(out, np.ndarray | tuple | list) and isinstance(out, Mapping):
        given: dict[str, Any] = dict(out)  # pyright: ignore[reportUnknownArgumentType]
        listed = ", ".join(f"`{n}`" for n in names)
        unknown = [name for name in given if name not in names]
        problems += [
            said("out unknown", name=name, names=listed, helps=did_you_mean(name, names)) for name in unknown
        ]
        return given
    values: list[Any] = list(out) if isinstance(out, tuple | list) else [out]  # pyright: ignore[reportUnknownArgumentType]
    if len(values) != len(names):
        listed = ", ".join(f"`{p}`" for p in outputs)
        problems.append(said("out number", given=len(values), expected=len(names), names=listed))
        return {}
    return dict(zip(names, values, strict=True))


def _to_write(parameter: Parameter, value: Any) -> Array:
    """An array of NumPy that can be written as it is."""
    problem = _problem(parameter, value)
    if problem:
        raise ArgumentError([problem])
    return value


def _problem(parameter: Parameter, value: Any) -> Diagnostic | None:
    made = f"make one with `numpy.empty({parameter.shape!s}, dtype={DTYPES[parameter.type].numpy})`"
    if not isinstance(value, np.ndarray):
        return said("out kind", parameter, found=type(value).__name__, made=made)
    array: Array = value  # pyright: ignore[reportUnknownVariableType]
    if array.dtype != parameter.dtype:
        return said("type", parameter, found=array.dtype, helps=[made], **OUT)
    if array.shape != parameter.shape:
        return wrong_shape(parameter, array.shape, [made], **OUT)
    if not array.flags.writeable:
        return said("out read-only", parameter)
    return said("out overlaps", parameter, made=made) if overlaps_itself(array) else None


def _shared(given: Sequence[tuple[str, T]], meet: Callable[[T, T], bool]) -> list[Diagnostic]:
    """A diagnostic for any two outputs, by name, whose memory meets."""
    found: list[Diagnostic] = []
    for number, (name, array) in enumerate(given):
        for other, earlier in given[:number]:
            if meet(array, earlier):
                found.append(said("out shared", name=name, other=other))
    return found


def overlaps_itself(array: Array) -> bool:
    """Whether two elements of an array have a byte in common."""
    strides = sorted((abs(s), n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1)
    end, is_nested = array.itemsize, True
    for stride, size in strides:
        is_nested = is_nested and stride >= end
        end += stride * (size - 1)
    if is_nested or not array.size:
        return False
    if end < array.nbytes:
        return True
    places = [0]
    for stride, size in strides:
        places = [place + stride * n for place in places for n in range(size)]
    return any(after - before < array.itemsize for before, after in pairwise(sorted(places)))


def share_memory(a: Array, b: Array) -> bool:
    """Whether two arrays have an element in common; True also where that is hard to tell."""
    if not np.may_share_memory(a, b):
        return False
    try:
        return np.shares_memory(a, b, max_work=10_000)  # pyright: ignore[reportArgumentType]
    except np.exceptions.TooHardError:
        return True
