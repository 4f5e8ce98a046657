"""Relocatable objects of WebAssembly, read: sections, symbols, and places that hold addresses.

As LLVM writes them (WebAssembly/tool-conventions, Linking.md); numbers are in LEB128.
"""

from __future__ import annotations

from tadc.lattice.late_dataclasses import dataclass, field

MAGIC = b"\0asm\1\0\0\0"

CUSTOM, TYPES, IMPORTS, FUNCTIONS, GLOBALS, EXPORTS, CODE, DATA = 0, 1, 2, 3, 6, 7, 10, 11
MEMORIES = 5

FUNCTION_IMPORT = 0

_SEGMENT_INFO, _SYMBOL_TABLE = 5, 8
_SYMBOL_FUNCTION, _SYMBOL_DATA, _SYMBOL_SECTION = 0, 1, 3
_UNDEFINED, _EXPLICIT_NAME, _ABSOLUTE = 0x10, 0x40, 0x200

#: Kinds of relocations: what holds the address of data, by how it is written.
ADDRESSES = {3: "leb", 4: "sleb", 5: "i32"}
#: Those that hold numbers which stay: of functions, types and globals.
_STAY = (0, 6, 7)


class Malformed(Exception):
    """An object that is not as the compiler's are."""


class Reader:
    """Bytes, read from the begin."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.at = 0

    @property
    def more(self) -> bool:
        """Whether bytes are left."""
        return self.at < len(self.content)

    def number(self, *, signed: bool = False) -> int:
        """A number in LEB128."""
        value = shift = 0
        while True:
            byte = self.content[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return value - (1 << shift) if signed and byte & 0x40 else value

    def take(self, count: int) -> bytes:
        """So many bytes."""
        self.at += count
        return self.content[self.at - count : self.at]

    def part(self) -> bytes:
        """Bytes behind their number."""
        return self.take(self.number())

    def name(self) -> str:
        """A name."""
        return self.part().decode()


@dataclass(frozen=True)
class Symbol:
    """A function by its index, or data by its segment and offset."""

    name: str
    is_data: bool
    is_defined: bool
    index: int = 0
    offset: int = 0


@dataclass(frozen=True)
class Relocation:
    """A place in a section that holds the address of a symbol's data."""

    form: str
    offset: int
    symbol: int
    addend: int


@dataclass(frozen=True)
class Segment:
    """Data, which begins at a place in the content of its section."""

    content: bytes
    begin: int
    alignment: int


@dataclass
class ObjectFile:
    """What of an object matters: the content of sections by their numbers, and what refers to data."""

    sections: dict[int, bytes] = field(default_factory=dict[int, bytes])
    symbols: list[Symbol] = field(default_factory=list[Symbol])
    segments: list[Segment] = field(default_factory=list[Segment])
    relocations: dict[int, list[Relocation]] = field(default_factory=dict[int, list[Relocation]])
    undefined: list[str] = field(default_factory=list[str])


def read_object(code: bytes) -> ObjectFile:
    """The object. Raises Malformed."""
    if not code.startswith(MAGIC):
        raise Malformed("no object of WebAssembly")
    found, reader, order = ObjectFile(), Reader(code[len(MAGIC) :]), list[int]()
    custom: list[tuple[str, Reader]] = []
    while reader.more:
        number, content = reader.take(1)[0], reader.part()
        order.append(number)
        if number == CUSTOM:
            inside = Reader(content)
            custom.append((inside.name(), inside))
        else:
            found.sections[number] = content
    alignments: list[int] = []
    for name, inside in custom:
        if name == "linking":
            alignments = _read_linking(found, inside)
    for name, inside in custom:
        if name in ("reloc.CODE", "reloc.DATA"):
            section = order[inside.number()]
            found.relocations[section] = _read_relocations(inside)
    found.segments = _read_segments(found.sections.get(DATA, b"\0"), alignments)
    found.undefined = _imported_functions(found.sections.get(IMPORTS, b"\0"))
    return found


def _read_linking(found: ObjectFile, reader: Reader) -> list[int]:
    """Symbols; the alignments of segments."""
    alignments: list[int] = []
    reader.number()  # the version
    while reader.more:
        kind, inside = reader.take(1)[0], Reader(reader.part())
        if kind == _SYMBOL_TABLE:
            found.symbols = [_read_symbol(inside) for _ in range(inside.number())]
        elif kind == _SEGMENT_INFO:
            for _ in range(inside.number()):
                inside.name()
                alignments.append(1 << inside.number())
                inside.number()
    return alignments


def _read_symbol(reader: Reader) -> Symbol:
    kind, flags = reader.take(1)[0], reader.number()
    is_defined = not flags & _UNDEFINED
    if kind == _SYMBOL_DATA:
        name = reader.name()
        place = [reader.number() for _ in range(3)] if is_defined else [0, 0, 0]
        return Symbol(name, True, is_defined, place[0], place[1])
    index = reader.number()
    if kind == _SYMBOL_SECTION:
        return Symbol("", False, False)
    has_name = is_defined or flags & _EXPLICIT_NAME
    name = reader.name() if has_name else ""
    return Symbol(name, False, is_defined and kind == _SYMBOL_FUNCTION, index)


def _read_relocations(reader: Reader) -> list[Relocation]:
    found: list[Relocation] = []
    for _ in range(reader.number()):
        kind = reader.take(1)[0]
        offset, symbol = reader.number(), reader.number()
        if kind in ADDRESSES:
            found.append(Relocation(ADDRESSES[kind], offset, symbol, reader.number(signed=True)))
        elif kind not in _STAY:
            raise Malformed(f"a relocation of kind {kind}")
    return found


def _read_segments(content: bytes, alignments: list[int]) -> list[Segment]:
    reader, found = Reader(content), list[Segment]()
    for n in range(reader.number()):
        if reader.number() != 0 or reader.take(1) != b"\x41":
            raise Malformed("a segment that is placed by no constant")
        reader.number(signed=True)
        reader.take(1)  # the end of where it is placed
        size = reader.number()
        found.append(Segment(reader.content[reader.at : reader.at + size], reader.at, alignments[n]))
        reader.take(size)
    return found


def _imported_functions(content: bytes) -> list[str]:
    """Names of functions that the object calls and does not define."""
    reader, found = Reader(content), list[str]()
    for _ in range(reader.number()):
        reader.name()
        name, kind = reader.name(), reader.take(1)[0]
        if kind == FUNCTION_IMPORT:
            reader.number()
            found.append(name)
        elif kind == 3:
            reader.take(2)
        elif kind in (1, 2):
            if kind == 1:
                reader.take(1)
            if reader.number() & 1:
                reader.number()
            reader.number()
        else:
            raise Malformed(f"an import of kind {kind}")
    return found
