"""Launches: many as one graph, their shared memory, and errors that the driver tells late."""

from __future__ import annotations

import gc
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tadc
from tadc.backend.cuda.device import cuda_device
from tadc.backend.cuda.gpu_kernel import GpuKernel
from tadc.backend.cuda.launch_graphs import KEPT, MANY
from tadc.backend.cuda.manifest import Manifest
from tests.backend.test_cuda import SQUARE, Library, gpu, install, kernel_of, on_gpu, said
from tests.backend.test_cuda_out import on_the_emulator

__all__ = ["gpu"]

#: Each output is read in the other direction by the next.
STEPS = "x: f64[8]; a[i] = 2*x[i]; b[i: 8] = a[7 - i] + 1; c[i: 8] = b[7 - i] + 1; d[i: 8] = c[7 - i]"


def expected(x: Any) -> Any:
    return 2 * np.asarray(x)[::-1] + 2


def zeros(count: int = 4) -> Any:
    return tuple(on_gpu(np.zeros(8)) for _ in range(count))


#: A launch a step.
SCAN = "x: f64[8]; size T; scan{t} u[t: T, i: 8] = if {t = 0} then (x[i]) else (u[t - 1, 7 - i] + t)"


def steps(x: Any, count: int) -> Any:
    states = [np.asarray(x)]
    for t in range(1, count):
        states.append(states[-1][::-1] + t)
    return np.stack(states[:count]) if count else np.zeros((0, 8))


def made_by(library: Any, kind: str) -> list[Any]:
    return [found for found in library._objects.values() if type(found).__name__ == kind]


class Updating(Library):
    """A record of the nodes that get other arguments."""

    def __init__(self, **settings: Any) -> None:
        self.updates = 0
        super().__init__(**settings)

    def _cuGraphExecKernelNodeSetParams(self, runnable: int, node: int, parameters: Any) -> None:
        self.updates += 1
        super()._cuGraphExecKernelNodeSetParams(runnable, node, parameters)


def test_launches_on_the_same_addresses_are_a_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the second time on, with the results of single launches; one of those that are kept is reused."""
    library = install(monkeypatch, Updating(architecture=90))
    compiled = tadc.compile(tadc.function(STEPS), target="cuda")
    arrays = [on_gpu(np.arange(8.0) + n) for n in range(KEPT + 2)]
    out = zeros()
    for some in (arrays[:KEPT], arrays[KEPT:]):
        for array in 3 * some:
            library.launches.clear()
            compiled(array, out=out)
            np.testing.assert_array_equal(np.asarray(out[-1]), expected(array))
            assert len(library.launches) == MANY
    made = library.graph_launches
    assert made == 2 * len(arrays)
    assert library.updates == MANY * 2
    assert len(made_by(library, "Runnable")) == KEPT
    library.capturing.add(0)
    compiled(arrays[-1], out=out)
    assert library.graph_launches == made, "what is being captured takes no graph"
    del compiled
    gc.collect()
    assert made_by(library, "Runnable") + made_by(library, "Graph") + made_by(library, "Node") == []


@pytest.mark.parametrize("most", [1 << 14, 8])
def test_the_steps_of_a_recurrence_are_a_graph(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """Each node has the number of its step; a graph that would be too long is launched one by one."""
    monkeypatch.setattr("tadc.passes.gpu.recurrence_steps.MOST_OF_BLOCK", 0)
    monkeypatch.setattr("tadc.backend.cuda.prepared.MOST", most)
    library = install(monkeypatch, Updating(architecture=90))
    compiled = tadc.compile(tadc.function(SCAN), target="cuda")
    x = on_gpu(np.arange(8.0))
    for count in (9, 5, 4, 1, 0):
        out = on_gpu(np.zeros((count, 8)))
        for _ in range(3):
            library.launches.clear()
            compiled(x, T=count, out=out)
            np.testing.assert_array_equal(np.asarray(out), steps(x, count))
            assert len(library.launches) == count
    # The second and the third call of those of 4 launches or more.
    assert library.graph_launches == (6 if most > 8 else 4)


@pytest.mark.parametrize("reason", ["an old driver", "launches that wait", "few launches", "refused"])
def test_launches_one_by_one(monkeypatch: pytest.MonkeyPatch, reason: str) -> None:
    version = 11030 if reason == "an old driver" else 13000
    library = install(monkeypatch, Library(architecture=80, version=version))
    if reason == "refused":
        monkeypatch.setattr(library, "cuGraphInstantiateWithFlags", lambda *rest: 801)
    if reason == "launches that wait":
        monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", "1")
    text = SQUARE if reason == "few launches" else STEPS
    compiled = tadc.compile(tadc.function(text), target="cuda:sm_80")
    x, out = on_gpu(np.ones(8)), zeros(1 if reason == "few launches" else 4)
    for _ in range(4):
        compiled(x, out=out)
    assert library.graph_launches == 0
    assert np.asarray(out[-1])[0] == (1 if reason == "few launches" else 4)


def test_an_error_of_a_kernel_in_a_graph_names_its_line() -> None:
    compiled = tadc.compile(tadc.function(STEPS, "f.tad"), target="emulated")
    x, *out = (on_the_emulator(np.ones(8)) for _ in range(5))
    compiled(x, out=out)
    compiled(x, out=out)
    library: Any = x.allocation.device.driver.library
    before = library.graph_launches
    compiled(x, out=out)
    assert library.graph_launches == before + 1
    # The memory goes, the address stays.
    library.memory.free(x.address)
    with pytest.raises(tadc.CompileError, match="TAD0708") as error:
        compiled(x, out=out)
    x.allocation.address = 0
    assert "f.tad:1:" in str(error.value)


@pytest.mark.parametrize("function", ["cuStreamSynchronize", "cuLaunchKernel"])
def test_an_earlier_launch_that_failed(gpu: Library, monkeypatch: pytest.MonkeyPatch, function: str) -> None:
    """What the driver tells late is not said of the call that it tells it in."""
    compiled = tadc.compile(tadc.function(SQUARE, "f.tad"), target="cuda")
    compiled(np.ones(3))
    monkeypatch.setattr(gpu, function, lambda *rest: 719)
    with pytest.raises(tadc.CompileError, match=r"an earlier launch failed with .* \(719\)") as error:
        compiled(np.ones(4))
    code, text = said(error)
    assert code == "TAD0707"
    assert f"`{function}` told so" in text
    assert "kernel `tad_f_0` computes `f` at f.tad:1:" in text
    assert "set CUDA_LAUNCH_BLOCKING=1" in text
    assert "grid" not in text


def test_a_launch_that_is_waited_for_is_named(gpu: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = tadc.compile(tadc.function(SQUARE, "f.tad"), target="cuda")
    monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", "1")
    monkeypatch.setattr(gpu, "cuLaunchKernel", lambda *rest: 700)
    with pytest.raises(tadc.CompileError, match=r"`cuLaunchKernel` failed with CUDA_ERROR_ILLEGAL") as error:
        compiled(np.ones(3))
    text = said(error)[1]
    assert "grid (1, 1, 1), block (256, 1, 1)" in text
    assert "kernel `tad_f_0`" in text
    assert "it computes `f` at f.tad:1:" in text


def test_shared_memory_that_a_launch_asks_for(gpu: Library) -> None:
    """More than a kernel may have without asking; the driver is told of it before."""
    kernel = kernel_of(tadc.compile(tadc.function(SQUARE), target="cuda"))
    (launch,) = kernel.manifest.launches
    manifest = replace(kernel.manifest, launches=(replace(launch, shared=64 << 10),))
    more = GpuKernel(
        Manifest.from_json(json.loads(json.dumps(manifest.as_json()))), kernel.image, cuda_device
    )
    assert more((np.full(3, 2.0),))[0].tolist() == [4, 4, 4]
    assert gpu.shared == [64 << 10]
