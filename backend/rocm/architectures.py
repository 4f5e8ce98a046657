"""Architectures of AMD's GPUs by LLVM's names: MI200, MI300, Radeon RX 7000."""

from __future__ import annotations

from typing import Any

from tadc.backend.binding import binding

TRIPLE = "amdgcn-amd-amdhsa"

#: The lanes of a wave.
WAVES = {"gfx90a": 64, "gfx942": 64, "gfx1100": 32}


def rocm_machine(architecture: str, level: int) -> Any:
    """A new TargetMachine for a GPU."""
    features = f"+wavefrontsize{WAVES[architecture]}"
    target = binding().Target.from_triple(TRIPLE)
    return target.create_target_machine(cpu=architecture, features=features, opt=level, reloc="pic")
