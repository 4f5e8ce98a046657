"""Floating-point arithmetic that NumPy lacks: fused products, and roundings other than to nearest.

A value rounded to odd in a format with two bits more than enough can be rounded again in any direction,
with the result that one rounding gives (Boldo and Melquiond 2008, "Emulation of FMA and correctly rounded
sums: proved algorithms using rounding to odd").
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from tadc.backend.emulator.global_memory import Array

#: Exponents within which no step of `_fma64` overflows or loses bits.
_LARGE, _SMALL = 2.0**480, 2.0**-400


def fma(a: Array, b: Array, c: Array, mode: str = "rn") -> Array:
    """`a * b + c` rounded once; `mode` is rn, rz, rm or rp, of which f64 has rn alone."""
    if a.dtype == np.float32:
        product = a.astype(np.float64) * b.astype(np.float64)
        return narrowed(_sum_to_odd(product, c.astype(np.float64)), mode)
    if mode != "rn":
        raise NotImplementedError(mode)
    a, b, c = np.broadcast_arrays(np.atleast_1d(a), b, c)
    return _fma64(a, b, c)


def narrowed(values: Array, mode: str) -> Array:
    """f64 to f32 in a direction."""
    near = values.astype(np.float32)
    if mode == "rn":
        return near
    infinity = np.float32(np.inf)
    below = np.where(near > values, np.nextafter(near, -infinity), near)
    above = np.where(near < values, np.nextafter(near, infinity), near)
    chosen = {"rm": below, "rp": above, "rz": np.where(values > 0, below, above)}[mode]
    return np.where(np.isfinite(values), chosen, near).astype(np.float32)


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _sum_to_odd(a: Array, b: Array) -> Array:
    """The sum of f64, rounded to odd."""
    total, error = _two_sum(a, b)
    bits = total.view(np.int64) if total.ndim else np.asarray(total).view(np.int64)
    inexact = np.isfinite(total) & (error != 0) & (bits & 1 == 0)
    # An even last bit: the odd neighbour on the side of the error.
    towards = np.where(error > 0, np.inf, -np.inf)
    return np.where(inexact, np.nextafter(total, towards), total)


def _two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """Product and its error (Dekker 1971)."""
    split = np.float64(2**27 + 1)
    ah = split * a - (split * a - a)
    bh = split * b - (split * b - b)
    al, bl = a - ah, b - bh
    product = a * b
    return product, ((ah * bh - product) + ah * bl + al * bh) + al * bl


def _fma64(a: Array, b: Array, c: Array) -> Array:
    high, low = _two_product(a, b)
    upper, middle = _two_sum(c, low)
    total, rest = _two_sum(high, upper)
    found: Array = np.asarray(total + _sum_to_odd(middle, rest))
    sizes = [np.abs(x) for x in (a, b, c)]
    plain = np.isfinite(a) & np.isfinite(b) & np.isfinite(c)
    hard = np.zeros(found.shape, np.bool_)
    for size in (*sizes, np.abs(high)):
        hard |= (size > _LARGE) | ((size < _SMALL) & (size != 0))
    hard |= (high == 0) & (a != 0) & (b != 0)
    # Zeros, infinities and NaN come out as the plain operations have them.
    simple = ~plain | (a == 0) | (b == 0)
    found = np.where(simple, a * b + c, found)
    for at in np.flatnonzero(hard & ~simple):
        found[at] = _exactly(float(a[at]), float(b[at]), float(c[at]))
    return found


def _exactly(a: float, b: float, c: float) -> Any:
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return a * b + c
    try:
        return float(exact)
    except OverflowError:
        return np.inf if exact > 0 else -np.inf
