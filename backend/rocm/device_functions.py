"""Scalar functions under the names of ROCm's device library, which is on no package index.

They are the functions of the CPU (`scalar_functions.py`); what the GPU has instructions for are LLVM's
intrinsics.
"""

from __future__ import annotations

import re

from tadc.backend.functions.scalar_functions import defined_as, scalar_function

_NAME = re.compile(r"__ocml_([a-z0-9]+)_f(32|64)")


def rocm_function(name: str) -> str | None:
    """The text that defines `__ocml_exp_f64` and the like, or what these call in turn; None for others."""
    match = _NAME.fullmatch(name)
    return defined_as(match[1], int(match[2]), name) if match else scalar_function(name)
