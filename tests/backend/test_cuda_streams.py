"""Streams, arrays of others and drivers of other versions, with the emulator in the place of libcuda."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tadc
from tadc.backend.cuda import device as devices
from tadc.backend.cuda import driver as drivers
from tadc.backend.cuda.device import cuda_device
from tests.backend.test_cuda import (
    SQUARE,
    Library,
    OnlyDLPack,
    Strided,
    fake_torch,
    gpu,
    install,
    on_gpu,
    said,
)

__all__ = ["gpu"]


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Each stream that waits, with the one that it waits for."""
    found: list[tuple[int, int]] = []
    wait = drivers.Driver.wait_for

    def noting(self: Any, stream: int, other: int) -> None:
        found.append((stream, other))
        wait(self, stream, other)

    monkeypatch.setattr(drivers.Driver, "wait_for", noting)
    return found


def test_memory_of_another_stream_outlives_its_use(gpu: Library, waits: list[tuple[int, int]]) -> None:
    """It is freed, and copied out, in the order of its own stream, which waits for the other one."""
    compiled = tadc.compile(tadc.function(SQUARE), target="cuda")
    x = on_gpu([1, 2])
    y = compiled(x, stream=5)
    assert waits == [(5, 1), (0, 5)]
    waits.clear()
    z = compiled(y, stream=9)
    assert waits == [(9, 5), (5, 9)]
    waits.clear()
    assert compiled(z, out=y, stream=9) is y
    assert waits == [(9, 5), (5, 9)]
    assert np.asarray(y).tolist() == [1, 256]
    waits.clear()
    compiled(y, stream=5)
    assert waits == []


def test_arrays_by_dlpack_are_waited_for(gpu: Library, waits: list[tuple[int, int]]) -> None:
    """Their library makes the legacy default stream wait; another stream waits for that."""
    compiled = tadc.compile(tadc.function(SQUARE), target="cuda")
    x = OnlyDLPack(on_gpu([1, 2]))
    compiled(x, stream=5)
    compiled(x)
    assert waits == [(5, 1)]
    waits.clear()
    y = compiled(on_gpu([3]), stream=5)
    waits.clear()
    for stream, expected in ((None, [(0, 5)]), (1, [(1, 5)]), (9, [(9, 5)]), (5, []), (-1, [])):
        y.__dlpack__(stream=stream)
        assert waits == expected
        waits.clear()


def test_a_stream_beside_the_current_one_of_pytorch(
    gpu: Library, monkeypatch: pytest.MonkeyPatch, waits: list[tuple[int, int]]
) -> None:
    """Memory of results may be in use on the current stream, and arguments computed there.

    Memory of both is used again in the order of the current stream, which therefore waits in turn.
    """
    torch = fake_torch(monkeypatch)
    compiled = tadc.compile(tadc.function(SQUARE), target="cuda")
    for _ in range(2):
        waits.clear()
        compiled(torch.Tensor(on_gpu([1, 2])), stream=5)
        assert waits == [(5, 77), (77, 5)]
    assert gpu.streams == [5, 5]


class Refusing:
    """An array of a library that does not hand it over."""

    __cuda_array_interface__ = property(lambda self: {}["typestr"])

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0

    def __dlpack__(self, stream: Any = None) -> Any:
        raise BufferError("it is not on this GPU alone")


def test_arrays_that_are_not_handed_over(gpu: Library) -> None:
    compiled = tadc.compile(tadc.function("x: f64[2]; y: f64[2]; f[i] = x[i] + y[i]"), target="cuda")
    masked = Strided(on_gpu([1, 2]), mask=on_gpu([1, 0]))
    with pytest.raises(tadc.ArgumentError) as error:
        compiled(masked, type("Other", (Refusing,), {"__cuda_array_interface__": property()})())
    codes = [(d.code, d.message) for d in error.value.diagnostics]
    assert codes == [
        ("TAD0504", "`x` cannot be read: it has a mask"),
        ("TAD0504", "`y` cannot be read: it is not on this GPU alone"),
    ]
    with pytest.raises(tadc.ArgumentError, match="`f` cannot be read"):
        compiled(on_gpu([1, 2]), on_gpu([1, 2]), out=masked)


def test_a_driver_without_memory_pools(monkeypatch: pytest.MonkeyPatch) -> None:
    """CUDA 11.1 knows neither the attribute nor the functions."""
    library = install(monkeypatch, Library(architecture=70, version=11010))
    compiled = tadc.compile(tadc.function(SQUARE), target="cuda")
    assert not cuda_device().pooled
    assert compiled(np.full(2, 3.0)).tolist() == [9, 9]
    assert library.memory.used == 0


def test_a_driver_that_is_too_old_for_the_ptx(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, Library(architecture=90, version=11070))
    compiled = tadc.compile(tadc.function(SQUARE), target="cuda:sm_90")
    with pytest.raises(tadc.CompileError, match="CUDA_ERROR_UNSUPPORTED_PTX_VERSION") as error:
        compiled(np.ones(2))
    code, text = said(error)
    assert code == "TAD0706"
    assert "the driver is for CUDA 11.7" in text
    assert "install a newer driver" in text
    install(monkeypatch, Library(architecture=90, version=11080))
    assert compiled(np.full(2, 3.0)).tolist() == [9, 9]


def test_a_pool_that_keeps_more_goes_on_doing_so(monkeypatch: pytest.MonkeyPatch) -> None:
    library = install(monkeypatch, Library(architecture=90))
    cuda_device()
    pool = library._objects[library._pools[0]]
    assert pool.kept == devices.KEPT
    pool.kept = 2**64 - 1
    devices._devices.clear()
    cuda_device()
    assert pool.kept == 2**64 - 1


def test_what_is_no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, SimpleNamespace())
    with pytest.raises(tadc.CompileError, match="lacks `cuInit`"):
        cuda_device()
