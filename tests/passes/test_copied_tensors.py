"""Copies that are not made: what reads them reads what they copy, and results are computed in place."""

from __future__ import annotations

import numpy as np

import tadc


def maps(f: tadc.Function) -> list[str]:
    """The tensors that are computed, in order."""
    lines = f.lower().as_text("nest").splitlines()
    return [line.split()[1].split("(")[0] for line in lines if line.startswith("nest ")]


def test_a_result_that_copies_a_recurrence_is_it() -> None:
    """The copy of an argument before it is none either."""
    f = tadc.function(
        """x: f64[9]
let v[t: 9] = x[t]
let scan{t} h[t: 8] = v[t + 1] + if {t >= 1} then (0.5*h[t - 1]) else (0)
y[t: 8] = h[t]
z = sum{t} (h[t])"""
    )
    assert maps(f) == ["y", "z"]
    x, wanted, last = np.arange(9.0), [], 0.0
    for value in x[1:]:
        last = value + 0.5 * last
        wanted.append(last)
    y, z = f(x=x)
    np.testing.assert_allclose(y, wanted)
    np.testing.assert_allclose(z, sum(wanted))


def test_results_keep_their_order() -> None:
    """A copy behind another result stays: callers know results by their order."""
    f = tadc.function("x: f64[9]\nlet h[t: 9] = exp(x[t])\nz = sum{t} (h[t])\ny[t: 9] = h[t]\nw[t: 9] = h[t]")
    x = np.arange(9.0)
    z, y, w = f(x=x)
    np.testing.assert_allclose(z, np.exp(x).sum())
    np.testing.assert_allclose(y, np.exp(x))
    np.testing.assert_allclose(w, np.exp(x))


def test_a_transposed_copy_stays() -> None:
    """It may be a better order in memory."""
    f = tadc.function("x: f64[9, 9]\nlet h[i: 9, j: 9] = x[j, i]\ny[i: 9] = sum{j: 9} (h[i, j]**2)")
    assert maps(f) == ["h", "y"]
