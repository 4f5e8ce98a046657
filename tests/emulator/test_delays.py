"""Programs on streams that lag behind: right for every seed, and not where an order is missing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tadc
from tadc.backend.cuda.call import GpuCall
from tadc.backend.cuda.device import Device, cuda_device
from tadc.backend.cuda.device_arrays import DeviceArray
from tadc.backend.cuda.driver import Driver
from tadc.backend.emulator.delays import DelayedCuda
from tests.backend.test_cuda import OnlyDLPack, install, on_gpu

#: The streams where XLA computes and where it copies, and others that the tests give.
XLA, COPIES, STREAMS = 9, 33, (5, 9, 33, 77)
CHAIN = "x: f64[N]; let a[i] = 2*x[i] + 1; s = sum{i} (a[i]); f[i] = a[i]*x[N - 1 - i]"
GRAPH = "j: index[E] in N; x: f64[N]; f[n: N] = sum{e: j[e] = n} (x[n]**2 + e)"


def values(x: Any) -> tuple[Any, Any]:
    a = 2 * x + 1
    return a.sum(), a * x[::-1]


def library_of(monkeypatch: pytest.MonkeyPatch, seed: int) -> DelayedCuda:
    return install(monkeypatch, DelayedCuda(seed, architecture=90, streams=STREAMS))


def on_several_streams(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Each result is the argument of a call on another stream, and then dropped."""
    library, random = library_of(monkeypatch, seed), np.random.default_rng(seed)
    compiled = tadc.compile(tadc.function(CHAIN), target="cuda")
    x = random.normal(size=6)
    given, sums = on_gpu(x), []
    for _ in range(6):
        stream = (None, 5, 77, 0)[int(random.integers(0, 4))]
        found = compiled(given, **({} if stream is None else {"stream": stream}))
        expected, x = values(x)
        sums.append((found.s, expected))
        given = found.f
    for s, expected in sums:
        np.testing.assert_allclose(np.asarray(s), expected, rtol=1e-12)
    np.testing.assert_allclose(np.asarray(given), x, rtol=1e-12)
    library.finish()


def with_arrays_of_jax(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """XLA uses memory again, on streams of its own, as soon as nothing refers to an array."""
    library, random = library_of(monkeypatch, seed), np.random.default_rng(seed)
    junk, device = np.full(6, -9.0), cuda_device()
    kept: list[DeviceArray] = []

    class Array(OnlyDLPack):
        def __init__(self, array: DeviceArray) -> None:
            super().__init__(array)
            self.shape, self.dtype, self.device = array.shape, array.dtype, "gpu:0"
            kept.append(array)
            # A consumer says on which stream it reads.
            self.capsule = array.__dlpack__(stream=XLA)

        def block_until_ready(self) -> Any:
            with device.current() as driver:
                driver.synchronize(XLA)
            return self

        def unsafe_buffer_pointer(self) -> int:
            return self.array.address

        def devices(self) -> list[Any]:
            return [SimpleNamespace(local_hardware_id=0)]

        def read(self) -> Any:
            found = np.empty(self.shape)
            with device.current() as driver:
                driver.copy_out(found.ctypes.data, self.array.address, found.nbytes, XLA)
            return found

        def __del__(self) -> None:
            with device.current() as driver:
                driver.copy_in(self.array.address, junk.ctypes.data, self.array.nbytes, COPIES)

    Array.__module__ = "jaxlib"
    jax: Any = ModuleType("jax")
    jax.core, jax.dlpack = SimpleNamespace(), SimpleNamespace(from_dlpack=Array)
    monkeypatch.setitem(sys.modules, "jax", jax)
    compiled = tadc.compile(tadc.function(CHAIN), target="cuda")
    for turn in range(5):
        x = random.normal(size=6)
        given = Array(on_gpu(x, stream=XLA))
        found = compiled(given, **({"stream": 5} if turn % 2 else {}))
        del given
        s, f = values(x)
        np.testing.assert_allclose(found.f.read(), f, rtol=1e-12)
        np.testing.assert_allclose(found.s.read(), s, rtol=1e-12)
    library.finish()


def with_index_arrays(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """What is made of them is read on another stream, and is gone with them."""
    library, random = library_of(monkeypatch, seed), np.random.default_rng(seed)
    compiled = tadc.compile(tadc.function(GRAPH), target="cuda")
    x, found = random.normal(size=5), []
    for turn in range(4):
        j = random.integers(0, 5, 20).astype(np.int32)
        expected = np.zeros(5)
        np.add.at(expected, j, x[j] ** 2 + np.arange(20))
        for _ in range(2):
            stream = {"stream": int(random.choice([5, 77]))} if turn % 2 else {}
            given = (tadc.relation(j, 5), j, on_gpu(j, np.int32))[turn % 3]
            found.append((compiled(given, on_gpu(x), **stream), expected))
    for one, expected in found:
        np.testing.assert_allclose(np.asarray(one), expected, rtol=1e-12)
    library.finish()


SCENES = [on_several_streams, with_arrays_of_jax, with_index_arrays]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.__name__)
def test_streams_that_lag_behind(
    monkeypatch: pytest.MonkeyPatch, scene: Callable[[pytest.MonkeyPatch, int], None], seed: int
) -> None:
    scene(monkeypatch, seed)


@pytest.mark.parametrize(
    ("scene", "kind", "name"),
    [
        (on_several_streams, Driver, "wait_for"),
        (on_several_streams, GpuCall, "give_back"),
        (with_arrays_of_jax, Driver, "wait_for"),
        (with_arrays_of_jax, Device, "outlive"),
        (with_index_arrays, Driver, "wait_for"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_an_order_that_is_missing_is_found(
    monkeypatch: pytest.MonkeyPatch, scene: Callable[[pytest.MonkeyPatch, int], None], kind: Any, name: str
) -> None:
    """In one of a few seeds, by a wrong number or by a launch that reads what was freed."""
    with monkeypatch.context() as without:
        without.setattr(kind, name, lambda *_: None)
        for seed in range(8):
            try:
                scene(monkeypatch, seed)
            except (AssertionError, tadc.CompileError):
                return
    pytest.fail("nothing was found")


def test_the_order_of_work() -> None:
    """Work follows what is before it on its stream, and what its stream was told to wait for."""
    for seed in range(20):
        library, done = DelayedCuda(seed, streams=STREAMS), list[int]()
        first = library._on_stream(5, lambda: done.append(1))
        library._on_stream(9, lambda: done.append(2), first)
        library._on_stream(9, lambda: done.append(3))
        library._on_stream(0, lambda: done.append(4))
        library._meanwhile()
        library._finish(9)
        assert [n for n in done if n < 4] == [1, 2, 3]
        library._finish(1)
        assert sorted(done) == [1, 2, 3, 4]
