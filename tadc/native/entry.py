"""A kernel as a function of addresses and extents alone, which a framework's operator calls.

    i64 @SYMBOL.entry(ptr %data, ptr %dims)
    i64 @SYMBOL.shapes(ptr %dims, ptr %out)

`data` are the addresses of the elements of all inputs, then of all results, row-major without gaps; indices
have 32 bits. `dims` are the extents of all inputs, one after another, then the sizes that no input tells. The
first runs the kernel; the second writes the extents of all results. Both return 0 where all is well, and have
done nothing otherwise:

    n > 0   extent n - 1 of `dims` is not as the program says
    -1      sizes for which the program has no meaning
    -2      there is not enough memory for what is in between
    -3 - n  input n is an index array with an element that is out of range or out of order

It comes from `scratch_memory`, whose functions the code is to be loaded with.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tadc.backend.cpu.processors import host
from tadc.backend.runtime.call_sizes import counted_inputs
from tadc.backend.runtime.host_arrays import Parameter
from tadc.backend.runtime.interface import Interface
from tadc.frontend.extents import SIZE_LIMIT, Extent, SizeSource, size_sources, symbol_of
from tadc.lattice.affine import Affine
from tadc.native.inspection import Inspection, with_memory
from tadc.native.ir_lines import SATURATED, Lines, Value
from tadc.native.scratch import lay_out
from tadc.native.scratch_memory import GIVE, TAKE

_DECLARED = re.compile(r'declare [^@\n]*@("[^"]*"|[\w.$]+)\(')
_DEFINED = re.compile(r'^define [^@\n]*@("[^"]*"|[\w.$]+)\(', re.M)

EXCLUDED, NO_MEMORY, NO_INDEX = -1, -2, -3
"""What is returned beside positions of extents."""


@dataclass(frozen=True)
class Entry:
    """The names of the two functions, and what defines them: the end of a text that has the kernel."""

    symbol: str
    shapes_symbol: str
    text: str


def entry_of(interface: Interface) -> Entry:
    """The functions for a kernel."""
    made = _Functions(interface)
    text = "\n".join([*made.declarations(), made.shapes(), made.entry(), ""])
    return Entry(f"{interface.symbol}.entry", f"{interface.symbol}.shapes", text)


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
        place = lines.put("alloca [2 x i32]") if self.is_x86 else ""
        sizes = self.sizes(lines)
        interface = with_memory(self.interface, self.inspection)
        scratch = lay_out(lines, interface, sizes)
        tensors = [*interface.arguments, *interface.outputs]
        given = [lines.put(f"load ptr, ptr {lines.word('%data', n)}") for n in range(len(tensors))]
        inputs, results = given[: len(interface.arguments)], given[len(interface.arguments) :]
        for n, parameter in enumerate(interface.arguments):
            if parameter.below is not None:
                self.inspection.check(lines, inputs[n], parameter, sizes, f"no.index{n}")
        block, between = "", list[Value]()
        if interface.temporaries:
            block = lines.put(f'call ptr @"{TAKE}"(i64 {scratch.bytes})')
            lines.require(lines.put(f"icmp ne ptr {block}, null"), "no.memory")
            between = [lines.put(f"getelementptr i8, ptr {block}, i64 {n}") for n in scratch.offsets]
        own = len(self.interface.temporaries)
        arrays = {p.name: array for p, array in zip(interface.arguments, inputs, strict=True)}
        made = self.inspection.run(lines, arrays, between[own:], sizes)
        arguments = [f"ptr {n}" for n in (*inputs, *made, *results, *between[:own])] + [
            f"i64 {sizes[n]}" for n in self.interface.sizes
        ]
        call = f'call void @"{self.interface.symbol}"({", ".join(arguments)})'
        self.rounded_as_usual(lines, call, place)
        if block:
            lines.do(f'call void @"{GIVE}"(ptr {block})')
        lines.do("ret i64 0")
        return self.function("entry", "ptr %data, ptr %dims", lines)

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
        dims = self.dims(lines)
        values = {name: dims[len(self.extents) + n] for n, name in enumerate(self.untold)}
        counts = self.counts(lines, dims)
        checked = {n: f"wrong{n}" for n in range(len(self.extents))}
        for source in self.sources:
            is_count = source.argument >= len(self.interface.arguments)
            position = 0 if is_count else self.position(source)
            rest = lines.form(-source.rest, values)
            given = counts[source.argument - len(self.interface.arguments)] if is_count else dims[position]
            length = lines.binary("add", given, rest)
            value = length if source.factor == 1 else lines.put(f"sdiv i64 {length}, {source.factor}")
            values[source.symbol] = value
            failure = "excluded" if is_count else checked[position]
            lines.require(lines.put(f"icmp ult i64 {value}, {SIZE_LIMIT}"), failure)
        for position, extent in enumerate(self.extents):
            symbol = symbol_of(extent)
            if symbol is not None and values[symbol] == dims[position]:
                continue
            same = lines.put(f"icmp eq i64 {dims[position]}, {lines.form(extent, values)}")
            lines.require(same, checked[position])
        lines.require_outside(self.interface.excluded, values, "excluded")
        return values

    def counts(self, lines: Lines, dims: Sequence[Value]) -> list[Value]:
        """The numbers of elements of arrays, which are those of some that are made of them."""
        values = {f"d{n}": value for n, value in enumerate(dims)}
        found: list[Value] = []
        for _, place in self.counted:
            begin = sum(len(p.shape) for p in self.interface.arguments[:place])
            extents = range(begin, begin + len(self.interface.arguments[place].shape))
            found.append(lines.product(1, [Affine.var(f"d{n}") for n in extents], values))
        return found

    def dims(self, lines: Lines) -> list[Value]:
        """All extents that are given, and the sizes after these."""
        count = len(self.extents) + len(self.untold)
        return [lines.put(f"load i64, ptr {lines.word('%dims', n)}") for n in range(count)]

    def function(self, name: str, parameters: str, lines: Lines) -> str:
        """A function, which returns what it refuses for."""
        ends = {f"wrong{n}": f"i64 {n + 1}" for n in range(len(self.extents))}
        ends |= {f"no.index{n}": f"i64 {NO_INDEX - n}" for n in range(len(self.interface.arguments))}
        ends |= {"excluded": f"i64 {EXCLUDED}", "no.memory": f"i64 {NO_MEMORY}"}
        return lines.function(f"i64 @{self.quoted(name)}({parameters})", ends)

    def declarations(self) -> list[str]:
        """What the functions call."""
        found = [SATURATED]
        if self.is_x86:
            found += [f"declare void @llvm.x86.sse.{name}(ptr)" for name in ("stmxcsr", "ldmxcsr")]
        found += self.inspection.declarations()
        if self.interface.temporaries or self.inspection.buffers:
            found += [f'declare ptr @"{TAKE}"(i64)', f'declare void @"{GIVE}"(ptr)']
        return found

    def quoted(self, name: str) -> str:
        """The name of a function or a global beside the kernel."""
        return f'"{self.interface.symbol}.{name}"'

    @cached_property
    def is_x86(self) -> bool:
        """Whether the code is for an x86."""
        return host().triple.startswith(("x86_64", "i386", "i686"))

    @cached_property
    def inspection(self) -> Inspection:
        """What is done for index arrays."""
        return Inspection(self.interface)

    @cached_property
    def extents(self) -> tuple[Extent, ...]:
        """Those of all inputs."""
        return tuple(extent for parameter in self.interface.arguments for extent in parameter.shape)

    @cached_property
    def counted(self) -> list[tuple[Parameter, int]]:
        """What is made of index arrays and has an element for each of theirs."""
        return counted_inputs(self.interface.inputs)

    @cached_property
    def sources(self) -> tuple[SizeSource, ...]:
        """How extents tell sizes."""
        found = size_sources([p.shape for p in (*self.interface.arguments, *(p for p, _ in self.counted))])
        return tuple(source for source in found if source.symbol in self.interface.sizes)

    @cached_property
    def untold(self) -> tuple[str, ...]:
        """The sizes that no extent tells."""
        told = {source.symbol for source in self.sources}
        return tuple(name for name in self.interface.sizes if name not in told)

    def position(self, source: SizeSource) -> int:
        """Which of all extents tells a size."""
        before = self.interface.arguments[: source.argument]
        return sum(len(parameter.shape) for parameter in before) + source.dimension
