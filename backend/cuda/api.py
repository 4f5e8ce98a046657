"""The functions of CUDA's driver that are called, as the header cuda.h declares them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import POINTER, Structure, c_char_p, c_float, c_int, c_size_t, c_uint, c_uint64, c_void_p
from typing import Any

LIBRARY = "libcuda.so.1"

_OUT = POINTER(c_void_p)
_GRID = (c_uint,) * 6


class KernelNode(Structure):
    """CUDA_KERNEL_NODE_PARAMS_v1: a launch as the node of a graph."""

    _fields_ = [
        ("function", c_void_p), ("grid", c_uint * 3), ("block", c_uint * 3), ("shared", c_uint),
        ("pointers", POINTER(c_void_p)), ("extra", POINTER(c_void_p)),
    ]  # fmt: skip


#: Arguments of each; all return a CUresult.
PROTOTYPES: dict[str, tuple[Any, ...]] = {
    "cuInit": (c_uint,),
    "cuDriverGetVersion": (POINTER(c_int),),
    "cuDeviceGetCount": (POINTER(c_int),),
    "cuDeviceGet": (POINTER(c_int), c_int),
    "cuDeviceGetName": (c_void_p, c_int, c_int),
    "cuDeviceGetAttribute": (POINTER(c_int), c_int, c_int),
    "cuDevicePrimaryCtxRetain": (_OUT, c_int),
    "cuCtxPushCurrent_v2": (c_void_p,),
    "cuCtxPopCurrent_v2": (_OUT,),
    "cuModuleLoadDataEx": (_OUT, c_char_p, c_uint, POINTER(c_int), POINTER(c_void_p)),
    "cuModuleGetFunction": (_OUT, c_void_p, c_char_p),
    "cuFuncSetAttribute": (c_void_p, c_int, c_int),
    "cuLaunchKernel": (c_void_p, *_GRID, c_uint, c_void_p, POINTER(c_void_p), POINTER(c_void_p)),
    "cuMemAlloc_v2": (POINTER(c_uint64), c_size_t),
    "cuMemFree_v2": (c_uint64,),
    "cuMemAllocAsync": (POINTER(c_uint64), c_size_t, c_void_p),
    "cuMemFreeAsync": (c_uint64, c_void_p),
    "cuDeviceGetDefaultMemPool": (_OUT, c_int),
    "cuMemPoolGetAttribute": (c_void_p, c_int, POINTER(c_uint64)),
    "cuMemPoolSetAttribute": (c_void_p, c_int, POINTER(c_uint64)),
    "cuPointerGetAttribute": (c_void_p, c_int, c_uint64),
    "cuMemGetInfo_v2": (POINTER(c_size_t), POINTER(c_size_t)),
    "cuMemcpyHtoDAsync_v2": (c_uint64, c_void_p, c_size_t, c_void_p),
    "cuMemcpyDtoHAsync_v2": (c_void_p, c_uint64, c_size_t, c_void_p),
    "cuMemcpyDtoDAsync_v2": (c_uint64, c_uint64, c_size_t, c_void_p),
    "cuStreamSynchronize": (c_void_p,),
    "cuStreamIsCapturing": (c_void_p, POINTER(c_int)),
    "cuStreamWaitEvent": (c_void_p, c_void_p, c_uint),
    "cuEventCreate": (_OUT, c_uint),
    "cuEventRecord": (c_void_p, c_void_p),
    "cuEventSynchronize": (c_void_p,),
    "cuEventQuery": (c_void_p,),
    "cuEventElapsedTime": (POINTER(c_float), c_void_p, c_void_p),
    "cuEventDestroy_v2": (c_void_p,),
    "cuGraphCreate": (_OUT, c_uint),
    "cuGraphAddKernelNode": (_OUT, c_void_p, POINTER(c_void_p), c_size_t, POINTER(KernelNode)),
    "cuGraphInstantiateWithFlags": (_OUT, c_void_p, c_uint64),
    "cuGraphExecKernelNodeSetParams": (c_void_p, c_void_p, POINTER(KernelNode)),
    "cuGraphLaunch": (c_void_p, c_void_p),
    "cuGraphExecDestroy": (c_void_p,),
    "cuGraphDestroy": (c_void_p,),
    "cuGetErrorName": (c_int, POINTER(c_char_p)),
    "cuGetErrorString": (c_int, POINTER(c_char_p)),
}

#: Values of CUresult.
INVALID_VALUE, OUT_OF_MEMORY, NOT_INITIALIZED, INSUFFICIENT_DRIVER = 1, 2, 3, 35
NO_DEVICE, INVALID_DEVICE, INVALID_CONTEXT, NO_BINARY, INVALID_PTX = 100, 101, 201, 209, 218
UNSUPPORTED_PTX, INVALID_HANDLE, NOT_FOUND, NOT_READY = 222, 400, 500, 600
ILLEGAL_ADDRESS, UNKNOWN = 700, 999
#: Those of work that failed after the call that queued it had returned; any later call tells.
LATE = frozenset({214, 220, 226, ILLEGAL_ADDRESS, 702, 710, 714, 715, 716, 717, 718, 719})

#: Values of CUdevice_attribute.
MULTIPROCESSORS, MAJOR, MINOR, MEMORY_POOLS = 16, 75, 76, 115
#: Values of CUjit_option.
ERROR_LOG, ERROR_LOG_SIZE = 5, 6
#: CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
RELEASE_THRESHOLD = 4
#: CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
POINTER_DEVICE = 9
#: CU_EVENT_DISABLE_TIMING
UNTIMED = 2
#: CU_STREAM_LEGACY, CU_STREAM_PER_THREAD: handles of the default streams.
LEGACY_STREAM, THREAD_STREAM = 1, 2
#: CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
DYNAMIC_SHARED = 8


def load_library() -> Any:
    """Libcuda, each function with its types. Raises OSError where there is none."""
    library = ctypes.CDLL(LIBRARY)
    for name, types in PROTOTYPES.items():
        function = getattr(library, name, None)
        if function is not None:
            function.argtypes, function.restype = types, c_int
    return library


def bare(function: Any) -> Callable[..., int]:
    """A function of the library without its types: quicker, for arguments that are instances of them.

    What is no function of C, as a test may put in its place, stays as it is.
    """
    if not hasattr(function, "argtypes"):
        return function
    return ctypes.CFUNCTYPE(c_int)(ctypes.cast(function, c_void_p).value or 0)
