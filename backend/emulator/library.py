"""CUDA's driver API over the emulator: what libcuda is to a GPU.

The functions are C functions, so callers pack arguments as they do for libcuda. All is done when a call
returns; `delays.py` has a driver whose streams lag behind. What the manual of the driver API forbids is
refused with the result that it names; where the real driver would crash, on a handle that does not exist,
too.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from tadc.backend.cuda import api
from tadc.backend.emulator.driver_facts import ERRORS, NEEDS, latest_ptx
from tadc.backend.emulator.errors import UnknownPtx
from tadc.backend.emulator.execution import EmulatedModule
from tadc.backend.emulator.global_memory import GlobalMemory
from tadc.backend.emulator.handles import RefusedError, StreamWork
from tadc.backend.emulator.launching import Launching
from tadc.frontend.forks import new_rlock
from tadc.lattice.late_dataclasses import dataclass

#: What can be called before cuInit.
_ALWAYS = ("cuInit", "cuDriverGetVersion", "cuGetErrorName", "cuGetErrorString")
#: What belongs to the context that is current in the thread.
_IN_CONTEXT = ("cuModule", "cuFunc", "cuLaunch", "cuMem", "cuStream", "cuEvent", "cuCtxPop")
_OF_DEVICE = ("cuMemPool",)


@dataclass
class _Event:
    """When it happened, in seconds, and whether that may be asked for."""

    is_timed: bool
    time: float | None = None
    work: StreamWork | None = None
    """What has to be done for it to happen."""


@dataclass
class _Pool:
    """The memory that a device keeps."""

    kept: int = 0


class EmulatedCuda(Launching):
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
        self.bytes, self.version, self.devices = bytes, version, devices
        self.memory = GlobalMemory()
        super().__init__(architecture, {0, api.LEGACY_STREAM, api.THREAD_STREAM, *streams})
        #: What went wrong inside the last call that failed, where that says more than its result.
        self.failure: BaseException | None = None
        #: Whether events are said not to have happened yet, as where a GPU has work to do.
        self.is_behind = False
        self._primary: dict[int, int] = {}
        self._pools: dict[int, int] = {}
        self._thread = threading.local()
        self._one_at_a_time = new_rlock()
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
                with self._one_at_a_time:
                    self._meanwhile()
                    return method(*arguments) or 0
            except RefusedError as refused:
                return refused.result
            except BaseException as error:
                self.failure = error
                return api.UNKNOWN

        return call

    def _check(self, name: str) -> None:
        """Raise RefusedError where a call comes too early, or without a context."""
        if not self._is_ready and name not in _ALWAYS:
            raise RefusedError(api.NOT_INITIALIZED)
        if name.startswith(_IN_CONTEXT) and not name.startswith(_OF_DEVICE) and not self._contexts:
            raise RefusedError(api.INVALID_CONTEXT)

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
        self._on_stream(stream, lambda: self._cuMemFree(address))

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
        data = ctypes.string_at(source, count)
        self._on_stream(stream, lambda: self._require(self.memory.put(to, data)))

    def _cuMemcpyDtoHAsync(self, to: int, source: int, count: int, stream: int) -> None:
        self._require_stream(stream)
        # Into memory that the system may move it waits.
        self._finish(stream)
        ctypes.memmove(to, self._bytes(source, count), count)

    def _cuMemcpyDtoDAsync(self, to: int, source: int, count: int, stream: int) -> None:
        self._require_stream(stream)
        self._on_stream(stream, lambda: self._require(self.memory.put(to, self._bytes(source, count))))

    def _bytes(self, source: int, count: int) -> bytes:
        found = self.memory.get(source, count)
        if found is None:
            raise RefusedError(api.INVALID_VALUE)
        return found

    def _cuStreamSynchronize(self, stream: int) -> None:
        self._require_stream(stream)
        self._finish(stream)

    def _cuStreamWaitEvent(self, stream: int, event: int, flags: int) -> None:
        self._require_stream(stream)
        found = self._found(event, _Event)
        self._require(flags == 0)
        self._on_stream(stream, lambda: None, found.work)

    def _cuEventCreate(self, out: Any, flags: int) -> None:
        self._require(flags in (0, api.UNTIMED))
        self._new(out, _Event(is_timed=flags == 0))

    def _cuEventRecord(self, event: int, stream: int) -> None:
        self._require_stream(stream)
        found = self._found(event, _Event)

        def happen() -> None:
            found.time = time.perf_counter()

        found.work = self._on_stream(stream, happen)

    def _cuEventSynchronize(self, event: int) -> None:
        self._until(self._found(event, _Event).work)

    def _cuEventQuery(self, event: int) -> int:
        work = self._found(event, _Event).work
        return api.NOT_READY if self.is_behind or not (work is None or work.is_done) else 0

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
