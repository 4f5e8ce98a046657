"""Arithmetic on floating-point numbers.

Approximate instructions give what is nearest: kernels may not depend on how far the hardware is off.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tadc.backend.emulator.arithmetic import DTYPES, Operation, same
from tadc.backend.emulator.global_memory import Array
from tadc.backend.emulator.rounding import fma
from tadc.frontend.dtypes import COMPUTED, COMPUTING, FLOATS

_DIRECTIONS = ("rn", "rz", "rm", "rp")


def flushed(values: Array) -> Array:
    """Denormals as zeros of their sign."""
    return np.where(
        np.abs(values) < np.finfo(values.dtype).tiny, np.copysign(values.dtype.type(0), values), values
    )


def saturated(values: Array) -> Array:
    """Within 0 and 1; NaN becomes 0."""
    return np.clip(np.nan_to_num(values, nan=0.0), 0, 1).astype(values.dtype)


def _extreme(choose: Callable[[Array, Array], Array], a: Array, b: Array) -> Array:
    """As IEEE 754-2019 has minimumNumber and minimum: -0 is less than 0."""
    found = choose(a, b)
    zeros = (a == 0) & (b == 0)
    least = choose is np.fmin or choose is np.minimum
    both = np.logical_or if least else np.logical_and
    signed = both(np.signbit(a), np.signbit(b))
    zero = np.copysign(np.zeros_like(found), np.where(signed, -1.0, 1.0).astype(found.dtype))
    return np.where(zeros, zero, found)


def _in_double(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """An f32 function by its f64 one, rounded."""
    return lambda a: function(a.astype(np.float64)).astype(a.dtype)


def _high_word(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """`rcp.approx.ftz.f64` and its like: the lower half of the result is 0."""

    def apply(a: Array) -> Array:
        bits = np.asarray(function(flushed(a))).view(np.uint64)
        return flushed((bits & np.uint64(0xFFFFFFFF00000000)).view(np.float64))

    return apply


def _inverse(a: Array) -> Array:
    return a.dtype.type(1) / a


_TWO: dict[str, Callable[[Array, Array], Array]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": np.divide,
    "copysign": lambda sign, value: np.copysign(value, sign),
}  # fmt: skip
#: By name, and whether the result is rounded to nearest (`rn`) or approximate.
_ONE: dict[str, Callable[[Array], Array]] = {
    "sqrt": np.sqrt,
    "rcp": _inverse,
    "rsqrt": _in_double(lambda a: 1 / np.sqrt(a)),
    "ex2": _in_double(np.exp2),
    "lg2": _in_double(np.log2),
    "sin": _in_double(np.sin),
    "cos": _in_double(np.cos),
    "tanh": _in_double(np.tanh),
}
_PLAIN: dict[str, Callable[[Array], Array]] = {"neg": np.negative, "abs": np.abs}


def float_operation(name: str, rest: list[str]) -> Operation | None:
    """The operation of an instruction on floating-point numbers, or None."""
    if not rest or rest[-1] not in DTYPES or rest[-1] not in FLOATS:
        return None
    type, words = rest[-1], set(rest[:-1])
    if type not in COMPUTED:
        return _narrow(name, type, words)
    found = _rounded(name, type, words)
    if found is None:
        return None
    if "ftz" in words and not (name in ("rcp", "rsqrt") and type == "f64"):
        found = _with(found, before=flushed, after=flushed)
    if "sat" in words:
        found = _with(found, after=saturated)
    return found


def _narrow(name: str, type: str, words: set[str]) -> Operation | None:
    """In f32, whose numbers are long enough for one more rounding to change no sum, product or quotient."""
    wide = _rounded(name, COMPUTING[type], words)
    if wide is None or name not in (*_TWO, *_PLAIN, "fma"):
        return None
    apply, own, single = wide.apply, DTYPES[type], DTYPES[COMPUTING[type]]
    return same(type, len(wide.reads), lambda *values: apply(*(v.astype(single) for v in values)).astype(own))


def _rounded(name: str, type: str, words: set[str]) -> Operation | None:
    """By name, and by words that all must be known."""
    directions = [d for d in _DIRECTIONS if d in words]
    extra = words - {"ftz", "sat", *directions}
    if name == "fma" and len(directions) == 1 and not extra:
        if type == "f64" and directions != ["rn"]:
            return None
        return same(type, 3, partial(_fma, directions[0]))
    if name in ("min", "max") and extra <= {"NaN"} and not directions:
        names = {"min": np.minimum, "max": np.maximum} if "NaN" in extra else {"min": np.fmin, "max": np.fmax}
        return same(type, 2, partial(_extreme, names[name]))
    if extra - {"approx", "full"} or directions not in ([], ["rn"]):
        return _directed(name, type, directions[0]) if not extra and directions else None
    if name in _TWO:
        return same(type, 2, _TWO[name])
    if name in _PLAIN and not extra:
        return same(type, 1, _PLAIN[name])
    if name in _ONE:
        if type == "f64" and "approx" in extra:
            return same(type, 1, _high_word(_ONE[name]))
        return same(type, 1, _ONE[name])
    return None


def _fma(mode: str, a: Array, b: Array, c: Array) -> Array:
    return fma(a, b, c, mode)


def _directed(name: str, type: str, mode: str) -> Operation | None:
    """Sums and products in f32, rounded in a direction."""
    if type != "f32" or name not in ("add", "sub", "mul"):
        return None
    one = DTYPES[type].type(1)
    forms: dict[str, Callable[[Array, Array], Array]] = {
        "add": lambda a, b: fma(a, one, b, mode),
        "sub": lambda a, b: fma(a, one, -b, mode),
        "mul": lambda a, b: fma(a, b, np.copysign(DTYPES[type].type(0), -a * b), mode),
    }
    return same(type, 2, forms[name])


def _with(
    found: Operation,
    before: Callable[[Array], Array] | None = None,
    after: Callable[[Array], Array] | None = None,
) -> Operation:
    inner = found.apply

    def apply(*values: Array) -> Any:
        value = inner(*(before(v) for v in values)) if before else inner(*values)
        return after(value) if after else value

    return Operation(found.reads, found.writes, apply)
