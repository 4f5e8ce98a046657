"""llvmlite's binding to LLVM."""

from __future__ import annotations

from collections.abc import Iterable
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


def run_passes(passes: Any, builder: Any, parts: Iterable[Any]) -> None:
    """Run a pass manager on modules or functions, and free it: it is not to be used afterwards.

    llvmlite never frees one. The method that would comes last in the order of its bases, after one that does
    nothing: https://github.com/numba/llvmlite/blob/v0.50.0/llvmlite/binding/newpassmanagers.py
    """
    try:
        for part in parts:
            passes.run(part, builder)
    finally:
        binding().newpassmanagers.NewPassManager._dispose(passes)
        passes.detach()
