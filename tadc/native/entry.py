"""A kernel as a function of addresses and extents alone, which a framework's operator calls.

    i64 @SYMBOL.entry(ptr %data, ptr %dims)
    i64 @SYMBOL.shapes(ptr %dims, ptr %out)

`data` are the addresses of the elements of all inputs, then of all results, row-major without gaps; indices
have 32 bits. `dims` are the extents of all inputs, one after another, then the sizes that no input tells. The
first runs the kernel; the second writes the extents of all results. Both return 0 where all is well, and have
done nothing otherwise: then they return the number of what does not hold, counted from 1, in the list of
checks of the interface. Memory comes from `scratch_memory`, whose functions the code is to be loaded with.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property

from tadc.backend.cpu.processors import host
from tadc.backend.cpu.scratch_memory import GIVE, TAKE
from tadc.backend.runtime.call_checks import EXTENT, MEMORY, SIZES, CallCheck
from tadc.backend.runtime.interface import Interface
from tadc.lattice.late_dataclasses import dataclass
from tadc.native.ir_lines import SATURATED, Lines, Value
from tadc.native.kept_inspection import KeptInspection, has_indices
from tadc.native.registers import Registers, lay_out

_DECLARED = re.compile(r'declare [^@\n]*@("[^"]*"|[\w.$]+)\(')
_DEFINED = re.compile(r'^define [^@\n]*@("[^"]*"|[\w.$]+)\(', re.M)


@dataclass(frozen=True)
class Entry:
    """The names of the two functions, and what defines them: the end of a text that has the kernel."""

    symbol: str
    shapes_symbol: str
    text: str


def entry_of(interface: Interface, find_cutting: str = "") -> Entry:
    """The functions for a kernel. Where calls have long fibres, the function `find_cutting` is asked for the
    entry of another kernel, which cuts these; it returns null where there is none."""
    made = _Functions(interface, find_cutting)
    text = "\n".join([*made.declarations(), made.shapes(), made.entry(), ""])
    return Entry(entry_symbol(interface), f"{interface.symbol}.shapes", text)


def entry_symbol(interface: Interface) -> str:
    """The name of the function that runs a kernel."""
    return f"{interface.symbol}.entry"


def joined(*texts: str) -> str:
    """Texts of LLVM IR as one; what several declare, or one defines, is declared once or not."""
    seen = {name for text in texts for name in _DEFINED.findall(text)}
    lines: list[str] = []
    for line in "\n".join(texts).split("\n"):
        declared = _DECLARED.match(line)
        if declared is not None:
            if declared[1] in seen:
                continue
            seen.add(declared[1])
        lines.append(line)
    return "\n".join(lines)


@dataclass(frozen=True)
class _Functions:
    interface: Interface
    find_cutting: str

    def shapes(self) -> str:
        """The function that tells the extents of results."""
        lines, position = Lines(), 0
        sizes = self.sizes(lines)
        for parameter in self.interface.outputs:
            for extent in parameter.shape:
                value = lines.form(extent, sizes)
                lines.do(f"store i64 {value}, ptr {lines.word('%out', position)}")
                position += 1
        lines.do("ret i64 0")
        return self.function("shapes", "ptr %dims, ptr %out", lines)

    def entry(self) -> str:
        """The function that runs the kernel."""
        lines = Lines()
        place, code = lines.put("alloca [2 x i32]") if self.is_x86 else "", lines.put("alloca i64")
        sizes = self.sizes(lines)
        tensors = [*self.interface.arguments, *self.interface.outputs]
        given = [lines.put(f"load ptr, ptr {lines.word('%data', n)}") for n in range(len(tensors))]
        inputs, results = given[: len(self.interface.arguments)], given[len(self.interface.arguments) :]
        kept, made = "", list[Value]()
        if self.kept is not None:
            arrays = [
                array
                for p, array in zip(self.interface.arguments, inputs, strict=True)
                if p.below is not None
            ]
            kept = self.kept.look(lines, arrays, sizes, code)
            made = self.kept.made(lines, kept, sizes)
            if self.find_cutting:
                self.cut(lines, self.kept, kept)
        scratch = lay_out(lines, self.interface.temporaries, sizes)
        block, between = "", list[Value]()
        if self.interface.temporaries:
            block = lines.put(f'call ptr @"{TAKE}"(i64 {scratch.bytes})')
            self.has_memory(lines, block, kept)
            between = [lines.put(f"getelementptr i8, ptr {block}, i64 {n}") for n in scratch.offsets]
        arguments = [f"ptr {n}" for n in (*inputs, *made, *results, *between)] + [
            f"i64 {sizes[n]}" for n in self.interface.sizes
        ]
        call = f'call void @"{self.interface.symbol}"({", ".join(arguments)})'
        self.rounded_as_usual(lines, call, place)
        if block:
            lines.do(f'call void @"{GIVE}"(ptr {block})')
        if self.kept is not None:
            self.kept.keep(lines, kept)
        lines.do("ret i64 0")
        if self.kept is not None:
            lines.label("refused")
            lines.do(f"ret i64 {lines.put(f'load i64, ptr {code}')}")
        look = self.kept.text() if self.kept is not None else ""
        return look + self.function("entry", "ptr %data, ptr %dims", lines)

    def has_memory(self, lines: Lines, block: Value, kept: Value) -> None:
        """Go on where there is a block; what is kept is kept where there is none."""
        short, further = lines.fresh("short"), lines.fresh("enough")
        lines.do(f"br i1 {lines.put(f'icmp ne ptr {block}, null')}, label %{further}, label %{short}")
        lines.label(short)
        if self.kept is not None:
            self.kept.keep(lines, kept)
        lines.do(f"ret i64 {self.interface.number(MEMORY)}")
        lines.label(further)

    def cut(self, lines: Lines, inspected: KeptInspection, kept: Value) -> None:
        """Let another kernel compute what has long fibres; go on where there are none, or no such kernel."""
        cut, ask, found, further = (lines.fresh(name) for name in ("cut", "ask", "found", "whole"))
        lines.do(f"br i1 {inspected.is_long(lines, kept)}, label %{cut}, label %{further}")
        lines.label(cut)
        there = f"@{self.quoted('cutting')}"
        known = lines.put(f"load atomic ptr, ptr {there} acquire, align 8")
        lines.do(f"br i1 {lines.put(f'icmp eq ptr {known}, null')}, label %{ask}, label %{found}")
        lines.label(ask)
        asked = lines.put(f'call ptr @"{self.find_cutting}"()')
        lines.do(f"store atomic ptr {asked}, ptr {there} release, align 8")
        lines.do(f"br i1 {lines.put(f'icmp eq ptr {asked}, null')}, label %{further}, label %{found}")
        lines.label(found)
        function = lines.put(f"phi ptr [ {known}, %{cut} ], [ {asked}, %{ask} ]")
        inspected.keep(lines, kept)
        lines.do(f"ret i64 {lines.put(f'call i64 {function}(ptr %data, ptr %dims)')}")
        lines.label(further)

    def rounded_as_usual(self, lines: Lines, call: str, place: Value) -> None:
        """The call, where the caller may have told the processor to take tiny numbers for 0, as XLA does."""
        if not self.is_x86:
            lines.do(call)
            return
        own = lines.put(f"getelementptr i32, ptr {place}, i64 1")
        lines.do(f"call void @llvm.x86.sse.stmxcsr(ptr {place})")
        lines.do(f"store i32 8064, ptr {own}")
        lines.do(f"call void @llvm.x86.sse.ldmxcsr(ptr {own})")
        lines.do(call)
        lines.do(f"call void @llvm.x86.sse.ldmxcsr(ptr {place})")

    def sizes(self, lines: Lines) -> Mapping[str, Value]:
        """The values of the size symbols, all extents checked."""
        told = self.interface.told
        words = len(told.extents) + len(told.untold)
        dims = [lines.put(f"load i64, ptr {lines.word('%dims', n)}") for n in range(words)]
        by_place = {place: dims[n] for n, (place, _) in enumerate(told.extents)}
        given = dict(zip(told.untold, dims[len(by_place) :], strict=True))
        ends = {place: f"wrong{n}" for n, place in enumerate(by_place)}
        return told.values(by_place.__getitem__, given, Registers(lines, "excluded", ends))

    def function(self, name: str, parameters: str, lines: Lines) -> str:
        checks = {
            f"wrong{n}": CallCheck(EXTENT, *place) for n, (place, _) in enumerate(self.interface.told.extents)
        }
        checks["excluded"] = SIZES
        ends = {label: f"i64 {self.interface.number(check)}" for label, check in checks.items()}
        return lines.function(f"i64 @{self.quoted(name)}({parameters})", ends)

    def declarations(self) -> list[str]:
        """What the functions call."""
        found = [SATURATED]
        if self.is_x86:
            found += [f"declare void @llvm.x86.sse.{name}(ptr)" for name in ("stmxcsr", "ldmxcsr")]
        found += self.kept.declarations() if self.kept is not None else []
        if self.find_cutting:
            found += [f'declare ptr @"{self.find_cutting}"()']
            found += [f"@{self.quoted('cutting')} = internal global ptr null"]
        if self.interface.temporaries:
            found += [f'declare ptr @"{TAKE}"(i64)', f'declare void @"{GIVE}"(ptr)']
        return found

    def quoted(self, name: str) -> str:
        """The name of a function or a global beside the kernel."""
        return f'"{self.interface.symbol}.{name}"'

    @cached_property
    def is_x86(self) -> bool:
        return host().triple.startswith(("x86_64", "i386", "i686"))

    @cached_property
    def kept(self) -> KeptInspection | None:
        """What is done for index arrays; None where there are none."""
        return KeptInspection(self.interface) if has_indices(self.interface) else None
