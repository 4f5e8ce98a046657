"""What schedules know of AMD's GPUs (guides to their instruction sets; LLVM's User Guide for AMDGPU Backend).

32 lanes run together, as a wave or as half of one. A compute unit has 64 KiB of memory that blocks share; of
vector registers 4 x 512 x 64, or 2 x 1536 x 32.
"""

from __future__ import annotations

from tadc.passes.maps.machine import Gpu

MACHINES = {
    "gfx90a": Gpu(104, 64 << 10, 2048, 8 << 20, registers=1 << 17),
    "gfx942": Gpu(304, 64 << 10, 2048, 4 << 20, registers=1 << 17),
    "gfx1100": Gpu(48, 64 << 10, 2048, 6 << 20, registers=98304),
}
