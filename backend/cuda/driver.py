"""CUDA's driver as methods; what it refuses becomes a diagnostic."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from ctypes import byref, c_char_p, c_float, c_int, c_size_t, c_uint64, c_void_p
from typing import Any, NoReturn

from tadc.backend.cuda import api
from tadc.backend.runtime.memory import format_bytes
from tadc.frontend.diagnostics import CompileError, Diagnostic

_LOG_BYTES = 1 << 14
_WHY: dict[int, str] = {
    api.NO_DEVICE: "the driver finds no GPU; does CUDA_VISIBLE_DEVICES hide it?",
    34: "libcuda is a stub for linking, which stands before the driver's own on the path of libraries",
    api.INSUFFICIENT_DRIVER: "the driver is too old for the CUDA library beside it",
    46: "the GPU is busy, or for one process alone",
    803: "the kernel module and libcuda are of different versions",
    804: "this GPU does not allow another version of CUDA than its driver's",
}


class DriverError(CompileError):
    """A call of the driver that failed; `result` is its CUresult."""

    def __init__(self, diagnostic: Diagnostic, result: int) -> None:
        super().__init__([diagnostic])
        self.result = result


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
        if getattr(library, "cuInit", None) is None:
            raise NoGpu(f"{api.LIBRARY} is no CUDA driver: it lacks `cuInit`")
        result = library.cuInit(0)
        if result:
            raise NoGpu(_WHY.get(result) or f"cuInit says {self._name(result)} ({result})")
        if not self.device_count():
            raise NoGpu(_WHY[api.NO_DEVICE])

    def _call(self, name: str, *arguments: Any) -> None:
        function = getattr(self.library, name, None)
        if function is None:
            message = f"the CUDA driver lacks `{name}`"
            raise DriverError(Diagnostic("TAD0706", message, helps=["install a newer driver"]), -1)
        result = function(*arguments)
        if result:
            self._fail(name, result)

    def _fail(self, name: str, result: int, note: str = "") -> NoReturn:
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
        message = f"`{name}` failed with {self._name(result)} ({result})"
        return DriverError(Diagnostic("TAD0707", message, notes=notes), result)

    def _name(self, result: int) -> str:
        text = c_char_p()
        self.library.cuGetErrorName(result, byref(text))
        return (text.value or b"an unknown error").decode()

    def _number(self, name: str, *arguments: Any) -> int:
        found = c_int()
        self._call(name, byref(found), *arguments)
        return found.value

    def _handle(self, name: str, *arguments: Any) -> int:
        found = c_void_p()
        self._call(name, byref(found), *arguments)
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
        self._call("cuDeviceGetName", buffer, 256, self._number("cuDeviceGet", device))
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
        return self._handle("cuDevicePrimaryCtxRetain", self._number("cuDeviceGet", device))

    def push(self, context: int) -> None:
        """Make a context current in this thread."""
        self._call("cuCtxPushCurrent_v2", context)

    def pop(self) -> None:
        """The context before is current again."""
        self._handle("cuCtxPopCurrent_v2")

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
            self._call("cuModuleLoadDataEx", byref(module), image, 2, options, values)
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
        return self._handle("cuModuleGetFunction", module, name.encode())

    def allow_shared(self, function: int, count: int) -> None:
        """Let launches of a kernel have so many bytes of dynamic shared memory."""
        self._call("cuFuncSetAttribute", function, api.DYNAMIC_SHARED, count)

    def launch(
        self, function: int, grid: Sequence[int], block: Sequence[int], arguments: Sequence[int],
        stream: int = 0, shared: int = 0,
    ) -> None:  # fmt: skip
        """Run a kernel on arguments of 64 bits. Returns before it is done."""
        cells = cells_of(arguments)
        self.launch_on(function, grid, block, cells, range(len(arguments)), stream, shared)

    def launch_on(
        self, function: int, grid: Sequence[int], block: Sequence[int], cells: Any, places: Sequence[int],
        stream: int = 0, shared: int = 0,
    ) -> None:  # fmt: skip
        """The same on arguments that `cells_of` holds at these places, in order."""
        # The driver copies them before it returns.
        first = ctypes.addressof(cells)
        pointers = (c_void_p * len(places))(*[first + 8 * n for n in places])
        result = self.library.cuLaunchKernel(function, *grid, *block, shared, stream, pointers, None)
        if result:
            self._fail("cuLaunchKernel", result, f"grid {tuple(grid)}, block {tuple(block)}")

    def allocate(self, count: int, stream: int = 0, pooled: bool = False) -> int:
        """The address of so many bytes. Raises DriverError, TAD0506 where there is too little memory."""
        address = c_uint64()
        try:
            if pooled:
                self._call("cuMemAllocAsync", byref(address), max(count, 1), stream)
            else:
                self._call("cuMemAlloc_v2", byref(address), max(count, 1))
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

    def free(self, address: int, stream: int = 0, pooled: bool = False) -> None:
        """Give memory back."""
        if pooled:
            self._call("cuMemFreeAsync", address, stream)
        else:
            self._call("cuMemFree_v2", address)

    def keep_freed(self, device: int, count: int) -> None:
        """Let the device's pool keep so many bytes that were given back, for arrays to come.

        Frameworks in the same process share the pool: one that keeps more goes on doing so.
        """
        pool = self._handle("cuDeviceGetDefaultMemPool", self._number("cuDeviceGet", device))
        kept = c_uint64()
        self._call("cuMemPoolGetAttribute", pool, api.RELEASE_THRESHOLD, byref(kept))
        if kept.value < count:
            self._call("cuMemPoolSetAttribute", pool, api.RELEASE_THRESHOLD, byref(c_uint64(count)))

    def device_at(self, address: int) -> int | None:
        """The device whose memory an address is in; None where the driver does not know it."""
        found = c_int()
        result = self.library.cuPointerGetAttribute(ctypes.addressof(found), api.POINTER_DEVICE, address)
        return None if result else found.value

    def memory(self) -> tuple[int, int]:
        """Free and all bytes of the current context's device."""
        free, total = c_size_t(), c_size_t()
        self._call("cuMemGetInfo_v2", byref(free), byref(total))
        return free.value, total.value

    def copy_in(self, to: int, source: int, count: int, stream: int = 0) -> None:
        """From host memory to the device."""
        self._call("cuMemcpyHtoDAsync_v2", to, source, count, stream)

    def copy_out(self, to: int, source: int, count: int, stream: int = 0) -> None:
        """From the device to host memory."""
        self._call("cuMemcpyDtoHAsync_v2", to, source, count, stream)

    def copy_within(self, to: int, source: int, count: int, stream: int = 0) -> None:
        """From one place on the device to another."""
        self._call("cuMemcpyDtoDAsync_v2", to, source, count, stream)

    def synchronize(self, stream: int = 0) -> None:
        """Wait until all work of a stream is done."""
        self._call("cuStreamSynchronize", stream)

    def wait_for(self, stream: int, other: int) -> None:
        """What comes next on a stream waits for what another has now."""
        event = self._handle("cuEventCreate", api.UNTIMED)
        try:
            self.record(event, other)
            self._call("cuStreamWaitEvent", stream, event, 0)
        finally:
            self._call("cuEventDestroy_v2", event)

    def event(self) -> int:
        """A new event, which tells when it happens."""
        return self._handle("cuEventCreate", 0)

    def record(self, event: int, stream: int = 0) -> None:
        """Let an event happen when the stream gets to it."""
        self._call("cuEventRecord", event, stream)

    def elapsed(self, begin: int, end: int) -> float:
        """Milliseconds between two events, when the second has happened."""
        self._call("cuEventSynchronize", end)
        found = c_float()
        self._call("cuEventElapsedTime", byref(found), begin, end)
        return found.value


def cells_of(arguments: Sequence[int]) -> Any:
    """Arguments of kernels, 64 bits each, in memory."""
    return (c_uint64 * len(arguments))(*[value & 0xFFFFFFFFFFFFFFFF for value in arguments])


#: What gives libcuda; tests replace it.
load_library: Callable[[], Any] = api.load_library
_lock = threading.Lock()
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
