"""llvmlite's binding to LLVM."""

from __future__ import annotations

from functools import cache
from typing import Any

from tadc.frontend.forks import wait_for


@cache
def binding() -> Any:
    """The binding with every target of LLVM initialised."""
    import llvmlite.binding as llvm  # pyright: ignore[reportMissingTypeStubs]

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    wait_for(llvm.ffi.lib._lock)  # pyright: ignore[reportPrivateUsage]
    return llvm
