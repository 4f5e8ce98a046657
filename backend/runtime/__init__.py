"""Calls of compiled kernels with arrays. Imports NumPy and ctypes only: no MLIR, no LLVM.

`load_bundle(folder)` gives a program that `tadc --bundle` wrote for GPUs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tadc.backend.cuda.bundles import Bundle, load_bundle

__all__ = ["Bundle", "load_bundle"]


def __getattr__(name: str) -> Any:
    """Import bundles at their first use: kernels of the CPU need none."""
    if name not in __all__:
        raise AttributeError(f"module 'tadc.backend.runtime' has no attribute {name!r}")
    from tadc.backend.cuda import bundles

    return getattr(bundles, name)
