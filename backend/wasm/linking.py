"""One object of WebAssembly as a module: its memory, its stack, its data, and what it exports.

A module asks for nothing: functions keep their numbers, since none is imported, and so does the only global,
the stack pointer. Addresses of data are those that the layout gives:

    0 … STACK       the stack, which grows downwards: an overflow leaves memory, which ends the call
    STACK … heap    data
    heap …          the host's, from `__heap_base` on
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import chain

from tadc.backend.wasm.object_file import (
    CODE,
    CUSTOM,
    DATA,
    EXPORTS,
    FUNCTIONS,
    GLOBALS,
    MAGIC,
    MEMORIES,
    TYPES,
    Malformed,
    ObjectFile,
    Relocation,
    read_object,
)

STACK = 1 << 20
_PAGE = 1 << 16
_MOST_PAGES = 1 << 16
_FUNCTION, _MEMORY, _GLOBAL = 0, 2, 3
_I32 = 0x7F
_ORDER = (TYPES, FUNCTIONS, MEMORIES, GLOBALS, EXPORTS, CODE, DATA)


def module_of(code: bytes, symbols: Sequence[str], about: tuple[str, bytes]) -> bytes:
    """The module of an object, which exports functions, `memory` and `__heap_base`; `about` is the name and
    the content of a section for the host.

    Raises Malformed for an object that calls what it does not define.
    """
    found = read_object(code)
    if found.undefined:
        raise Malformed(f"nothing defines {', '.join(found.undefined)}")
    starts, heap = _layout(found)
    for section, relocations in found.relocations.items():
        found.sections[section] = _placed(found, section, relocations, starts)
    sections = {
        **{number: found.sections[number] for number in (TYPES, FUNCTIONS, CODE) if number in found.sections},
        MEMORIES: b"\1\1" + leb(-(-heap // _PAGE)) + leb(_MOST_PAGES),
        GLOBALS: leb(2) + _global(STACK, is_variable=True) + _global(heap, is_variable=False),
        EXPORTS: _exports(found, symbols),
    }
    segments = _segments(found, starts)
    if segments:
        sections[DATA] = leb(len(segments)) + b"".join(segments)
    parts = [bytes([number]) + _counted(sections[number]) for number in _ORDER if number in sections]
    name, content = about
    return b"".join([MAGIC, *parts, bytes([CUSTOM]) + _counted(_named(name) + content)])


def _layout(found: ObjectFile) -> tuple[list[int], int]:
    """The address of each segment, and the first behind all."""
    starts, at = list[int](), STACK
    for segment in found.segments:
        at = -(-at // segment.alignment) * segment.alignment
        starts.append(at)
        at += len(segment.content)
    return starts, -(-at // 64) * 64


def _placed(
    found: ObjectFile, section: int, relocations: Sequence[Relocation], starts: Sequence[int]
) -> bytes:
    """The content of a section with addresses of data in their places."""
    content = bytearray(found.sections[section])
    for relocation in relocations:
        symbol = found.symbols[relocation.symbol]
        if not (symbol.is_data and symbol.is_defined):
            raise Malformed(f"nothing defines {symbol.name}")
        address = starts[symbol.index] + symbol.offset + relocation.addend
        # What is to be linked has room for five groups of seven bits.
        written = struct.pack("<I", address) if relocation.form == "i32" else _padded(address)
        content[relocation.offset : relocation.offset + len(written)] = written
    return bytes(content)


def _segments(found: ObjectFile, starts: Sequence[int]) -> list[bytes]:
    """Data that is not 0, which memory is at first."""
    content = _placed(found, DATA, [], starts) if DATA in found.sections else b""
    made: list[bytes] = []
    for segment, start in zip(found.segments, starts, strict=True):
        data = content[segment.begin : segment.begin + len(segment.content)]
        if any(data):
            made.append(b"\0" + _constant(start) + _counted(data))
    return made


def _exports(found: ObjectFile, symbols: Sequence[str]) -> bytes:
    index = {s.name: s.index for s in found.symbols if s.is_defined and not s.is_data}
    functions = [_named(name) + bytes([_FUNCTION]) + leb(index[name]) for name in symbols]
    others = [_named("memory") + bytes([_MEMORY, 0]), _named("__heap_base") + bytes([_GLOBAL, 1])]
    return leb(len(functions) + len(others)) + b"".join(chain(functions, others))


def _global(value: int, *, is_variable: bool) -> bytes:
    return bytes([_I32, is_variable]) + _constant(value)


def _constant(value: int) -> bytes:
    """`i32.const value; end`."""
    return b"\x41" + sleb(value) + b"\x0b"


def _named(name: str) -> bytes:
    return _counted(name.encode())


def _counted(content: bytes) -> bytes:
    return leb(len(content)) + content


def leb(value: int, end: int = 0x80) -> bytes:
    """A number that is not negative, in LEB128; the last group is below `end`."""
    found = bytearray()
    while value >= end:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def sleb(value: int) -> bytes:
    """A number that is not negative, in LEB128 with a sign."""
    return leb(value, 0x40)


def _padded(value: int) -> bytes:
    """An address in five bytes: with a sign or without, up to 2**31."""
    return bytes([value >> shift & 0x7F | 0x80 for shift in (0, 7, 14, 21)] + [value >> 28 & 0x7F])
