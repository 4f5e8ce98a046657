"""Long reductions in parts, against NumPy and for any number of threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import logsumexp

import tadc
from tadc.compiler.all_stages import compile_until
from tadc.compiler.compile_options import Options
from tadc.compiler.run_passes import run_passes
from tadc.compiler.stages import Compilation, fuse
from tadc.dialect.program_reader import tad_functions
from tadc.frontend.source import Source
from tadc.passes.maps.buffers import maps_of
from tests.backend.kernels import on_host

Array = NDArray[np.float64]

KINDS: dict[str, Callable[[Array], Any]] = {
    "sum": np.sum,
    "prod": np.prod,
    "max": lambda x: np.max(x, initial=-np.inf),
    "min": lambda x: np.min(x, initial=np.inf),
    "logsumexp": logsumexp,
}


def maps(text: str, wanted: str = "", gpu: bool = False) -> list[tuple[int, ...]]:
    """The shapes of the maps after cutting, -1 for what is no number."""
    state = Compilation(Options(), Source(text, "<string>"))
    compile_until(state, "hoist")
    run_passes(state.module, "tad-cut{gpu=sm_90}" if gpu else "tad-cut")
    (function,) = tad_functions(state.module.operation)
    return [
        tuple(-1 if n < 0 else n for n in op.results[0].type.shape)
        for op in maps_of(function)
        if wanted in op.attributes or not wanted
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_any_size(kind: str) -> None:
    """One index, whose number of values is no multiple of anything, or of everything, or 0."""
    f = tadc.compile(tadc.function(f"x: f64[N]\ns = 2 * {kind}{{i}} (1 + x[i])"))
    assert len(on_host(f.kernel).temporaries) == 1
    for n in (0, 1, 47, 48, 49, 10**4, 2**15, 2**15 + 1, 10**5):
        x = np.random.default_rng(n).uniform(-1e-3, 1e-3, n)
        if not (kind == "logsumexp" and n == 0):
            np.testing.assert_allclose(f(x), 2 * KINDS[kind](1 + x), rtol=1e-12)
    assert len(on_host(f.kernel).temporaries) == 1


@pytest.mark.parametrize("shape", [(0, 5), (1, 1), (47, 9), (48, 16), (49, 17), (130, 0), (300, 33)])
def test_two_indices(shape: tuple[int, int]) -> None:
    """The inner one bounded by the outer one, too; a few elements of the output."""
    triangle = "sum{i, j} (if {i <= j} then (x[i, j]) else (0))"
    f = tadc.function(
        f"x: f64[N, M]\ns = sum{{i, j}} (x[i, j])\nt = {triangle}\nv[k: 3] = max{{i, j}} (k * x[i, j])\n"
        "w[k: 21] = sum{i, j} (if {i + j >= k} then (x[i, j]) else (0))"
    )
    x = np.random.default_rng(0).uniform(0, 1, shape)
    s, t, v, w = f(x)
    at = np.add.outer(*map(np.arange, shape))
    np.testing.assert_allclose(w, [x[at >= k].sum() for k in range(21)], rtol=1e-12)
    np.testing.assert_allclose(s, x.sum(), rtol=1e-12)
    np.testing.assert_allclose(t, np.triu(x).sum(), rtol=1e-12)
    most = x.max(initial=-np.inf)
    np.testing.assert_array_equal(v, [k * most if k or x.size else -np.inf for k in range(3)])


def test_what_is_cut() -> None:
    long = "x: f32[1000000]\ns = sum{i} (x[i]**2)"
    assert maps(long) == [(64, 1), ()]
    assert maps(long.replace("1000000", "10000")) == [()]
    assert maps(long.replace("1000000", "N")) == [(-1, 1), ()]
    # Of several elements each has parts; many elements are parts enough.
    assert maps("x: f32[N]\ns[k: 4] = sum{i} (x[i]**k)") == [(-1, 4, 1), (4,)]
    assert maps("x: f32[N]\ns[k: 40] = sum{i} (x[i]**k)") == [(40,)]
    # Vectors run along so many elements: no index is added.
    assert maps("x: f32[1000000]\ns[k: 12] = sum{i} (x[i]**k)") == [(42, 12), (12,)]
    # A few rows of unknown length: the columns are cut.
    assert maps("x: f32[3, N]\ns = sum{i, j} (x[i, j])") == [(-1, 1), ()]
    # A sum under a condition of the output is a tensor before.
    assert maps("x: f32[N]\ns[k: 2] = if {k = 0} then (sum{i} (x[i])) else (0)") == [(-1, 1), (), (2,)]


def test_rows_of_a_sum() -> None:
    """Each of many values of an outer index has a long sum: they are a tensor, which vectors may go along."""
    text = """x: f64[N, 3]; q: f64[N]
e = sum{i: N, j: N} (if {i != j} then (q[i]*q[j]/sqrt(sum{d} ((x[i, d] - x[j, d])**2))) else (0))"""
    assert maps(text.replace("N", "1500")) == [(1500,), ()]
    assert maps(text.replace("N", "1500"), gpu=True)[0] != (1500,)
    # Rows that share nothing.
    assert maps("x: f64[1500, 900]; s = sum{i, j} (x[i, j])") == [(63, 1), ()]
    f = tadc.compile(tadc.value_and_grad(tadc.function(text)), sizes={"N": 700})
    random = np.random.default_rng(3)
    x, q = random.normal(size=(700, 3)), random.normal(size=700)
    apart = x[:, None] - x
    inverse = 1 / (np.linalg.norm(apart, axis=2) + np.diag(np.full(700, np.inf)))
    e, dx, dq = f(x, q)
    np.testing.assert_allclose(e, q @ inverse @ q, rtol=1e-10)
    np.testing.assert_allclose(dq, 2 * inverse @ q, rtol=1e-10)
    expected = -2 * np.einsum("i,j,ij,ijd->id", q, q, inverse**3, apart)
    np.testing.assert_allclose(dx, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_what_is_cut_for_a_gpu() -> None:
    """Parts for all multiprocessors, as few as are worth a launch."""
    parts, one = maps("x: f32[100000000]; s = sum{i} (x[i])", gpu=True)
    assert one == ()
    assert 2 * 132 <= parts[0] <= 4 * 132
    assert maps("x: f32[N]; s = sum{i} (x[i])", gpu=True) == [(-1,), ()]
    assert maps("x: f32[30000]; s = sum{i} (x[i])", gpu=True) == [()]
    assert maps("x: f32[4, 10000000]; s[k] = sum{i} (x[k, i])", gpu=True) == [(132, 4), (4,)]
    # Elements enough for all.
    assert maps("x: f32[100, 1000000]; s[k] = sum{i} (x[k, i])", gpu=True) == [(100,)]


def test_contractions_of_few_elements_are_cut_for_a_gpu() -> None:
    """So that every block has a tile, in equal parts where there are; as many as all can use."""
    product = "a: f32[128, 40000]; b: f32[40000, 128]; f[i, j] = sum{k} (a[i, k] * b[k, j])"
    (parts, *tile), joined = maps(product, gpu=True)
    assert tile == [128, 128]
    assert joined == (128, 128)
    assert 20 <= parts <= 33
    assert 40000 % parts == 0
    assert maps(product) == [(128, 128)]
    # Too little to do; tiles for all; nothing that elements share; a size that is not known.
    assert maps(product.replace("40000", "400"), gpu=True) == [(128, 128)]
    assert maps(product.replace("128", "1280"), gpu=True) == [(1280, 1280)]
    each = "a: f32[128, 40000, 128]; f[i, j] = sum{k} (a[i, k, j]**2)"
    assert maps(each, gpu=True) == [(128, 128)]
    assert maps(product.replace("40000", "N"), gpu=True) == [(128, 128)]


def test_nothing_is_cut_where_nothing_may_be_stored() -> None:
    text = "x: f64[N]\ns = sum{i} (x[i])"
    for options in (Options(materialize="never"), Options(memory_limit=0)):
        state = Compilation(options, Source(text, "<string>"))
        compile_until(state, "loops")
        assert state.temporaries == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sizes", [{}, {"N": 400000}])
def test_threads(kind: str, sizes: dict[str, int]) -> None:
    """The same bits for any number of threads, with sizes known and unknown."""
    f = tadc.compile(tadc.function(f"x: f32[N]\ns = {kind}{{i}} (x[i] * cos(x[i]))"), sizes=sizes)
    x = np.random.default_rng(1).uniform(0.9, 1.1, 400000).astype("f4")
    before = tadc.get_num_threads()
    found: list[bytes] = []
    try:
        for count in (1, 2, 3, 2, 3):
            tadc.set_num_threads(count)
            found.append(np.asarray(f(x)).tobytes())
    finally:
        tadc.set_num_threads(before)
    assert len(set(found)) == 1


def test_gradients_of_a_loss() -> None:
    f = tadc.function("x: f64[N, M]; y: f64[N, M]\nloss = sum{i, j} ((x[i, j] - y[i, j])**2) / (N * M)")
    x, y = np.random.default_rng(0).uniform(-1, 1, (2, 150, 70))
    loss, dx, dy = tadc.value_and_grad(f)(x, y)
    np.testing.assert_allclose(loss, ((x - y) ** 2).mean(), rtol=1e-12)
    np.testing.assert_allclose(dx, 2 * (x - y) / x.size, rtol=1e-12)
    np.testing.assert_array_equal(dy, -dx)


def test_in_memory_as_on_a_module() -> None:
    """The stage that fuses cuts the program in memory; maps have the marks that the pass gives a module."""
    text = "x: f64[1000000]; f = sum{i} (exp(x[i]))"
    state = Compilation(Options(), Source(text, "<string>"))
    compile_until(state, "hoist")
    assert state.form is not None
    fuse(state)
    (function,) = tad_functions(state.module.operation)
    for mark in ("tad.parts", "tad.joined"):
        marked = [tuple(op.results[0].type.shape) for op in maps_of(function) if mark in op.attributes]
        assert marked == maps(text, mark)
        assert marked
