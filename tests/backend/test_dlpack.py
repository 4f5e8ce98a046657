"""Arrays of ours by DLPack, as Python's array API has it; NumPy reads what the capsules say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tadc
from tadc.backend.cuda.device import cuda_device
from tadc.backend.cuda.device_arrays import DeviceArray, copied_in
from tadc.backend.runtime.dlpack import lent, make_capsule, read_capsule
from tadc.passes.numpy_types import numpy_type
from tests.backend.test_cuda import Library, gpu, install, on_gpu

__all__ = ["gpu"]

VALUES = np.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize("version", [None, (0, 8), (1, 0), (1, 3), (2, 0)])
def test_the_version_is_one_that_the_consumer_knows(gpu: Library, version: Any) -> None:
    """Version 1 says whether the array is a copy; who knows no version 1 gets what there was before."""
    x = on_gpu(VALUES)
    capsule = x.__dlpack__(max_version=version)
    is_versioned = version is not None and version[0] >= 1
    assert ('"dltensor_versioned"' in repr(capsule)) == is_versioned
    assert read_capsule(capsule) == (x.address, (2, 3), (3, 1), "f8", (2, 0), False)
    again = x.__dlpack__(max_version=version, copy=True)
    assert read_capsule(again).is_read_only == is_versioned
    before = gpu.memory.used
    del x, again
    assert 0 < gpu.memory.used < before
    del capsule
    assert gpu.memory.used == 0


def test_a_copy_shares_no_memory(gpu: Library) -> None:
    x = on_gpu(VALUES)
    for copy in (None, False):
        assert read_capsule(x.__dlpack__(copy=copy)).address == x.address
    capsule = x.__dlpack__(copy=True, stream=9)
    found = read_capsule(capsule)
    assert found.address != x.address
    host, device = np.zeros((2, 3)), cuda_device()
    with device.current() as driver:
        # Written after the copy was made: it keeps what it has.
        driver.copy_in(x.address, host.ctypes.data, host.nbytes, 0)
        driver.copy_out(host.ctypes.data, found.address, host.nbytes, 0)
    np.testing.assert_array_equal(host, VALUES)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (7,), (2, 3, 4)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numpy_takes_a_copy_on_the_host(gpu: Library, shape: tuple[int, ...], dtype: Any) -> None:
    x = np.random.default_rng(0).uniform(size=shape).astype(dtype)
    given = on_gpu(x, dtype)
    for settings in ({}, {"copy": True}):
        found = np.from_dlpack(given, device="cpu", **settings)  # pyright: ignore[reportArgumentType, reportCallIssue]
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, x)
    del given
    assert gpu.memory.used == 0
    np.testing.assert_array_equal(found, x)


def test_an_older_consumer_on_the_host(gpu: Library) -> None:
    """One that asks for no version."""

    class Older:
        def __dlpack__(self, **settings: Any) -> Any:
            return on_gpu(VALUES).__dlpack__(dl_device=(1, 0))

        def __dlpack_device__(self) -> tuple[int, int]:
            return 1, 0

    np.testing.assert_array_equal(np.from_dlpack(Older()), VALUES)


def test_what_is_not_handed_over(gpu: Library) -> None:
    x = on_gpu(VALUES)
    for device in ((2, 1), (10, 0), (13, 0)):
        with pytest.raises(BufferError, match=r"is on device \(2, 0\)"):
            x.__dlpack__(dl_device=device)
    with pytest.raises(BufferError, match="without a copy"):
        x.__dlpack__(dl_device=(1, 0), copy=False)
    with pytest.raises(BufferError, match="without a copy"):
        np.from_dlpack(x, device="cpu", copy=False)  # pyright: ignore[reportArgumentType, reportCallIssue]
    with pytest.raises(ValueError, match="the host has no streams"):
        x.__dlpack__(dl_device=(1, 0), stream=5)
    with pytest.raises(TypeError):
        x.__dlpack__(colour="red")  # pyright: ignore[reportCallIssue]


def test_a_copy_waits_for_what_computes_the_array(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is made on the array's own stream."""
    streams: list[int] = []

    class Noting(Library):
        def _cuMemcpyDtoDAsync(self, to: int, source: int, count: int, stream: int) -> None:
            streams.append(stream)
            super()._cuMemcpyDtoDAsync(to, source, count, stream)

    install(monkeypatch, Noting(architecture=90))
    host = np.ones(3)
    x = DeviceArray(copied_in(host, cuda_device(), 9), host.shape, host.dtype)
    x.__dlpack__(copy=True, stream=5)
    assert streams == [9]


def test_bf16_is_no_ieee_half(gpu: Library) -> None:
    """DLPack has a code of its own for it, which NumPy does not know."""
    kind = numpy_type("bf16")
    x = np.arange(6).astype(kind)
    there = on_gpu(x, kind)
    for capsule in (there.__dlpack__(), there.__dlpack__(dl_device=(1, 0), max_version=(1, 0))):
        assert read_capsule(capsule).dtype == kind

    class Brain:
        def __dlpack__(self, **_: Any) -> Any:
            return make_capsule(x, x.ctypes.data, x.shape, kind, (1, 0))

        def __dlpack_device__(self) -> tuple[int, int]:
            return 1, 0

    found = tadc.function("x: T[N]; y[i] = 2*x[i]")(lent(Brain()))
    assert found.dtype == kind
    assert found.tolist() == [0, 2, 4, 6, 8, 10]
