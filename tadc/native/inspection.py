"""What a function around a kernel does for index arrays: it checks them, and calls the inspector.

`backend/cpu/inspector.ll` has what is called. The arrays that are made, and what is needed on the way, stand
in the memory of tensors in between.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tadc.backend.runtime.cut_kernels import LONG
from tadc.backend.runtime.inspector import INDEX_LIMIT, signatures
from tadc.backend.runtime.inspector_calls import InspectorCalls, Operand
from tadc.backend.runtime.interface import Interface
from tadc.backend.runtime.parameters import Parameter
from tadc.backend.runtime.workspace import Temporary
from tadc.lattice.affine import Affine
from tadc.native.ir_lines import Lines, Value

#: The functions that look at index arrays.
_CHECKS = ("admit_int32", "same_int32", "falls", "long")

#: Made before the first map, and there until the last.
FIRST, LAST = -1, 1 << 30


class NativeInspection:
    """The index arrays of a kernel: those that are given, and how the others are made of them."""

    def __init__(self, interface: Interface) -> None:
        self.given = tuple(p for p in interface.arguments if p.below is not None)
        self._made = interface.made
        self._inspection = InspectorCalls(self.given, self._made)

    @property
    def buffers(self) -> list[Temporary]:
        """The memory for what is made, then for what is needed on the way."""
        made = [Temporary(p, FIRST, LAST) for p in self._made]
        return [*made, *(Temporary(p, FIRST, FIRST) for p in self._inspection.work)]

    def declarations(self) -> list[str]:
        """What is called, but for kernels without index arrays."""
        called = (*_CHECKS, *(call.function for call in self._inspection.calls)) if self.given else ()
        heads = {name: signatures()[name] for name in called}
        return [f"declare {kind} @tadc_{name}({', '.join(types)})" for name, (kind, types) in heads.items()]

    def check(
        self, lines: Lines, array: Value, parameter: Parameter, sizes: Mapping[str, Value], end: str
    ) -> None:
        """Go on where the elements of an array are indices, else to a block."""
        count = lines.product(1, parameter.shape, sizes)
        lines.require(lines.put(f"icmp ult i64 {count}, {INDEX_LIMIT}"), end)
        below = lines.form(parameter.below or 0, sizes)
        largest = lines.put(f"call i64 @tadc_admit_int32(ptr {array}, ptr null, i64 {count})")
        is_below = lines.put(f"icmp ult i64 {largest}, {below}")
        is_index = lines.put(f"icmp ult i64 {largest}, {INDEX_LIMIT}")
        both = lines.put(f"and i1 {is_below}, {is_index}")
        is_empty = lines.put(f"icmp eq i64 {count}, 0")
        lines.require(lines.put(f"or i1 {is_empty}, {both}"), end)
        if parameter.increasing:
            falls = lines.put(f"call i64 @tadc_falls(ptr {array}, i64 {count})")
            lines.require(lines.put(f"icmp eq i64 {falls}, 0"), end)

    def run(
        self, lines: Lines, arrays: Mapping[str, Value], buffers: Sequence[Value], sizes: Mapping[str, Value]
    ) -> list[Value]:
        """Make all arrays in the memory of `buffers`; where those are that the kernel takes."""
        names = [t.tensor.name for t in self.buffers]
        places = {**arrays, **dict(zip(names, buffers, strict=True))}
        for call in self._inspection.calls:
            types = signatures()[call.function][1]
            passed = (_passed(lines, operand, places, sizes) for operand in call.operands)
            operands = (f"{kind} {value}" for kind, value in zip(types, passed, strict=True))
            lines.do(f"call void @tadc_{call.function}({', '.join(operands)})")
        return [places[p.name] for p in self._made]

    @property
    def has_long(self) -> bool:
        """Whether there may be a long range."""
        return bool(self._inspection.ranges(LONG))

    def is_long(self, lines: Lines, places: Mapping[str, Value], sizes: Mapping[str, Value]) -> Value:
        """Not 0 where there is a long range, of arrays in these places."""
        found: Value = "0"
        for begin, end in self._inspection.ranges(LONG):
            ends, count = places[end] if end else "null", self._inspection.arrays[begin].shape
            about = f"ptr {places[begin]}, ptr {ends}, i64 {lines.product(1, count, sizes)}, i64 {LONG}"
            here = lines.put(f"call i64 @tadc_long({about})")
            found = here if found == "0" else lines.put(f"or i64 {found}, {here}")
        return found


def _passed(lines: Lines, operand: Operand, places: Mapping[str, Value], sizes: Mapping[str, Value]) -> Value:
    if isinstance(operand, tuple):
        return lines.product(1, operand, sizes)
    if isinstance(operand, int | Affine):
        return lines.form(operand, sizes)
    return "null" if operand is None else places[operand]


def with_memory(interface: Interface, inspection: NativeInspection) -> Interface:
    """The interface with room for what is made of index arrays, behind what is in between."""
    return replace(interface, temporaries=(*interface.temporaries, *inspection.buffers))
