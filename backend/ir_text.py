"""Scalar functions written as Python expressions, recorded as LLVM IR text.

    f = Function("tadc_square_f64", F64)
    text = f.define(f.x * f.x)

Values are strict: no fast-math flag is ever set, so the result of a function is the same
on every target. The same code makes a function over vectors: give it a vector type.
"""

from __future__ import annotations

import re
import struct

from tadc.frontend.dtypes import DTYPES
from tadc.lattice.late_dataclasses import dataclass, field


@dataclass(frozen=True)
class Type:
    """A float (`f32`, `f64`) or integer type, or a vector of `lanes` of it."""

    is_float: bool
    bits: int
    lanes: int = 1

    @property
    def element(self) -> str:
        """One lane in LLVM's spelling."""
        return DTYPES[f"f{self.bits}"].llvm if self.is_float else f"i{self.bits}"

    def __str__(self) -> str:
        return self.element if self.lanes == 1 else f"<{self.lanes} x {self.element}>"

    @property
    def suffix(self) -> str:
        """As in the names of intrinsics: `f64`, `v8f64`."""
        name = ("f" if self.is_float else "i") + str(self.bits)
        return name if self.lanes == 1 else f"v{self.lanes}{name}"

    @property
    def integer(self) -> Type:
        """Integers of the same width and lanes."""
        return Type(False, self.bits, self.lanes)

    def constant(self, value: float | int) -> str:
        """A literal, the same in every lane. Floats are rounded to the type."""
        if self.is_float:
            rounded = struct.unpack("f", struct.pack("f", value))[0] if self.bits == 32 else float(value)
            text = f"0x{struct.unpack('<Q', struct.pack('<d', rounded))[0]:016X}"
        else:
            # As a signed number: LLVM rejects what its type cannot hold.
            text = str((int(value) + (1 << self.bits - 1)) % (1 << self.bits) - (1 << self.bits - 1))
        return text if self.lanes == 1 else f"splat ({self.element} {text})"


F32, F64 = Type(True, 32), Type(True, 64)

#: Behind a fused product and sum that may be rounded twice.
TWICE = "  ; or rounded twice"
#: Behind one of an integer of at most 11 bits and a number that is known.
OF_INTEGER = "  ; of an integer"


@dataclass(frozen=True, eq=False)
class IrValue:
    """A value of the function under construction; Python's operators append to it."""

    function: IrFunction
    name: str
    type: Type

    def _binary(self, other: IrValue | float, float_op: str, integer_op: str) -> IrValue:
        op = float_op if self.type.is_float else integer_op
        return self.function.emit(self.type, f"{op} {self.type} {self.name}, {self._name_of(other)}")

    def _name_of(self, other: IrValue | float) -> str:
        return other.name if isinstance(other, IrValue) else self.type.constant(other)

    def __add__(self, other: IrValue | float) -> IrValue:
        return self._binary(other, "fadd", "add")

    def __sub__(self, other: IrValue | float) -> IrValue:
        return self._binary(other, "fsub", "sub")

    def __mul__(self, other: IrValue | float) -> IrValue:
        return self._binary(other, "fmul", "mul")

    def __truediv__(self, other: IrValue | float) -> IrValue:
        return self._binary(other, "fdiv", "udiv")

    def __neg__(self) -> IrValue:
        return self.function.emit(self.type, f"fneg {self.type} {self.name}")

    def __lshift__(self, other: IrValue | int) -> IrValue:
        return self._binary(other, "", "shl")

    def __rshift__(self, other: IrValue | int) -> IrValue:
        """Keeps the sign, as Python's does."""
        return self._binary(other, "", "ashr")

    def logical_shift(self, other: IrValue | int) -> IrValue:
        """Right shift that brings in zeros."""
        return self._binary(other, "", "lshr")

    def __and__(self, other: IrValue | int) -> IrValue:
        return self._binary(other, "", "and")

    def __or__(self, other: IrValue | int) -> IrValue:
        return self._binary(other, "", "or")

    def __xor__(self, other: IrValue | int) -> IrValue:
        return self._binary(other, "", "xor")

    def compare(self, predicate: str, other: IrValue | float) -> IrValue:
        """`olt`, `ogt`, `ult`, … of floats; `eq`, `slt`, … of integers."""
        op = "fcmp" if self.type.is_float else "icmp"
        text = f"{op} {predicate} {self.type} {self.name}, {self._name_of(other)}"
        return self.function.emit(Type(False, 1, self.type.lanes), text)

    def convert(self, op: str, type: Type) -> IrValue:
        """`bitcast`, `zext`, `trunc`, `fpext`, `uitofp`, … to a type."""
        return self.function.emit(type, f"{op} {self.type} {self.name} to {type}")

    @property
    def bits(self) -> IrValue:
        """The bits of a float as an integer."""
        return self.convert("bitcast", self.type.integer)

    @property
    def as_float(self) -> IrValue:
        """The float with these bits."""
        return self.convert("bitcast", Type(True, self.type.bits, self.type.lanes))


@dataclass
class IrFunction:
    """A function of up to three arguments of one type, under construction."""

    name: str
    type: Type
    arity: int = 1
    #: Whether the target has an instruction for `x * 2**n`, n an integer.
    has_ldexp: bool = False
    attributes: str = "alwaysinline nounwind willreturn memory(none)"
    lines: list[str] = field(default_factory=list[str])
    count: int = 0

    @property
    def x(self) -> IrValue:
        """The first argument."""
        return IrValue(self, "%x", self.type)

    @property
    def arguments(self) -> tuple[IrValue, ...]:
        """All arguments: x, y, z."""
        return tuple(IrValue(self, f"%{name}", self.type) for name in "xyz"[: self.arity])

    def emit(self, type: Type, text: str) -> IrValue:
        """Append an instruction."""
        self.count += 1
        value = IrValue(self, f"%v{self.count}", type)
        self.lines.append(f"  {value.name} = {text}")
        return value

    def constant(self, type: Type, value: float | int) -> IrValue:
        """A literal as a value."""
        return IrValue(self, type.constant(value), type)

    def call(self, name: str, type: Type, *operands: IrValue) -> IrValue:
        """A call of a function or an intrinsic."""
        arguments = ", ".join(f"{o.type} {o.name}" for o in operands)
        return self.emit(type, f"call {type} @{name}({arguments})")

    def fma(self, a: IrValue, b: IrValue | float, c: IrValue | float) -> IrValue:
        """`a * b + c`, rounded once."""
        b, c = (o if isinstance(o, IrValue) else self.constant(a.type, o) for o in (b, c))
        return self.call(f"llvm.fma.{a.type.suffix}", a.type, a, b, c)

    def muladd(self, a: IrValue, b: IrValue | float, c: IrValue | float) -> IrValue:
        """`a * b + c`, rounded once, or twice where that takes many instructions less."""
        found = self.fma(a, b, c)
        self.lines[-1] += TWICE
        return found

    def fma_of_integer(self, a: IrValue, b: float, c: IrValue) -> IrValue:
        """`a * b + c`, rounded once; `a` is an integer of at most 11 bits."""
        found = self.fma(a, b, c)
        self.lines[-1] += OF_INTEGER
        return found

    def fabs(self, a: IrValue) -> IrValue:
        """The absolute value."""
        return self.call(f"llvm.fabs.{a.type.suffix}", a.type, a)

    def sqrt(self, a: IrValue) -> IrValue:
        """The square root, rounded once."""
        return self.call(f"llvm.sqrt.{a.type.suffix}", a.type, a)

    def trunc(self, a: IrValue) -> IrValue:
        """The integer next to it towards 0."""
        return self.call(f"llvm.trunc.{a.type.suffix}", a.type, a)

    def copysign(self, a: IrValue, sign: IrValue) -> IrValue:
        """The magnitude of `a` with the sign of `sign`."""
        return self.call(f"llvm.copysign.{a.type.suffix}", a.type, a, sign)

    def select(self, condition: IrValue, a: IrValue | float, b: IrValue | float) -> IrValue:
        """`a` where the condition holds, else `b`; not both are literals."""
        type = a.type if isinstance(a, IrValue) else b.type if isinstance(b, IrValue) else self.type
        a, b = (o if isinstance(o, IrValue) else self.constant(type, o) for o in (a, b))
        return self.emit(type, f"select {condition.type} {condition.name}, {type} {a.name}, {type} {b.name}")

    def horner(self, x: IrValue, coefficients: tuple[float, ...]) -> IrValue:
        """The polynomial with these coefficients, lowest degree first."""
        result = self.constant(x.type, coefficients[-1])
        for c in reversed(coefficients[:-1]):
            result = self.muladd(result, x, c)
        return result

    def define(self, result: IrValue) -> str:
        """The text of the function: it returns `result`."""
        arguments = ", ".join(f"{a.type} {a.name}" for a in self.arguments)
        head = f"define internal {result.type} @{self.name}({arguments}) {self.attributes} {{"
        return "\n".join([head, *self.lines, f"  ret {result.type} {result.name}", "}", ""])


def declarations(text: str) -> set[str]:
    """`declare` lines of the intrinsics that a text calls."""
    lines: set[str] = set()
    for kind, name, operands in re.findall(r"call ([^@\n]+) @(llvm\.[\w.]+)\(([^\n]*)\)", text):
        types = re.findall(r"(<[^>]*>|\w+) (?:%[\w.]+|splat \([^)]*\)|0x\w+|-?\d+|true|false)", operands)
        lines.add(f"declare {kind} @{name}({', '.join(types)})")
    return lines
