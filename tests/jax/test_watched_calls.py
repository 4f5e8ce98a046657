"""Calls that XLA makes within `tadc.profile()`, `tadc.config(threads=…)` and `tadc.debug_nans()`."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

import tadc
from tadc.api import profiling
from tadc.backend.cpu import thread_pool

jax: Any = pytest.importorskip("jax")


@pytest.fixture(autouse=True)
def known_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """One with 1 Gop/s and 1 GB/s, which takes no time to measure."""
    monkeypatch.setattr(profiling, "_peak", lambda dtype, threads: 1e9)
    monkeypatch.setattr(profiling, "_bandwidth", lambda size, threads: 1e9)


def test_a_profile_of_a_compiled_gradient() -> None:
    f = tadc.function("x: f32[N, M]; w: f32[M, K]; y[i, k] = sum{j} (x[i, j]*w[j, k]) + 0.25")
    x = np.arange(6, dtype="f4").reshape(2, 3)
    w = np.ones((3, 4), "f4")
    gradient = jax.jit(jax.value_and_grad(lambda w: (f.jax(x, w) ** 2).sum()))
    value, dw = gradient(w)
    with tadc.profile() as found:
        results = [gradient(w) for _ in range(3)]
    for again in results:
        assert np.array_equal(again[1], dw)
        assert float(again[0]) == pytest.approx(float(value))
    names = [call.function for call in found.calls]
    assert names.count("(x, w) -> (y)") == 3
    assert sum(name.endswith("-> (dw)") for name in names) == 3
    for call in found.calls:
        assert {"N": 2, "M": 3, "K": 4}.items() <= dict(call.sizes).items()
        assert 0 < sum(call.maps) <= call.seconds
    whole = next(row[0] for row in found.parts() if row[0].name == "(x, w) -> (y)")
    assert whole.operations == 2 * 2 * 3 * 4 + 2 * 4
    assert whole.bytes == 4 * (6 + 12 + 8)


def test_the_block_waits_for_what_runs_later() -> None:
    f = tadc.function("x: f32[N]; y[i] = exp(sin(x[i])) + 0.25")
    run = jax.jit(lambda x: f.jax(x) + 1)
    x = jax.numpy.ones(1 << 19, "f4")
    run(x).block_until_ready()
    with tadc.profile(maps=False) as found:
        results = [run(x) for _ in range(4)]
    assert len(found.calls) == len(results)


def test_threads_of_a_block_in_threads_of_xla(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[int, int]] = []
    monkeypatch.setattr(thread_pool, "_tell_here", lambda n: told.append((n, threading.get_native_id())))
    monkeypatch.setattr(thread_pool, "is_supported", lambda: True)
    f = tadc.function("x: f32[N]; y[i] = 3*x[i] + 0.75")
    run, x = jax.jit(lambda x: f.jax(x) * 2), jax.numpy.ones(1 << 18, "f4")
    run(x).block_until_ready()
    with tadc.config(threads=1):
        results = [run(x) for _ in range(3)]
    run(x).block_until_ready()
    assert [n for n, _ in told].count(1) == len(results)
    assert len(told) == 2 * len(results)


def test_numbers_that_are_none() -> None:
    f = tadc.function("x: f32[N]; y[i] = sqrt(x[i])")
    run, x = jax.jit(lambda x: f.jax(x) * 2), jax.numpy.array([4.0, -1.0], "f4")
    with tadc.debug_nans():
        assert run(x[:1]).tolist() == [4]
        with pytest.raises(tadc.CompileError, match=r"`y\[1\]` is not a number"):
            f.jax(x).block_until_ready()
    with pytest.raises(tadc.CompileError, match=r"`y\[1\]` is not a number") as error, tadc.debug_nans():
        run(x).block_until_ready()
    assert type(error.value.__cause__).__name__ in ("JaxRuntimeError", "XlaRuntimeError")
    assert error.value.diagnostics[0].notes == ["x[1] is -1"]
    assert np.isnan(run(x)[1])


def test_numbers_that_are_none_found_later() -> None:
    """Nobody looks at the result within the block."""
    f = tadc.function("x: f32[N]; y[i] = sqrt(x[i]) + 0.125")
    run = jax.jit(lambda x: f.jax(x) * 2)
    x = np.ones(1 << 18, "f4")
    run(x).block_until_ready()
    x[7] = -1
    results: list[Any] = []
    with pytest.raises(tadc.CompileError, match=r"`y\[7\]` is not a number"), tadc.debug_nans():
        results.append(run(x))
    del results
    with tadc.debug_nans():
        run(x[:7])


def test_what_is_wrong_is_said_as_without() -> None:
    f = tadc.function("x: f32[N]; src: index[E] in N; y[e] = x[src[e]]")
    run = jax.jit(f.jax)
    for block in (tadc.config(), tadc.profile(), tadc.debug_nans()):
        with block, pytest.raises(RuntimeError, match=r"TAD0511.*`src"):
            run(np.ones(3, "f4"), np.array([0, 5], "i4")).block_until_ready()


def test_calls_of_several_threads() -> None:
    f = tadc.function("x: f32[N]; y[i] = exp(x[i]) - 0.625")
    run = jax.jit(f.jax)
    run(np.ones(1000, "f4"))

    def calls() -> None:
        for _ in range(10):
            run(np.ones(1000, "f4")).block_until_ready()

    with tadc.profile() as found:
        threads = [threading.Thread(target=calls) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(found.calls) == 30


ENDS = """
import jax, tadc
f = tadc.function("x: f32[N]; y[i] = exp(sin(x[i])) + 0.25")
run, x = jax.jit(lambda x: f.jax(x) + 1), jax.numpy.ones(1 << 20, "f4")
run(x).block_until_ready()
block = tadc.profile(maps=False)
block.__enter__()
for _ in range(100):
    x = run(x)
print("end")
"""


def test_the_process_ends_while_calls_run() -> None:
    """A thread of XLA that called Python then would never return."""
    # An old XLA does not know all flags of these tests.
    environment = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    done = subprocess.run(
        [sys.executable, "-c", ENDS], capture_output=True, text=True, timeout=120, env=environment
    )
    assert (done.returncode, done.stdout) == (0, "end\n"), done.stderr
