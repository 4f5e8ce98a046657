"""`cvt`: from one type to another."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from tadc.backend.emulator.arithmetic import DTYPES, Operation
from tadc.backend.emulator.floats import flushed, saturated
from tadc.backend.emulator.global_memory import Array
from tadc.backend.emulator.rounding import narrowed

_WHOLE: dict[str, Callable[[Array], Array]] = {
    "rni": np.rint,
    "rmi": np.floor,
    "rpi": np.ceil,
    "rzi": np.trunc,
}
_WORDS = {*_WHOLE, "rn", "rz", "rm", "rp", "ftz", "sat"}


def conversion(name: str, rest: list[str]) -> Operation | None:
    """The operation of a conversion, or None."""
    if name == "cvt" and rest in (["rn", "f16x2", "f32"], ["rn", "bf16x2", "f32"]):
        return Operation(("f32", "f32"), "b32", partial(_pair, DTYPES[rest[1].removesuffix("x2")]))
    if name != "cvt" or len(rest) < 2 or not {*rest[-2:]} <= DTYPES.keys() or not {*rest[:-2]} <= _WORDS:
        return None
    to, from_ = rest[-2:]
    if (from_, to) == ("f64", "bf16"):
        return None
    words = set(rest[:-2])
    whole = next((f for word, f in _WHOLE.items() if word in words), None)
    direction = next((word for word in ("rn", "rz", "rm", "rp") if word in words), "rn")

    def apply(values: Array) -> Array:
        if "ftz" in words and from_ == "f32":
            values = flushed(values)
        if whole is not None:
            values = whole(values)
        found = _converted(values, to, direction, from_[0] in "fsu" and "sat" in words)
        if "ftz" in words and to == "f32":
            found = flushed(found)
        return saturated(found) if "sat" in words and to[0] == "f" else found

    if direction != "rn" and to != "f32":
        return None
    return Operation((from_,), to, apply)


def _pair(type: np.dtype[np.generic], high: Array, low: Array) -> Array:
    """Two numbers in one register."""
    high, low = (values.astype(type).view(np.uint16).astype(np.uint32) for values in (high, low))
    return high << 16 | low


def _converted(values: Array, to: str, direction: str, clamp: bool) -> Array:
    target = DTYPES[to]
    if target.kind in "fV":  # V: a type that is not one of NumPy itself
        if values.dtype == np.float64 and target == np.float32:
            return narrowed(values, direction)
        return values.astype(target)
    limits = np.iinfo(target)
    if values.dtype.kind in "fV":
        return _to_integer(values, target, limits)
    if clamp:
        own = np.iinfo(values.dtype)
        values = np.clip(values, max(limits.min, own.min), min(limits.max, own.max))
    return values.astype(target)


def _to_integer(values: Array, target: np.dtype[np.generic], limits: np.iinfo[np.integer]) -> Array:
    """Values out of range become the limits; NaN 0, or of or to 64 bits the highest bit alone."""
    # 2**bits, which the limit above is 1 less than and floating-point numbers can hold.
    above = float(int(limits.max) + 1)
    inside = (values < above) & (values >= float(limits.min))
    found = np.where(inside, values, 0).astype(target)
    found = np.where(values >= above, target.type(limits.max), found)
    found = np.where(values < float(limits.min), target.type(limits.min), found)
    wide = values.dtype == np.float64 or target.itemsize == 8
    lost = 1 << 8 * target.itemsize - 1 if wide else 0
    of_nan = np.array(lost, f"u{target.itemsize}").astype(target)
    return np.where(np.isnan(values), of_nan, found)
