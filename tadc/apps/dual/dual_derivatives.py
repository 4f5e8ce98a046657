"""Derivatives of Python functions by dual numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, pairwise
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tadc.apps.dual.dual_number import Dual
from tadc.apps.dual.lifting import lifted
from tadc.toolkit.reporting import public, usage


@public
def lift(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A plain Python function as one of dual numbers: what `math`, NumPy and operators do with floats.

    It takes `Dual` numbers, or arrays of them, and anything else as `fn` does. Loops and branches follow the
    values. Raises UsageError (a TypeError) for what is not written in Python.

    >>> import tadc
    >>> tadc.dual.lift(lambda x: x * x)(tadc.dual.Dual(3.0, (1.0,)))
    Dual(9.0, (6.0,))
    """
    return lifted(fn)


@public
def jvp(fn: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """The value of `fn(*primals)` and its derivative in one direction, a tangent for each argument.

    Arguments are numbers or arrays of them, a tangent has the shape of its argument. The result is a number,
    an array, or tuples, lists and dictionaries of these; the derivative is built alike. Raises what `fn`
    raises, UsageError (a TypeError and a ValueError) for tangents that do not fit.

    >>> import tadc
    >>> tadc.dual.jvp(lambda x: x**2, (3.0,), (1.0,))
    (9.0, 6.0)
    """
    for what, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, Sequence | np.ndarray) or isinstance(given, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            message = f"`{what}` is a sequence with one entry for each argument, not {given!r}"
            raise usage(message, "of one argument write `tadc.dual.jvp(f, (1.0,), (1.0,))`")
    if len(primals) != len(tangents):
        raise usage(f"{len(primals)} arguments have {len(tangents)} tangents", "give one for each argument")
    arguments = [_moving(n, x, t) for n, (x, t) in enumerate(zip(primals, tangents, strict=True))]
    found = lifted(fn)(*arguments)
    return value_of(found), _each(found, lambda y: _plain(partials_of(y, 1)[..., 0]))


def _require_plain(position: int, x: Any) -> None:
    """Raise UsageError for a number that is differentiated already: its partials would be lost."""
    if any(isinstance(item, Dual) for item in (x.ravel() if getattr(x, "ndim", 0) else [x])):
        raise usage(
            f"argument {position} is a dual number: a derivative inside of a function that is differentiated",
            "for second derivatives write a program: `tadc.hessian(tadc.function(text))`",
        )


def _moving(position: int, x: Any, tangent: Any) -> Any:
    _require_plain(position, x)
    if not is_numeric(x):
        raise usage(f"argument {position} is {x!r}: no number and no array of numbers")
    if np.shape(x) != np.shape(tangent):
        raise usage(f"the tangent of argument {position} has shape {np.shape(tangent)}, not {np.shape(x)}")
    return _dual(x, np.asarray(tangent, float)[..., None])


@public
def value_and_partials(fn: Callable[..., Any], *args: Any) -> tuple[Any, Any]:
    """The value of `fn(*args)` and its partial derivatives by all arguments, from one run.

    The partials of a number are a tuple with one for each argument: a float, or an array of the shape of the
    argument; None for an argument that is no number. Where the result is an array, they have its shape in
    front; where it is a tuple, a list or a dictionary, it is built alike with such a tuple at each number.

    >>> import math, tadc
    >>> tadc.dual.value_and_partials(math.hypot, 3.0, 4.0)
    (5.0, (0.6, 0.8))
    """
    for n, x in enumerate(args):
        _require_plain(n, x)
    shapes = [np.shape(x) if is_numeric(x) else None for x in args]
    ends = [0, *accumulate(0 if shape is None else prod(shape) for shape in shapes)]
    parts = list(zip(shapes, pairwise(ends), strict=True))
    units = np.eye(ends[-1])
    duals = [
        x if shape is None else _dual(x, units[begin:end].reshape(*shape, ends[-1]))
        for x, (shape, (begin, end)) in zip(args, parts, strict=True)
    ]
    found = lifted(fn)(*duals)

    def split(y: Any) -> tuple[Any, ...]:
        whole = partials_of(y, ends[-1])
        return tuple(
            None if shape is None else _plain(whole[..., begin:end].reshape(np.shape(y) + shape))
            for shape, (begin, end) in parts
        )

    return value_of(found), _each(found, split)


def _dual(x: Any, partials: NDArray[np.float64]) -> Any:
    """A number or an array of numbers as duals, of which each has a row of partials."""
    if np.ndim(x) == 0:
        return Dual(x, partials.tolist())
    array: Any = np.empty(np.size(x), object)
    items: Any = np.ravel(x)
    rows = partials.reshape(len(items), partials.shape[-1]).tolist()
    array[:] = [Dual(item, row) for item, row in zip(items, rows, strict=True)]
    return array.reshape(np.shape(x))


def is_numeric(x: Any) -> bool:
    """Whether an argument is differentiated by: a number or an array of real numbers."""
    if isinstance(x, bool | np.bool_):
        return False
    dtype: Any = getattr(x, "dtype", None)
    return isinstance(x, int | float) or getattr(dtype, "kind", "") in ("i", "u", "f")


def value_of(found: Any) -> Any:
    """A result without its partials."""
    return _each(found, _value)


def _value(y: Any) -> Any:
    if getattr(y, "ndim", 0):
        return np.array([_value(x) for x in y.ravel()]).reshape(y.shape)
    return y.value if isinstance(y, Dual) else y


def partials_of(y: Any, count: int) -> NDArray[np.float64]:
    """The partials of a number or an array of numbers, as the last dimension; of plain numbers they are 0."""
    items = y.ravel() if getattr(y, "ndim", 0) else [y]
    rows = [x.partials if isinstance(x, Dual) else (0.0,) * count for x in items]
    return np.array(rows, float).reshape(*np.shape(y), count)


def _plain(x: NDArray[np.float64]) -> Any:
    """A single number as a float."""
    return x if x.ndim else x.item()


def _each(found: Any, make: Callable[[Any], Any]) -> Any:
    """A result built alike, with what is made of each number and each array in it."""
    y: Any = found  # `isinstance` would narrow it to types whose parts are unknown
    if isinstance(found, np.ndarray):
        return make(y if y.ndim else y[()])
    if isinstance(found, Mapping):
        return {name: _each(part, make) for name, part in y.items()}
    if isinstance(found, tuple | list):
        parts = [_each(part, make) for part in y]
        return type(y)(*parts) if hasattr(y, "_fields") else type(y)(parts)
    return make(y)
