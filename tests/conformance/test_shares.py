"""Shares in sums of exponentials, however their logarithms are written, where elements are infinite too."""

from __future__ import annotations

import numpy as np
import pytest

import tadc
from tadc.analysis.statistics import compiled_form
from tadc.frontend.printer import print_program

LOG_SHARES = """x: f64[N, M]; w: f64[N, M]
let a[i: N, j: M] = x[i, j] - logsumexp{k} (x[i, k])
"""


def test_shares_of_stored_logarithms_are_exponentials_once() -> None:
    f = tadc.function(LOG_SHARES + "l = sum{i, j} (exp(a[i, j])*(a[i, j] - w[i, j]))")
    text = print_program(compiled_form(f.at({"N": 30, "M": 20}).program, "value-and-vjp"))
    assert text.count("exp(") - text.count("sumexp(") == 1


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_shares_where_elements_are_infinite() -> None:
    f = tadc.function(LOG_SHARES + "p[i, j] = exp(a[i, j])*w[i, j]; s[i] = sum{j} (a[i, j]*w[i, j])")
    x = np.zeros((4, 5))
    x[0, 1:3], x[1], x[2, 4], x[3] = -np.inf, -np.inf, np.inf, 800.0
    found = f(x=x, w=np.ones((4, 5))).p
    share = np.exp(x - np.logaddexp.reduce(x, axis=1)[:, None])
    np.testing.assert_allclose(found, share, rtol=1e-14)


@pytest.mark.parametrize("t", [0.25, -2.0])
def test_maxima_with_a_temperature(t: float) -> None:
    """The greatest element that is taken away first leaves nothing of itself in the derivative."""
    f = tadc.function("""x: f64[N, M]; t: f64
    let m[i: N] = max{j} (x[i, j])
    f[i] = m[i] + t*log(sum{j} (exp((x[i, j] - m[i])/t)))""")
    x = np.random.default_rng(3).uniform(-1, 1, (4, 5))
    e = np.exp(x / t)
    total = e.sum(axis=1)
    np.testing.assert_allclose(f(x=x, t=t), t * np.log(total), rtol=1e-13)
    g = tadc.vjp(f)(x=x, t=t, df=np.ones(4))
    np.testing.assert_allclose(g.dx, e / total[:, None], rtol=1e-12)
    mean = (e * x).sum(axis=1) / total
    np.testing.assert_allclose(g.dt, (np.log(total) - mean / t).sum(), rtol=1e-11)
    assert "max" not in str(tadc.vjp(f))
