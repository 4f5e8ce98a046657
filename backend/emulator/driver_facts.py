"""What CUDA's driver knows by version and architecture, and the names of its errors."""

from __future__ import annotations

from tadc.backend.cuda import api
from tadc.passes.maps.machine import GPUS

ERRORS = {
    api.INVALID_VALUE: (b"CUDA_ERROR_INVALID_VALUE", b"invalid argument"),
    api.OUT_OF_MEMORY: (b"CUDA_ERROR_OUT_OF_MEMORY", b"out of memory"),
    api.NOT_INITIALIZED: (b"CUDA_ERROR_NOT_INITIALIZED", b"initialization error"),
    api.NO_DEVICE: (b"CUDA_ERROR_NO_DEVICE", b"no CUDA-capable device is detected"),
    api.INVALID_DEVICE: (b"CUDA_ERROR_INVALID_DEVICE", b"invalid device ordinal"),
    api.INVALID_CONTEXT: (b"CUDA_ERROR_INVALID_CONTEXT", b"invalid device context"),
    api.NO_BINARY: (b"CUDA_ERROR_NO_BINARY_FOR_GPU", b"no kernel image is available for execution"),
    api.INVALID_PTX: (b"CUDA_ERROR_INVALID_PTX", b"a PTX JIT compilation failed"),
    api.UNSUPPORTED_PTX: (
        b"CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
        b"the provided PTX was compiled with an unsupported toolchain",
    ),
    api.INVALID_HANDLE: (b"CUDA_ERROR_INVALID_HANDLE", b"invalid resource handle"),
    api.NOT_FOUND: (b"CUDA_ERROR_NOT_FOUND", b"named symbol not found"),
    api.ILLEGAL_ADDRESS: (b"CUDA_ERROR_ILLEGAL_ADDRESS", b"an illegal memory access was encountered"),
}

NEEDS = {
    name: 11020
    for name in (
        "cuMemAllocAsync", "cuMemFreeAsync", "cuDeviceGetDefaultMemPool", "cuMemPoolGetAttribute",
        "cuMemPoolSetAttribute",
    )
} | {
    "cuStreamIsCapturing": 10000,
    "cuGraphCreate": 10000,
    "cuGraphAddKernelNode": 10000,
    "cuGraphExecKernelNodeSetParams": 10010,
    "cuGraphLaunch": 10000,
    "cuGraphExecDestroy": 10000,
    "cuGraphDestroy": 10000,
    "cuGraphInstantiateWithFlags": 11040,
}  # fmt: skip
"""The CUDA that a function came with, of those that CUDA 9 does not have."""

_PTX = {
    9000: (6, 0), 9010: (6, 1), 9020: (6, 2), 10000: (6, 3), 10010: (6, 4), 10020: (6, 5), 11000: (7, 0),
    11010: (7, 1), 11020: (7, 2), 11030: (7, 3), 11040: (7, 4), 11050: (7, 5), 11060: (7, 6), 11070: (7, 7),
    11080: (7, 8), 12000: (8, 0), 12010: (8, 1), 12020: (8, 2), 12030: (8, 3), 12040: (8, 4), 12050: (8, 5),
    12070: (8, 6), 12080: (8, 7), 12090: (8, 8), 13000: (9, 0),
}  # fmt: skip


def latest_ptx(version: int) -> tuple[int, int]:
    """The latest PTX that a driver for this CUDA takes (PTX manual, release notes)."""
    return max((ptx for cuda, ptx in _PTX.items() if cuda <= version), default=(0, 0))


def most_shared(architecture: int) -> int:
    """The shared bytes that a block can ask for."""
    gpu = GPUS[f"sm_{architecture}"]
    return gpu.shared - gpu.reserved
