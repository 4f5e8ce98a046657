"""Instructions and sections of WebAssembly as bytes."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Sequence

from tadc.lattice.late_dataclasses import dataclass, field

#: The types of values, and of a block without a result.
I32, F32, F64, NOTHING = 0x7F, 0x7D, 0x7C, 0x40

#: Instructions without operands of their own.
PLAIN: dict[str, int] = {
    "else": 0x05, "end": 0x0B, "select": 0x1B,
    "i32.eqz": 0x45, "i32.lt_s": 0x48, "i32.gt_s": 0x4A, "i32.ge_s": 0x4E,
    "i32.add": 0x6A, "i32.sub": 0x6B, "i32.mul": 0x6C, "i32.div_s": 0x6D, "i32.rem_s": 0x6F,
    "f32.=": 0x5B, "f32.!=": 0x5C, "f32.<": 0x5D, "f32.>": 0x5E, "f32.<=": 0x5F, "f32.>=": 0x60,
    "f64.=": 0x61, "f64.!=": 0x62, "f64.<": 0x63, "f64.>": 0x64, "f64.<=": 0x65, "f64.>=": 0x66,
    "f32.abs": 0x8B, "f32.neg": 0x8C, "f32.ceil": 0x8D, "f32.floor": 0x8E, "f32.sqrt": 0x91, "f32.add": 0x92,
    "f32.sub": 0x93, "f32.mul": 0x94, "f32.div": 0x95, "f32.min": 0x96, "f32.max": 0x97,
    "f64.abs": 0x99, "f64.neg": 0x9A, "f64.ceil": 0x9B, "f64.floor": 0x9C, "f64.sqrt": 0x9F, "f64.add": 0xA0,
    "f64.sub": 0xA1, "f64.mul": 0xA2, "f64.div": 0xA3, "f64.min": 0xA4, "f64.max": 0xA5,
    "f32.of i32": 0xB2, "f32.of f64": 0xB6, "f64.of i32": 0xB7, "f64.of f32": 0xBB,
}  # fmt: skip
_LOADS = {I32: (0x28, 2), F32: (0x2A, 2), F64: (0x2B, 3)}
_STORES = {I32: (0x36, 2), F32: (0x38, 2), F64: (0x39, 3)}
_PAGE = 1 << 16


def unsigned(value: int) -> bytes:
    """A number that is not negative, in LEB128."""
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def signed(value: int) -> bytes:
    """A number in LEB128."""
    found = bytearray()
    while not -64 <= value < 64:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value & 0x7F])


@dataclass
class FunctionCode:
    """A function without parameters and results that is being written: its locals, its instructions."""

    locals: list[int] = field(default_factory=list[int])
    code: bytearray = field(default_factory=bytearray)

    def local(self, type: int) -> int:
        """A new local."""
        self.locals.append(type)
        return len(self.locals) - 1

    def put(self, *names: str) -> None:
        """Instructions without operands."""
        for name in names:
            self.code.append(PLAIN[name])

    def get(self, local: int) -> None:
        """Push a local."""
        self.code += b"\x20" + unsigned(local)

    def set(self, local: int) -> None:
        """Pop into a local."""
        self.code += b"\x21" + unsigned(local)

    def i32(self, value: int) -> None:
        """Push an integer."""
        self.code += b"\x41" + signed(value)

    def number(self, type: int, value: float) -> None:
        """Push a float."""
        if type == F64:
            self.code += b"\x44" + struct.pack("<d", value)
            return
        try:
            self.code += b"\x43" + struct.pack("<f", value)
        except OverflowError:  # `struct` refuses what rounds to an infinity
            self.code += b"\x43" + struct.pack("<f", math.copysign(math.inf, value))

    def load(self, type: int, offset: int) -> None:
        """Load from an address that is pushed, beyond an offset."""
        code, alignment = _LOADS[type]
        self.code += bytes([code, alignment]) + unsigned(offset)

    def store(self, type: int, offset: int) -> None:
        """Store what is pushed behind an address."""
        code, alignment = _STORES[type]
        self.code += bytes([code, alignment]) + unsigned(offset)

    def call(self, function: int) -> None:
        """Call a function by number."""
        self.code += b"\x10" + unsigned(function)

    def open(self, what: str, type: int = NOTHING) -> None:
        """Begin a `block`, `loop` or `if`; `close` ends it."""
        self.code += bytes([{"block": 0x02, "loop": 0x03, "if": 0x04}[what], type])

    def close(self) -> None:
        """End a block."""
        self.put("end")

    def branch(self, level: int) -> None:
        """Leave a block, or go on with a loop: the `level`-th around, from 0."""
        self.code += b"\x0c" + unsigned(level)

    def branch_if(self, level: int) -> None:
        """The same where what is pushed is not 0."""
        self.code += b"\x0d" + unsigned(level)

    def body(self) -> bytes:
        """The function in a module."""
        declared = b"".join(unsigned(1) + bytes([type]) for type in self.locals)
        return _counted(unsigned(len(self.locals)) + declared + bytes(self.code) + b"\x0b")


def module_bytes(
    imports: Sequence[tuple[str, int]], functions: Sequence[FunctionCode], exported: str, memory: int
) -> bytes:
    """A module that imports functions of floats by name and number of operands, and has functions, of which
    the last is `exported`, and `memory` of so many bytes."""
    types: list[tuple[tuple[int, ...], tuple[int, ...]]] = [((F64,) * arity, (F64,)) for _, arity in imports]
    types += [((), ())] * len(functions)
    distinct = list(dict.fromkeys(types))
    numbers = [unsigned(distinct.index(type)) for type in types]
    signatures = [
        b"\x60" + _vector(map(_byte, given)) + _vector(map(_byte, made)) for given, made in distinct
    ]
    taken = [
        _named("math") + _named(name) + b"\0" + number
        for (name, _), number in zip(imports, numbers, strict=False)
    ]
    last = unsigned(len(imports) + len(functions) - 1)
    sections = {
        1: _vector(signatures),
        2: _vector(taken),
        3: _vector(numbers[len(imports) :]),
        5: _vector([b"\0" + unsigned(-(-memory // _PAGE))]),
        7: _vector([_named("memory") + b"\2\0", _named(exported) + b"\0" + last]),
        10: _vector(f.body() for f in functions),
    }
    parts = [bytes([number]) + _counted(content) for number, content in sections.items()]
    return b"".join([b"\0asm\1\0\0\0", *parts])


def _byte(value: int) -> bytes:
    return bytes([value])


def _counted(content: bytes) -> bytes:
    return unsigned(len(content)) + content


def _named(name: str) -> bytes:
    return _counted(name.encode())


def _vector(items: Iterable[bytes]) -> bytes:
    listed = list(items)
    return unsigned(len(listed)) + b"".join(listed)
