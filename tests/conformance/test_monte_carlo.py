"""Monte Carlo against first order where that is exact, and where it is not."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tadc
from tests.conformance.test_uncertainty import CORR, IMPEDANCE, PROGRAMS, U, impedance, inputs_of


def test_monte_carlo() -> None:
    """Of a linear function it is the GUM's; the same seed gives the same; t has a larger spread."""
    f = tadc.function("a: f64; b: f64; y = 2*a - b; z = a")
    at, u, corr = {"a": 1.0, "b": 2.0}, {"a": 0.1, "b": 0.3}, {("a", "b"): 0.8}
    first = tadc.propagate(f, at, u=u, corr=corr)

    def python(a: float, b: float) -> dict[str, float]:
        return {"y": 2 * a - b, "z": a}

    for fn in (f, python):
        r = tadc.propagate(fn, at, u=u, corr=corr, method="mc", samples=40_000, seed=3)
        again = tadc.propagate(fn, at, u=u, corr=corr, method="mc", samples=40_000, seed=3)
        assert (r.value, r.u, r.bounds) == (again.value, again.u, again.bounds)
        assert r.u["y"] == pytest.approx(first.u["y"], rel=0.03)
        assert r.value["y"] == pytest.approx(first.value["y"], abs=0.01)
        np.testing.assert_allclose(r.cov, first.cov, atol=2e-3)
        assert r.bounds["y"] == pytest.approx(first.bounds["y"], abs=0.03)
        other = tadc.propagate(fn, at, u=u, corr=corr, method="mc", samples=40_000, seed=4)
        assert other.u != r.u
        t = tadc.propagate(fn, at, u=u, dof={"a": 5, "b": 5}, method="mc", samples=40_000)
        assert t.u["z"] == pytest.approx(0.1 * math.sqrt(5 / 3), rel=0.05)


def test_monte_carlo_of_many_and_of_arrays() -> None:
    at = {"V": np.array([4.0, 5.0]), "I": 0.02, "phi": 1.0}
    for fn in (tadc.function(IMPEDANCE), impedance):
        first = tadc.propagate(fn, at, u=U, corr=CORR)
        r = tadc.propagate(fn, at, u=U, corr=CORR, method="mc", samples=20_000)
        assert r.cov.shape == (2, 3, 3)
        for name in ("R", "X", "Z"):
            np.testing.assert_allclose(r.u[name], first.u[name], rtol=0.05)
    f = tadc.function(PROGRAMS["matrix"][0])
    at, u = inputs_of("matrix")
    r = tadc.propagate(f, at, u=u, method="mc", samples=20_000)
    np.testing.assert_allclose(r.u["y"], tadc.propagate(f, at, u=u).u["y"], rtol=0.06)
    assert r.cov.shape == (6, 6)


def test_monte_carlo_sees_what_is_not_linear() -> None:
    """x**2 at 0: first order says 0; the samples are u**2 times chi square of one degree of freedom."""
    f = tadc.function("x: f64; y = x**2")
    assert tadc.propagate(f, {"x": 0.0}, u={"x": 1.0}).u["y"] == 0
    r = tadc.propagate(f, {"x": 0.0}, u={"x": 1.0}, method="mc")
    assert (r.value["y"], r.u["y"]) == (pytest.approx(1, rel=0.03), pytest.approx(math.sqrt(2), rel=0.03))
    assert r.bounds["y"][1] == pytest.approx(5.2, abs=0.15)  # the square of the 0.98862 quantile, 2.278
