"""Registers of LLVM IR as the numbers that sizes are told by, and tensors laid out by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tadc.backend.runtime.size_list import Numbers, Place
from tadc.backend.runtime.workspace import ALIGNMENT, Temporary, Workspace, slots_of, workspace
from tadc.frontend.extents import SIZE_LIMIT, Extent, Shape, SizeSource, symbol_of
from tadc.frontend.terms import Domain
from tadc.native.ir_lines import Lines, Value


class Registers(Numbers[Value]):
    """Those of a function, which goes to blocks where extents are wrong: to one for sizes that are refused,
    to one of each dimension that is not as the program says."""

    def __init__(self, lines: Lines, refused: str, ends: Mapping[Place, str]) -> None:
        self.lines, self.refused, self.ends = lines, refused, ends

    def told(self, length: Value, source: SizeSource, values: Mapping[str, Value]) -> Value:
        """What is told, if it is a size."""
        rest = self.lines.binary("add", length, self.lines.form(-source.rest, values))
        value = rest if source.factor == 1 else self.lines.put(f"sdiv i64 {rest}, {source.factor}")
        self._in_range(value, self.ends[source.argument, source.dimension])
        return value

    def size(self, value: Value) -> None:
        """Go on with a size."""
        self._in_range(value, self.refused)

    def same(self, length: Value, extent: Extent, place: Place, values: Mapping[str, Value]) -> None:
        """Go on with a dimension of the length that is said."""
        symbol = symbol_of(extent)
        if symbol is None or values[symbol] != length:
            expected = self.lines.form(extent, values)
            self.lines.require(self.lines.put(f"icmp eq i64 {length}, {expected}"), self.ends[place])

    def product(self, shape: Shape, values: Mapping[str, Value]) -> Value:
        """The number of elements; one that is no size where it is too large."""
        return self.lines.product(1, shape, values)

    def outside(self, rows: Domain, values: Mapping[str, Value]) -> None:
        """Go on with sizes outside of a set."""
        inside = "true"
        for row in rows:
            compared = f"icmp {'eq' if row.equality else 'sge'} i64 {self.lines.form(row.form, values)}, 0"
            inside = self.lines.put(f"and i1 {inside}, {self.lines.put(compared)}")
        self.lines.require(self.lines.put(f"xor i1 {inside}, true"), self.refused)

    def _in_range(self, value: Value, end: str) -> None:
        self.lines.require(self.lines.put(f"icmp ult i64 {value}, {SIZE_LIMIT}"), end)


def lay_out(lines: Lines, between: Sequence[Temporary], sizes: Mapping[str, Value]) -> Workspace[Value]:
    """The layout of tensors where the sizes have these values, computed in the body of a function."""
    if all(t.tensor.is_static for t in between):
        known = workspace(between)
        return Workspace(tuple(map(str, known.offsets)), str(known.bytes))
    slots, total = slots_of(between), "0"
    starts: list[Value] = []
    for slot in slots:
        starts.append(total)
        largest = "0"
        for shape in dict.fromkeys((t.tensor.dtype.itemsize, t.tensor.shape) for t in slot):
            size = lines.product(shape[0], shape[1], sizes)
            largest = size if largest == "0" else lines.larger(largest, size)
        total = lines.binary("add", total, lines.up_to(largest, ALIGNMENT))
    place = {id(t): start for slot, start in zip(slots, starts, strict=True) for t in slot}
    return Workspace(tuple(place[id(t)] for t in between), total)
