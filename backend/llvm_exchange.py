"""LLVM IR text from MLIR's LLVM (24) to llvmlite's (22): the numbers in it.

The newer one writes a float as its shortest decimal, `f0x` and its own bits, `+inf`, `+qnan` or
`-nan(0x1)`. The older one reads a decimal only if it is exact, else bits, those of `float` as the double
of the same value. Whatever else they write differently the older one refuses to parse.

Text is the only way between the two: the bindings hand on no bitcode, and their own execution engine has
neither the passes of `object_code.py` nor processors other than the host.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

from tadc.lattice.late_dataclasses import dataclass


@dataclass(frozen=True)
class _FloatType:
    """Bits of exponent and mantissa, how the older text begins bits of it, and the form of `struct`."""

    exponent: int
    mantissa: int
    prefix: str
    form: str

    def value(self, bits: int) -> float:
        """The number that has these bits."""
        size = struct.calcsize(self.form)
        return struct.unpack(self.form, (bits << 8 * size - self.width).to_bytes(size, "little"))[0]

    def bits(self, value: float) -> int:
        """The bits of the number next to a value."""
        found = int.from_bytes(struct.pack(self.form, value), "little")
        cut = 8 * struct.calcsize(self.form) - self.width
        return found if not cut else found + (1 << cut - 1) - 1 + (found >> cut & 1) >> cut

    @property
    def width(self) -> int:
        return 1 + self.exponent + self.mantissa


_DOUBLE = _FloatType(11, 52, "0x", "<d")
_TYPES = {
    "half": _FloatType(5, 10, "0xH", "<e"),
    "bfloat": _FloatType(8, 7, "0xR", "<f"),
    "float": _FloatType(8, 23, "0x", "<f"),
    "double": _DOUBLE,
}

#: The words of a line: a name, text or comment; a type, which is that of the numbers after it; a number.
_WORD = re.compile(
    rf"""[%@$!\#][-\w.$]+ | "[^"]*" | ;.*
    | (?P<type>{"|".join(_TYPES)})(?![-\w.$])
    | (?P<decimal>[+-]?\d+\.\d+(?:e[+-]\d+)?)(?![\w.])
    | f0x(?P<bits>[0-9A-Fa-f]+)
    | (?P<sign>[+-])(?:(?P<inf>inf\b)|(?P<quiet>qnan\b)|(?P<signals>s?)nan\(0x(?P<payload>[0-9A-Fa-f]+)\))
    | [-\w.$]+""",
    re.X,
)
#: What only a line with numbers has; most have none.
_BEGIN = re.compile(r"[0-9]\.[0-9]|f0x|[+-]inf|[+-]s?q?nan")


def to_older_llvm(text: str) -> str:
    """The text of a module as LLVM 22 reads it."""
    return "\n".join("".join(_older(line)) if _BEGIN.search(line) else line for line in text.split("\n"))


def _older(line: str) -> Iterator[str]:
    """The words of a line, and what is between them."""
    type, end = None, 0
    for match in _WORD.finditer(line):
        yield line[end : match.start()]
        end = match.end()
        if match["type"]:
            type = _TYPES[match["type"]]
        is_number = type is not None and (match["decimal"] or match["bits"] or match["sign"])
        yield _number(match, type) if type is not None and is_number else match[0]
    yield line[end:]


def _number(match: re.Match[str], type: _FloatType) -> str:
    if match["decimal"]:
        value = float(match[0])
        if type is _DOUBLE or type.value(type.bits(value)) == value:
            return match[0]
    bits = _bits(match, type)
    if type.prefix == "0x" and type is not _DOUBLE:
        special = (1 << type.exponent) - 1
        if bits >> type.mantissa & special == special:  # A conversion could change a NaN.
            sign, payload = bits >> type.width - 1, bits & (1 << type.mantissa) - 1
            bits = sign << 63 | 0x7FF << 52 | payload << _DOUBLE.mantissa - type.mantissa
        else:
            bits = _DOUBLE.bits(type.value(bits))
        type = _DOUBLE
    return f"{type.prefix}{bits:0{type.width // 4}X}"


def _bits(match: re.Match[str], type: _FloatType) -> int:
    """The bits that a number of a type has."""
    if match["decimal"]:
        return type.bits(float(match[0]))
    if match["bits"]:
        return int(match["bits"], 16)
    sign, quiet = (match["sign"] == "-") << type.width - 1, 1 << type.mantissa - 1
    payload = int(match["payload"] or "0", 16)
    fraction = 0 if match["inf"] else payload if match["signals"] else payload | quiet
    return sign | (1 << type.exponent) - 1 << type.mantissa | fraction
