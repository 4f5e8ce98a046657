"""What an instruction computes from the values of its operands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tadc.backend.emulator.global_memory import Array
from tadc.lattice.late_dataclasses import dataclass
from tadc.passes.numpy_types import numpy_floats

#: The NumPy type of each type of PTX.
DTYPES: dict[str, np.dtype[Any]] = {
    **{f"{kind}{bits}": np.dtype(f"u{bits // 8}") for kind in "bu" for bits in (8, 16, 32, 64)},
    **{f"s{bits}": np.dtype(f"i{bits // 8}") for bits in (8, 16, 32, 64)},
    **numpy_floats(),
    "pred": np.dtype(np.bool_),
}


@dataclass(frozen=True)
class Operation:
    """Operands of types `reads` give a value of type `writes`.

    One that takes the carry flag gets it last; one that sets it returns value and flag.
    """

    reads: tuple[str, ...]
    writes: str
    apply: Callable[..., Any]
    takes_carry: bool = False
    sets_carry: bool = False


def same(type: str, count: int, apply: Callable[..., Array]) -> Operation:
    """An operation whose operands and value have one type."""
    return Operation((type,) * count, type, apply)
