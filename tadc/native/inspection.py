"""What a function around a kernel does for index arrays: it checks them, and calls the inspector.

`backend/cpu/inspector.ll` has what is called. The arrays that are made, and what is needed on the way, stand
in the memory of tensors in between.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from tadc.backend.runtime.cut_kernels import LONG
from tadc.backend.runtime.index_arguments import ranges
from tadc.backend.runtime.inspector import INDEX_LIMIT
from tadc.backend.runtime.interface import Interface
from tadc.backend.runtime.parameters import Parameter
from tadc.backend.runtime.workspace import Temporary
from tadc.frontend.dtypes import INDEX_TYPE
from tadc.frontend.extents import Extent, Shape, as_form, count_of, extent
from tadc.lattice.affine import ZERO, Affine, Floor, Lookup
from tadc.native.ir_lines import Lines, Value

if TYPE_CHECKING:
    from tadc.frontend.program import Inspected

#: The functions that are called, with what they take: pointers and numbers.
DECLARED = {
    "admit_int32": "i64 (ptr, ptr, i64)",
    "same_int32": "i64 (ptr, ptr, i64)",
    "falls": "i64 (ptr, i64)",
    "long": "i64 (ptr, ptr, i64, i64)",
    "sort": "void (ptr, ptr, i64, i64, ptr, ptr)",
    "cells": "void (ptr, ptr, i64, i64)",
    "starts": "void (ptr, i64, ptr, i64)",
    "subscripts": "void (ptr, i64, i64, i64, ptr)",
    "taken": "void (ptr, ptr, i64, ptr)",
    "owners": "void (ptr, i64, i64, ptr)",
    "wholes": "void (ptr, ptr, i64, i64, i64, ptr)",
    "rests": "void (ptr, ptr, i64, i64, ptr)",
    "parts": "void (ptr, ptr, i64, i64, ptr, i64)",
    "joined": "void (ptr, i64, ptr, i64, ptr)",
    "ranks": "void (ptr, i64, i64, i64, ptr)",
    "spread": "void (ptr, i64, i64, ptr, i64)",
}

_MEMSET = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"

#: Made before the first map, and there until the last.
FIRST, LAST = -1, 1 << 30


_Operand: TypeAlias = "str | Shape | Affine | None"


@dataclass(frozen=True)
class _Form:
    """The elements of an array are values of a form."""

    parameter: Parameter
    form: Affine


@dataclass(frozen=True)
class _Call:
    """A call of a function: a name stands for an array, none for no array, extents for their product, a form
    of sizes for its value."""

    function: str
    operands: tuple[_Operand, ...]


class NativeInspection:
    """The index arrays of a kernel: those that are given, and how the others are made of them."""

    def __init__(self, interface: Interface) -> None:
        self.given = tuple(p for p in interface.arguments if p.below is not None)
        self._parameters = {p.name: p for p in (*self.given, *interface.made)}
        self._made = interface.made
        self._work: list[Parameter] = []
        self._steps: list[_Call | _Form] = []
        self._sorted: dict[tuple[str, ...], str] = {}
        self._sorted_starts: dict[str, str] = {}
        for parameter in self._made:
            self._make(parameter)

    @property
    def buffers(self) -> list[Temporary]:
        """The memory for what is made, then for what is needed on the way."""
        made = [Temporary(p, FIRST, LAST) for p in self._made]
        return [*made, *(Temporary(p, FIRST, FIRST) for p in self._work)]

    def declarations(self) -> list[str]:
        """What is called, but for kernels without index arrays."""
        if not self.given:
            return []
        heads = (text.partition(" ") for text in DECLARED.values())
        named = [
            f"declare {kind} @tadc_{n}{rest}" for n, (kind, _, rest) in zip(DECLARED, heads, strict=True)
        ]
        return [_MEMSET, *named]

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
        for step in self._steps:
            if isinstance(step, _Form):
                self._fill(lines, step, places, sizes)
                continue
            operands: list[str] = []
            for operand in step.operands:
                if isinstance(operand, tuple):
                    operands.append(f"i64 {lines.product(1, operand, sizes)}")
                elif isinstance(operand, Affine):
                    operands.append(f"i64 {lines.form(operand, sizes)}")
                else:
                    operands.append("ptr null" if operand is None else f"ptr {places[operand]}")
            if step.function == "zero":
                lines.do(f"call void @llvm.memset.p0.i64({operands[0]}, i8 0, {operands[1]}, i1 false)")
            else:
                lines.do(f"call void @tadc_{step.function}({', '.join(operands)})")
        return [places[p.name] for p in self._made]

    @property
    def long(self) -> list[tuple[str, str | None]]:
        """What may have long ranges, and what says where these end if they do not where the next begins."""
        forms = ((p, as_form(p.below or 0)) for p in (*self.given, *self._made))
        long = [p for p, below in forms if not below.is_constant or below.constant > LONG]
        return list(ranges(long, self._made))

    def is_long(self, lines: Lines, places: Mapping[str, Value], sizes: Mapping[str, Value]) -> Value:
        """Not 0 where there is a long range, of arrays in these places."""
        found: Value = "0"
        for begin, end in self.long:
            ends, count = places[end] if end else "null", self._parameters[begin].shape
            about = f"ptr {places[begin]}, ptr {ends}, i64 {lines.product(1, count, sizes)}, i64 {LONG}"
            here = lines.put(f"call i64 @tadc_long({about})")
            found = here if found == "0" else lines.put(f"or i64 {found}, {here}")
        return found

    def _fill(
        self, lines: Lines, step: _Form, places: Mapping[str, Value], sizes: Mapping[str, Value]
    ) -> None:
        """A loop over all elements of an array, each the value of a form."""
        shape = step.parameter.shape
        count, extents = lines.product(1, shape, sizes), [lines.form(n, sizes) for n in shape]
        zero, at = lines.put("alloca i32"), lines.put("alloca i64")
        lines.do(f"store i32 0, ptr {zero}")
        lines.do(f"store i64 0, ptr {at}")
        head, body, end = (lines.fresh(name) for name in ("fill", "element", "filled"))
        lines.do(f"br label %{head}")
        lines.label(head)
        place = lines.put(f"load i64, ptr {at}")
        lines.do(f"br i1 {lines.put(f'icmp slt i64 {place}, {count}')}, label %{body}, label %{end}")
        lines.label(body)
        values, rest = dict(sizes), place
        for n in reversed(range(len(shape))):
            values[f"#{n}"] = lines.put(f"srem i64 {rest}, {extents[n]}")
            rest = lines.put(f"sdiv i64 {rest}, {extents[n]}")
        found = self._value(lines, step.form, values, places, zero)
        element = lines.put(f"getelementptr i32, ptr {places[step.parameter.name]}, i64 {place}")
        lines.do(f"store i32 {lines.put(f'trunc i64 {found} to i32')}, ptr {element}")
        lines.do(f"store i64 {lines.put(f'add i64 {place}, 1')}, ptr {at}")
        lines.do(f"br label %{head}")
        lines.label(end)

    def _value(
        self, lines: Lines, form: Affine, values: dict[str, Value], places: Mapping[str, Value], zero: Value
    ) -> Value:
        """The value of a form with lookups; one that is out of range is 0."""

        def read(atom: str | Floor | Lookup) -> Affine | None:
            if not isinstance(atom, Lookup):
                return None
            offset, is_inside = "0", "true"
            for at, size in zip(atom.at, self._parameters[atom.array].shape, strict=True):
                subscript = self._value(lines, at, values, places, zero)
                extent = lines.form(size, values)
                fits = lines.put(f"icmp ult i64 {subscript}, {extent}")
                is_inside = lines.put(f"and i1 {is_inside}, {fits}")
                offset = lines.binary("add", lines.binary("mul", offset, extent), subscript)
            there = lines.put(f"getelementptr i32, ptr {places[atom.array]}, i64 {offset}")
            safe = lines.put(f"select i1 {is_inside}, ptr {there}, ptr {zero}")
            element = lines.put(f"load i32, ptr {safe}")
            name = lines.put(f"zext i32 {element} to i64")
            values[name] = name
            return Affine.var(name)

        return lines.form(form.replace(read), values)

    # -- what is called ---------------------------------------------------------------------------

    def _call(self, function: str, *operands: _Operand) -> None:
        self._steps.append(_Call(function, operands))

    def _buffer(self, *shape: Extent) -> str:
        name = f"work {len(self._work)}"
        self._work.append(Parameter(name, INDEX_TYPE, shape))
        return name

    def _make(self, parameter: Parameter) -> None:
        about = parameter.inspected
        assert about is not None
        first, name = self._parameters[about.of[0]], parameter.name
        others: tuple[str, ...] = about.of[1:]
        match about.kind:
            case "ptr" if others:
                self._joint_starts(about.of, parameter)
            case "ptr":
                self._places(about.of)
            case "perm" if len(first.shape) == 1:
                self._places(about.of)
            case "perm":
                stride, size = first.shape[about.axis + 1 :], first.shape[about.axis]
                self._call("subscripts", self._places(about.of), first.shape, stride, (size,), name)
            case "taken":
                self._call("taken", about.of[0], self._places(others), first.shape, name)
            case "owner":
                self._owners(parameter, first, about.axis)
            case "whole":
                most = (as_form(self._parameters[about.of[-1]].below or 0) - 1).floordiv(_length(about))
                ends = others[0] if others else None
                length = Affine.const(_length(about))
                self._call("wholes", first.name, ends, parameter.shape, length, most, name)
            case "rest":
                self._call("rests", *about.of, parameter.shape, Affine.const(_length(about)), name)
            case "start":
                counted = self._parameters[others[0]].shape
                self._call("parts", *about.of, counted, Affine.const(_length(about)), name, parameter.shape)
            case "values":
                assert about.form is not None
                self._steps.append(_Form(parameter, about.form))
            case "before" | "until":
                self._ranks(parameter, about)
            case "spread":
                rows = (self._parameters[others[0]].below or 0,)
                seed = Affine.const(about.axis)
                self._call("spread", name, parameter.shape, seed, self._starts(others[0]), rows)

    def _owners(self, parameter: Parameter, of: Parameter, axis: int) -> None:
        """Which of the ranges between elements numbers are in, or one subscript of that."""
        name, shape = parameter.name, of.shape
        found = name if len(shape) == 1 else self._buffer(*parameter.shape)
        self._call("owners", of.name, shape, parameter.shape, found)
        if found != name:
            self._call("subscripts", found, parameter.shape, shape[axis + 1 :], (shape[axis],), name)

    def _ranks(self, parameter: Parameter, about: Inspected) -> None:
        """How many tuples of elements are less than others, which come before equal ones, or behind them."""
        half = len(about.of) // 2
        count, asked = self._count(about.of[0]), self._count(about.of[half])
        order: str | None = None
        for compared, asking in reversed(list(zip(about.of[:half], about.of[half:], strict=True))):
            below = self._parameters[compared].below or 0
            starts = self._buffer(extent(as_form(below) + 1))
            joined, places = (self._buffer(extent(count + asked)) for _ in range(2))
            pairs = [(compared, count), (asking, asked)]
            one, two = pairs if about.kind == "until" else pairs[::-1]
            self._call("joined", *one, *two, joined)
            self._call("sort", joined, order, count + asked, (below,), starts, places)
            order = places
        first = count if about.kind == "until" else ZERO
        self._call("ranks", order, count + asked, first, asked, parameter.name)

    def _count(self, name: str) -> Affine:
        """How many elements an array has."""
        return as_form(count_of(name, self._parameters[name].shape))

    def _joint_starts(self, of: Sequence[str], parameter: Parameter) -> None:
        shape = self._parameters[of[0]].shape
        cells = self._buffer(2, *shape)  # of 64 bits
        self._call("zero", cells, (8, *shape))
        for array, size in zip(of, parameter.shape, strict=True):
            self._call("cells", cells, array, shape, (size,))
        self._call("starts", cells, shape, parameter.name, parameter.shape)

    def _places(self, of: tuple[str, ...]) -> str:
        """The places of elements in the order of their values."""
        if of not in self._sorted:
            order: str | None = None
            for n, array in reversed(list(enumerate(of))):
                parameter = self._parameters[array]
                below = parameter.below or 0
                starts = self._wanted("ptr", of) if len(of) == 1 else None
                starts = starts or self._buffer(extent(as_form(below) + 1))
                if len(of) == 1:
                    self._sorted_starts[array] = starts
                places = self._wanted("perm", of) if n == 0 and len(parameter.shape) == 1 else None
                places = places or self._buffer(*parameter.shape)
                self._call("sort", array, order, parameter.shape, (below,), starts, places)
                order = places
            assert order is not None
            self._sorted[of] = order
        return self._sorted[of]

    def _starts(self, of: str) -> str:
        """How many elements are less than 0, 1, …."""
        self._places((of,))
        return self._sorted_starts[of]

    def _wanted(self, kind: str, of: tuple[str, ...]) -> str | None:
        """An array of a kind that the kernel takes."""
        found = [
            p.name for p in self._made if p.inspected and (p.inspected.kind, p.inspected.of) == (kind, of)
        ]
        return found[0] if found else None


def _length(about: Inspected) -> int:
    """Of the parts that are asked for."""
    assert about.form is not None
    return about.form.constant


def with_memory(interface: Interface, inspection: NativeInspection) -> Interface:
    """The interface with room for what is made of index arrays, behind what is in between."""
    return replace(interface, temporaries=(*interface.temporaries, *inspection.buffers))
