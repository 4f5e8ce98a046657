"""Architectures of CUDA by LLVM's names."""

from __future__ import annotations

from typing import Any, TypeAlias

from tadc.backend.backend_errors import backend_error
from tadc.backend.base import Target
from tadc.backend.binding import binding

#: Those that LLVM's NVPTX target and ptxas 12 both know.
CUDA_ARCHITECTURES = (70, 72, 75, 80, 86, 87, 89, 90, 100, 101, 103, 120, 121)
DEFAULT_SM = 80

CUDA_TRIPLE = "nvptx64-nvidia-cuda"


def sm_of(target: Target) -> int:
    """The compute capability of a target times 10; that of the least GPU of today where it names none."""
    return int(target.architecture.removeprefix("sm_")) if target.architecture else DEFAULT_SM


def best_for(sm: int) -> int:
    """The architecture of a GPU, or the latest before it that is known."""
    return max([known for known in CUDA_ARCHITECTURES if known <= sm], default=DEFAULT_SM)


#: What follows the name of an architecture, `a` where its own instructions may be used, and LLVM's features.
Variant: TypeAlias = tuple[str, str]
PLAIN: Variant = ("", "")
_OWN = 90


def variants_of(sm: int) -> list[Variant]:
    """The targets of an architecture, from that whose PTX the most drivers take."""
    newer = ("+ptx80", "+ptx86")
    own = [("a", features) for features in newer] if sm >= _OWN else []
    return [PLAIN, *(("", features) for features in newer), *own]


def cuda_machine(sm: int, level: int, variant: Variant = PLAIN) -> Any:
    """A new TargetMachine for a GPU. LLVM picks the least PTX version that the GPU needs.

    Raises:
        CompileError: TAD0705, LLVM would abort the process on an architecture it does not know.
    """
    if sm not in CUDA_ARCHITECTURES:
        raise backend_error("TAD0705", f"unknown target `cuda:sm_{sm}`")
    target = binding().Target.from_triple(CUDA_TRIPLE)
    suffix, features = variant
    return target.create_target_machine(cpu=f"sm_{sm}{suffix}", features=features, opt=level)
