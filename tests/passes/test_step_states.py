"""What a derivative needs of the steps of a recurrence is a state: what that saves, and where none is."""

from __future__ import annotations

import numpy as np
import pytest

import tadc
from tests.conformance.test_scan import LSTM, NORMED

GRU = """
x: f64[T, 3, B, H]
u: f64[3, H, H]
scan{t} h[t: T + 1, n: B, i: H] = if {t = 0} then (0) else (
    (1 - sigmoid(x[t - 1, 1, n, i] + sum{j} (u[1, i, j]*h[t - 1, n, j])))
        * tanh(x[t - 1, 2, n, i] + sigmoid(x[t - 1, 0, n, i] + sum{j} (u[0, i, j]*h[t - 1, n, j]))
            * sum{j} (u[2, i, j]*h[t - 1, n, j]))
    + sigmoid(x[t - 1, 1, n, i] + sum{j} (u[1, i, j]*h[t - 1, n, j]))*h[t - 1, n, i])
"""
UNIT = """
x: f64[T, B, H]
u: f64[H, H]
v: f64[H, H]
let scan{2*t + c} h[n: B, t: T + 1, c: 2, i: H] = if {t = 0} then (0) else (
    if {c = 0} then (sigmoid(x[t - 1, n, i] + sum{j} (u[i, j]*h[n, t - 1, 1, j]))) else (
        (1 - h[n, t, 0, i])*h[n, t - 1, 1, i]
        + h[n, t, 0, i]*tanh(x[t - 1, n, i] + sum{j} (v[i, j]*h[n, t, 0, j]*h[n, t - 1, 1, j]))))
y[n: B, i: H] = h[n, T, 1, i]
"""
PLAIN = """
x: f64[T, B, H]
u: f64[H, H]
scan{t} h[t: T, n: B, i: H] = tanh(x[t, n, i] + if {t >= 1} then (sum{j} (u[i, j]*h[t - 1, n, j])) else (0))
"""
OVER_STATES = """
size T
x: f64[H]
u: f64[H, H]
let scan{t} h[t: T, i: H] = if {t = 0} then (x[i]) else (
    sigmoid(tanh(sum{j} (u[i, j]*h[t - 1, j])) - logsumexp{j} (u[i, j] + h[t - 1, j])))
y[i: H] = h[T - 1, i]
"""
SIZES = {"T": 8, "B": 3, "H": 32}


@pytest.mark.parametrize("text", [GRU, UNIT, LSTM, NORMED, PLAIN])
def test_gradients_of_cells_cost_three_times_the_value(text: str) -> None:
    """Each sum has one cotangent, and is computed once."""
    f = tadc.function(text)
    assert tadc.statistics(f, sizes={name: SIZES[name] for name in f.program.sizes}).ratio < 3.3


def test_what_is_told_by_the_value_or_has_no_room_is_no_state() -> None:
    """The slope of tanh is told by the element; with a limit of memory, sums are computed again."""
    assert "scan{t} h[t" in str(tadc.vjp(tadc.function(PLAIN)))
    gru = tadc.function(GRU)
    assert "h_steps" in str(tadc.vjp(gru))
    assert "h_steps" not in str(tadc.vjp(gru, memory_limit=1 << 20))


def test_a_state_may_be_over_others_alone() -> None:
    """The difference of two states has a value for each element, as they have."""
    f = tadc.function(OVER_STATES, sizes={"T": 4, "H": 16})
    random = np.random.default_rng(0)
    given = random.random(16), random.random((16, 16)), random.random(16)
    with_states, without = tadc.vjp(f), tadc.vjp(f, memory_limit=1 << 30)
    assert str(with_states) != str(without)
    for found, expected in zip(with_states(*given), without(*given), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-14)


def test_elements_of_a_diagonal_have_no_states_between_them() -> None:
    """They are computed in wavefronts, backwards too."""
    text = """d: f64[64, 64]
let scan{i + j} r[i: 64, j: 64] = d[i, j] + if {i = 0 and j = 0} then (0) else (
    if {i = 0} then (r[0, j - 1]) else (
    if {j = 0} then (r[i - 1, 0]) else (-logsumexp{p: 3} (-r[i - 1 + p // 2, j - (p + 1) % 2]))))
f = r[63, 63]"""
    gradient = str(tadc.grad(tadc.function(text)))
    assert "r_steps" not in gradient
    assert "let scan{i + j} r[i: 64, j: 64]" in gradient
