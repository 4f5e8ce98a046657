"""What lifted code finds in the place of `math`, `float`, `max` and the like."""

from __future__ import annotations

import builtins
import functools
import math
import operator
import types
from collections.abc import Callable, Iterable
from typing import Any

from tadc.apps.dual.numbers import TracedNumber

#: Functions of `math` and what they are here, where the names differ.
_RENAMED = {"fabs": "abs"}
_OPERATIONS = (
    *("exp", "exp2", "expm1", "log2", "log10", "log1p", "sqrt", "cbrt", "erf", "erfc", "gamma", "lgamma"),
    *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    *("fabs", "atan2", "pow", "hypot", "copysign", "fmod", "remainder", "degrees", "radians", "ldexp", "fma"),
)
_TESTS = ("isnan", "isinf", "isfinite")


def first_number(operands: Iterable[Any]) -> TracedNumber | None:
    """The first operand that is no plain float."""
    return next((x for x in operands if isinstance(x, TracedNumber)), None)


def _dispatched(function: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(plain)
    def call(*operands: Any) -> Any:
        number = first_number(operands)
        return plain(*operands) if number is None else number.apply(function, plain, *operands)

    return call


def _tested(plain: Callable[..., Any]) -> Callable[[Any], Any]:
    @functools.wraps(plain)
    def call(x: Any) -> Any:
        return x.test(plain) if isinstance(x, TracedNumber) else plain(x)

    return call


def _log(x: Any, *base: Any) -> Any:
    number = first_number((x, *base))
    if number is None:
        return math.log(x, *base)
    top = number.apply("log", math.log, x) if isinstance(x, TracedNumber) else math.log(x)
    if not base:
        return top
    return top / (
        number.apply("log", math.log, *base) if isinstance(base[0], TracedNumber) else math.log(*base)
    )


def _fsum(terms: Iterable[Any]) -> Any:
    held = list(terms)
    number = first_number(held)
    return math.fsum(held) if number is None else number.apply("fsum", lambda *x: math.fsum(x), *held)


def _prod(factors: Iterable[Any], *, start: Any = 1) -> Any:
    return functools.reduce(operator.mul, factors, start)


def _dist(p: Iterable[Any], q: Iterable[Any]) -> Any:
    differences = [x - y for x, y in zip(p, q, strict=True)]
    return _math["hypot"](*differences)


def _sumprod(p: Iterable[Any], q: Iterable[Any], /) -> Any:
    pairs = [(x, y) for x, y in zip(p, q, strict=True)]
    return sum(x * y for x, y in pairs)


def _modf(x: Any) -> Any:
    if not isinstance(x, TracedNumber):
        return math.modf(x)
    whole = x.apply("trunc", _truncated, x)
    return x - whole, whole


def _truncated(x: float) -> float:
    return float(math.trunc(x))


def _isclose(x: Any, y: Any, *, rel_tol: float = 1e-9, abs_tol: float = 0.0) -> bool:
    if first_number((x, y)) is None:
        return math.isclose(x, y, rel_tol=rel_tol, abs_tol=abs_tol)
    return bool(x == y or abs(x - y) <= max(rel_tol * max(abs(x), abs(y)), abs_tol))


_math: dict[str, Callable[..., Any]] = {
    **{
        name: _dispatched(_RENAMED.get(name, name), getattr(math, name))
        for name in _OPERATIONS
        if hasattr(math, name)
    },
    **{name: _tested(getattr(math, name)) for name in _TESTS},
    **{"log": _log, "fsum": _fsum, "prod": _prod, "dist": _dist, "modf": _modf, "isclose": _isclose},
    **({"sumprod": _sumprod} if hasattr(math, "sumprod") else {}),
}


def _extreme(name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(plain)
    def call(*operands: Any, **options: Any) -> Any:
        held = tuple(operands[0]) if len(operands) == 1 else operands
        number = None if options else first_number(held)
        return plain(held, **options) if number is None else number.extreme(name, plain, *held)  # type: ignore[attr-defined]

    return call


class _Float(type):
    """Makes `float(x)` leave numbers of ours as they are, and `isinstance(x, float)` hold for them."""

    def __call__(cls, x: Any = 0.0, /) -> Any:
        return x if isinstance(x, TracedNumber) else float(x)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, float | TracedNumber)

    def __getattr__(cls, name: str) -> Any:
        return getattr(float, name)


class _float(metaclass=_Float):
    """`float` of lifted code."""


MATH = types.ModuleType("math", math.__doc__)
MATH.__dict__.update({**vars(math), **_math})

#: Builtin functions by identity, and what takes their place.
FUNCTIONS: dict[int, Any] = {
    **{id(getattr(math, name)): function for name, function in _math.items()},
    id(float): _float,
    id(max): _extreme("max", max),
    id(min): _extreme("min", min),
}


def _import(name: str, *details: Any, **more: Any) -> Any:
    found = builtins.__import__(name, *details, **more)
    return MATH if found is math else found


BUILTINS: dict[str, Any] = {
    **vars(builtins),
    "float": _float,
    "max": FUNCTIONS[id(max)],
    "min": FUNCTIONS[id(min)],
    "__import__": _import,
}
