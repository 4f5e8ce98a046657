"""Versions of kernels of a GPU for the sizes of calls: those that a program with known sizes has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tadc
from tests.backend.test_cuda import Library, gpu, kernel_of, on_gpu
from tests.backend.test_cuda_repeats import looks

__all__ = ["gpu"]

SOFTMAX = """
x: f32[N, K]
let m[n] = max{k} (x[n, k])
let e[n, k] = exp(x[n, k] - m[n])
y[n, k] = e[n, k] / sum{j} (e[n, j])
"""
RANDOM = np.random.default_rng(6)


@pytest.fixture
def every_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls of few operations are worth a version."""
    monkeypatch.setattr("tadc.backend.cuda.gpu_kernel.WORTH_ON_GPU", 0)


def launches(library: Library, call: Any) -> tuple[Any, int]:
    library.launches.clear()
    found = call()
    return found, len(library.launches)


@pytest.mark.usefixtures("every_call")
def test_the_first_call_has_the_launches_of_known_sizes(
    gpu: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And those after it are seen at a glance."""
    derivative = tadc.value_and_vjp(tadc.function(SOFTMAX))
    compiled = tadc.compile(derivative, target="cuda")
    known = tadc.compile(derivative.at({"N": 6, "K": 40}), target="cuda")
    x, dy = (RANDOM.normal(size=(6, 40)).astype(np.float32) for _ in range(2))
    given = on_gpu(x, np.float32), on_gpu(dy, np.float32)
    expected, least = launches(gpu, lambda: known(*given))
    found, count = launches(gpu, lambda: compiled(*given))
    assert count == least < len(kernel_of(compiled).manifest.launches)
    whole = looks(compiled, monkeypatch)
    again, count = launches(gpu, lambda: compiled(*given))
    assert count == least
    assert whole == []
    e = np.exp(x - x.max(axis=1, keepdims=True))
    y = e / e.sum(axis=1, keepdims=True)
    dx = y * (dy - (y * dy).sum(axis=1, keepdims=True))
    for results in (found, again, expected):
        np.testing.assert_allclose(np.asarray(results[0]), y, rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(np.asarray(results[1]), dx, rtol=1e-4, atol=1e-6)
        for one, other in zip(results, expected, strict=True):
            np.testing.assert_array_equal(np.asarray(one), np.asarray(other))


@pytest.mark.usefixtures("every_call")
def test_the_first_few_sizes_have_versions(gpu: Library) -> None:
    compiled = tadc.compile(tadc.function("size T; x: f64[N]; f[t: T] = sum{i} (x[i]*t)"), target="cuda")
    kernel = kernel_of(compiled)
    assert kernel.versions is not None
    for n in range(2, 4 + tadc.config.versions):
        x = RANDOM.normal(size=n)
        for given in (x, on_gpu(x)):
            found = np.asarray(compiled(given, T=3))
            np.testing.assert_allclose(found, x.sum() * np.arange(3), rtol=1e-12)
    made = [version for version in kernel.versions._made.values() if version]
    assert len(made) == tadc.config.versions
    with pytest.raises(tadc.ArgumentError, match="`T`"):
        compiled(on_gpu(np.ones(2)))


@pytest.mark.usefixtures("every_call")
def test_versions_make_their_own_index_arrays(gpu: Library) -> None:
    f = tadc.function("j: index[E] in N; x: f64[N]; f[n: N] = sum{e: j[e] = n} (x[n]**2 + e)")
    compiled = tadc.compile(f, target="cuda")
    x = RANDOM.normal(size=5)
    for count in (20, 7, 20):
        j = RANDOM.integers(0, 5, count).astype(np.int32)
        expected = np.zeros(5)
        np.add.at(expected, j, x[j] ** 2 + np.arange(count))
        for given in (j, tadc.relation(j, 5), on_gpu(j, np.int32)):
            for _ in range(2):
                np.testing.assert_allclose(np.asarray(compiled(given, on_gpu(x))), expected, rtol=1e-12)


def test_calls_of_few_operations_have_none(gpu: Library) -> None:
    compiled = tadc.compile(tadc.function("x: f64[N]; f[i] = x[i]**2"), target="cuda")
    assert np.asarray(compiled(on_gpu([1, 2]))).tolist() == [1, 4]
    versions = kernel_of(compiled).versions
    assert versions is not None
    assert versions._made == {}
