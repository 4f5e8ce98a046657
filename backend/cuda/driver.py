"""CUDA's driver as methods; what it refuses becomes a diagnostic."""

from __future__ import annotations

import ctypes
import os
from collections import deque
from collections.abc import Callable, Sequence
from ctypes import byref, c_char_p, c_float, c_int, c_size_t, c_uint64, c_void_p
from typing import TYPE_CHECKING, Any, NoReturn

from tadc.backend.cuda import api
from tadc.backend.runtime.free_memory import format_bytes
from tadc.frontend.diagnostics import CompileError, Diagnostic
from tadc.frontend.forks import new_lock

if TYPE_CHECKING:
    from tadc.passes.gpu.launch import Launch

_LOG_BYTES = 1 << 14
#: So many of the last launches are named where one of them failed.
_NAMED = 8
_WHY: dict[int, str] = {
    api.NO_DEVICE: "the driver finds no GPU; does CUDA_VISIBLE_DEVICES hide it?",
    34: "libcuda is a stub for linking, which stands before the driver's own on the path of libraries",
    api.INSUFFICIENT_DRIVER: "the driver is too old for the CUDA library beside it",
    46: "the GPU is busy, or for one process alone",
    803: "the kernel module and libcuda are of different versions",
    804: "this GPU does not allow another version of CUDA than its driver's",
}


class DriverError(CompileError):
    """A call of the driver that failed; `result` is its CUresult, of earlier work where it is late."""

    def __init__(self, diagnostic: Diagnostic, result: int, is_late: bool = False) -> None:
        super().__init__([diagnostic])
        self.result, self.is_late = result, is_late


def launch_text(launch: Launch) -> str:
    """The kernel, and what it computes where that is known."""
    return f"kernel `{launch.kernel}`" + (f" computes {launch.place}" if launch.place else "")


class NoGpu(CompileError):
    """TAD0706: no kernel can run on a GPU here.

    >>> import tadc
    >>> f = tadc.function("x: f64[3]; f[i] = 2*x[i]")
    >>> try:
    ...     fast = tadc.compile(f, "cuda")
    ... except tadc.NoGpu:
    ...     fast = tadc.compile(f)
    """

    def __init__(self, reason: str) -> None:
        helps = ["target `emulated` runs the same kernels on the CPU, slowly; target `cpu` runs fast"]
        super().__init__([Diagnostic("TAD0706", "there is no GPU to run on", notes=[reason], helps=helps)])
        self.reason = reason


class Driver:
    """The functions of a libcuda. Handles and addresses are integers."""

    def __init__(self, library: Any) -> None:
        """Raises NoGpu."""
        self.library = library
        #: What calls queued, the last ones: one of them may fail when all have returned.
        self.queued: deque[Sequence[Launch]] = deque(maxlen=_NAMED)
        if getattr(library, "cuInit", None) is None:
            raise NoGpu(f"{api.LIBRARY} is no CUDA driver: it lacks `cuInit`")
        result = library.cuInit(0)
        if result:
            raise NoGpu(_WHY.get(result) or f"cuInit says {self._name(result)} ({result})")
        self.count = self.device_count()
        if not self.count:
            raise NoGpu(_WHY[api.NO_DEVICE])

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function by its name. Raises DriverError, and what an emulated library does."""
        function = getattr(self.library, name, None)
        if function is None:
            message = f"the CUDA driver lacks `{name}`"
            raise DriverError(Diagnostic("TAD0706", message, helps=["install a newer driver"]), -1)
        result = function(*arguments)
        if result:
            self.fail(name, result)

    def fail(self, name: str, result: int, note: str = "") -> NoReturn:
        """Raise what the result of a function says."""
        # What an emulated library found wrong says more than a number.
        failure: BaseException | None = getattr(self.library, "failure", None)
        if failure is not None:
            self.library.failure = None
            raise failure
        raise self._error(name, result, note)

    def _error(self, name: str, result: int, note: str) -> DriverError:
        text = c_char_p()
        self.library.cuGetErrorString(result, byref(text))
        notes = [f"the driver says: {(text.value or b'unknown error').decode()}", *note.splitlines()]
        if result in api.LATE and not (name == "cuLaunchKernel" and waits_for_launches()):
            return self._late_error(name, result, notes)
        message = f"`{name}` failed with {self._name(result)} ({result})"
        return DriverError(Diagnostic("TAD0707", message, notes=notes), result)

    def _late_error(self, name: str, result: int, notes: list[str]) -> DriverError:
        """For what went wrong in a kernel after its launch had returned."""
        last = [launch for launches in self.queued for launch in launches][-_NAMED:]
        notes = [notes[0], f"`{name}` told so; these launches were queued last", *map(launch_text, last)]
        helps = [
            "set CUDA_LAUNCH_BLOCKING=1 to let each launch wait: then the one that fails is named",
            "begin a new process: this one can no longer use the GPU",
        ]
        message = f"an earlier launch failed with {self._name(result)} ({result})"
        if not last:
            notes[1:] = [f"`{name}` told so; it was none of tadc's"]
        return DriverError(Diagnostic("TAD0707", message, notes=notes, helps=helps), result, is_late=True)

    def _name(self, result: int) -> str:
        text = c_char_p()
        self.library.cuGetErrorName(result, byref(text))
        return (text.value or b"an unknown error").decode()

    def _number(self, name: str, *arguments: Any) -> int:
        found = c_int()
        self.call(name, byref(found), *arguments)
        return found.value

    def handle(self, name: str, *arguments: Any) -> int:
        """What a function writes to its first argument."""
        found = c_void_p()
        self.call(name, byref(found), *arguments)
        return found.value or 0

    def version(self) -> tuple[int, int]:
        """The CUDA that the driver is for, as (12, 4)."""
        number = self._number("cuDriverGetVersion")
        return number // 1000, number % 1000 // 10

    def device_count(self) -> int:
        """How many GPUs there are."""
        return self._number("cuDeviceGetCount")

    def device_name(self, device: int) -> str:
        """As `NVIDIA H100 80GB HBM3`."""
        buffer = ctypes.create_string_buffer(256)
        self.call("cuDeviceGetName", buffer, 256, self._number("cuDeviceGet", device))
        return buffer.value.decode()

    def attribute(self, device: int, which: int) -> int:
        """A CUdevice_attribute."""
        return self._number("cuDeviceGetAttribute", which, self._number("cuDeviceGet", device))

    def supports(self, device: int, which: int) -> bool:
        """Whether a CUdevice_attribute is not 0; a driver that is older does not know it."""
        try:
            return self.attribute(device, which) != 0
        except DriverError as error:
            if error.result == api.INVALID_VALUE:
                return False
            raise

    def architecture(self, device: int) -> int:
        """The compute capability times ten: 90."""
        return 10 * self.attribute(device, api.MAJOR) + self.attribute(device, api.MINOR)

    def context(self, device: int) -> int:
        """The device's primary context, which frameworks share."""
        return self.handle("cuDevicePrimaryCtxRetain", self._number("cuDeviceGet", device))

    def push(self, context: int) -> None:
        """Make a context current in this thread."""
        self.call("cuCtxPushCurrent_v2", context)

    def pop(self) -> None:
        """The context before is current again."""
        self.handle("cuCtxPopCurrent_v2")

    def load_first(self, images: Sequence[bytes]) -> int:
        """The first module that this driver takes; what it says of the last one, where it takes none."""
        for image in images[:-1]:
            try:
                return self.load(image)
            except DriverError as error:
                # Machine code of a newer assembler than the driver's.
                if error.result == api.OUT_OF_MEMORY:
                    raise
        return self.load(images[-1])

    def load(self, image: bytes) -> int:
        """A module from PTX text or a cubin. The error has the log of the driver's compiler."""
        log = ctypes.create_string_buffer(_LOG_BYTES)
        options = (c_int * 2)(api.ERROR_LOG, api.ERROR_LOG_SIZE)
        values = (c_void_p * 2)(ctypes.addressof(log), _LOG_BYTES)
        module = c_void_p()
        try:
            self.call("cuModuleLoadDataEx", byref(module), image, 2, options, values)
        except DriverError as error:
            (diagnostic,) = error.diagnostics
            diagnostic.notes += log.value.decode(errors="replace").strip().splitlines()
            if error.result in (api.UNSUPPORTED_PTX, api.NO_BINARY):
                major, minor = self.version()
                diagnostic.code = "TAD0706"
                diagnostic.notes.append(f"the driver is for CUDA {major}.{minor}")
                diagnostic.helps.append("install a newer driver, or compile for an older architecture")
            raise
        return module.value or 0

    def function(self, module: int, name: str) -> int:
        """A kernel of a module."""
        return self.handle("cuModuleGetFunction", module, name.encode())

    def allow_shared(self, function: int, count: int) -> None:
        """Let launches of a kernel have so many bytes of dynamic shared memory."""
        self.call("cuFuncSetAttribute", function, api.DYNAMIC_SHARED, count)

    def launch(
        self, function: int, grid: Sequence[int], block: Sequence[int], arguments: Sequence[int],
        stream: int = 0, shared: int = 0,
    ) -> None:  # fmt: skip
        """Run a kernel on arguments of 64 bits. Returns before it is done."""
        # The driver copies them before it returns.
        cells = (c_uint64 * len(arguments))(*[value & 0xFFFFFFFFFFFFFFFF for value in arguments])
        first = ctypes.addressof(cells)
        pointers = (c_void_p * len(arguments))(*[first + 8 * n for n in range(len(arguments))])
        result = self.library.cuLaunchKernel(function, *grid, *block, shared, stream, pointers, None)
        if result:
            self.fail("cuLaunchKernel", result, f"grid {tuple(grid)}, block {tuple(block)}")

    def allocate(self, count: int, stream: int = 0, pooled: bool = False) -> int:
        """The address of so many bytes. Raises DriverError, TAD0506 where there is too little memory."""
        address = c_uint64()
        try:
            if pooled:
                self.call("cuMemAllocAsync", byref(address), max(count, 1), stream)
            else:
                self.call("cuMemAlloc_v2", byref(address), max(count, 1))
        except DriverError as error:
            if error.result == api.OUT_OF_MEMORY:
                raise self._too_little(count, error.result) from None
            raise
        return address.value

    def _too_little(self, count: int, result: int) -> DriverError:
        free, total = self.memory()
        message = f"an array needs {format_bytes(count)} of the GPU's memory, {format_bytes(free)} are free"
        notes = [f"{count} bytes are asked for, {free} of {total} are free"]
        helps = ["compute fewer outputs at a time, or a part of each"]
        return DriverError(Diagnostic("TAD0506", message, notes=notes, helps=helps), result)

    def keep_freed(self, device: int, count: int) -> None:
        """Let the device's pool keep so many bytes that were given back, for arrays to come.

        Frameworks in the same process share the pool: one that keeps more goes on doing so.
        """
        pool = self.handle("cuDeviceGetDefaultMemPool", self._number("cuDeviceGet", device))
        kept = c_uint64()
        self.call("cuMemPoolGetAttribute", pool, api.RELEASE_THRESHOLD, byref(kept))
        if kept.value < count:
            self.call("cuMemPoolSetAttribute", pool, api.RELEASE_THRESHOLD, byref(c_uint64(count)))

    def device_at(self, address: int) -> int | None:
        """The device whose memory an address is in; None where the driver does not know it."""
        found = c_int()
        result = self.library.cuPointerGetAttribute(ctypes.addressof(found), api.POINTER_DEVICE, address)
        return None if result else found.value

    def memory(self) -> tuple[int, int]:
        """Free and all bytes of the current context's device."""
        free, total = c_size_t(), c_size_t()
        self.call("cuMemGetInfo_v2", byref(free), byref(total))
        return free.value, total.value

    def copy_in(self, to: int, source: int, count: int, stream: int = 0) -> None:
        """From host memory to the device."""
        self.call("cuMemcpyHtoDAsync_v2", to, source, count, stream)

    def copy_out(self, to: int, source: int, count: int, stream: int = 0) -> None:
        """From the device to host memory."""
        self.call("cuMemcpyDtoHAsync_v2", to, source, count, stream)

    def copy_within(self, to: int, source: int, count: int, stream: int = 0) -> None:
        """From one place on the device to another."""
        self.call("cuMemcpyDtoDAsync_v2", to, source, count, stream)

    def synchronize(self, stream: int = 0) -> None:
        """Wait until all work of a stream is done."""
        self.call("cuStreamSynchronize", stream)

    def wait_for(self, stream: int, other: int) -> None:
        """What comes next on a stream waits for what another has now."""
        event = self.event(api.UNTIMED)
        try:
            self.record(event, other)
            self.call("cuStreamWaitEvent", stream, event, 0)
        finally:
            self.call("cuEventDestroy_v2", event)

    def event(self, flags: int = 0) -> int:
        """A new event, which tells when it happens, but with `api.UNTIMED`."""
        return self.handle("cuEventCreate", flags)

    def record(self, event: int, stream: int = 0) -> None:
        """Let an event happen when the stream gets to it."""
        self.call("cuEventRecord", event, stream)

    def has_happened(self, event: int) -> bool:
        """Whether the stream has got to an event."""
        result = self.library.cuEventQuery(event)
        if result not in (0, api.NOT_READY):
            self.fail("cuEventQuery", result)
        return not result

    def elapsed(self, begin: int, end: int) -> float:
        """Milliseconds between two events, when the second has happened."""
        self.call("cuEventSynchronize", end)
        found = c_float()
        self.call("cuEventElapsedTime", byref(found), begin, end)
        return found.value


def waits_for_launches() -> bool:
    """Whether the driver is asked to return from a launch when it is done, and not before."""
    return os.environ.get("CUDA_LAUNCH_BLOCKING", "0") not in ("", "0")


#: What gives libcuda; tests replace it.
load_library: Callable[[], Any] = api.load_library
_lock = new_lock()
_driver: Driver | None = None


def cuda_driver() -> Driver:
    """The driver of this machine. Raises NoGpu, which says why there is none."""
    global _driver
    with _lock:
        if _driver is None:
            try:
                library = load_library()
            except OSError as error:
                raise NoGpu(f"the NVIDIA driver is not installed: {error}") from None
            _driver = Driver(library)
        return _driver
