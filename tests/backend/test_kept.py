"""Tensors of no argument: the first call of a kernel computes them, for all that come after."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import pytest

import tadc
from tadc.backend.target import parse_target
from tadc.compiler.all_stages import compile_until
from tadc.compiler.compile_options import Options
from tadc.compiler.stages import Compilation
from tadc.frontend.diagnostics import CompileError
from tadc.frontend.source import Source

TABLES = """x: f64[300]
let a[i: 300, k: 400] = cos(0.01 * (i + 1) * k)
let b[i: 300, j: 300] = sum{k: 400} (a[i, k] * a[j, k])
y[i] = sum{j} (b[i, j] * x[j])
"""


def tables() -> np.ndarray:
    """`b`."""
    a = np.cos(0.01 * np.outer(np.arange(300) + 1, np.arange(400)))
    return a @ a.T


def stage(source: str, name: str = "loops", target: str = "cpu") -> str:
    """A stage of a program."""
    state = Compilation(Options(target=parse_target(target)), Source(source, "<string>"))
    compile_until(state, name)
    return str(state.module)


def test_values_of_several_calls() -> None:
    """And those of derivatives, which read the same tables."""
    rng = np.random.default_rng(0)
    f = tadc.function(TABLES)
    g = tadc.vjp(f, wrt=["x"])
    for _ in range(3):
        x, dy = rng.normal(size=(2, 300))
        np.testing.assert_allclose(f(x), tables() @ x, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(g(x, dy), tables().T @ dy, rtol=1e-9, atol=1e-9)


def test_first_calls_of_several_threads() -> None:
    """No call sees an element that another has not finished."""
    x = np.random.default_rng(0).normal(size=300)
    wanted = tadc.function(TABLES)(x)
    found: list[np.ndarray] = []
    for _ in range(4):
        f = tadc.compile(tadc.function(TABLES))
        start = threading.Barrier(4)

        def call(f: Callable[[np.ndarray], np.ndarray] = f, start: threading.Barrier = start) -> None:
            start.wait()
            found.extend(f(x) for _ in range(4))

        threads = [threading.Thread(target=call) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(found) == 64
    for values in found:
        np.testing.assert_array_equal(values, wanted)


def test_no_sum_of_one_has_its_parts_in_memory() -> None:
    """By no schedule of ours, and by none that is given."""
    module = stage(TABLES)
    assert module.count("memref.global") == 3
    steps = "map b\n    cut %0 k 8 -> k0\n"
    with pytest.raises(CompileError, match="kept from call to call"):
        tadc.compile(tadc.function(TABLES), schedule=steps)


def test_what_is_kept() -> None:
    """What is expensive and small, and what a user stores; nothing of unknown size, and nothing on a GPU."""
    cosine = "x: f32[{n}]\ny[k: {n}] = sum{{i}} (cos(0.01 * k * i) * x[i])"
    assert "memref<500x500xf32>" in stage(cosine.format(n=500))
    assert "memref.global" not in stage(cosine.format(n=1100))
    assert "memref.global" not in stage(cosine.format(n="N"))
    assert "tad_y.kept" not in stage(cosine.format(n=500), "gpu", "cuda:sm_90")
    cheap = "x: f64[{n}, 90]\nlet c[i: {n}, j: 90] = 0.5 * (i - j)\ny[i, j] = x[i, j] * c[i, j]"
    assert "memref.global" not in stage(cheap.format(n=80))
    stored = (
        "x: f64[80, {n}]\nlet c[i: 90, j: {n}] = 0.5 * (i - j)\ny[i: 80, j] = x[i, j] * c[i + 3, j] / c[i, j]"
    )
    assert "memref.global" in stage(stored.format(n=200))
    assert "memref.global" not in stage(stored.format(n=20000))
