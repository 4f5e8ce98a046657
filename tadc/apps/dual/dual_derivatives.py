"""Derivatives of Python functions by dual numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

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
    return value_of(found), _each(found, _dot, _mapped(_dot))


def _dot(y: Any) -> float:
    return y.partials[0] if isinstance(y, Dual) else 0.0


def _moving(position: int, x: Any, tangent: Any) -> Any:
    if not is_numeric(x):
        raise usage(f"argument {position} is {x!r}: no number and no array of numbers")
    if np.shape(x) != np.shape(tangent):
        raise usage(f"the tangent of argument {position} has shape {np.shape(tangent)}, not {np.shape(x)}")
    if np.ndim(x) == 0:
        return Dual(x, (float(tangent),))
    dots = np.asarray(tangent, dtype=float)
    return _array(np.shape(x), [Dual(v, (d,)) for v, d in zip(_items(x), dots.ravel().tolist(), strict=True)])


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
    duals, places = seeded(args)
    found = lifted(fn)(*duals)
    partials = _each(found, lambda y: _split(y, places), lambda y: _split_array(y, places))
    return value_of(found), partials


def seeded(args: Sequence[Any]) -> tuple[list[Any], list[tuple[int, tuple[int, ...]] | None]]:
    """Each number as a dual with a direction of its own, and where each argument's directions begin."""
    sizes = [int(np.size(x)) if is_numeric(x) else 0 for x in args]
    total, begin = sum(sizes), 0
    duals: list[Any] = []
    places: list[tuple[int, tuple[int, ...]] | None] = []
    for x, size in zip(args, sizes, strict=True):
        if not is_numeric(x):
            duals.append(x)
            places.append(None)
            continue
        made = [Dual(v, _unit(begin + n, total)) for n, v in enumerate(_items(x))]
        duals.append(_array(np.shape(x), made) if np.ndim(x) else made[0])
        places.append((begin, np.shape(x)))
        begin += size
    return duals, places


def is_numeric(x: Any) -> bool:
    """Whether an argument is differentiated by: a number or an array of real numbers."""
    if isinstance(x, bool | np.bool_):
        return False
    dtype: Any = getattr(x, "dtype", None)
    return isinstance(x, int | float) or getattr(dtype, "kind", "") in ("i", "u", "f")


def value_of(found: Any) -> Any:
    """A result without its partials."""
    return _each(found, _value, _mapped(_value))


def _value(y: Any) -> Any:
    return y.value if isinstance(y, Dual) else y


def _items(x: Any) -> list[Any]:
    flat: Any = np.ravel(x)
    return list(flat) if np.ndim(x) else [x]


def _array(shape: tuple[int, ...], items: Sequence[Any]) -> Any:
    array = np.empty(len(items), object)
    array[:] = items
    return array.reshape(shape)


def _unit(position: int, total: int) -> tuple[float, ...]:
    return (0.0,) * position + (1.0,) + (0.0,) * (total - position - 1)


def _split(y: Any, places: Sequence[tuple[int, tuple[int, ...]] | None]) -> tuple[Any, ...]:
    """The partials of one number, by argument."""
    total = sum(int(np.prod(place[1])) for place in places if place)
    dots = y.partials if isinstance(y, Dual) else (0.0,) * total
    found: list[Any] = []
    for place in places:
        if place is None:
            found.append(None)
            continue
        begin, shape = place
        size = int(np.prod(shape))
        found.append(np.array(dots[begin : begin + size]).reshape(shape) if shape else dots[begin])
    return tuple(found)


def _split_array(array: Any, places: Sequence[tuple[int, tuple[int, ...]] | None]) -> tuple[Any, ...]:
    """The partials of an array, by argument."""
    rows = [_split(y, places) for y in array.ravel()]
    return tuple(
        None if place is None else np.array([row[n] for row in rows]).reshape(array.shape + place[1])
        for n, place in enumerate(places)
    )


def _each(found: Any, leaf: Callable[[Any], Any], array: Callable[[Any], Any]) -> Any:
    """A result built alike, with `leaf` of each number in it, and `array` of each array."""
    y: Any = found  # `isinstance` would narrow it to types whose parts are unknown
    if isinstance(found, np.ndarray):
        return array(y) if y.ndim else leaf(y[()])
    if isinstance(found, Mapping):
        return {name: _each(part, leaf, array) for name, part in y.items()}
    if isinstance(found, tuple | list):
        parts = [_each(part, leaf, array) for part in y]
        return type(y)(*parts) if hasattr(y, "_fields") else type(y)(parts)
    return leaf(y)


def _mapped(leaf: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """`leaf` of each element of an array."""
    return lambda array: np.array([leaf(y) for y in array.ravel()]).reshape(array.shape)
