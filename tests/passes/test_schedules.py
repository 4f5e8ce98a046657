"""Every schedule computes the same: the bits of single elements, but where sums are taken apart."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tadc
from tadc.api.execute import compile_program, evaluate
from tadc.backend.cpu import processors
from tadc.compiler.derive import derive
from tadc.frontend.extents import shape_at
from tadc.passes import catalogue
from tadc.passes.maps import chains
from tadc.passes.schedule import packing, plans, search
from tadc.passes.schedule.cpu_machine import CpuMachine

PROGRAMS = {
    "contraction": "a: f64[19, 37]\nb: f64[37, 21]\nf[i, j] = sum{k} (a[i, k] * b[k, j])",
    "contraction of f32": "a: f32[35, 40]\nb: f32[33, 40]\nf[i, j] = sum{k} (a[i, k] * b[j, k])",
    "guarded": "x: f64[40]\nf[i: 40] = if {i >= 3 and i % 4 <= 2} then (x[i - 3]**2) else (exp(x[39 - i]))",
    "triangle": "a: f64[20, 20]\nf[i] = sum{k}_0^i (a[i, k]**2 * a[k, i])",
    "triangle of a sum": "a: f64[20, 9, 9]\nb: f64[9, 9, 24]\n"
    "f[i, j] = sum{k}_0^8 (sum{l}_0^k (a[i, k, l] * b[l, k, j]))",
    "bounds that imply a row": "x: f64[1, 4, 3]\n"
    "f[i: 2, j: 2] = sum{k}_1^(j + 2*i) (x[0, (j - k) // 2 + 2, 1])",
    "floor of a sum's index": "x: f64[4]\nf = logsumexp{k: 2} (x[2 - ((3*k) // 2)])",
    "over two indices": "a: f64[5, 6, 21]\nb: f64[5, 6, 35]\nf[i, j] = sum{k, l} (a[k, l, i] * b[k, l, j])",
    "columns": "a: f64[13, 37]\nb: f64[13, 41]\nf[i, j] = sum{k} (a[k, i] * b[k, j])",
    "batch": "a: f64[3, 19, 9]\nb: f64[3, 18, 9]\nf[n, i, j] = sum{k} (a[n, i, k] * b[n, j, k])",
    "filters": "x: f64[2, 3, 44]\nw: f64[19, 3, 4]\n"
    "f[n, o, t: 18] = sum{c, u} (x[n, c, 2*t + 3*u] * w[o, c, u])",
    "local": "x: f64[4, 20]\nw: f64[18, 18, 3]\nf[n: 4, o: 18, j: 18] = sum{v} (x[n, j + v] * w[o, j, v])",
    "convolution": "x: f64[3, 30]\nw: f64[3, 5]\nf[t: 26] = sum{c, u} (x[c, t + u] * w[c, u])",
    "padded": "x: f64[23]; w: f64[5]\n"
    "f[i: 23] = sum{k}_(max [0; 2 - i])^(min [4; 24 - i]) (w[k] * x[i + k - 2])",
    "strided": "x: f64[47]\nw: f64[5]\nf[i: 22] = sum{k} (w[k] * x[2*i + k])",
    "dilated": "x: f64[150]\nw: f64[4]\nf[i: 71] = sum{k} (w[k] * x[2*i + 3*k])",
    "strided in two": "x: f64[2, 9, 83]\nw: f64[3, 2, 3, 3]\n"
    "f[o, i: 4, j: 41] = sum{c, u, v} (x[c, 2*i + u, 2*j + v] * w[o, c, u, v])",
    "strided by three": "x: f64[176]\nw: f64[7]\n"
    "f[i: 58] = sum{k}_(max [0; 2 - 3*i])^6 (w[k] * x[3*i + k - 2])",
    "lags": "x: f64[200]\nr[lag: 45] = sum{n}_0^(199 - lag) (x[n] * x[n + lag])",
    "band": "b: f64[45, 130]; x: f64[130]\n"
    "y[i: 130] = sum{m}_(max [0; 22 - i])^(min [44; 151 - i]) (b[m, i] * x[i + m - 22])",
    "nested": "a: f64[12, 9]\nb: f64[9, 10]\n"
    "f[i] = sum{k} (exp(-sum{j}_(max [0; k - 4])^9 (a[i, k] * b[k, j])))",
    "kinds": "x: f64[18, 11]\n"
    "f[i] = max{k} (x[i, k]) + prod{k} (x[i, k]) * logsumexp{k}_0^(i // 2) (x[i, k])",
    "scalar": "x: f64[50]\ny: f64[50]\nf = sum{i} (x[i] * y[49 - i] + min{k}_0^i (x[k]))",
    "index values": "x: f64[33]\nf[i: 33] = x[i] * (i // 3) - (i % 5)",
    "diagonal": "x: f64[13, 13]\nf[i, j] = sum{k} (x[i, i] * x[k, j] - x[j, j] * x[k, k])",
    "diagonal of columns": "a: f64[37, 37]\nf[i, j] = exp(a[i, j] - a[j, j])",
    "transposed": "x: f64[37, 29]; y: f64[29, 37]\nf[i, j] = x[j, i] * y[i, j] + exp(y[i, j])",
    "transposed in a sum": "a: f64[3, 30, 21]; b: f64[3, 21]\nf[i, j] = sum{k} (a[k, j, i]**2 * b[k, i])",
    "pairs in rows of any size": "x: f64[K, N]\n"
    "f[i: K, j: N] = if {j // 2 < N // 2} then (max{p: 2} (x[i, 2*(j // 2) + p])) else (x[i, j])",
    "sizes": "x: f64[N]\nw: f64[K]\nf[i: N - K + 1] = sum{k} (x[i + k] * w[k]**2)",
}
SIZES = {"N": 41, "K": 6}


def compiled(text: str) -> Callable[[], dict[str, Any]]:
    """What compiles a program anew and gives its value and all gradients."""
    derived = derive(tadc.function(text).program, "value-and-vjp")
    numbers = np.random.default_rng(7)
    arrays = {
        a.name: numbers.uniform(-1, 1, shape_at(a.shape, SIZES)).astype(
            "f4" if str(a.type) == "f32" else "f8"
        )
        for a in derived.arguments
    }
    return lambda: evaluate(compile_program(derived), arrays)


#: More seeds for those that panels are made for.
PANELS = ("contraction", "contraction of f32", "columns", "over two indices", "batch", "filters")
SEEDS = [
    pytest.param(name, seed, marks=[pytest.mark.slow] if seed >= count else [])
    for name in PROGRAMS
    for count, most in [(3, 10) if name in PANELS else (1, 4)]
    for seed in range(most)
]


@pytest.mark.parametrize(("name", "seed"), SEEDS)
def test_schedules_agree(name: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any schedule that fits may be chosen."""
    run = compiled(PROGRAMS[name])
    with monkeypatch.context() as plain:
        plain.setattr(plans, "tiling_of", lambda *_: None)
        expected = run()
    choice = random.Random(seed)
    shared: list[bool] = []
    choose = search.tiling_of

    def chosen(*given: Any) -> Any:
        found = choose(*given)
        # Each block of a sum is a sum of its own, and steps that are taken at once come in another order.
        cut = found is not None and found.packed is not None and found.packed.block is not None
        shared.append(cut or (found is not None and (found.fold is not None or bool(found.leaps))))
        return found

    def small_caches(*facts: int, **named: int) -> CpuMachine:
        given: Any = {"l2": l2, "far": far, "sets": 1, "ways": 8, "unaligned": unaligned}
        return CpuMachine(*facts, **{**named, **given})

    unaligned = choice.choice((0.75, 100.0))
    l2, far = choice.choice((1 << 12, 1 << 14, 1 << 16)), choice.choice((8, 64))

    # Panels that hold little, so that blocks of all kinds occur in small programs.
    monkeypatch.setattr(catalogue, "CpuMachine", small_caches)
    monkeypatch.setattr(packing, "LEAST_STEPS", choice.choice((1, 4)))
    monkeypatch.setattr(packing, "LEAST_REUSE", 1)
    # Code that is not worth compiling for small programs.
    monkeypatch.setattr(plans, "MUCH_CODE", choice.choice((1 << 8, 1 << 20)))
    monkeypatch.setattr(search, "cost", lambda *_: choice.random())
    monkeypatch.setattr(plans, "tiling_of", chosen)
    monkeypatch.setattr(plans, "_suffers", lambda *_: False)
    monkeypatch.setattr(chains, "LEAST_BYTES", 0)
    monkeypatch.setattr(catalogue, "RANGES", 1)
    monkeypatch.setattr(chains, "NEAR", choice.choice((1 << 6, 1 << 10, 1 << 14)))
    for key, value in run().items():
        if any(shared):
            tolerance = 1e-5 if value.dtype == np.float32 else 1e-13
            np.testing.assert_allclose(value, expected[key], rtol=tolerance, atol=tolerance * 10)
        else:
            np.testing.assert_array_equal(value, expected[key])


@pytest.mark.parametrize("vectors", [(16, 12), (32, 12)])
@pytest.mark.parametrize("name", ["contraction", "contraction of f32", "strided", "kinds", "sizes"])
def test_smaller_vectors(name: str, vectors: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Processors with smaller vectors, and fewer of them, compute the same."""
    run = compiled(PROGRAMS[name])
    expected = run()
    monkeypatch.setattr(processors, "host_vectors", lambda: vectors)
    for key, value in run().items():
        tolerance = 1e-5 if value.dtype == np.float32 else 1e-13
        np.testing.assert_allclose(value, expected[key], rtol=tolerance, atol=tolerance * 10)


@pytest.mark.parametrize("terms", [0, 1, 300])
def test_blocks_of_a_sum_whose_size_is_known_late(terms: int) -> None:
    """A sum in blocks is stored once at least, also where it has no terms."""
    f = tadc.function("a: f32[I, N]\nb: f32[J, N]\nf[i, j] = sum{k} (a[i, k] * b[j, k])")
    numbers = np.random.default_rng(3)
    a, b = (numbers.uniform(-1, 1, (n, terms)).astype("f4") for n in (150, 170))
    result = np.full((150, 170), 7.0, "f4")
    f(a, b, out=result)
    np.testing.assert_allclose(result, a @ b.T, rtol=1e-4, atol=1e-5)


PRODUCTS = {
    "rows and columns": ("a: f32[213, 301]; b: f32[301, 530]", "a[i, k] * b[k, j]", "ik,kj->ij"),
    "columns": ("a: f32[301, 213]; b: f32[301, 530]", "a[k, i] * b[k, j]", "ki,kj->ij"),
    "columns of few": ("a: f32[700, 613]; b: f32[700, 70]", "a[k, i] * b[k, j]", "ki,kj->ij"),
    "rows": ("a: f32[213, 301]; b: f32[530, 301]", "a[i, k] * b[j, k]", "ik,jk->ij"),
    "two indices": ("a: f32[5, 213, 301]; b: f32[5, 530, 301]", "a[k, i, l] * b[k, j, l]", "kil,kjl->ij"),
    "two columns": ("a: f32[5, 301, 213]; b: f32[5, 301, 530]", "a[k, l, i] * b[k, l, j]", "kli,klj->ij"),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_panels_on_threads(name: str) -> None:
    """Products large enough for panels in blocks are right, and the same on any number of threads."""
    arguments, factors, formula = PRODUCTS[name]
    f = tadc.function(f"{arguments}\nf[i, j] = sum{{{'k, l' if 'l' in formula else 'k'}}} ({factors})")
    numbers = np.random.default_rng(5)
    a, b = (numbers.uniform(-1, 1, shape_at(x.shape, {})).astype("f4") for x in f.program.arguments)
    before = tadc.get_num_threads()
    results: set[bytes] = set()
    try:
        for count in (1, 2, 3):
            tadc.set_num_threads(count)
            results.add(f(a, b).tobytes())
    finally:
        tadc.set_num_threads(before)
    want = np.einsum(formula, a.astype("f8"), b.astype("f8"))
    np.testing.assert_allclose(
        np.frombuffer(results.pop(), "f4").reshape(want.shape), want, rtol=1e-4, atol=1e-3
    )
    assert not results
