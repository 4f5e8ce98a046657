"""Calls like one before: what they do not do again, and what must still be looked at."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from contextlib import nullcontext
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tadc
from tadc.backend.cuda import gpu_kernel
from tadc.backend.cuda.device import cuda_device
from tadc.backend.cuda.device_arrays import DeviceArray
from tadc.backend.cuda.prepared import LITTLE, room_for
from tadc.backend.runtime.workspace import Workspace
from tests.backend.test_cuda import (
    SQUARE,
    Library,
    OnlyDLPack,
    Strided,
    fake_torch,
    gpu,
    install,
    kernel_of,
    on_gpu,
)

__all__ = ["gpu"]

TWO = "x: f64[N]; y: f64[N]; f[i] = x[i] + 2*y[i]; g = sum{i} (x[i])"
CHAIN = "x: f64[8]; " + "; ".join(
    f"let a{n}[i: 8] = a{n - 1}[7 - i] + 1" if n else "let a0[i] = 2*x[i]" for n in range(5)
)
CHAIN += "; f[i: 8] = a4[7 - i]; s = sum{i} (a4[i])"


class Counting(Library):
    """How often each function of the driver is called."""

    def __init__(self, **settings: Any) -> None:
        self.calls: list[str] = []
        super().__init__(**settings)

    def _check(self, name: str) -> None:
        self.calls.append(name)
        super()._check(name)


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> Counting:
    return install(monkeypatch, Counting(architecture=90))


def looks(compiled: Any, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The calls from now on that look at all of their arguments."""
    kernel, found = kernel_of(compiled), []
    whole = gpu_kernel.read_call

    def read(symbols: Any, *given: Any) -> Any:
        found.extend([1] * (symbols is kernel.sizes))
        return whole(symbols, *given)

    monkeypatch.setattr(gpu_kernel, "read_call", read)
    return found


def test_a_repeated_call_switches_the_context_once_and_allocates_once(counting: Counting) -> None:
    """Two outputs and temporaries in one allocation; it is given back when no array of it is left."""
    compiled = tadc.compile(tadc.function(TWO), target="cuda")
    x, y = on_gpu(np.arange(40.0)), on_gpu(np.ones(40))
    first = compiled(x, y)
    counting.calls.clear()
    second = compiled(x, y)
    names = [name for name in counting.calls if name != "cuLaunchKernel"]
    assert names == ["cuCtxPushCurrent_v2", "cuMemAllocAsync", "cuCtxPopCurrent_v2"]
    for found in (first, second):
        assert np.asarray(found.f).tolist() == [k + 2 for k in range(40)]
        assert float(np.asarray(found.g)) == 780
    assert second.f.allocation is second.g.allocation
    assert second.g.address % 256 == 0
    f = second.f
    del first, second, found
    assert np.asarray(f)[3] == 5
    del f, x, y
    assert counting.memory.used == 0


def test_other_arguments_are_looked_at(gpu: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other shapes, types, streams and addresses are not taken for those of the last call."""
    compiled = tadc.compile(tadc.function(SQUARE), target="cuda")
    x, longer = on_gpu([1, 2, 3, 4]), on_gpu([1, 2, 3, 4, 5])
    compiled(x)
    compiled(longer)
    whole = looks(compiled, monkeypatch)
    for array, expected in ((x, 16), (longer, 25), (x, 16)):
        assert np.asarray(compiled(x=array))[-1] == expected
    assert whole == []
    with pytest.raises(tadc.ArgumentError, match="float32"):
        compiled(on_gpu([1, 2, 3, 4], np.float32))
    part = Strided(x, shape=(4,), data=(longer.address, False))
    odd = Strided(x, shape=(4,), data=(longer.address + 8, False))
    for array, expected in ((part, 16), (odd, 25), (part, 16), (odd, 25)):
        assert np.asarray(compiled(array))[-1] == expected
    assert np.asarray(compiled(x, stream=5))[-1] == 16
    assert gpu.streams[-1] == 5
    with pytest.raises(tadc.ArgumentError, match="no argument `z`"):
        compiled(x=x, z=x)
    with pytest.raises(tadc.ArgumentError, match="given twice"):
        compiled(x, x=x)
    with pytest.raises(tadc.ArgumentError, match="N"):
        compiled(x, N=5)


def test_sizes_by_name_and_a_stream_are_repeated(gpu: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = tadc.compile(tadc.function("size N; x: f64; f[i: N] = x + i"), target="cuda")
    x = on_gpu(1.0)
    assert np.asarray(compiled(x, N=3)).tolist() == [1, 2, 3]
    whole = looks(compiled, monkeypatch)
    assert np.asarray(compiled(x, N=3)).tolist() == [1, 2, 3]
    assert whole == []
    assert np.asarray(compiled(x, N=4)).tolist() == [1, 2, 3, 4]
    y = DeviceArray(cuda_device().allocate(8, 5), (), np.dtype(np.float64))
    with cuda_device().current() as driver:
        driver.copy_within(y.address, x.address, 8, 5)
    compiled(y, N=3, stream=5)
    whole.clear()
    assert np.asarray(compiled(y, N=3, stream=5)).tolist() == [1, 2, 3]
    assert whole == []
    assert gpu.streams[-2:] == [5, 5]


@pytest.mark.parametrize("wrap", [OnlyDLPack, Strided])
def test_arrays_of_others_are_seen_at_a_glance(
    gpu: Library, monkeypatch: pytest.MonkeyPatch, wrap: Any
) -> None:
    compiled = tadc.compile(tadc.function(SQUARE), target="cuda")
    x, y = on_gpu([1, 2]), on_gpu([3, 4])
    compiled(wrap(x))
    whole = looks(compiled, monkeypatch)
    assert np.asarray(compiled(wrap(y))).tolist() == [9, 16]
    assert whole == []
    with pytest.raises(tadc.ArgumentError, match="has a mask"):
        compiled(Strided(x, mask=y))


def test_memory_of_pytorch_is_used_where_tensors_are_its_own(
    gpu: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Results and what is between are made by `torch.empty`; a current stream that changes is followed."""
    torch = fake_torch(monkeypatch)
    made: list[tuple[Any, Any]] = []
    empty = torch.empty

    def noting(shape: Any, dtype: Any, device: Any) -> Any:
        made.append((shape, dtype))
        return empty(shape, dtype, device)

    torch.empty = noting
    compiled = tadc.compile(tadc.function(CHAIN), target="cuda")
    x = torch.Tensor(on_gpu(np.ones(8)))
    expected = np.asarray(compiled(x).f.array)
    kind = kernel_of(compiled)._repeats._last[1]
    assert kind is not None
    room = kind.plan.between.bytes
    assert room
    whole = looks(compiled, monkeypatch)
    made.clear()
    asked: list[int] = []
    monkeypatch.setattr(gpu, "_cuMemAllocAsync", lambda *rest: asked.append(1))
    found = compiled(x)
    assert type(found.f) is torch.Tensor
    np.testing.assert_array_equal(np.asarray(found.f.array), expected)
    assert made == [((8,), np.float64), ((), np.float64), ((room,), np.uint8)]
    torch.cuda.current_stream = lambda device: type("Stream", (), {"cuda_stream": 9})
    compiled(x)
    assert gpu.streams[-1] == 9
    assert whole == []
    with pytest.raises(tadc.ArgumentError, match="requires a gradient"):
        compiled(torch.Tensor(on_gpu(np.ones(8)), requires_grad=True))


def fake_cupy(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A module `cupy` whose current stream is `cupy.now`."""
    cupy: Any = ModuleType("cupy")

    class ndarray(Strided):
        def __init__(self, array: DeviceArray) -> None:
            super().__init__(array)
            self.array, self.shape, self.dtype = array, array.shape, array.dtype
            self.data = SimpleNamespace(ptr=array.address, device_id=0)
            self.device, self.flags = SimpleNamespace(id=0), SimpleNamespace(c_contiguous=True)

        @property
        def __cuda_array_interface__(self) -> dict[str, Any]:
            return {**self.array.__cuda_array_interface__, "stream": cupy.now or 1}

        @__cuda_array_interface__.setter
        def __cuda_array_interface__(self, value: Any) -> None:
            pass

    ndarray.__module__ = "cupy"
    cupy.ndarray, cupy.now, cupy.made = ndarray, 0, []
    cupy.cuda = SimpleNamespace(
        Device=lambda number: nullcontext(), get_current_stream=lambda number: SimpleNamespace(ptr=cupy.now)
    )

    def empty(shape: Any, dtype: Any) -> Any:
        cupy.made.append(shape)
        return ndarray(
            DeviceArray(cuda_device().allocate(int(np.prod(shape)) * dtype.itemsize), shape, dtype)
        )

    cupy.empty = empty
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    return cupy


def test_arrays_of_cupy(gpu: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their memory is CuPy's, on its current stream."""
    cupy = fake_cupy(monkeypatch)
    compiled = tadc.compile(tadc.function(SQUARE), target="cuda")
    x = cupy.ndarray(on_gpu([1, 2, 3]))
    compiled(x)
    whole = looks(compiled, monkeypatch)
    for cupy.now in (0, 5):
        found = compiled(x)
        assert type(found) is cupy.ndarray
        assert np.asarray(found.array).tolist() == [1, 4, 9]
    assert whole == []
    assert gpu.streams == [0, 0, 5] or gpu.streams == [None, None, 5]
    assert cupy.made == [(3,)] * 3


def test_arrays_of_jax(gpu: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody writes to JAX's memory: results are ours, handed over."""
    jax: Any = ModuleType("jax")
    jax.core = SimpleNamespace()

    class Array(OnlyDLPack):
        def __init__(self, array: DeviceArray) -> None:
            super().__init__(array)
            self.shape, self.dtype, self.device = array.shape, array.dtype, "gpu:0"

        def block_until_ready(self) -> Any:
            return self

        def unsafe_buffer_pointer(self) -> int:
            return self.array.address

        def devices(self) -> list[Any]:
            return [SimpleNamespace(local_hardware_id=0)]

    Array.__module__ = "jaxlib"
    jax.dlpack = SimpleNamespace(from_dlpack=Array)
    monkeypatch.setitem(sys.modules, "jax", jax)
    compiled = tadc.compile(tadc.function(SQUARE), target="cuda")
    compiled(Array(on_gpu([1, 2, 3])))
    whole = looks(compiled, monkeypatch)
    found = compiled(Array(on_gpu([4, 5, 6])))
    assert type(found) is Array
    assert np.asarray(found.array).tolist() == [16, 25, 36]
    assert whole == []
    # JAX uses memory again when nothing refers to an array; it knows no stream but its own.
    for stream in (None, 5):
        gpu.is_behind, arrays = True, [Array(on_gpu([n, n, n])) for n in range(3)]
        alive = [weakref.ref(array) for array in arrays]
        while arrays:
            compiled(arrays.pop(), **({} if stream is None else {"stream": stream}))
        gc.collect()
        assert all(ref() is not None for ref in alive)
        gpu.is_behind = False
        compiled(found)
        gc.collect()
        assert all(ref() is None for ref in alive)


def test_out_is_written_again_where_it_shares_nothing(gpu: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = tadc.compile(tadc.function("x: f64[4]; f[i: 4] = x[3 - i]; g[i] = 2*x[i]"), target="cuda")
    x, f, g = on_gpu([1, 2, 3, 4]), on_gpu(np.zeros(4)), on_gpu(np.zeros(4))
    compiled(x, out=(f, g))
    whole = looks(compiled, monkeypatch)
    y = on_gpu([5, 6, 7, 8])
    found = compiled(y, out=(f, g))
    assert found.f is f
    assert whole == []
    assert np.asarray(f).tolist() == [8, 7, 6, 5]
    compiled(y, out=(y, g))
    assert np.asarray(y).tolist() == [8, 7, 6, 5]
    with pytest.raises(tadc.ArgumentError, match="share memory"):
        compiled(x, out=(f, f))
    assert len(whole) == 2


def test_numbers_are_copied_once(gpu: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal ones; zeros have signs, and a copy is read on the stream where it was made."""
    compiled = tadc.compile(tadc.function("x: f64[2]; w: f64; f[i] = x[i] / w"), target="cuda")
    x = on_gpu([1, 2])
    compiled(x, 2.0)
    whole = looks(compiled, monkeypatch)
    gpu.copies.clear()
    assert np.asarray(compiled(x, w=2)).tolist() == [0.5, 1]
    assert (whole, gpu.copies) == ([], [-16])
    for w, expected in ((0.0, np.inf), (-0.0, -np.inf), (4, 0.5), (2.0, 1), (-0.0, -np.inf)):
        assert np.asarray(compiled(x, w))[1] == expected
    assert len(whole) == 3
    with pytest.raises(tadc.ArgumentError, match="without loss"):
        compiled(x, 1j)
    compiled(x, 2.0, stream=5)
    assert np.asarray(compiled(x, 2.0)).tolist() == [0.5, 1]


def test_many_threads_call_one_kernel(gpu: Library) -> None:
    """Each has cells of its own for the arguments."""
    compiled = tadc.compile(tadc.function(SQUARE), target="cuda")
    arrays = [on_gpu(np.full(3, float(n))) for n in range(8)]
    compiled(arrays[0])
    wrong: list[int] = []

    def work(n: int) -> None:
        for _ in range(5):
            if np.asarray(compiled(arrays[n])).tolist() != [n * n] * 3:
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_little_tensors_share_an_allocation_and_large_ones_do_not() -> None:
    """A loss that is kept keeps no gradient."""
    large = LITTLE + 8
    room = room_for([8, large, 100], Workspace((0, 64), 128))
    assert room.pieces == (512 + 128, large)
    assert room.places == ((0, 0), (1, 0), (0, 256), (0, 512), (0, 576))
    assert not room.is_last_freed
    room = room_for([8], Workspace((0,), large))
    assert (room.pieces, room.places, room.is_last_freed) == ((8, large), ((0, 0), (1, 0)), True)
    room = room_for([large], Workspace((0,), 64))
    assert room.places[1][0] == 0
    assert room_for((), Workspace((), 0)) == ((), (), False)
