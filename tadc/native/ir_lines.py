"""Lines of LLVM IR that compute sizes: 64-bit integers, forms of size symbols."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

from tadc.frontend.extents import Extent, as_form
from tadc.lattice.affine import Affine, Floor, Lookup

Value = str
"""A register or a number."""


class Lines:
    """The body of a function, line by line; each register has a name of its own."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._count = 0

    def put(self, operation: str) -> Value:
        """A register with the result of an operation."""
        self._count += 1
        self.lines.append(f"  %v{self._count} = {operation}")
        return f"%v{self._count}"

    def do(self, operation: str) -> None:
        """An operation without a result."""
        self.lines.append(f"  {operation}")

    def label(self, name: str) -> None:
        """A block begins."""
        self.lines.append(f"{name}:")

    def fresh(self, name: str) -> str:
        """The name of a block that no other has."""
        self._count += 1
        return f"{name}{self._count}"

    def word(self, pointer: Value, position: int) -> Value:
        """The address of a 64-bit word."""
        return pointer if not position else self.put(f"getelementptr i64, ptr {pointer}, i64 {position}")

    def binary(self, operation: str, one: Value, other: Value) -> Value:
        """An operation on two numbers, which may be known."""
        if one.lstrip("-").isdigit() and other.lstrip("-").isdigit() and operation in _KNOWN:
            return str(_KNOWN[operation](int(one), int(other)))
        if (operation, other) in (("add", "0"), ("mul", "1")):
            return one
        if (operation, one) in (("add", "0"), ("mul", "1")):
            return other
        return self.put(f"{operation} i64 {one}, {other}")

    def form(self, form: Extent, values: Mapping[str, Value]) -> Value:
        """The value of a form where the symbols have these values."""
        form = as_form(form)
        total: Value = str(form.constant)
        for atom, factor in form.terms:
            assert not isinstance(atom, Lookup), "a size that an array tells"
            term = values[atom] if isinstance(atom, str) else self.floor(atom, values)
            total = self.binary("add", total, self.binary("mul", term, str(factor)))
        return total

    def floor(self, atom: Floor, values: Mapping[str, Value]) -> Value:
        """A quotient, rounded down."""
        numerator = self.form(atom.numerator, values)
        quotient = self.put(f"sdiv i64 {numerator}, {atom.denominator}")
        rest = self.put(f"srem i64 {numerator}, {atom.denominator}")
        less = self.put(f"ashr i64 {rest}, 63")
        return self.binary("add", quotient, less)

    def product(self, factor: int, shape: Sequence[Extent], values: Mapping[str, Value]) -> Value:
        """A number times all extents of a shape; `TOO_MANY` where it is more than that."""
        total = str(min(factor * prod(n for n in shape if isinstance(n, int)), TOO_MANY))
        for n, extent in enumerate(form for form in shape if isinstance(form, Affine)):
            value = self.form(extent, values)
            # One extent times the bytes of some elements is far below.
            if n == 0 and int(total) < _FEW:
                total = self.binary("mul", total, value)
            else:
                total = self._saturated(total, value)
        return total

    def _saturated(self, one: Value, other: Value) -> Value:
        """A product, or `TOO_MANY`."""
        pair = self.put(f"call {{i64, i1}} @llvm.umul.with.overflow.i64(i64 {one}, i64 {other})")
        found, wraps = (self.put(f"extractvalue {{i64, i1}} {pair}, {n}") for n in range(2))
        is_more = self.put(f"icmp ugt i64 {found}, {TOO_MANY}")
        is_many = self.put(f"or i1 {wraps}, {is_more}")
        return self.put(f"select i1 {is_many}, i64 {TOO_MANY}, i64 {found}")

    def require(self, condition: Value, failure: str) -> None:
        """Go on where a condition holds, else to a block."""
        further = self.fresh("next")
        self.do(f"br i1 {condition}, label %{further}, label %{failure}")
        self.label(further)

    def function(self, head: str, ends: Mapping[str, str]) -> str:
        """A function of these lines; `ends` are what its last blocks return, of which those stay that lines
        go to."""
        body = "\n".join([*self.lines, ""])
        blocks = "".join(
            f"{end}:\n  ret {value}\n" for end, value in ends.items() if f"label %{end}\n" in body
        )
        return f"define {head} {{\nentry:\n{body}{blocks}}}\n"

    def larger(self, one: Value, other: Value) -> Value:
        """The larger of two numbers."""
        is_larger = self.put(f"icmp sgt i64 {one}, {other}")
        return self.put(f"select i1 {is_larger}, i64 {one}, i64 {other}")

    def up_to(self, value: Value, multiple: int) -> Value:
        """The next multiple of a power of two."""
        more = self.binary("add", value, str(multiple - 1))
        return self.binary("and", more, str(-multiple))


def text_constant(text: str) -> str:
    """The type and the value of a constant: the bytes of a text, with a zero behind."""
    data = text.encode() + b"\0"
    shown = "".join(
        chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:02X}" for byte in data
    )
    return f'[{len(data)} x i8] c"{shown}"'


TOO_MANY = 1 << 54
"""So many bytes no machine has; the sum of some such numbers is none that wraps around."""

_FEW = 1 << 14

SATURATED = "declare {i64, i1} @llvm.umul.with.overflow.i64(i64, i64)"
"""What products of several sizes call."""

_KNOWN: dict[str, Callable[[int, int], int]] = {"add": int.__add__, "mul": int.__mul__, "and": int.__and__}
"""What is computed here where both numbers are known."""
