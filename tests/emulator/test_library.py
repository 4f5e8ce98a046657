"""The emulator as a libcuda: what it refuses, as the manual of the driver API says."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import byref, c_float, c_int, c_uint64, c_void_p
from typing import Any

import pytest

from tadc.backend.cuda import api
from tadc.backend.emulator.library import EmulatedCuda
from tests.emulator.ptx_text import kernel_text

TEXT = kernel_text("", outside=".shared .align 16 .b8 room[1024];")


@pytest.fixture
def cuda() -> Any:
    """Ready, with a context that is current."""
    library: Any = EmulatedCuda(architecture=80, streams=(7,))
    assert library.cuInit(0) == 0
    context = c_void_p()
    assert library.cuDevicePrimaryCtxRetain(byref(context), 0) == 0
    assert library.cuCtxPushCurrent_v2(context) == 0
    return library


def made(call: Callable[..., int], *arguments: Any, kind: Any = c_void_p) -> Any:
    """What a call gives by its first argument."""
    found = kind()
    assert call(byref(found), *arguments) == 0
    return found


def loaded(cuda: Any, text: str = TEXT) -> Any:
    module = made(cuda.cuModuleLoadDataEx, text.encode(), 0, None, None)
    return made(cuda.cuModuleGetFunction, module, b"k")


def launched(
    cuda: Any, function: Any, grid: Any = (1, 1, 1), block: Any = (32, 1, 1), shared: int = 0,
    stream: int = 0,
) -> int:  # fmt: skip
    cells = (c_uint64 * 3)(0, 0, 0)
    pointers = (c_void_p * 3)(*[ctypes.addressof(cells) + 8 * n for n in range(3)])
    return cuda.cuLaunchKernel(function, *grid, *block, shared, stream, pointers, None)


def test_nothing_comes_before_the_start() -> None:
    cuda: Any = EmulatedCuda(version=12040)
    assert cuda.cuDeviceGetCount(byref(c_int())) == api.NOT_INITIALIZED
    assert made(cuda.cuDriverGetVersion, kind=c_int).value == 12040
    assert cuda.cuInit(1) == api.INVALID_VALUE
    assert cuda.cuInit(0) == 0
    assert made(cuda.cuDeviceGetCount, kind=c_int).value == 1


def test_devices_and_attributes_that_there_are_not(cuda: Any) -> None:
    assert cuda.cuDeviceGet(byref(c_int()), 1) == api.INVALID_DEVICE
    assert cuda.cuDevicePrimaryCtxRetain(byref(c_void_p()), -1) == api.INVALID_DEVICE
    assert cuda.cuDeviceGetAttribute(byref(c_int()), 9999, 0) == api.INVALID_VALUE
    old: Any = EmulatedCuda(version=11010)
    old.cuInit(0)
    assert old.cuDeviceGetAttribute(byref(c_int()), api.MEMORY_POOLS, 0) == api.INVALID_VALUE
    assert old.cuMemAllocAsync is None


def test_a_context_is_needed_and_that_of_another_thread_does_not_do(cuda: Any) -> None:
    from threading import Thread

    results: list[int] = []

    def elsewhere() -> None:
        results.append(cuda.cuMemAlloc_v2(byref(c_uint64()), 8))

    thread = Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert results == [api.INVALID_CONTEXT]
    made(cuda.cuCtxPopCurrent_v2)
    assert cuda.cuMemAlloc_v2(byref(c_uint64()), 8) == api.INVALID_CONTEXT
    assert cuda.cuEventCreate(byref(c_void_p()), 0) == api.INVALID_CONTEXT
    assert cuda.cuCtxPopCurrent_v2(byref(c_void_p())) == api.INVALID_CONTEXT
    assert cuda.cuCtxPushCurrent_v2(12345) == api.INVALID_CONTEXT


@pytest.mark.parametrize(
    ("changes", "result"),
    [
        ({}, 0),
        ({"grid": (0, 1, 1)}, api.INVALID_VALUE),
        ({"grid": (2**31, 1, 1)}, api.INVALID_VALUE),
        ({"grid": (1, 65536, 1)}, api.INVALID_VALUE),
        ({"grid": (1, 1, 65536)}, api.INVALID_VALUE),
        ({"block": (1025, 1, 1)}, api.INVALID_VALUE),
        ({"block": (64, 64, 1)}, api.INVALID_VALUE),
        ({"block": (1, 1, 65)}, api.INVALID_VALUE),
        ({"shared": 47 << 10}, 0),
        ({"shared": 48 << 10}, api.INVALID_VALUE),
        ({"stream": 7}, 0),
        ({"stream": 1}, 0),
        ({"stream": 8}, api.INVALID_HANDLE),
    ],
)
def test_launches(cuda: Any, changes: dict[str, Any], result: int) -> None:
    assert launched(cuda, loaded(cuda), **changes) == result


def test_shared_memory_that_is_asked_for_before(cuda: Any) -> None:
    function = loaded(cuda)
    assert cuda.cuFuncSetAttribute(function, api.DYNAMIC_SHARED, 100 << 10) == 0
    assert launched(cuda, function, shared=100 << 10) == 0
    assert cuda.cuFuncSetAttribute(function, api.DYNAMIC_SHARED, 163 << 10) == api.INVALID_VALUE
    assert cuda.cuFuncSetAttribute(function, 99, 0) == api.INVALID_VALUE


def test_handles_are_of_one_kind(cuda: Any) -> None:
    function, event = loaded(cuda), made(cuda.cuEventCreate, 0)
    assert launched(cuda, event) == api.INVALID_HANDLE
    assert cuda.cuEventRecord(function, None) == api.INVALID_HANDLE
    assert cuda.cuModuleGetFunction(byref(c_void_p()), function, b"k") == api.INVALID_HANDLE
    assert cuda.cuEventDestroy_v2(event) == 0
    assert cuda.cuEventSynchronize(event) == api.INVALID_HANDLE


def test_events_that_tell_no_time(cuda: Any) -> None:
    timed, other, plain = (made(cuda.cuEventCreate, flags) for flags in (0, 0, api.UNTIMED))
    for event in (timed, plain):
        assert cuda.cuEventRecord(event, None) == 0
    assert cuda.cuEventElapsedTime(byref(c_float()), timed, timed) == 0
    assert cuda.cuEventElapsedTime(byref(c_float()), timed, other) == api.INVALID_HANDLE
    assert cuda.cuEventElapsedTime(byref(c_float()), timed, plain) == api.INVALID_HANDLE
    assert cuda.cuStreamWaitEvent(7, plain, 0) == 0
    assert cuda.cuStreamWaitEvent(8, plain, 0) == api.INVALID_HANDLE


def test_memory(cuda: Any) -> None:
    assert cuda.cuMemAlloc_v2(byref(c_uint64()), 0) == api.INVALID_VALUE
    assert cuda.cuMemAllocAsync(byref(c_uint64()), 8, 8) == api.INVALID_HANDLE
    assert cuda.cuMemAlloc_v2(byref(c_uint64()), 1 << 40) == api.OUT_OF_MEMORY
    address = made(cuda.cuMemAllocAsync, 64, 0, kind=c_uint64).value
    assert address % 256 == 0
    data = (c_uint64 * 8)()
    at = ctypes.addressof(data)
    assert cuda.cuMemcpyHtoDAsync_v2(address, at, 64, 0) == 0
    assert cuda.cuMemcpyHtoDAsync_v2(address + 8, at, 64, 0) == api.INVALID_VALUE
    assert cuda.cuMemcpyDtoHAsync_v2(at, address, 72, 0) == api.INVALID_VALUE
    assert cuda.cuMemFree_v2(address + 8) == api.INVALID_VALUE
    assert cuda.cuMemFreeAsync(address, 0) == 0
    assert cuda.cuMemFree_v2(address) == api.INVALID_VALUE


def test_modules(cuda: Any) -> None:
    """Of a newer architecture, or of newer PTX than the driver; machine code, which it cannot run."""

    def result(text: str, options: Any = None, values: Any = None) -> int:
        count = len(options or ())
        return cuda.cuModuleLoadDataEx(byref(c_void_p()), text.encode(), count, options, values)

    assert result(TEXT) == 0
    assert result(TEXT.replace("sm_80", "sm_90")) == api.NO_BINARY
    assert result("\x7fELF") == api.NO_BINARY
    cuda.version = 10020
    assert result(TEXT) == api.UNSUPPORTED_PTX
    cuda.version = 11000
    assert result(TEXT, (c_int * 1)(99), (c_void_p * 1)(1)) == api.INVALID_VALUE
