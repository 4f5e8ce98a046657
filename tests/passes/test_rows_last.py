"""Chains of short rows, which have the rows last in memory, and short vectors of a few copies or steps."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tadc

CHAIN = """r: TYPE[E, 3, 3]
let f[e, a, b] = sum{k} (r[e, k, a]*r[e, k, b])
y[e, a] = sum{b} (f[e, a, b]*f[e, b, a] + r[e, a, b])"""


@pytest.mark.parametrize("type", ["f32", pytest.param("f64", marks=pytest.mark.sweep)])
def test_a_chain_of_short_rows(type: str) -> None:
    count = 12_007
    f = tadc.function(CHAIN.replace("TYPE", type), sizes={"E": count})
    assert f"memref<3x3x{count}x{type}>" in f.lower().as_text("loops")
    r = np.random.default_rng(0).standard_normal((count, 3, 3)).astype(type.replace("f", "float"))
    f_all = np.einsum("eka,ekb->eab", r, r)
    expected = (f_all * f_all.swapaxes(1, 2) + r).sum(2)
    np.testing.assert_allclose(tadc.compile(f)(r), expected, rtol=1e-3 if type == "f32" else 1e-10, atol=1e-3)


@pytest.mark.parametrize("type", ["f32", "f64"])
@pytest.mark.parametrize("width", [3, 4, 2, 5])
def test_rows_of_a_few_elements_at_places_of_an_array(width: int, type: str) -> None:
    text = f"""at: index[P] in N; x: {type}[N, {width}]
y[p, k] = 2*x[at[p], k]; s[p] = sum{{k}} (x[at[p], k]**2)"""
    rows, count = 11, 53
    f = tadc.function(text, sizes={"P": count, "N": rows})
    # No element is read beyond the last row.
    assert width != 3 or "vector.maskedload" in f.lower().as_text("loops")
    random = np.random.default_rng(width)
    x = random.standard_normal((rows, width)).astype(type.replace("f", "float"))
    at = random.integers(0, rows, count)
    at[-1] = rows - 1
    y, s = tadc.compile(f)(at, x)
    np.testing.assert_array_equal(y, 2 * x[at])
    np.testing.assert_allclose(s, (x[at] ** 2).sum(1), rtol=1e-5)


def test_what_a_sum_over_a_fibre_adds_up_is_computed_before() -> None:
    text = """tet: index[E, 4] in N; w: f64[E, 3, 3]; r: f64[E, 3, 3]
y[n: N, a: 3] = sum{e, k: 3: tet[e, k + 1] = n} (sum{b: 3} (w[e, a, b]*r[e, k, b]))"""
    f = tadc.function(text, sizes={"E": 29, "N": 7})
    assert "tad.map (%e, %k, %a) -> tensor<29x3x3xf64>" in f.lower().as_text("hoist")
    random = np.random.default_rng(0)
    tet, w, r = random.integers(0, 7, (29, 4)), random.random((29, 3, 3)), random.random((29, 3, 3))
    expected = np.zeros((7, 3))
    np.add.at(expected, tet[:, 1:], np.einsum("eab,ekb->eka", w, r))
    np.testing.assert_allclose(tadc.compile(f)(tet, w, r), expected)


POLYNOMIALS = """x: f64[N]; c: f64[9]
let scan{k} t[i: N, k: 9] = if {k = 0} then (1) else (
    if {k = 1} then (x[i]) else (2*x[i]*t[i, k - 1] - t[i, k - 2]))
f[i] = sum{k} (c[k]*t[i, k])"""


def test_the_steps_of_a_recurrence_in_between_are_rows() -> None:
    """Lanes are points, side by side in each step; beside other rows steps stay where they are."""
    f = tadc.function(POLYNOMIALS, sizes={"N": 100})
    loops = tadc.value_and_vjp(f).lower().as_text("loops")
    assert "memref<9x100xf64>" in loops
    assert "memref<100x9xf64>" not in loops
    random = np.random.default_rng(0)
    x, c, df = random.uniform(-1, 1, 100), random.random(9), random.random(100)
    found = tadc.value_and_vjp(f)(x, c, df)
    series = np.polynomial.Chebyshev(c)
    np.testing.assert_allclose(found.f, series(x))
    np.testing.assert_allclose(found.dx, df * series.deriv()(x))
    np.testing.assert_allclose(found.dc, df @ np.polynomial.chebyshev.chebvander(x, 8))
    text = POLYNOMIALS.replace("(c[k]*", "(y[i, k]*").replace("c: f64[9]", "y: f64[N, 9]")
    assert "memref<100x9xf64>" in tadc.function(text, sizes={"N": 100}).lower().as_text("loops")


STEPS = """x: f64[T, N, H]; u: f64[H, H]; v: f64[H, H]
scan{t} h[t: T, n: N, i: H] = if {t = 0} then (x[0, n, i]) else (
    h[t - 1, n, i]*sum{j} (u[i, j]*h[t - 1, n, j]) + tanh(x[t, n, i] + sum{j} (v[j, i]*h[t - 1, n, j])))"""


@pytest.mark.parametrize("sizes", [None, {"T": 9, "N": 3, "H": 33}])
def test_steps_read_copies_of_what_none_of_them_changes(sizes: dict[str, int] | None) -> None:
    f = tadc.function(STEPS, sizes=sizes)
    g = tadc.value_and_vjp(f)
    assert "copy u last 0: h\n" in f.lower().schedule
    assert "copy v last 0: dh_" in g.lower().schedule
    assert "copy" not in tadc.function(STEPS, sizes=sizes, memory_limit="1M").lower().schedule

    def steps(x: jax.Array, u: jax.Array, v: jax.Array) -> jax.Array:
        h = [x[0]]
        for each in x[1:]:
            h.append(h[-1] * (h[-1] @ u.T) + jnp.tanh(each + h[-1] @ v))
        return jnp.stack(h)

    random = np.random.default_rng(0)
    x, u, v, dh = (random.normal(0, 0.2, shape) for shape in ((9, 3, 33), (33, 33), (33, 33), (9, 3, 33)))
    h, back = jax.vjp(steps, x, u, v)
    for found, expected in zip(g(x, u, v, dh), (h, *back(dh)), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
