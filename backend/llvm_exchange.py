"""LLVM IR text from MLIR's LLVM (24) to llvmlite's (22).

The newer one writes a float as its shortest decimal, `f0x` and its own bits, `+inf`, `+qnan` or
`-nan(0x1)`. The older one reads a decimal only if it is exact, else `0x` and the bits of
the double of the same value. So floats that are not exact decimals become the latter.
"""

from __future__ import annotations

import re
import struct

_DECIMAL = re.compile(r"[+-]?\d+\.\d+(?:e[+-]\d+)?")
_LITERAL = rf"{_DECIMAL.pattern}|f0x[0-9A-Fa-f]+|[+-](?:inf|qnan|s?nan\(0x[0-9A-Fa-f]+\))"
_BEGIN = re.compile(r"[0-9]\.[0-9]|f0x|[+-]inf|[+-]s?q?nan")
#: A float type, or a literal, whose type is the last one named before it on its line.
_TOKEN = re.compile(rf"(?<![\w%@.])(?:(float|double)|({_LITERAL}))(?![\w.])")


def to_older_llvm(text: str) -> str:
    """The text of a module as LLVM 22 reads it."""
    return "\n".join(_rewrite(line) if _has_literals(line) else line for line in text.split("\n"))


def _has_literals(line: str) -> bool:
    """Whether there may be literals of floats, by what one begins with."""
    if "float" not in line and "double" not in line:
        return False
    return bool(_BEGIN.search(line)) and not line.startswith(("!", ";", "source_filename"))


def _rewrite(line: str) -> str:
    kind = ""

    def replace(match: re.Match[str]) -> str:
        nonlocal kind
        if match[1]:
            kind = match[1]
            return match[1]
        if _DECIMAL.fullmatch(match[2]) and (kind != "float" or _single(float(match[2])) == float(match[2])):
            return match[2]
        return f"0x{_double_bits(match[2], kind == 'float'):016X}"

    return _TOKEN.sub(replace, line)


def _double_bits(literal: str, single: bool) -> int:
    """The bits of the double that has the value of a literal of type float or double."""
    if literal.startswith("f0x"):
        return _widen(int(literal[3:], 16)) if single else int(literal[3:], 16)
    if literal[1:4] == "inf":
        return _SIGN * (literal[0] == "-") | 0x7FF << 52
    if "nan" in literal:
        payload = int(literal[literal.index("0x") :].rstrip(")"), 16) if "0x" in literal else 0
        quiet = 0 if "snan" in literal else 1 << 51
        return _SIGN * (literal[0] == "-") | 0x7FF << 52 | quiet | payload << (29 if single else 0)
    value = float(literal)
    return _bits(_single(value) if single else value)


def _single(value: float) -> float:
    return struct.unpack("f", struct.pack("f", value))[0]


_SIGN = 1 << 63


def _widen(bits: int) -> int:
    if bits >> 23 & 0xFF == 0xFF:  # A conversion could change a NaN.
        return bits >> 31 << 63 | 0x7FF << 52 | (bits & 0x7FFFFF) << 29
    return _bits(struct.unpack("<f", struct.pack("<I", bits))[0])


def _bits(value: float) -> int:
    return struct.unpack("<Q", struct.pack("<d", value))[0]
