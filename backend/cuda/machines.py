"""What schedules know of NVIDIA's GPUs, a large device of each compute capability.

CUDA C++ Programming Guide, table of specifications; data sheets of V100, Xavier, T4, A100, A40, Orin, L40S,
H200, B200, Thor, B300, RTX PRO 6000, GB10.
"""

from __future__ import annotations

from tadc.passes.maps.machine import TYPICAL, Gpu

MACHINES = {
    "sm_70": Gpu(80, 96 << 10, 2048, 6 << 20, reserved=0),
    "sm_72": Gpu(8, 96 << 10, 2048, 1 << 19, reserved=0),
    "sm_75": Gpu(40, 64 << 10, 1024, 4 << 20, reserved=0),
    "sm_80": Gpu(108, 164 << 10, 2048, 40 << 20),
    "sm_86": Gpu(84, 100 << 10, 1536, 6 << 20),
    "sm_87": Gpu(16, 164 << 10, 1536, 4 << 20),
    "sm_89": Gpu(142, 100 << 10, 1536, 96 << 20),
    "sm_90": TYPICAL,
    "sm_100": Gpu(148, 228 << 10, 2048, 126 << 20),
    "sm_101": Gpu(20, 228 << 10, 1536, 32 << 20),
    "sm_103": Gpu(160, 228 << 10, 2048, 126 << 20),
    "sm_120": Gpu(188, 100 << 10, 1536, 128 << 20),
    "sm_121": Gpu(48, 100 << 10, 1536, 24 << 20),
}
