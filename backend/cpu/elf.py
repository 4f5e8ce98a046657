"""Relocatable ELF objects of x86-64 placed in memory: what a linker does, for the little that kernels need.

A cached kernel runs so without LLVM, whose libraries take longer to load than the kernel to run. Sections
and relocations are those of the System V ABI for AMD64 (version 1.0, chapter 4); what is not in the
tables below raises `Unsupported`.
"""

from __future__ import annotations

import ctypes
import mmap
import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache

from tadc.lattice.late_dataclasses import dataclass

#: The address of a symbol that an object does not define.
Resolve = Callable[[str], int]

_MAGIC = b"\x7fELF\x02\x01\x01"  # 64 bits, little endian
_RELOCATABLE, _X86_64 = 1, 62
_SYMBOLS, _RELOCATIONS, _ZEROS, _INITIALISERS = 2, 4, 8, (14, 15, 16)
_WRITE, _ALLOCATED, _EXECUTABLE, _THREAD_LOCAL = 1, 2, 4, 0x400
_UNDEFINED, _ABSOLUTE, _SPECIAL = 0, 0xFFF1, 0xFF00

#: R_X86_64_64, R_X86_64_PC32, R_X86_64_PLT32; GOTPCREL, GOTPCRELX and REX_GOTPCRELX.
_ADDRESS, _RELATIVE, _CALL, _BY_TABLE = 1, 2, 4, (9, 41, 42)

#: `jmp *displacement(%rip)`
_JUMP = b"\xff\x25"
_JUMP_SIZE = 8


class Unsupported(Exception):
    """An object that needs a real linker, or bytes that are no object."""


@dataclass(frozen=True)
class _Section:
    name: str
    type: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int


@dataclass(frozen=True)
class _Symbol:
    name: str
    section: int
    value: int


class Image:
    """Code and data of an object in the memory of this process, as long as this lives."""

    def __init__(self, memory: mmap.mmap, addresses: dict[str, int]) -> None:
        self._memory = memory
        self.addresses = addresses


def place(code: bytes, symbols: Sequence[str], resolve: Resolve) -> Image:
    """Place an object in memory; the addresses of `symbols`, which it must define.

    Raises Unsupported; KeyError for a symbol that it lacks; what `resolve` raises for a symbol that it
    needs; OSError where the system gives no executable memory.
    """
    if sys.platform != "linux":
        raise Unsupported("not Linux")
    try:
        return _Linker(code, resolve).image(symbols)
    except (struct.error, IndexError, ValueError) as error:
        raise Unsupported(f"not an object: {error}") from error


class _Linker:
    def __init__(self, code: bytes, resolve: Resolve) -> None:
        if not code.startswith(_MAGIC) or struct.unpack_from("<HH", code, 16) != (_RELOCATABLE, _X86_64):
            raise Unsupported("not a relocatable object of x86-64")
        self.code = code
        self.resolve = resolve
        self.sections = self._read_sections()
        self.symbols = self._read_symbols()
        self.relocations = [s for s in self.sections if s.type == _RELOCATIONS and self._kept(s.info)]
        #: Where each section that is kept, and what is made here, stands from the start of the image.
        self.at: dict[int, int] = {}
        self.table: dict[str, int] = {}
        self.jumps: dict[str, int] = {}

    def _read_sections(self) -> list[_Section]:
        (start,) = struct.unpack_from("<Q", self.code, 0x28)
        count, names = struct.unpack_from("<HH", self.code, 0x3C)
        raw = [struct.unpack_from("<IIQQQQIIQ", self.code, start + 64 * n) for n in range(count)]
        strings = raw[names][4]
        found = [_Section(self._text(strings + r[0]), r[1], r[2], *r[4:9]) for r in raw]
        for section in found:
            if section.type in _INITIALISERS or section.flags & _THREAD_LOCAL:
                raise Unsupported(f"section {section.name}")
        return found

    def _text(self, start: int) -> str:
        return self.code[start : self.code.index(b"\0", start)].decode()

    def _read_symbols(self) -> list[_Symbol]:
        (table,) = (s for s in self.sections if s.type == _SYMBOLS)
        strings = self.sections[table.link].offset
        found: list[_Symbol] = []
        for at in range(table.offset, table.offset + table.size, 24):
            name, _, _, section, value = struct.unpack_from("<IBBHQ", self.code, at)
            found.append(_Symbol(self._text(strings + name), section, value))
        return found

    def _kept(self, number: int) -> bool:
        """Kernels raise nothing: what unwinds their stack is left out."""
        section = self.sections[number]
        return bool(section.flags & _ALLOCATED) and section.name != ".eh_frame"

    def image(self, symbols: Sequence[str]) -> Image:
        """The object in memory."""
        ends = self._lay_out()
        memory = mmap.mmap(-1, ends[-1], mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        for number, start in self.at.items():
            section = self.sections[number]
            if section.type != _ZEROS:
                memory[start : start + section.size] = self.code[section.offset :][: section.size]
        self._fill_tables(memory, base)
        for section in self.relocations:
            self._relocate(memory, base, section)
        # No page is writable and executable at once.
        _protect(base, ends[0], mmap.PROT_READ | mmap.PROT_EXEC)
        _protect(base + ends[0], ends[1] - ends[0], mmap.PROT_READ)
        defined = {s.name: s for s in self.symbols if s.name and s.section != _UNDEFINED}
        return Image(memory, {name: base + self._place_of(defined[name]) for name in symbols})

    def _lay_out(self) -> list[int]:
        """Give everything a place: code, then constants, then data; where each of the three ends."""
        self._find_needed()
        at = 0
        ends: list[int] = []
        for wanted in (_EXECUTABLE, 0, _WRITE):
            for number, section in enumerate(self.sections):
                if self._kept(number) and section.flags & (_EXECUTABLE | _WRITE) == wanted:
                    at = _aligned(at, section.alignment)
                    self.at[number] = at
                    at += section.size
            made, size = {_EXECUTABLE: (self.jumps, _JUMP_SIZE), 0: (self.table, 8)}.get(wanted, ({}, 0))
            at = _aligned(at, 8)
            for name in made:
                made[name] = at
                at += size
            at = _aligned(at, mmap.PAGESIZE)
            ends.append(at)
        ends[-1] = max(ends[-1], mmap.PAGESIZE)
        return ends

    def _find_needed(self) -> None:
        """The symbols whose addresses need a table, and those that calls reach by a jump through it."""
        for section in self.relocations:
            for _, type, symbol, _ in self._entries(section):
                if type in _BY_TABLE or symbol.section == _UNDEFINED:
                    self.table[symbol.name] = 0
                if type == _CALL and symbol.section == _UNDEFINED:
                    self.jumps[symbol.name] = 0

    def _entries(self, section: _Section) -> list[tuple[int, int, _Symbol, int]]:
        """Offset, type, symbol and addend of each relocation of a section."""
        found: list[tuple[int, int, _Symbol, int]] = []
        for at in range(section.offset, section.offset + section.size, 24):
            offset, info, addend = struct.unpack_from("<QQq", self.code, at)
            found.append((offset, info & 0xFFFFFFFF, self.symbols[info >> 32], addend))
        return found

    def _place_of(self, symbol: _Symbol) -> int:
        if symbol.section >= _SPECIAL or symbol.section not in self.at:
            raise Unsupported(f"symbol {symbol.name}")
        return self.at[symbol.section] + symbol.value

    def _fill_tables(self, memory: mmap.mmap, base: int) -> None:
        by_name = {s.name: s for s in self.symbols if s.name}
        for name, at in self.table.items():
            symbol = by_name.get(name)
            if symbol is None:
                raise Unsupported("a table entry for a section")
            outside = symbol.section == _UNDEFINED
            struct.pack_into(
                "<Q", memory, at, self.resolve(name) if outside else base + self._place_of(symbol)
            )
        for name, at in self.jumps.items():
            memory[at : at + 2] = _JUMP
            struct.pack_into("<i", memory, at + 2, self.table[name] - (at + 6))

    def _relocate(self, memory: mmap.mmap, base: int, section: _Section) -> None:
        start = self.at[section.info]
        for offset, type, symbol, addend in self._entries(section):
            at = start + offset
            outside = symbol.section == _UNDEFINED
            if type == _ADDRESS:
                value = self.resolve(symbol.name) if outside else base + self._place_of(symbol)
                struct.pack_into("<Q", memory, at, value + addend)
            elif type in _BY_TABLE:
                struct.pack_into("<i", memory, at, self.table[symbol.name] + addend - at)
            elif type == _CALL and outside:
                struct.pack_into("<i", memory, at, self.jumps[symbol.name] + addend - at)
            elif type in (_RELATIVE, _CALL) and not outside:
                struct.pack_into("<i", memory, at, self._place_of(symbol) + addend - at)
            else:
                raise Unsupported(f"relocation {type} of {symbol.name}")


def _aligned(at: int, alignment: int) -> int:
    return -(-at // alignment) * alignment if alignment > 1 else at


@cache
def _process() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _protect(address: int, size: int, protection: int) -> None:
    if size and _process().mprotect(ctypes.c_void_p(address), ctypes.c_size_t(size), protection):
        raise OSError(ctypes.get_errno(), "no executable memory")


@cache
def process_address(name: str) -> int:
    """The address of a function of this process. Raises LookupError."""
    try:
        function = _process()[name]
    except AttributeError:
        raise LookupError(f"the process has no symbol {name}") from None
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None
    return address


def resolver(given: Mapping[str, int]) -> Resolve:
    """What finds symbols among those given by name, then in this process; raises LookupError."""
    return lambda name: given[name] if name in given else process_address(name)
