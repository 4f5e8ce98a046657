"""Arithmetic on integers and bits."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tadc.backend.emulator.arithmetic import DTYPES, Operation, same
from tadc.backend.emulator.global_memory import Array


def _divided(a: Array, b: Array) -> Array:
    """Towards zero; all ones where the divisor is 0, as the hardware has it."""
    zero = b == 0
    safe = np.where(zero, b.dtype.type(1), b)
    whole = a // safe
    if a.dtype.kind == "i":
        whole = whole + ((whole < 0) & (whole * safe != a)).astype(a.dtype)
    return np.where(zero, np.array(-1).astype(a.dtype), whole)


def _remainder(a: Array, b: Array) -> Array:
    return np.where(b == 0, a, a - _divided(a, b) * b)


def high_product(a: Array, b: Array) -> Array:
    """The upper half of a product."""
    bits = 8 * a.dtype.itemsize
    if bits < 64:
        wide = np.dtype(f"{a.dtype.kind}{2 * a.dtype.itemsize}")
        return ((a.astype(wide) * b.astype(wide)) >> wide.type(bits)).astype(a.dtype)
    x, y = a.astype(np.uint64), b.astype(np.uint64)
    half, mask = np.uint64(32), np.uint64(0xFFFFFFFF)
    xl, xh, yl, yh = x & mask, x >> half, y & mask, y >> half
    middle = xh * yl + (xl * yl >> half)
    other = (middle & mask) + xl * yh
    found = xh * yh + (middle >> half) + (other >> half)
    if a.dtype.kind == "i":
        found = found - np.where(a < 0, y, np.uint64(0)) - np.where(b < 0, x, np.uint64(0))
    return found.astype(a.dtype)


def _shifted(left: bool) -> Callable[[Array, Array], Array]:
    def shift(a: Array, count: Array) -> Array:
        bits = 8 * a.dtype.itemsize
        within = np.minimum(count, bits - 1).astype(a.dtype)
        if left:
            return np.where(count >= bits, a.dtype.type(0), a << within)
        far = a >> within
        return far if a.dtype.kind == "i" else np.where(count >= bits, a.dtype.type(0), far)

    return shift


def _funnel(left: bool, wrap: bool) -> Callable[[Array, Array, Array], Array]:
    """A word of `high:low` shifted."""

    def shift(low: Array, high: Array, count: Array) -> Array:
        both = high.astype(np.uint64) << np.uint64(32) | low.astype(np.uint64)
        by = (count & np.uint32(31) if wrap else np.minimum(count, np.uint32(32))).astype(np.uint64)
        moved = both << by >> np.uint64(32) if left else both >> by
        return moved.astype(np.uint32)

    return shift


def _leading_zeros(a: Array) -> Array:
    bits = 8 * a.dtype.itemsize
    count = np.full(a.shape, bits, np.uint32)
    rest = a.copy()
    while rest.any():
        count -= (rest != 0).astype(np.uint32)
        rest >>= a.dtype.type(1)
    return count


def _field(a: Array, start: Array, length: Array) -> Array:
    """Bits of a, zeros above (unsigned) or the field's sign (signed)."""
    unsigned = a.astype(np.dtype(f"u{a.dtype.itemsize}"))
    bits = 8 * a.dtype.itemsize
    start, length = (np.minimum(v & 0xFF, bits) for v in (start, length))
    moved = _shifted(False)(unsigned, start)
    spare = (bits - length).astype(unsigned.dtype)
    if a.dtype.kind == "u":
        return np.where(
            length == 0, unsigned.dtype.type(0), _shifted(False)(_shifted(True)(moved, spare), spare)
        )
    signed = _shifted(False)(_shifted(True)(moved, spare).view(a.dtype), spare)
    return np.where(length == 0, a.dtype.type(0), signed)


def _inserted(a: Array, b: Array, start: Array, length: Array) -> Array:
    bits = 8 * a.dtype.itemsize
    start, length = (np.minimum(v & 0xFF, bits) for v in (start, length))
    ones = _shifted(False)(np.full(a.shape, -1).astype(a.dtype), (bits - length).astype(a.dtype))
    mask = _shifted(True)(ones, start)
    return b & ~mask | _shifted(True)(a, start) & mask


def _permuted(a: Array, b: Array, choice: Array) -> Array:
    """`prmt`: each byte of the value is one of the eight of b:a, or eight times its sign."""
    both = b.astype(np.uint64) << np.uint64(32) | a.astype(np.uint64)
    found = np.zeros(a.shape, np.uint32)
    for n in range(4):
        wanted = choice.astype(np.uint64) >> np.uint64(4 * n)
        byte = both >> (wanted & np.uint64(7)) * np.uint64(8) & np.uint64(255)
        signs = np.where(byte & np.uint64(128), np.uint64(255), np.uint64(0))
        byte = np.where(wanted & np.uint64(8), signs, byte)
        found |= byte.astype(np.uint32) << np.uint32(8 * n)
    return found


def _logic(table: int) -> Callable[[Array, Array, Array], Array]:
    """`lop3`: any function of three bits, by its table."""

    def apply(a: Array, b: Array, c: Array) -> Array:
        found = np.zeros_like(a)
        for n in range(8):
            if table >> n & 1:
                found |= (a if n & 4 else ~a) & (b if n & 2 else ~b) & (c if n & 1 else ~c)
        return found

    return apply


_TWO: dict[str, Callable[[Array, Array], Array]] = {
    "add": operator.add, "sub": operator.sub, "div": _divided, "rem": _remainder,
    "min": np.minimum, "max": np.maximum,
}  # fmt: skip
_BITS: dict[str, tuple[int, Callable[..., Array]]] = {
    "and": (2, np.bitwise_and), "or": (2, np.bitwise_or), "xor": (2, np.bitwise_xor), "not": (1, np.invert),
}  # fmt: skip
_PREDICATES = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor, "not": np.logical_not}


def integer_operation(name: str, rest: list[str]) -> Operation | None:
    """The operation of an instruction on integers, or None."""
    type = rest[-1] if rest else ""
    if type == "pred":
        return same(type, _BITS[name][0], _PREDICATES[name]) if name in _BITS and rest == ["pred"] else None
    if type not in DTYPES or type[0] == "f":
        return None
    if "cc" in rest or name in ("addc", "subc", "madc"):
        return _with_carry(name, [part for part in rest if part != "cc"], "cc" in rest)
    if name in ("mul", "mad"):
        return _product(name, rest)
    if name == "shf" and len(rest) == 3:
        return Operation(("b32", "b32", "u32"), "b32", _funnel(rest[0] == "l", rest[1] == "wrap"))
    if len(rest) != 1:
        return None
    if name in _TWO:
        return same(type, 2, _TWO[name])
    if name in _BITS:
        count, apply = _BITS[name]
        return same(type, count, apply)
    return _special(name, type)


def _negated(a: Array) -> Array:
    return np.zeros_like(a) - a


def _count(a: Array) -> Array:
    return np.bitwise_count(a).astype(np.uint32)


def _special(name: str, type: str) -> Operation | None:
    u32 = "u32"
    table: dict[str, Operation] = {
        "neg": same(type, 1, _negated),
        "abs": same(type, 1, np.abs),
        "shl": Operation((type, u32), type, _shifted(True)),
        "shr": Operation((type, u32), type, _shifted(False)),
        "clz": Operation((type,), u32, _leading_zeros),
        "popc": Operation((type,), u32, _count),
        "bfe": Operation((type, u32, u32), type, _field),
        "bfi": Operation((type, type, u32, u32), type, _inserted),
        "brev": same(type, 1, _reversed),
        "prmt": same("b32", 3, _permuted),
    }
    return table.get(name)


def _reversed(a: Array) -> Array:
    bits = 8 * a.dtype.itemsize
    one, found = a.dtype.type(1), np.zeros_like(a)
    for n in range(bits):
        found |= (a >> a.dtype.type(n) & one) << a.dtype.type(bits - 1 - n)
    return found


def lop3(table: int) -> Operation:
    """`lop3.b32` with the table that is its last operand."""
    return same("b32", 3, _logic(table))


def _product(name: str, rest: list[str]) -> Operation | None:
    if len(rest) != 2:
        return None
    part, type = rest
    wide = f"{type[0]}{2 * int(type[1:])}" if part == "wide" else type
    if wide not in DTYPES:
        return None
    kinds: dict[str, Callable[[Array, Array], Array]] = {
        "lo": operator.mul,
        "hi": high_product,
        "wide": lambda a, b: a.astype(DTYPES[wide]) * b.astype(DTYPES[wide]),
    }
    if part not in kinds:
        return None
    multiply = kinds[part]
    if name == "mul":
        return Operation((type, type), wide, multiply)

    def added(a: Array, b: Array, c: Array) -> Array:
        return multiply(a, b) + c

    return Operation((type, type, wide), wide, added)


def _with_carry(name: str, rest: list[str], sets: bool) -> Operation | None:
    """`add.cc`, `addc`, `subc.cc`, `madc.hi.cc`, …: sums whose carry is a flag of the lane."""
    takes = name in ("addc", "subc", "madc")
    base, type = name.removesuffix("c") if takes else name, rest[-1]
    if base not in ("add", "sub", "mad") or len(rest) != (2 if base == "mad" else 1):
        return None
    unsigned = DTYPES[f"u{type[1:]}"]

    def summed(a: Array, b: Array, *flag: Array) -> Any:
        x, y = a.astype(unsigned), b.astype(unsigned)
        carry = flag[0].astype(unsigned) if flag else unsigned.type(0)
        if base == "sub":
            value = x - y - carry
            out = (x < y) | ((x == y) & (carry != 0))
        else:
            value = x + y + carry
            out = (value < x) | ((value == x) & (carry != 0) & (y != 0))
        value = value.astype(a.dtype)
        return (value, out) if sets else value

    if base != "mad":
        return Operation((type, type), type, summed, takes, sets)
    multiply = operator.mul if rest[0] == "lo" else high_product

    def product(a: Array, b: Array, c: Array, *flag: Array) -> Any:
        return summed(multiply(a, b), c, *flag)

    return Operation((type, type, type), type, product, takes, sets)
