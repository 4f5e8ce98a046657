"""A kernel for all sizes is compiled again for those of calls that do much."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tadc
from tadc.api.chosen_versions import ChosenVersions
from tadc.backend.environment import current
from tadc.frontend.diagnostics import CompileError, Diagnostic

MATMUL = "x: f64[N, K]; y: f64[K, M]; z[i, j] = sum{k} (x[i, k] * y[k, j])"
LARGE = (128, 64, 96)


def arrays(n: int, k: int, m: int) -> tuple[Any, ...]:
    random = np.random.default_rng(0)
    return random.random((n, k)), random.random((k, m)), random.random((n, m))


def made(f: tadc.Function | Any) -> dict[tuple[int, ...], Any]:
    """The versions of a function's kernel."""
    kernel: Any = f.kernel if isinstance(f, tadc.Compiled) else f.compiled().kernel
    return kernel.versions._made


def test_a_call_that_does_much_has_its_version() -> None:
    both = tadc.value_and_vjp(tadc.function(MATMUL))
    x, y, dz = arrays(*LARGE)
    first = both(x, y, dz)
    assert list(made(both)) == [LARGE]
    for one, other in zip(first, (x @ y, dz @ y.T, x.T @ dz), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    alone = tadc.compile(both, sizes=dict(zip("NKM", LARGE, strict=True)))(x, y, dz)
    for found in (both(x, y, dz), alone):
        for one, other in zip(first, found, strict=True):
            assert np.array_equal(one, other)


def test_a_call_that_does_little_has_none() -> None:
    f = tadc.function(MATMUL)
    x, y, _ = arrays(5, 6, 7)
    np.testing.assert_allclose(f(x, y), x @ y, rtol=1e-12)
    assert made(f) == {}


def test_there_are_few_versions() -> None:
    f = tadc.function("x: f64[N]; s = sum{i} (sin(x[i]) * x[i])")
    for n in range(200_000, 200_000 + 8):
        x = np.linspace(0, 1, n)
        found = f(x)
        np.testing.assert_allclose(found, np.sin(x) @ x, rtol=1e-12)
        assert f(x) == found
    assert list(made(f)) == [(n,) for n in range(200_000, 200_000 + 4)]


def test_sizes_by_name_and_arrays_of_the_caller() -> None:
    f = tadc.function("size M; x: f64[N]; y[i: N, j: M] = x[i] * sin(x[i] * j)")
    x = np.linspace(0, 1, 1000)
    expected = x[:, None] * np.sin(x[:, None] * np.arange(300))
    out = np.empty((1000, 300))
    assert f(x, M=300, out=out) is out
    np.testing.assert_allclose(out, expected, rtol=1e-12)
    np.testing.assert_allclose(f(x=x, M=300, N=1000), expected, rtol=1e-12)
    strided = np.empty((300, 1000)).T
    f(x, M=300, out=strided)
    np.testing.assert_array_equal(strided, out)
    assert list(made(f)) == [(300, 1000)]


def test_calls_are_checked_as_before() -> None:
    f = tadc.function(MATMUL)
    x, y, _ = arrays(*LARGE)
    f(x, y)
    with pytest.raises(tadc.ArgumentError, match="TAD0503"):
        f(x, y[1:])
    with pytest.raises(tadc.ArgumentError, match="TAD0503"):
        f(x, y, N=LARGE[0] + 1)


def test_a_kernel_with_options_has_versions_of_the_same() -> None:
    f = tadc.function("x: f32[N]; s[i] = exp(x[i]) * x[i]")
    fast = tadc.compile(f, fast_math=True)
    x = np.linspace(-1, 1, 300_000, dtype=np.float32)
    found = fast(x)
    assert list(made(fast)) == [(300_000,)]
    assert np.array_equal(found, tadc.compile(f, fast_math=True, sizes={"N": 300_000})(x))
    given = tadc.compile(f, schedule=f.lower().schedule)
    np.testing.assert_allclose(given(x), found, rtol=1e-5)
    assert made(given) == {}


def test_where_none_can_be_compiled_the_kernel_for_all_sizes_runs() -> None:
    f = tadc.function(MATMUL)
    calls: list[object] = []

    def make(sizes: object) -> Any:
        calls.append(sizes)
        raise CompileError([Diagnostic("TAD0405", "none of this")])

    kernel: Any = f.compiled().kernel
    kernel.versions.make = make
    x, y, _ = arrays(*LARGE)
    np.testing.assert_allclose(f(x, y), x @ y, rtol=1e-12)
    np.testing.assert_allclose(f(x[:100], y), x[:100] @ y, rtol=1e-12)
    assert len(calls) == 2


def test_threads_share_a_version() -> None:
    f = tadc.function(MATMUL)
    x, y, _ = arrays(*LARGE)
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(f(x, y))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert all(np.array_equal(one, found[0]) for one in found)
    assert list(made(f)) == [LARGE]


def test_another_process_finds_versions_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TADC_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("TADC_CACHE", raising=False)
    code = f"""
import sys, numpy as np, tadc
both = tadc.value_and_vjp(tadc.function({MATMUL!r}))
random = np.random.default_rng(0)
found = both(random.random((128, 64)), random.random((64, 96)), random.random((128, 96)))
versions = both.compiled().kernel.versions._made
print([float(a.sum()).hex() for a in found], list(versions), "llvmlite" in sys.modules)
"""
    lines = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    assert "(128, 64, 96)" in lines[0]
    assert lines[0].replace("True", "False") == lines[1]


def test_the_environment_says_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    for text, number in (("", 4), ("0", 0), (" 7 ", 7)):
        monkeypatch.setenv("TADC_VERSIONS", text)
        assert current("versions") == number
    monkeypatch.setenv("TADC_VERSIONS", "many")
    with pytest.warns(RuntimeWarning, match="TADC_VERSIONS=`many` is no number and counts as 4"):
        assert current("versions") == 4


def test_versions_that_are_chosen_beforehand() -> None:
    """No call makes one, so bits do not depend on which calls come first."""
    f = tadc.function("size p; size n; x: f64[n, K]; y: f64[K, M]; z[i: n, j] = p*sum{k} (x[i, k]*y[k, j])")
    versions = ChosenVersions(f)
    x, y, _ = arrays(*LARGE)
    chosen = versions.at({"n": 128, "K": 64, "M": 96})
    assert chosen.program.sizes == ("p",)
    assert versions.at({"n": 128, "K": 64, "M": 96}) is chosen
    assert versions.at({"n": 2, "K": 64, "M": 96}) is versions.at({}) is f
    for p in (2, 3):
        for each in (chosen, f):
            np.testing.assert_allclose(each(x=x, y=y, p=p, n=128), p * (x @ y), rtol=1e-12)
            assert made(each) == {}
