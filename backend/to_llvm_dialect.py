"""Loops, or kernels of the gpu dialect, to the llvm dialect of a target."""

from __future__ import annotations

from tadc.backend.base import Settings
from tadc.backend.carried_elements import carry
from tadc.backend.fast_math import FUSED, relax
from tadc.backend.target import backend_of
from tadc.dialect.mlir import ir


def lower_to_llvm_dialect(module: ir.Module, settings: Settings) -> None:
    """Lower a module in place to the llvm dialect; of a GPU its gpu modules, to that of the GPU as well.

    No floating-point operation is reassociated, contracted or approximated, unless `fast_math` allows
    what `fast_math.py` says; `fused` allows a product and a sum to be rounded once.

    Raises:
        ir.MLIRError: a pass fails; the module is then left half lowered.
    """
    backend = backend_of(settings.target)
    if settings.fast_math:
        relax(module, is_gpu=backend.launches_kernels)
    elif settings.fused:
        relax(module, FUSED)
    if not backend.launches_kernels:
        carry(module, in_windows=not settings.fused)
    backend.lower(module, settings)
