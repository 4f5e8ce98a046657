"""Results whose vectors go past the caches where a line of the cache begins."""

from __future__ import annotations

import numpy as np
import pytest

import tadc
from tadc.dialect.reader import tad_functions
from tadc.driver import compile_until
from tadc.frontend.source import Source
from tadc.passes.maps.read_maps import read_maps
from tadc.passes.schedule.cpu_machine import CpuMachine
from tadc.passes.schedule.plans import plan_of
from tadc.stages import Compilation, Options

PROGRAMS = {
    "large": ("x: f32[2048, 1024]\nf[i, j] = 2*x[i, j]", True),
    "one index": ("x: f64[1048576]\nf[i] = 2*x[i]", True),
    "from panels": (
        "x: f32[64, 32, 256]; y: f32[128, 32]\nf[i: 64, j: 128, k: 256] = sum{r} (x[i, r, k] * y[j, r])",
        True,
    ),
    "in blocks of a sum": (
        "x: f32[2048, 2048]; y: f32[2048, 2048]\nf[i: 2048, j: 2048] = sum{k} (x[i, k] * y[k, j])",
        False,
    ),
    "small": ("x: f32[2047, 1024]\nf[i, j] = 2*x[i, j]", False),
    "rows that are no whole lines": ("x: f32[2048, 1030]\nf[i, j] = 2*x[i, j]", False),
    "read again": (
        "x: f32[2048, 1024]\nlet e[i, j] = 2*x[i, j]\nf[i, j] = e[i, j]\ng[i] = sum{j} (e[i, j])",
        False,
    ),
    "much to compute": ("x: f32[2048, 1024]\nf[i, j] = sum{k: 40} (sin(x[i, j] + k))", False),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_goes_past_caches(name: str) -> None:
    text, streams = PROGRAMS[name]
    state = Compilation(Options(), Source(text, "<test>"))
    compile_until(state, "tad")
    (function,) = tad_functions(state.module.operation)
    found = read_maps(function)
    tiling = plan_of(found.maps[0], found, CpuMachine(least_work=1 << 18)).tiling
    assert tiling is not None
    assert tiling.streams == streams


@pytest.mark.parametrize("offset", [0, 1, 15])
@pytest.mark.parametrize("threads", [1, 2])
def test_results_anywhere_in_memory(offset: int, threads: int) -> None:
    """An array given for results may begin anywhere, in a line or at its start."""
    f = tadc.function("x: f32[N]\ny[i] = 2*x[i] + 1").at({"N": (1 << 21) + 16})
    x = np.arange((1 << 21) + 16, dtype="f4")
    memory = np.zeros(len(x) + 64, "f4")
    begin = -memory.ctypes.data % 64 // 4 + offset
    before = tadc.get_num_threads()
    try:
        tadc.set_num_threads(threads)
        f(x, out=memory[begin : begin + len(x)])
    finally:
        tadc.set_num_threads(before)
    np.testing.assert_array_equal(memory[begin : begin + len(x)], 2 * x + 1)
    assert not memory[:begin].any()
    assert not memory[begin + len(x) :].any()
