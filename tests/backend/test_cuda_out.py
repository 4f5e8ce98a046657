"""`out=` on a GPU, which does what it does on the CPU, with the emulator in the place of libcuda."""

from __future__ import annotations

import sys
import types
from typing import Any

import numpy as np
import pytest

import tadc
from tadc.backend.cuda.device_arrays import DeviceArray, copied_in
from tadc.backend.emulator.emulated_device import emulated_device
from tests.backend.test_cuda import Library, OnlyDLPack, Strided, fake_torch, gpu, on_gpu, said

__all__ = ["gpu"]

REVERSED = "x: f64[N]; f[i: N] = x[N - 1 - i]"
TWO = "x: f64[4]; f[i] = x[i] + 1; g[i] = 2*x[i]"


def on_the_emulator(array: np.ndarray[Any, Any]) -> DeviceArray:
    return DeviceArray(copied_in(array, emulated_device(), 0), array.shape, array.dtype)


def test_out_may_be_an_input() -> None:
    """Blocks that run first would write what others still read."""
    g = tadc.compile(tadc.function(REVERSED), target="emulated")
    x = np.random.default_rng(0).uniform(size=1 << 17)
    d = on_the_emulator(x)
    assert g(d, out=d) is d
    np.testing.assert_array_equal(np.asarray(d), x[::-1])


@pytest.mark.parametrize("first", [0, 2, 3, 4, 6])
def test_out_may_be_a_part_of_an_input(gpu: Library, first: int) -> None:
    """From so many quarters of an input on: over an input, over parts of two, behind both."""
    quarter = 1 << 15
    size = 4 * quarter
    f = tadc.function("x: f64[N]; f[i: N] = x[N - 1 - i] + 2*x[0]")
    whole = np.random.default_rng(0).uniform(size=3 * size)
    out = slice(first * quarter, first * quarter + size)
    expected, on_cpu = whole.copy(), whole.copy()
    expected[out] = whole[size - 1 :: -1] + 2 * whole[0]
    f(on_cpu[:size], out=on_cpu[out])
    memory = on_gpu(whole)
    x, given = (Strided(memory, shape=(size,), data=(memory.address + 8 * n, False)) for n in (0, out.start))
    assert tadc.compile(f, target="cuda")(x, out=given) is given
    np.testing.assert_array_equal(on_cpu, expected)
    np.testing.assert_array_equal(np.asarray(memory), expected)


def test_two_outs_may_be_the_two_inputs(gpu: Library) -> None:
    f = tadc.function("x: f64[300]; y: f64[300]; f[i: 300] = y[299 - i]; g[i: 300] = x[299 - i]")
    compiled = tadc.compile(f, target="cuda")
    a, b = np.random.default_rng(0).uniform(size=(2, 300))
    x, y = on_gpu(a), on_gpu(b)
    found = compiled(x, y, out=(x, y), stream=5)
    assert found.f is x
    assert found.g is y
    np.testing.assert_array_equal(np.asarray(x), b[::-1])
    np.testing.assert_array_equal(np.asarray(y), a[::-1])
    del x, y, found
    assert gpu.memory.used == 0


@pytest.mark.parametrize("shift", [0, 2])
def test_outs_that_share_memory_are_refused(gpu: Library, shift: int) -> None:
    f = tadc.function(TWO)
    memory, host = on_gpu(np.zeros(8)), np.zeros(8)
    x = np.arange(4.0)
    with pytest.raises(tadc.ArgumentError) as on_cpu:
        f(x, out=(host[:4], host[shift : shift + 4]))
    first, second = (Strided(memory, shape=(4,), data=(memory.address + 8 * n, False)) for n in (0, shift))
    with pytest.raises(tadc.ArgumentError, match="`out` for `f` and for `g` share memory") as error:
        tadc.compile(f, target="cuda")(on_gpu(x), out=(first, second))
    assert said(error) == said(on_cpu)
    assert gpu.launches == []


def test_out_by_name_and_in_order(gpu: Library) -> None:
    """None, or no name, asks for a new array; all else is refused in the words of the CPU."""
    f = tadc.function(TWO)
    compiled = tadc.compile(f, target="cuda")
    x = on_gpu([0, 1, 2, 3])
    for out in ((None, on_gpu(np.zeros(4))), {"g": on_gpu(np.zeros(4))}):
        found = compiled(x, out=out)
        assert found.g is (out["g"] if isinstance(out, dict) else out[1])
        assert np.asarray(found.f).tolist() == [1, 2, 3, 4]
        assert np.asarray(found.g).tolist() == [0, 2, 4, 6]
    for wrong in ({"h": None}, (None,), (None, None, None)):
        with pytest.raises(tadc.ArgumentError) as error:
            compiled(x, out=wrong)
        with pytest.raises(tadc.ArgumentError) as on_cpu:
            f(np.zeros(4), out=wrong)
        assert said(error) == said(on_cpu)
        assert said(error)[0] == "TAD0505"


def test_what_may_not_be_written(gpu: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is read-only, the copy of an array, and an array of JAX, which are constants."""

    class Array(Strided):
        platform = "gpu"
        shape = (4,)

        def block_until_ready(self) -> Any:
            return self

        def devices(self) -> list[Any]:
            return [types.SimpleNamespace(local_hardware_id=0)]

    class Copying(OnlyDLPack):
        def __dlpack__(self, stream: Any = None) -> Any:
            return self.array.__dlpack__(stream=stream, copy=True, max_version=(1, 0))

    compiled = tadc.compile(tadc.function("x: f64[4]; f[i] = x[i] + 1"), target="cuda")
    x = on_gpu([0, 1, 2, 3])
    monkeypatch.setitem(sys.modules, "jax", types.ModuleType("jax"))
    Array.__module__ = "jaxlib"
    for out in (Strided(x, data=(x.address, True)), Copying(x), Array(x)):
        with pytest.raises(tadc.ArgumentError, match="`out` for `f` is read-only") as error:
            compiled(x, out=out)
        assert said(error)[0] == "TAD0505"


def test_a_gradient_that_is_required_is_not_lost(gpu: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch refuses NumPy such a tensor, and gives it where gradients are off; a GPU does as the CPU."""
    torch = fake_torch(monkeypatch)

    class OnTheHost(torch.Tensor):
        def __init__(self, values: Any, requires_grad: bool = False) -> None:
            self.values, self.requires_grad = np.array(values, np.float64), requires_grad
            self.shape, self.is_cuda, self.dtype = self.values.shape, False, self.values.dtype

        __cuda_array_interface__ = property()  # PyTorch's raises AttributeError for a tensor on the host.

        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            if self.requires_grad and torch.is_grad_enabled():
                raise RuntimeError("Can't call numpy() on Tensor that requires grad.")
            return self.values

    OnTheHost.__module__ = "torch"
    f = tadc.function("x: f64[3]; f[i] = x[i]**2")
    values = [1, 2, 3]
    for tensor in (OnTheHost(values, requires_grad=True), torch.Tensor(on_gpu(values), requires_grad=True)):
        with pytest.raises(tadc.ArgumentError, match="requires") as error:
            f(tensor)
        code, text = said(error)
        assert code == "TAD0504"
        assert "pass `x.detach()`" in text
    out = torch.Tensor(on_gpu(values), requires_grad=True)
    with pytest.raises(tadc.ArgumentError, match="`f` cannot be read: it requires a gradient") as error:
        f(torch.Tensor(on_gpu(values)), out=out)
    assert said(error)[0] == "TAD0505"
    assert gpu.launches == []
    torch.is_grad_enabled = lambda: False
    assert f(OnTheHost(values, requires_grad=True)).tolist() == [1, 4, 9]
    found = f(torch.Tensor(on_gpu(values), requires_grad=True), out=out)
    assert found is out
    assert np.asarray(out.array).tolist() == [1, 4, 9]
