"""`python -m bench gpu-host`: what a call on a GPU takes on the host, with a stub in libcuda's place.

What is timed is a call that is like the one before, with the release of its results. Rows are taken in turns,
and the least time of each is shown: what else runs on the machine only adds to it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import tadc
from bench.gpu.stub import StubCuda
from tadc.backend.cuda import device as devices
from tadc.backend.cuda import driver as drivers
from tadc.backend.cuda import prepared
from tadc.backend.cuda.device import cuda_device
from tadc.backend.cuda.device_arrays import DeviceArray
from tadc.backend.cuda.gpu_kernel import GpuKernel

ONE = "x: f32[N, M]; y: f32[M]; f[i, j] = exp(x[i, j]) * y[j]"
#: Each is read backwards by the next, so each is a launch.
LAUNCHES = 8
MANY = "x: f32[N]; let a0[i] = 2 * x[i];" + "".join(
    f"{'let ' if n < LAUNCHES - 1 else ''}a{n}[i: N] = a{n - 1}[N - 1 - i] + 1;" for n in range(1, LAUNCHES)
)
#: Calls of a row in a turn, and turns.
CALLS, TURNS = 200, 60


class _Interface:
    """An array of a library that has this alone."""

    def __init__(self, array: DeviceArray) -> None:
        self.array, self.__cuda_array_interface__ = array, array.__cuda_array_interface__


class _Capsule:
    """An array of a library that has DLPack alone, and hands over one capsule again and again."""

    def __init__(self, array: DeviceArray) -> None:
        self.capsule, self.device = array.__dlpack__(), array.__dlpack_device__()

    def __dlpack__(self, stream: Any = None) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device


def _array(*shape: int) -> DeviceArray:
    dtype = np.dtype(np.float32)
    count = int(np.prod(shape)) * dtype.itemsize
    return DeviceArray(cuda_device().allocate(count), shape, dtype)


def _rows() -> dict[str, Callable[[], object]]:
    """The calls, each of which was made before."""
    one = tadc.compile(tadc.function(ONE), target="cuda")
    x, y, f = _array(64, 32), _array(32), _array(64, 32)
    by_interface, by_capsule = (_Interface(x), _Interface(y)), (_Capsule(x), _Capsule(y))
    function = tadc.function(ONE)
    function(x, y)
    rows: dict[str, Callable[[], object]] = {
        "1 launch, arrays of tadc": lambda: one(x, y),
        "1 launch, by name": lambda: one(x=x, y=y),
        "1 launch, uncompiled function": lambda: function(x, y),
        "1 launch, out=": lambda: one(x, y, out=f),
        "1 launch, __cuda_array_interface__": lambda: one(*by_interface),
        "1 launch, DLPack": lambda: one(*by_capsule),
    }
    z = _array(1000)
    for name, least in (("one by one", 1 << 30), ("as a graph", prepared.MANY)):
        many = _kernel(tadc.compile(tadc.function(MANY), target="cuda"))
        kept, prepared.MANY = prepared.MANY, least
        try:
            many((z,))
        finally:
            prepared.MANY = kept
        rows[f"{len(many.manifest.launches)} launches {name}"] = lambda many=many: many((z,))
    rows |= _of_torch(one)
    for call in rows.values():
        for _ in range(20):
            call()
    return rows


def _kernel(compiled: tadc.Compiled) -> GpuKernel:
    assert isinstance(compiled.kernel, GpuKernel)
    return compiled.kernel


def _of_torch(one: Any) -> dict[str, Callable[[], object]]:
    """With tensors of PyTorch, where it has CUDA: their memory is real, but is not read."""
    if find_spec("torch") is None:
        return {}
    torch: Any = import_module("torch")
    if not torch.cuda.is_available():
        return {}
    x, y = torch.empty(64, 32, device="cuda"), torch.empty(32, device="cuda")
    return {
        "1 launch, PyTorch": lambda: one(x, y),
        "torch.empty": lambda: torch.empty((64, 32), dtype=torch.float32, device=x.device),
    }


def least(rows: Mapping[str, Callable[[], object]], turns: int = TURNS) -> dict[str, float]:
    """The least time of a call of each row in microseconds, taken in turns."""
    found = dict.fromkeys(rows, float("inf"))
    for _ in range(turns):
        for name, call in rows.items():
            begin = time.perf_counter()
            for _ in range(CALLS):
                call()
            found[name] = min(found[name], (time.perf_counter() - begin) / CALLS * 1e6)
    return found


def with_stub(work: Callable[[], Any]) -> Any:
    """Do something where a stub is libcuda."""
    kept = drivers.load_library, drivers._driver, devices._devices
    drivers.load_library, drivers._driver, devices._devices = StubCuda, None, {}
    try:
        return work()
    finally:
        drivers.load_library, drivers._driver, devices._devices = kept


def main(turns: int = TURNS) -> None:
    """Print the times."""
    table = Table("call", "microseconds")
    for name, value in with_stub(lambda: least(_rows(), turns)).items():
        table.add_row(name, f"{value:.1f}")
    Console().print(table)
