"""Functions that pass their buffers on to others, and compute nothing worth a pass of LLVM.

Buffers beyond the first six are passed in memory, and LLVM's schedulers take time with the square of the
loads and stores of a block: seconds for the calls of a program of a thousand tensors. Where there are many,
the function is left as it is.
"""

from __future__ import annotations

MANY = 64
"""So many buffers are passed on in no time that one could measure."""

AS_IT_IS = ("optimize_none", "no_inline")
"""Attributes of a function of the llvm dialect that is left as it is."""

AS_IT_IS_IN_TEXT = " noinline optnone"
"""These as LLVM IR has them."""
