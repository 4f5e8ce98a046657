"""What the inspector made in the last call of a kernel, in memory that the kernel keeps.

    i64 @SYMBOL.look(ptr %found, ptr %array, …, i64 %size, …)

stores at `found` a block with copies of the index arrays and what is made of them, and returns 0. It is that
of the last call where sizes and elements are still the same: to sort an array takes much longer than to read
it. Else it looks at the arrays, and returns a number as an entry does where an element is no index or memory
is short. The block is the caller's until it is kept again; a call meanwhile makes another.

    void @SYMBOL.forget()

frees what is kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from tadc.backend.cpu.scratch_memory import DROP, KEEP, NEW
from tadc.backend.runtime.call_checks import INDEX, MEMORY
from tadc.backend.runtime.interface import Interface
from tadc.backend.runtime.workspace import ALIGNMENT, Temporary
from tadc.native.inspection import FIRST, LAST, NativeInspection
from tadc.native.ir_lines import Lines, Value
from tadc.native.registers import lay_out

_COPY = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"


def has_indices(interface: Interface) -> bool:
    """Whether a kernel takes index arrays, so that something is kept for it."""
    return any(p.below is not None for p in interface.arguments)


def forget_symbol(interface: Interface) -> str:
    """The name of the function that frees what is kept."""
    return f"{interface.symbol}.forget"


class KeptInspection:
    """The function for a kernel with index arrays."""

    def __init__(self, interface: Interface) -> None:
        self.interface = interface
        self.inspection = NativeInspection(interface)
        self.given = self.inspection.given
        copies = [Temporary(replace(p, name=f"copy of {p.name}"), FIRST, LAST) for p in self.given]
        self.buffers = (*copies, *self.inspection.buffers)

    @cached_property
    def place(self) -> str:
        """Where the block is between calls."""
        return f'@"{self.interface.symbol}.kept"'

    def declarations(self) -> list[str]:
        """What is called, and where the block is kept."""
        words = [f'declare ptr @"{NEW}"(i64)', f'declare void @"{DROP}"(ptr)', _COPY]
        words.append(f'declare void @"{KEEP}"(ptr, ptr)')
        return [*self.inspection.declarations(), *words, f"{self.place} = internal global ptr null"]

    def look(self, lines: Lines, arrays: Sequence[Value], sizes: Mapping[str, Value], code: str) -> Value:
        """Call the function; a block, or a code on the way to a block of that name."""
        place = lines.put("alloca ptr")
        passed = [f"ptr {place}", *(f"ptr {a}" for a in arrays), *(f"i64 {sizes[n]}" for n in self._sizes)]
        found = lines.put(f'call i64 @"{self.interface.symbol}.look"({", ".join(passed)})')
        lines.do(f"store i64 {found}, ptr {code}")
        lines.require(lines.put(f"icmp eq i64 {found}, 0"), "refused")
        return lines.put(f"load ptr, ptr {place}")

    def keep(self, lines: Lines, block: Value) -> None:
        """Keep a block for the next call."""
        lines.do(f'call void @"{KEEP}"(ptr {self.place}, ptr {block})')

    def made(self, lines: Lines, block: Value, sizes: Mapping[str, Value]) -> list[Value]:
        """Where in a block the arrays are that the kernel takes besides."""
        begin = len(self.given)
        return self._places(lines, block, self._layout(lines, sizes)[0])[
            begin : begin + len(self.interface.made)
        ]

    def is_long(self, lines: Lines, block: Value) -> Value:
        """Whether a block has a long range."""
        return lines.put(f"icmp ne i64 {lines.put(f'load i64, ptr {block}')}, 0")

    def text(self) -> str:
        """The functions."""
        return self._forget() + self._look()

    def _forget(self) -> str:
        lines = Lines()
        lines.do(f'call void @"{DROP}"(ptr {self._taken(lines)})')
        lines.do("ret void")
        return lines.function(f'void @"{forget_symbol(self.interface)}"()', {})

    def _taken(self, lines: Lines) -> Value:
        """What was kept, or null, and is no longer."""
        return lines.put(f"atomicrmw xchg ptr {self.place}, ptr null acq_rel")

    def _look(self) -> str:
        lines, names = Lines(), self._sizes
        sizes = {name: f"%s{n}" for n, name in enumerate(names)}
        arrays = [f"%a{n}" for n in range(len(self.given))]
        layout, total = self._layout(lines, sizes)
        old = self._taken(lines)
        self._compare(lines, old, layout, arrays, sizes)
        lines.do(f"store ptr {old}, ptr %found")
        lines.do("ret i64 0")
        lines.label("anew")
        lines.do(f'call void @"{DROP}"(ptr {old})')
        for n, (parameter, array) in enumerate(zip(self.given, arrays, strict=True)):
            self.inspection.check(lines, array, parameter, sizes, f"no.index{n}")
        block = lines.put(f'call ptr @"{NEW}"(i64 {total})')
        lines.require(lines.put(f"icmp ne ptr {block}, null"), "no.memory")
        self._fill(lines, block, layout, arrays, sizes)
        lines.do(f"store ptr {block}, ptr %found")
        lines.do("ret i64 0")
        checks = [check for check in self.interface.checks if check.what == INDEX]
        ends = {f"no.index{n}": f"i64 {self.interface.number(check)}" for n, check in enumerate(checks)}
        ends["no.memory"] = f"i64 {self.interface.number(MEMORY)}"
        parameters = ["ptr %found", *(f"ptr {a}" for a in arrays), *(f"i64 {sizes[n]}" for n in names)]
        return lines.function(f'internal i64 @"{self.interface.symbol}.look"({", ".join(parameters)})', ends)

    @property
    def _sizes(self) -> tuple[str, ...]:
        return tuple(self.interface.sizes)

    @property
    def _header(self) -> int:
        """The bytes before the arrays: whether there is a long range, then the sizes."""
        return -(-8 * (1 + len(self._sizes)) // ALIGNMENT) * ALIGNMENT

    def _layout(self, lines: Lines, sizes: Mapping[str, Value]) -> tuple[tuple[Value, ...], Value]:
        """Where arrays begin in a block, and how many bytes that has."""
        found = lay_out(lines, self.buffers, sizes)
        offsets = tuple(lines.binary("add", offset, str(self._header)) for offset in found.offsets)
        return offsets, lines.binary("add", found.bytes, str(self._header))

    def _places(self, lines: Lines, block: Value, offsets: Sequence[Value]) -> list[Value]:
        return [lines.put(f"getelementptr i8, ptr {block}, i64 {offset}") for offset in offsets]

    def _compare(
        self,
        lines: Lines,
        old: Value,
        layout: Sequence[Value],
        arrays: Sequence[Value],
        sizes: Mapping[str, Value],
    ) -> None:
        """Go on where a block is there, of the same sizes and elements, else to a block of that name."""
        lines.require(lines.put(f"icmp ne ptr {old}, null"), "anew")
        for n, name in enumerate(self._sizes):
            word = lines.put(f"load i64, ptr {lines.word(old, 1 + n)}")
            lines.require(lines.put(f"icmp eq i64 {word}, {sizes[name]}"), "anew")
        copies = self._places(lines, old, layout[: len(arrays)])
        for parameter, array, copy in zip(self.given, arrays, copies, strict=True):
            count = lines.product(1, parameter.shape, sizes)
            same = lines.put(f"call i64 @tadc_same_int32(ptr {array}, ptr {copy}, i64 {count})")
            lines.require(lines.put(f"icmp ne i64 {same}, 0"), "anew")

    def _fill(
        self,
        lines: Lines,
        block: Value,
        layout: Sequence[Value],
        arrays: Sequence[Value],
        sizes: Mapping[str, Value],
    ) -> None:
        """Copy the arrays, and make what is made of them."""
        for n, name in enumerate(self._sizes):
            lines.do(f"store i64 {sizes[name]}, ptr {lines.word(block, 1 + n)}")
        places = self._places(lines, block, layout)
        for parameter, array, copy in zip(self.given, arrays, places, strict=False):
            count = lines.product(parameter.dtype.itemsize, parameter.shape, sizes)
            lines.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {copy}, ptr {array}, i64 {count}, i1 false)")
        by_name = {p.name: array for p, array in zip(self.given, arrays, strict=True)}
        made = self.inspection.run(lines, by_name, places[len(self.given) :], sizes)
        by_name |= {p.name: array for p, array in zip(self.interface.made, made, strict=True)}
        is_long = self.inspection.is_long(lines, by_name, sizes)
        lines.do(f"store i64 {is_long}, ptr {block}")
