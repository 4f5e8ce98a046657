"""Element types: what programs, libraries and code call them, a record each.

A type that tensors are stored as may be narrower than the one that is computed with: loads extend,
stores round to the nearest, ties to even. A new type is a record here.
"""

from __future__ import annotations

import re
from typing import Literal

from tadc.lattice.late_dataclasses import dataclass


@dataclass(frozen=True)
class DType:
    """An element type, `name` in programs and in MLIR; arithmetic and sums on it are in `computing`."""

    name: str
    kind: Literal["float", "index", "truth"]
    bits: int
    computing: str
    #: In NumPy (of `ml_dtypes`, where NumPy has none), PyTorch and JAX.
    library: str
    llvm: str
    c: str
    #: `XLA_FFI_DataType` of XLA's `ffi/api/c_api.h`.
    xla: int
    #: The greatest number, and how `struct` packs one.
    greatest: float = 0.0
    packed: str = ""
    #: What other languages call it.
    elsewhere: str = ""
    #: The package that NumPy has it of, which an extra of ours installs.
    package: str = ""

    @property
    def numpy(self) -> str:
        """As Python calls NumPy's type."""
        return f"{self.package or 'numpy'}.{self.library}"

    @property
    def bytes(self) -> int:
        """What an element takes in memory."""
        return (self.bits + 7) // 8


_RECORDS = (
    DType(
        "f16", "float", 16, "f32", "float16", "half", "uint16_t", 10, 65504.0, "e",
        "float16 Float16 half fp16 F16",
    ),
    DType(
        "bf16", "float", 16, "f32", "bfloat16", "bfloat", "uint16_t", 16, 3.3895313892515355e38, "",
        "bfloat16 BFloat16 bfloat BF16", "ml_dtypes",
    ),
    DType(
        "f32", "float", 32, "f32", "float32", "float", "float", 11, 3.4028234663852886e38, "f",
        "float32 single Float32 fp32 F32 real32",
    ),
    DType(
        "f64", "float", 64, "f64", "float64", "double", "double", 12, 1.7976931348623157e308, "d",
        "float64 double Float64 fp64 F64 real64 float_",
    ),
    DType("i32", "index", 32, "i32", "int32", "i32", "int32_t", 4),
    DType("i1", "truth", 1, "i1", "bool", "i1", "bool", 1),
)  # fmt: skip

DTYPES = {record.name: record for record in _RECORDS}

#: The types that a program states, the one of literals alone last.
FLOATS = tuple(record.name for record in _RECORDS if record.kind == "float")
DEFAULT = "f64"
INDEX_TYPE = "i32"


#: The name of a type that the arrays of a call say.
TYPE_PARAMETER = re.compile(r"[A-Z]\d?")
#: What there is in a text with some, and in few others.
_STATED = re.compile(rf":[ \t]*{TYPE_PARAMETER.pattern}[ \t]*(?:[\[;=\n#]|at\b|$)")


def may_have_parameters(text: str) -> bool:
    """Whether a program may have type parameters, without a look at what it says."""
    return _STATED.search(text) is not None


def types_listed(word: str, quote: str = "`") -> str:
    """The types that a program states, as messages list them: "`f32` or `f64`" with the word `or`."""
    *before, last = (f"{quote}{name}{quote}" for name in FLOATS)
    return f"{', '.join(before)} {word} {last}"


#: The types of arithmetic.
COMPUTED = tuple(name for name in FLOATS if DTYPES[name].computing == name)
#: The types of arithmetic, by those of what is stored.
COMPUTING = {record.name: record.computing for record in _RECORDS}


def bytes_of_type(name: str) -> int:
    """What an element of a type takes in memory."""
    return DTYPES[name].bytes
