"""Powers of roots as plain powers, where both sides have a value."""

from __future__ import annotations

import numpy as np
import pytest

import tadc

#: Formulas, and what they are where derivatives are taken.
PLAIN = [
    ("abs(x)**4", "x**4"),
    ("abs(x)*x*abs(x)", "x * x**2"),
    ("cbrt(x)**6", "x**2"),
    ("cbrt(x)*cbrt(x)**2", "x"),
    ("cbrt(x**3)", "x"),
    ("sqrt(x**2)", "abs(x)"),
    ("sqrt(x**6)", "abs(x)**3"),
    ("(x**2)**0.75", "abs(x)**1.5"),
    ("sqrt(x**2)**2", "x**2"),
    ("sqrt(1 + x**2)**4", "(1 + x**2)**2"),
    ("sqrt(x**2 + 1)*sqrt(x**2 + 1)", "x**2 + 1"),
    ("exp(log(x**2))", "x**2"),
    ("sqrt(exp(x)**2)", "exp(x)"),
]
#: Formulas that have fewer values, or others.
KEPT = ["sqrt(x)**2", "cbrt(x)**2", "exp(log(x))", "sqrt(x**3)", "abs(x)**3", "sqrt(x**-2)"]


@pytest.mark.parametrize(("formula", "wanted"), PLAIN)
def test_plain_powers(formula: str, wanted: str) -> None:
    f = tadc.function(f"x: f64; f = {formula}")
    g, h = tadc.jvp(f), tadc.jvp(tadc.function(f"x: f64; f = {wanted}"))
    assert str(g) == str(h)
    for x in (-1.7, 0.0, 0.3):
        np.testing.assert_allclose(g(x=x, x_dot=1.0)[0], eval(f"np.float64({_numpy(formula)})"), rtol=1e-14)


def _numpy(formula: str) -> str:
    for name in ("abs", "cbrt", "sqrt", "exp", "log"):
        formula = formula.replace(f"{name}(", f"np.{name}(")
    return formula


@pytest.mark.parametrize("formula", KEPT)
def test_what_stays(formula: str) -> None:
    g = tadc.jvp(tadc.function(f"x: f64; f = {formula} + sqrt(2 + x)"))
    assert f"f = {formula} + sqrt(2 + x)" in str(g)


def test_through_definitions() -> None:
    g = tadc.jvp(tadc.function("x: f64; let r = sqrt(x**2); let c = cbrt(x); f = r*c*c*c*r"))
    assert "f = x**2 * x" in str(g)
