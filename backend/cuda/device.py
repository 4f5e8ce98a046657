"""A GPU: its context, its memory, the modules loaded into it."""

from __future__ import annotations

from collections import deque
from ctypes import byref, c_size_t, c_uint64, c_void_p
from hashlib import sha256
from typing import Any, Protocol

from tadc.backend.cuda import api
from tadc.backend.cuda.driver import Driver, cuda_driver
from tadc.frontend.diagnostics import CompileError
from tadc.frontend.forks import new_lock

#: Bytes that a pool keeps: without any, memory goes back to the system when the GPU is idle.
KEPT = 1 << 30


class AddressCell(Protocol):
    """Where the driver writes an address: a cell, and a reference to it."""

    address: c_uint64
    out: Any


class Device:
    """A GPU by its number. Kernels and memory are those of its primary context."""

    def __init__(self, driver: Driver, number: int = 0) -> None:
        self.driver = driver
        self.number = number
        self.architecture = driver.architecture(number)
        self.pooled = driver.supports(number, api.MEMORY_POOLS)
        self._context = driver.context(number)
        if self.pooled:
            driver.keep_freed(number, KEPT)
        self._functions: dict[tuple[str, str], int] = {}
        self._modules: dict[str, int] = {}
        self._lock = new_lock()
        #: What calls read, with an event after them; and events that have happened.
        self._lent: deque[tuple[int, object]] = deque()
        self._events: list[int] = []
        library = driver.library
        self._push, self._pop = api.bare(library.cuCtxPushCurrent_v2), api.bare(library.cuCtxPopCurrent_v2)
        self._allocate = api.bare(library.cuMemAllocAsync if self.pooled else library.cuMemAlloc_v2)
        self._free = api.bare(library.cuMemFreeAsync if self.pooled else library.cuMemFree_v2)
        self._argument, self._popped = c_void_p(self._context), byref(c_void_p())

    def enter(self) -> None:
        """Make the context current in this thread; `leave` undoes it. `current` does both, more slowly."""
        result = self._push(self._argument)
        if result:
            self.driver.fail("cuCtxPushCurrent_v2", result)

    def leave(self) -> None:
        """The context before is current again."""
        result = self._pop(self._popped)
        if result:
            self.driver.fail("cuCtxPopCurrent_v2", result)

    def address_of_new(self, place: AddressCell, count: int, stream: int) -> int:
        """The address of so many bytes; the context is current."""
        arguments = (place.out, c_size_t(count or 1))
        result = self._allocate(*arguments, c_void_p(stream)) if self.pooled else self._allocate(*arguments)
        # A second try says what is wrong.
        return self.driver.allocate(count, stream, self.pooled) if result else place.address.value

    def give_back(self, address: int, stream: int) -> None:
        """Free memory, what the stream does before may still use it; the context is current."""
        if self.pooled:
            result = self._free(c_uint64(address), c_void_p(stream))
        else:
            result = self._free(c_uint64(address))
        if result:
            self.driver.fail("cuMemFreeAsync" if self.pooled else "cuMemFree_v2", result)

    def current(self) -> Current:
        """The driver, with this device's context current in this thread."""
        return Current(self.driver, self._context)

    def function(self, image: bytes, name: str, shared: int = 0, code: bytes = b"") -> int:
        """A kernel of a module, which is loaded once; `shared` are bytes of dynamic shared memory.

        The module is `code`, machine code for this architecture, where the driver takes it, else PTX.
        """
        digest = sha256(code + image).hexdigest()
        with self._lock:
            found = self._functions.get((digest, name))
            if found is None:
                with self.current() as driver:
                    if digest not in self._modules:
                        self._modules[digest] = driver.load_first([code, image] if code else [image])
                    found = driver.function(self._modules[digest], name)
                    if shared:
                        driver.allow_shared(found, shared)
                self._functions[digest, name] = found
        return found

    def outlive(self, stream: int, arrays: object) -> None:
        """Keep arrays, whose library does not know the stream, until all that it has to do now is done.

        They are let go in a later call.
        """
        done: list[object] = []  # freed at the end, where nothing is locked
        with self._lock, self.current() as driver:
            while self._lent and driver.has_happened(self._lent[0][0]):
                event, before = self._lent.popleft()
                self._events.append(event)
                done.append(before)
            event = self._events.pop() if self._events else driver.event(api.UNTIMED)
            driver.record(event, stream)
            self._lent.append((event, arrays))

    def allocate(self, count: int, stream: int = 0) -> Allocation:
        """Memory that is given back when nothing refers to it."""
        with self.current() as driver:
            address = driver.allocate(count, stream, self.pooled)
        return Allocation(self, address, count, stream)


class Current:
    """While this is entered, a context is current in the thread."""

    __slots__ = ("_context", "_driver")

    def __init__(self, driver: Driver, context: int) -> None:
        self._driver, self._context = driver, context

    def __enter__(self) -> Driver:
        self._driver.push(self._context)
        return self._driver

    def __exit__(self, *error: object) -> None:
        self._driver.pop()


class Allocation:
    """Bytes on a device, from `address` on."""

    __slots__ = ("address", "bytes", "device", "stream")

    def __init__(self, device: Device, address: int, bytes: int, stream: int) -> None:
        self.device, self.address, self.bytes, self.stream = device, address, bytes, stream

    def free(self) -> None:
        """Give the memory back; what the stream does before may still use it."""
        if self.address:
            self.device.enter()
            try:
                self.free_here()
            finally:
                self.device.leave()

    def free_here(self) -> None:
        """Give the memory back where the context is current."""
        address, self.address = self.address, 0
        self.device.give_back(address, self.stream)

    def __del__(self) -> None:
        # At the end of the process the driver may be gone, and with it the memory.
        try:
            self.free()
        except (CompileError, AttributeError, TypeError):
            pass


_devices: dict[tuple[int, int], Device] = {}
_lock = new_lock()


def cuda_device(number: int = 0) -> Device:
    """A GPU of this machine. Raises NoGpu."""
    driver = cuda_driver()
    with _lock:
        key = (id(driver), number)
        if key not in _devices:
            _devices[key] = Device(driver, number)
        return _devices[key]
