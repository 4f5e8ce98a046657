"""Index arrays looked at on the emulated GPU, and on a real one, as the CPU does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tadc
from tadc.backend.cuda.device import Device, cuda_device
from tadc.backend.cuda.device_arrays import DeviceArray, copied_in
from tadc.backend.cuda.device_inspector import DeviceInspector, kernels
from tadc.backend.cuda.ptx import assemble
from tadc.backend.emulator.emulated_device import emulated_device
from tadc.backend.runtime import inspector
from tadc.backend.runtime.index_arguments import IndexArguments
from tadc.frontend.diagnostics import CompileError

RANDOM = np.random.default_rng(5)


@pytest.fixture(params=["emulated", "cuda"])
def device(request: pytest.FixtureRequest) -> Device:
    """A device; the real one where there is one."""
    if request.param == "emulated":
        return emulated_device()
    try:
        return cuda_device()
    except CompileError:
        pytest.skip("no GPU")


def put(device: Device, array: Any) -> DeviceArray:
    """An array of 32-bit integers on the device."""
    host = np.ascontiguousarray(array, np.int32)
    return DeviceArray(copied_in(host, device, 0), host.shape, host.dtype)


def test_looks(device: Device) -> None:
    """The largest element, and whether some fall."""
    on = DeviceInspector(device, 0)
    for array in ([3], [0, 5, 5, 7], [4, 3], list(range(9000)), [*range(5000), 2], [7, -1]):
        given = put(device, array)
        assert on.largest(given) == inspector.admitted(np.array(array, np.int32))[1]
        assert on.falls(given) == inspector.falls(np.array(array, np.int32))
    assert on.largest(put(device, [])) == -1


def test_a_call_with_index_arrays_on_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """They stay there: nothing is looked at by the CPU but what is wrong."""
    text = """
    p: index[N + 1] in E + 1 increasing; s: index[E] in N; t: index[K, 2] in N; x: f64[N]; v: f64[E]
    let y[n: N] = sum{e: s[e] = n} (v[e]*x[n]) + sum{k, i: t[k, i] = n} (x[t[k, 1 - i]])
    f = sum{n: N} (y[n]*sum{e}_(p[n])^(p[n + 1] - 1) (v[e]*x[s[e]]))
    """
    derivative = tadc.value_and_grad(tadc.function(text))
    n, e = 9, 30
    ends = np.sort(RANDOM.integers(0, e + 1, n + 1))
    indices = [ends, RANDOM.integers(0, n, e), RANDOM.integers(0, n, (7, 2))]
    arrays = [np.asarray(a, np.int32) for a in indices] + [RANDOM.normal(size=size) for size in (n, e)]
    expected = derivative(*arrays)
    kernel = tadc.compile(derivative, target="emulated")
    device = emulated_device()
    given = [DeviceArray(copied_in(a, device, 0), a.shape, a.dtype) for a in arrays]
    with monkeypatch.context() as only:
        only.setattr(IndexArguments, "complete", lambda *_: pytest.fail("looked at by the CPU"))
        found = kernel(*given)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.asarray(one), other, rtol=1e-12)
    arrays[1][3] = n
    given[1] = put(device, arrays[1])
    with pytest.raises(tadc.ArgumentError, match=r"`s\[3\]` is 9, but must be below N = 9"):
        kernel(*given)


@pytest.mark.parametrize("sm", [70, 80, 90])
def test_ptxas_takes_the_kernels(sm: int) -> None:
    """Also of older architectures."""
    try:
        assert assemble(kernels().decode(), sm)
    except CompileError as error:
        if error.diagnostics[0].code != "TAD0704":
            raise
        pytest.skip("no ptxas")
