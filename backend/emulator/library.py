"""CUDA's driver API over the emulator: what libcuda is to a GPU.

The functions are C functions, so callers pack arguments as they do for libcuda. All is done when a call
returns. What the manual of the driver API forbids is refused with the result that it names; where the real
driver would crash, on a handle that does not exist, too.
"""

from __future__ import annotations

import ctypes
import itertools
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from tadc.backend.cuda import api
from tadc.backend.emulator.errors import UnknownPtx
from tadc.backend.emulator.execution import SHARED_LIMIT, EmulatedKernel, EmulatedModule
from tadc.backend.emulator.limits import ERRORS, NEEDS, latest_ptx, most_shared
from tadc.backend.emulator.memory import Memory
from tadc.backend.emulator.syntax import SIZES

#: The largest grid in x, y and z, and the most threads of a block in each, and in all.
_GRID, _BLOCK, _THREADS = (2**31 - 1, 65535, 65535), (1024, 1024, 64), 1024
#: What can be called before cuInit.
_ALWAYS = ("cuInit", "cuDriverGetVersion", "cuGetErrorName", "cuGetErrorString")
#: What belongs to the context that is current in the thread.
_IN_CONTEXT = ("cuModule", "cuFunc", "cuLaunch", "cuMem", "cuStream", "cuEvent", "cuCtxPop")
_OF_DEVICE = ("cuMemPool",)

T = TypeVar("T")


@dataclass
class _Event:
    """When it happened, in seconds, and whether that may be asked for."""

    is_timed: bool
    time: float | None = None


@dataclass
class _Pool:
    """The memory that a device keeps."""

    kept: int = 0


@dataclass
class _Function:
    """A kernel, and the dynamic shared memory that launches may ask for."""

    kernel: EmulatedKernel
    dynamic: int = 0


class _RefusedError(Exception):
    """A call that has a result other than success."""

    def __init__(self, result: int) -> None:
        super().__init__(result)
        self.result = result


class EmulatedCuda:
    """A libcuda with devices of `architecture` (capability times ten) and so many bytes.

    `version` is that of its CUDA, as 12040; `streams` are the handles that exist besides the default ones.
    """

    def __init__(
        self,
        architecture: int = 121,
        bytes: int = 1 << 34,
        version: int = 13000,
        devices: int = 1,
        streams: Iterable[int] = (),
    ) -> None:
        self.architecture, self.bytes, self.version, self.devices = architecture, bytes, version, devices
        self.memory = Memory()
        #: What went wrong inside the last call that failed, where that says more than its result.
        self.failure: BaseException | None = None
        self.launches: list[str] = []
        self._handles = itertools.count(1 << 20)
        self._objects: dict[int, Any] = {}
        self._streams = {0, api.LEGACY_STREAM, api.THREAD_STREAM, *streams}
        self._primary: dict[int, int] = {}
        self._pools: dict[int, int] = {}
        self._thread = threading.local()
        self._is_ready = False
        self._kept: list[Any] = []
        for name, types in api.PROTOTYPES.items():
            if version < NEEDS.get(name, 0):
                setattr(self, name, None)
                continue
            method = self._kept_apart(name, getattr(self, f"_{name.removesuffix('_v2')}"))
            setattr(self, name, ctypes.CFUNCTYPE(ctypes.c_int, *types)(method))

    @property
    def _contexts(self) -> list[int]:
        """Those of this thread, the current one last."""
        contexts: list[int] | None = getattr(self._thread, "contexts", None)
        if contexts is None:
            contexts = self._thread.contexts = []
        return contexts

    def _kept_apart(self, name: str, method: Callable[..., int | None]) -> Callable[..., int]:
        """No exception passes through C: it is kept for the caller."""

        def call(*arguments: Any) -> int:
            try:
                self._check(name)
                return method(*arguments) or 0
            except _RefusedError as refused:
                return refused.result
            except BaseException as error:
                self.failure = error
                return api.UNKNOWN

        return call

    def _check(self, name: str) -> None:
        """Raise _RefusedError where a call comes too early, or without a context."""
        if not self._is_ready and name not in _ALWAYS:
            raise _RefusedError(api.NOT_INITIALIZED)
        if name.startswith(_IN_CONTEXT) and not name.startswith(_OF_DEVICE) and not self._contexts:
            raise _RefusedError(api.INVALID_CONTEXT)

    def _new(self, out: Any, value: Any) -> None:
        handle = next(self._handles)
        self._objects[handle] = value
        out[0] = handle

    def _found(self, handle: int | None, kind: type[T]) -> T:
        found = self._objects.get(handle or 0)
        if not isinstance(found, kind):
            raise _RefusedError(api.INVALID_HANDLE)
        return found

    def _require(self, holds: bool, result: int = api.INVALID_VALUE) -> None:
        if not holds:
            raise _RefusedError(result)

    def _require_stream(self, stream: int | None) -> None:
        self._require((stream or 0) in self._streams, api.INVALID_HANDLE)

    def _cuInit(self, flags: int) -> None:
        self._require(flags == 0)
        self._require(self.devices > 0, api.NO_DEVICE)
        self._is_ready = True

    def _cuDriverGetVersion(self, out: Any) -> None:
        out[0] = self.version

    def _cuDeviceGetCount(self, out: Any) -> None:
        out[0] = self.devices

    def _require_device(self, device: int) -> None:
        self._require(0 <= device < self.devices, api.INVALID_DEVICE)

    def _cuDeviceGet(self, out: Any, number: int) -> None:
        self._require_device(number)
        out[0] = number

    def _cuDeviceGetName(self, buffer: int, room: int, device: int) -> None:
        self._require_device(device)
        ctypes.memmove(buffer, b"the emulator\0", min(room, 13))

    def _cuDeviceGetAttribute(self, out: Any, which: int, device: int) -> None:
        self._require_device(device)
        found = {
            api.MAJOR: self.architecture // 10,
            api.MINOR: self.architecture % 10,
            api.MULTIPROCESSORS: 1,
        }
        if self.version >= NEEDS["cuMemAllocAsync"]:
            found[api.MEMORY_POOLS] = 1
        self._require(which in found)
        out[0] = found[which]

    def _cuDevicePrimaryCtxRetain(self, out: Any, device: int) -> None:
        self._require_device(device)
        if device not in self._primary:
            self._primary[device] = next(self._handles)
        out[0] = self._primary[device]

    def _cuCtxPushCurrent(self, context: int | None) -> None:
        self._require(context in self._primary.values(), api.INVALID_CONTEXT)
        assert context is not None
        self._contexts.append(context)

    def _cuCtxPopCurrent(self, out: Any) -> None:
        out[0] = self._contexts.pop()

    def _cuModuleLoadDataEx(self, out: Any, image: bytes, count: int, options: Any, values: Any) -> int:
        text = image.decode(errors="replace")
        log = {options[n]: values[n] for n in range(count)}
        self._require(log.keys() <= {api.ERROR_LOG, api.ERROR_LOG_SIZE} and all(log.values()))
        wanted = [line.split("sm_")[1] for line in text.splitlines() if line.startswith(".target sm_")]
        versions = [line.split()[1] for line in text.splitlines() if line.startswith(".version ")]
        if not wanted or int("".join(c for c in wanted[0].split(",")[0] if c.isdigit())) > self.architecture:
            return api.NO_BINARY
        if not versions or tuple(map(int, versions[0].split("."))) > latest_ptx(self.version):
            return api.UNSUPPORTED_PTX
        try:
            self._new(out, EmulatedModule(text, self.memory))
        except UnknownPtx as error:
            # As the driver's compiler tells what it does not like.
            said = error.diagnostics[0].message.encode()[: log[api.ERROR_LOG_SIZE] - 1]
            ctypes.memmove(log[api.ERROR_LOG], said + b"\0", len(said) + 1)
            return api.INVALID_PTX
        return 0

    def _cuModuleGetFunction(self, out: Any, module: int, name: bytes) -> None:
        found = self._found(module, EmulatedModule).kernel(name.decode())
        self._require(found is not None, api.NOT_FOUND)
        assert found is not None
        self._new(out, _Function(found))

    def _cuFuncSetAttribute(self, function: int, which: int, value: int) -> None:
        found = self._found(function, _Function)
        self._require(which == api.DYNAMIC_SHARED and value >= 0)
        self._require(found.kernel.shared_bytes + value <= most_shared(self.architecture))
        found.dynamic = value

    def _cuLaunchKernel(self, function: int, *rest: Any) -> None:
        grid, block, (shared, stream, pointers, extra) = rest[:3], rest[3:6], rest[6:]
        found = self._found(function, _Function)
        kernel = found.kernel
        self._require_stream(stream)
        threads = block[0] * block[1] * block[2]
        limits = zip((*grid, *block), (*_GRID, *_BLOCK), strict=True)
        self._require(all(1 <= n <= most for n, most in limits) and not extra)
        self._require(threads <= min(_THREADS, kernel.most_threads or _THREADS))
        self._require(shared <= max(found.dynamic, SHARED_LIMIT - kernel.shared_bytes))
        arguments = [
            int.from_bytes(ctypes.string_at(pointers[n], SIZES[type]), "little")
            for n, (_, type) in enumerate(kernel.parameters)
        ]
        self.launches.append(kernel.name)
        kernel.launch(grid, block, arguments, shared)

    def _cuMemAlloc(self, out: Any, count: int) -> None:
        self._require(count > 0)
        self._require(self.memory.used + count <= self.bytes, api.OUT_OF_MEMORY)
        out[0] = self.memory.allocate(count)

    def _cuMemAllocAsync(self, out: Any, count: int, stream: int) -> None:
        self._require_stream(stream)
        self._cuMemAlloc(out, count)

    def _cuMemFree(self, address: int) -> None:
        self._require(self.memory.free(address))

    def _cuMemFreeAsync(self, address: int, stream: int) -> None:
        self._require_stream(stream)
        self._cuMemFree(address)

    def _cuDeviceGetDefaultMemPool(self, out: Any, device: int) -> None:
        self._require_device(device)
        if device not in self._pools:
            self._new(out, _Pool())
            self._pools[device] = out[0]
        out[0] = self._pools[device]

    def _cuMemPoolGetAttribute(self, pool: int, which: int, value: Any) -> None:
        self._require(which == api.RELEASE_THRESHOLD)
        value[0] = self._found(pool, _Pool).kept

    def _cuMemPoolSetAttribute(self, pool: int, which: int, value: Any) -> None:
        self._require(which == api.RELEASE_THRESHOLD)
        self._found(pool, _Pool).kept = value[0]

    def _cuMemGetInfo(self, free: Any, total: Any) -> None:
        free[0], total[0] = self.bytes - self.memory.used, self.bytes

    def _cuPointerGetAttribute(self, out: int, which: int, address: int) -> None:
        self._require(which == api.POINTER_DEVICE and self.memory.find(address, 1) is not None)
        ctypes.c_int.from_address(out).value = 0

    def _cuMemcpyHtoDAsync(self, to: int, source: int, count: int, stream: int) -> None:
        self._require_stream(stream)
        self._require(self.memory.put(to, ctypes.string_at(source, count)))

    def _cuMemcpyDtoHAsync(self, to: int, source: int, count: int, stream: int) -> None:
        self._require_stream(stream)
        ctypes.memmove(to, self._bytes(source, count), count)

    def _cuMemcpyDtoDAsync(self, to: int, source: int, count: int, stream: int) -> None:
        self._require_stream(stream)
        self._require(self.memory.put(to, self._bytes(source, count)))

    def _bytes(self, source: int, count: int) -> bytes:
        found = self.memory.get(source, count)
        if found is None:
            raise _RefusedError(api.INVALID_VALUE)
        return found

    def _cuStreamSynchronize(self, stream: int) -> None:
        self._require_stream(stream)

    def _cuStreamWaitEvent(self, stream: int, event: int, flags: int) -> None:
        self._require_stream(stream)
        self._found(event, _Event)
        self._require(flags == 0)

    def _cuEventCreate(self, out: Any, flags: int) -> None:
        self._require(flags in (0, api.UNTIMED))
        self._new(out, _Event(is_timed=flags == 0))

    def _cuEventRecord(self, event: int, stream: int) -> None:
        self._require_stream(stream)
        self._found(event, _Event).time = time.perf_counter()

    def _cuEventSynchronize(self, event: int) -> None:
        self._found(event, _Event)

    def _cuEventElapsedTime(self, out: Any, begin: int, end: int) -> None:
        first, last = self._found(begin, _Event), self._found(end, _Event)
        known = first.is_timed and last.is_timed and first.time is not None and last.time is not None
        self._require(known, api.INVALID_HANDLE)
        assert first.time is not None
        assert last.time is not None
        out[0] = 1e3 * (last.time - first.time)

    def _cuEventDestroy(self, event: int) -> None:
        self._found(event, _Event)
        del self._objects[event]

    def _cuGetErrorName(self, result: int, out: Any) -> None:
        self._said(result, out, 0)

    def _cuGetErrorString(self, result: int, out: Any) -> None:
        self._said(result, out, 1)

    def _said(self, result: int, out: Any, which: int) -> None:
        self._require(result in ERRORS)
        text = ctypes.c_char_p(ERRORS[result][which])
        self._kept.append(text)
        out[0] = text
