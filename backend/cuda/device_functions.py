"""Scalar functions under the names of libdevice, in LLVM IR: our own, and those that are one instruction."""

from __future__ import annotations

import re
from functools import cache

from tadc.backend.functions.scalar_functions import (
    DEFINED,
    DEVICE_INTRINSICS,
    defined_as,
    instruction,
    scalar_function,
)
from tadc.backend.ir_text import F32, F64, Type

_NAME = re.compile(r"__nv_([a-z0-9]+)")


@cache
def device_function(name: str) -> str | None:
    """The text that defines one of our functions under libdevice's name, or what these call in turn."""
    found = _device_name(name)
    if found and found[0] in DEFINED:
        return defined_as(found[0], found[1].bits, name)
    return scalar_function(name)


@cache
def device_instruction(name: str) -> str | None:
    """The text that defines a function of libdevice that is one instruction; None for any other."""
    found = _device_name(name)
    if not found or found[0] not in DEVICE_INTRINSICS:
        return None
    return instruction(*found, name)


def _device_name(name: str) -> tuple[str, Type] | None:
    """The function and type that a name of libdevice stands for: `__nv_exp`, `__nv_expf`."""
    match = _NAME.fullmatch(name)
    if not match:
        return None
    # Some names end in `f` for f64 too.
    known = match[1] in DEFINED or match[1] in DEVICE_INTRINSICS
    return (match[1], F64) if known else (match[1].removesuffix("f"), F32)
