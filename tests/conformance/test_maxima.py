"""Derivatives of maxima and minima over computed values, and the convention at ties at orders 1 to 3."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

import tadc
from tests.fuzz.maxima import contraction

pytestmark = pytest.mark.filterwarnings("ignore::tadc.CompileWarning")

Array = NDArray[np.float64]
ROUNDS = 12


def correlation(w: Array, x: Array, dm: Array) -> tuple[Array, ...]:
    """The gradients of the largest correlation."""
    windows = np.lib.stride_tricks.sliding_window_view(x, len(w))
    best = int(np.argmax(windows @ w))
    dx = np.zeros_like(x)
    dx[best : best + len(w)] = w * dm
    return windows[best] * dm, dx


def nearest(x: Array, y: Array, dm: Array) -> tuple[Array, ...]:
    """The gradients of the largest inner product with a row."""
    best = np.argmax(x @ y.T, axis=1)
    dy = np.zeros_like(y)
    np.add.at(dy, best, x * dm[:, None])
    return y[best] * dm[:, None], dy


def product_of_four(b: Array, c: Array, du: Array) -> tuple[Array, ...]:
    """The gradients of the least product of four elements, three of them of one tensor."""
    db, dc, count, m = np.zeros_like(b), np.zeros_like(c), len(c), 4
    for i, d in enumerate(du.sum(axis=0)):
        values = [b[m, k] * b[i + m, 2 * m - 6] * c[k] * b[2 * k + 2, k] for k in range(count - m + 2)]
        k = int(np.argmin(values))
        places = [(m, k), (i + m, 2 * m - 6), (2 * k + 2, k)]
        for n, place in enumerate(places):
            others = [b[other] for other in places[:n] + places[n + 1 :]]
            db[place] += d * c[k] * np.prod(others)
        dc[k] += d * np.prod([b[place] for place in places])
    return db, dc


CORRELATION = "w: f64[K]\nx: f64[N]\nm = max{i: N - K + 1} (sum{k} (w[k]*x[i + k]))"
NEAREST = """x: f64[P, 5]
y: f64[Q, 5]
m[i] = max(max{j} (sum{d} (x[i, d]*y[j, d])), sum{d} (x[i, d]*y[0, d]))"""
FOUR = """size N
size M
b: f64[2*N + M + 2, N + M]
c: f64[N + M]
u[l: N + M, i: (N + M) // 2] = min{k: N + 2} (b[M, k]*(b[i + M, 2*M - 6]*(c[k]*b[2*k + 2, k])))"""
PROGRAMS = {
    "correlation": (CORRELATION, correlation, [(37,), (200,), ()], {}),
    "nearest": (NEAREST, nearest, [(9, 5), (6, 5), (9,)], {}),
    "four factors": (FOUR, product_of_four, [(16, 9), (9,), (9, 4)], {"N": 5, "M": 4}),
}


@pytest.mark.parametrize("fast", [False, True], ids=["", "fast-math"])
@pytest.mark.parametrize("type", ["f64", "f32"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients(name: str, type: str, fast: bool) -> None:
    """The element that won gets the derivative, however its loops round."""
    text, expected, shapes, sizes = PROGRAMS[name]
    gradient = tadc.compile(tadc.vjp(tadc.function(text.replace("f64", type))), fast_math=fast)
    rng = np.random.default_rng(0)
    for _ in range(ROUNDS):
        arrays = [rng.normal(size=shape).astype(type.replace("f", "float")) for shape in shapes]
        for got, want in zip(gradient(*arrays, **sizes), expected(*arrays), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("options", [{"materialize": "never"}, {"memory_limit": 0}])
def test_no_option_makes_a_gradient_wrong(options: dict[str, object]) -> None:
    gradient = tadc.grad(tadc.function(CORRELATION), **options)  # pyright: ignore[reportArgumentType]
    rng = np.random.default_rng(1)
    for _ in range(ROUNDS):
        w, x = rng.normal(size=37), rng.normal(size=200)
        for got, want in zip(gradient(w, x), correlation(w, x, np.ones(())), strict=True):
            np.testing.assert_allclose(got, want)


#: Maxima at a tie of three cubes, and the part of its derivative that each element gets.
TIES: dict[str, Sequence[float]] = {
    "max{k} (x[k]**3)": (1 / 3, 1 / 3, 1 / 3),
    "min{k} (x[k]**3)": (1 / 3, 1 / 3, 1 / 3),
    "max(x[0]**3, max{k} (x[k]**3))": (2 / 3, 1 / 6, 1 / 6),
    "max{j: 2} (max{k: j + 2} (x[k]**3))": (5 / 12, 5 / 12, 1 / 6),
    "max(x[0]**3, 1)": (1 / 2, 0, 0),
    "min(x[2]**3, max(x[0]**3, x[1]**3))": (1 / 4, 1 / 4, 1 / 2),
    "relu(x[0]**3 - 1)": (0, 0, 0),
    "abs(x[0]**3 - 1)": (0, 0, 0),
}


#: Each mode after each, at orders 2 and 3; the other four at order 3 are slow.
ALL = ["vjp vjp", "vjp jvp", "jvp vjp", "jvp jvp", "vjp vjp vjp", "vjp jvp vjp", "jvp vjp jvp", "jvp jvp jvp"]
SLOW = ["vjp vjp jvp", "vjp jvp jvp", "jvp vjp vjp", "jvp jvp vjp"]


@pytest.mark.parametrize("modes", [*ALL, *(pytest.param(m, marks=pytest.mark.slow) for m in SLOW)])
def test_elements_that_tie_share_all_derivatives(modes: str) -> None:
    """A maximum has the mean of the derivatives of the elements that tie, at any order, by any modes."""
    names = [f"f{n}" for n in range(len(TIES))]
    lines = ["x: f64[3]", *(f"{name} = {text}" for name, text in zip(names, TIES, strict=True))]
    text = "\n".join(lines).replace("max{k: j + 2}", "max{k}_0^(j + 1)")
    rng = np.random.default_rng(0)
    directions = [{"x": rng.normal(size=3)} for _ in modes.split()]
    weights = {name: np.asarray(rng.normal()) for name in names}
    x = np.ones(3)
    got = contraction(tadc.function(text), {"x": x}, directions, weights, modes.split(), {}, fast=False)
    # The second and the third derivative of x**3 at 1 are 6.
    each = 6 * np.prod([d["x"] for d in directions], axis=0)
    parts = np.array(list(TIES.values())) @ each
    want = float(np.array([float(w) for w in weights.values()]) @ parts)
    np.testing.assert_allclose(got, want, rtol=1e-12)


BEYOND = """size K
x: f64[6]
y: f64[9]
f = sum{i: 4} (if {i >= K} then (max(y[0]*y[1]*y[2], sum{p: 3} (x[p + 3 - K]*y[p]))) else (0))"""


@pytest.mark.parametrize("shift", range(5))
def test_what_is_in_range_for_an_index_that_is_summed_away(shift: int) -> None:
    """The sum is stored though it is in range for K <= 3 alone, which no index of its own says."""
    gradient = tadc.vjp(tadc.function(BEYOND))
    assert str(gradient).count("sum{p}") == 1
    x, y = np.arange(6) / 3, np.arange(1, 10) / 4
    dx, dy = np.zeros(6), np.zeros(9)
    if shift < 4:
        taken = slice(3 - shift, 6 - shift)
        if np.prod(y[:3]) < x[taken] @ y[:3]:
            dx[taken], dy[:3] = (4 - shift) * y[:3], (4 - shift) * x[taken]
        else:
            dy[:3] = (4 - shift) * np.prod(y[:3]) / y[:3]
    for found, wanted in zip(gradient(x, y, 1.0, K=shift), (dx, dy), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-14)
