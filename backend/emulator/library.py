"""CUDA's driver API over the emulator: what libcuda is to a GPU.

The functions are C functions, so callers pack arguments as they do for libcuda. There is one stream;
all is done when a call returns.
"""

from __future__ import annotations

import ctypes
import itertools
import time
from collections.abc import Callable
from typing import Any

from tadc.backend.cuda import api
from tadc.backend.emulator.errors import UnknownPtx
from tadc.backend.emulator.execution import EmulatedKernel, EmulatedModule
from tadc.backend.emulator.memory import Memory
from tadc.backend.emulator.syntax import SIZES

_ERRORS = {
    api.INVALID_VALUE: (b"CUDA_ERROR_INVALID_VALUE", b"invalid argument"),
    api.OUT_OF_MEMORY: (b"CUDA_ERROR_OUT_OF_MEMORY", b"out of memory"),
    api.NO_DEVICE: (b"CUDA_ERROR_NO_DEVICE", b"no CUDA-capable device is detected"),
    api.NO_BINARY: (b"CUDA_ERROR_NO_BINARY_FOR_GPU", b"no kernel image is available for execution"),
    api.INVALID_PTX: (b"CUDA_ERROR_INVALID_PTX", b"a PTX JIT compilation failed"),
    api.UNSUPPORTED_PTX: (
        b"CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
        b"the provided PTX was compiled with an unsupported toolchain",
    ),
    api.NOT_FOUND: (b"CUDA_ERROR_NOT_FOUND", b"named symbol not found"),
    api.ILLEGAL_ADDRESS: (b"CUDA_ERROR_ILLEGAL_ADDRESS", b"an illegal memory access was encountered"),
}
#: The largest grid in x, y and z, and the most threads of a block.
_GRID, _THREADS = (2**31 - 1, 65535, 65535), 1024


class EmulatedCuda:
    """A libcuda with one device of `architecture` (capability times ten) and so many bytes."""

    def __init__(
        self, architecture: int = 121, bytes: int = 1 << 34, version: int = 13000, devices: int = 1
    ) -> None:
        self.architecture, self.bytes, self.version, self.devices = architecture, bytes, version, devices
        self.memory = Memory()
        #: What went wrong inside the last call that failed, where that says more than its result.
        self.failure: BaseException | None = None
        self.launches: list[str] = []
        self._handles = itertools.count(1)
        self._objects: dict[int, Any] = {}
        self._contexts: list[int] = []
        self._kept: list[Any] = []
        for name, types in api.PROTOTYPES.items():
            method = self._kept_apart(getattr(self, f"_{name.removesuffix('_v2')}"))
            setattr(self, name, ctypes.CFUNCTYPE(ctypes.c_int, *types)(method))

    def _kept_apart(self, method: Callable[..., int]) -> Callable[..., int]:
        """No exception passes through C: it is kept for the caller."""

        def call(*arguments: Any) -> int:
            try:
                return method(*arguments)
            except BaseException as error:
                self.failure = error
                return api.UNKNOWN

        return call

    def _new(self, out: Any, value: Any) -> int:
        handle = next(self._handles)
        self._objects[handle] = value
        out[0] = handle
        return 0

    def _cuInit(self, flags: int) -> int:
        return 0 if self.devices else api.NO_DEVICE

    def _cuDriverGetVersion(self, out: Any) -> int:
        out[0] = self.version
        return 0

    def _cuDeviceGetCount(self, out: Any) -> int:
        out[0] = self.devices
        return 0

    def _cuDeviceGet(self, out: Any, number: int) -> int:
        out[0] = number
        return 0 if 0 <= number < self.devices else api.INVALID_VALUE

    def _cuDeviceGetName(self, buffer: int, room: int, device: int) -> int:
        ctypes.memmove(buffer, b"the emulator\0", min(room, 13))
        return 0

    def _cuDeviceGetAttribute(self, out: Any, which: int, device: int) -> int:
        found = {api.MAJOR: self.architecture // 10, api.MINOR: self.architecture % 10, api.MEMORY_POOLS: 1}
        out[0] = found.get(which, 1)
        return 0

    def _cuDevicePrimaryCtxRetain(self, out: Any, device: int) -> int:
        out[0] = device + 1
        return 0

    def _cuCtxPushCurrent(self, context: int) -> int:
        self._contexts.append(context)
        return 0

    def _cuCtxPopCurrent(self, out: Any) -> int:
        if not self._contexts:
            return api.INVALID_VALUE
        out[0] = self._contexts.pop()
        return 0

    def _cuModuleLoadDataEx(self, out: Any, image: bytes, count: int, options: Any, values: Any) -> int:
        text = image.decode(errors="replace")
        wanted = [line.split("sm_")[1] for line in text.splitlines() if line.startswith(".target sm_")]
        if not wanted or int("".join(c for c in wanted[0].split(",")[0] if c.isdigit())) > self.architecture:
            return api.NO_BINARY
        try:
            return self._new(out, EmulatedModule(text, self.memory))
        except UnknownPtx as error:
            # As the driver's compiler tells what it does not like.
            log = {options[n]: values[n] for n in range(count)}
            said = error.diagnostics[0].message.encode()[: log[api.ERROR_LOG_SIZE] - 1]
            ctypes.memmove(log[api.ERROR_LOG], said + b"\0", len(said) + 1)
            return api.INVALID_PTX

    def _cuModuleGetFunction(self, out: Any, module: int, name: bytes) -> int:
        found = self._objects[module].kernel(name.decode())
        return api.NOT_FOUND if found is None else self._new(out, found)

    def _cuFuncSetAttribute(self, function: int, which: int, value: int) -> int:
        return 0

    def _cuLaunchKernel(self, function: int, *rest: Any) -> int:
        grid, block, (shared, _, pointers, _) = rest[:3], rest[3:6], rest[6:]
        kernel: EmulatedKernel = self._objects[function]
        threads = block[0] * block[1] * block[2]
        limits = zip((*grid, threads), (*_GRID, min(_THREADS, kernel.most_threads or _THREADS)), strict=True)
        if not self._contexts or any(not 1 <= n <= most for n, most in limits):
            return api.INVALID_VALUE
        arguments = [
            int.from_bytes(ctypes.string_at(pointers[n], SIZES[type]), "little")
            for n, (_, type) in enumerate(kernel.parameters)
        ]
        self.launches.append(kernel.name)
        kernel.launch(grid, block, arguments, shared)
        return 0

    def _cuMemAlloc(self, out: Any, count: int) -> int:
        if not count:
            return api.INVALID_VALUE
        if self.memory.used + count > self.bytes:
            return api.OUT_OF_MEMORY
        out[0] = self.memory.allocate(count)
        return 0

    def _cuMemAllocAsync(self, out: Any, count: int, stream: int) -> int:
        return self._cuMemAlloc(out, count)

    def _cuMemFree(self, address: int) -> int:
        return 0 if self.memory.free(address) else api.INVALID_VALUE

    def _cuMemFreeAsync(self, address: int, stream: int) -> int:
        return self._cuMemFree(address)

    def _cuDeviceGetDefaultMemPool(self, out: Any, device: int) -> int:
        return self._new(out, "pool")

    def _cuMemPoolSetAttribute(self, pool: int, which: int, value: Any) -> int:
        return 0 if self._objects.get(pool) == "pool" else api.INVALID_VALUE

    def _cuMemGetInfo(self, free: Any, total: Any) -> int:
        free[0], total[0] = self.bytes - self.memory.used, self.bytes
        return 0

    def _cuMemcpyHtoDAsync(self, to: int, source: int, count: int, stream: int) -> int:
        return 0 if self.memory.put(to, ctypes.string_at(source, count)) else api.INVALID_VALUE

    def _cuMemcpyDtoHAsync(self, to: int, source: int, count: int, stream: int) -> int:
        found = self.memory.get(source, count)
        if found is None:
            return api.INVALID_VALUE
        ctypes.memmove(to, found, count)
        return 0

    def _cuMemcpyDtoDAsync(self, to: int, source: int, count: int, stream: int) -> int:
        found = self.memory.get(source, count)
        return 0 if found is not None and self.memory.put(to, found) else api.INVALID_VALUE

    def _cuStreamSynchronize(self, stream: int) -> int:
        return 0

    def _cuStreamWaitEvent(self, stream: int, event: int, flags: int) -> int:
        return 0 if event in self._objects else api.INVALID_VALUE

    def _cuEventCreate(self, out: Any, flags: int) -> int:
        return self._new(out, [0.0])

    def _cuEventRecord(self, event: int, stream: int) -> int:
        self._objects[event][0] = time.perf_counter()
        return 0

    def _cuEventSynchronize(self, event: int) -> int:
        return 0 if event in self._objects else api.INVALID_VALUE

    def _cuEventElapsedTime(self, out: Any, begin: int, end: int) -> int:
        out[0] = 1e3 * (self._objects[end][0] - self._objects[begin][0])
        return 0

    def _cuEventDestroy(self, event: int) -> int:
        return 0 if self._objects.pop(event, None) else api.INVALID_VALUE

    def _cuGetErrorName(self, result: int, out: Any) -> int:
        return self._said(result, out, 0)

    def _cuGetErrorString(self, result: int, out: Any) -> int:
        return self._said(result, out, 1)

    def _said(self, result: int, out: Any, which: int) -> int:
        if result not in _ERRORS:
            return api.INVALID_VALUE
        text = ctypes.c_char_p(_ERRORS[result][which])
        self._kept.append(text)
        out[0] = text
        return 0
