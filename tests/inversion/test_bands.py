"""Bands on one side: recurrences whose quotients cancel, and those that divide, against dense solutions."""

import numpy as np
import pytest

import tadc
from tadc.apps.undoing.solutions.ratios import ratio
from tadc.frontend.terms import Terms
from tadc.lattice.affine import Affine
from tadc.passes.terms.algebra import Algebra
from tests.inversion.checking import compare

NEAR = "(if {i > 0} then (a[i]*x[i - 1]) else (0))"
FAR = "(if {i > 2} then (b[i]*x[i - 3]) else (0))"
AFTER = "(if {i < 12} then (a[i]*x[i + 1]) else (0))"
TEXTS = {
    "common factor": f"y[i] = tanh(3*x[i] + {NEAR} + {FAR})",
    "its negative": f"y[i] = exp(-3*x[i] - {NEAR} + {FAR})",
    "constant pivots": f"y[i] = 3*x[i] + {NEAR} + {FAR}",
    "a factor each": f"y[i] = sin(x[i])*b[i] + 3*x[i] + {NEAR}",
    "expensive factors": "y[i] = 3*x[i] + (if {i > 0} then (exp(a[i])*sin(x[i - 1])) else (0))",
    "only the far one": f"y[i] = (2 + b[i]**2)*x[i] + {FAR}",
    "above": f"y[i] = tanh(3*x[i] + {AFTER})",
    "every second": "y[i] = tanh(2*x[i] + (if {i > 0 and i % 2 = 0} then (a[i]*x[i - 1]) else (0)))",
    "two layers": f"let h[i] = tanh(2*x[i] + {NEAR}); "
    "y[i] = tanh(2*h[i] + (if {i > 1} then (b[i]*h[i - 2]) else (0)))",
}


@pytest.mark.parametrize("name", TEXTS)
def test_against_dense_solutions(name: str) -> None:
    f = tadc.function(f"x: f64[13]; a: f64[13]; b: f64[13]; {TEXTS[name]}")
    inverse = tadc.inverse(f, "x")
    assert any("triangular" in step.kind for step in inverse.plan.steps)
    random = np.random.default_rng(0)
    given = {"x": 0.5 * random.standard_normal(13), "a": random.standard_normal(13)}
    given["b"] = random.standard_normal(13)
    arguments = [given[argument] for argument in f.inputs]
    jacobian = np.asarray(tadc.jacobian(f, wrt="x")(*arguments))
    compare(inverse, arguments, jacobian)


def test_a_common_factor_of_0_is_a_pivot_of_0() -> None:
    """The quotient that is left is a number; the pivot is not."""
    f = tadc.function("x: f64[6]; y[i] = (x[i] + (if {i > 0} then (x[i - 1]) else (0)))**2")
    inverse = tadc.inverse(f)
    at = np.array([1.0, 2.0, -2.0, 1.0, 1.0, 1.0])
    for product in (inverse.jinv, inverse.jinvT):
        with pytest.raises(tadc.ArgumentError) as error:
            product(at, np.ones(6))
        assert "of `y` at element [2] is 0" in error.value.diagnostics[0].notes[0]
    at[2] += 1e-15
    with pytest.warns(tadc.CompileWarning, match="can hardly be inverted"):
        inverse.jinv(at, np.ones(6))


def test_small_common_factors_do_not_underflow() -> None:
    f = tadc.function("x: f64[4]; s: f64; y[i] = s*(x[i] + (if {i > 0} then (.5*x[i - 1]) else (0)))")
    with pytest.warns(tadc.CompileWarning, match="can hardly be inverted"):
        found = tadc.inverse(f, "x").jinv({"x": np.zeros(4), "s": 1e-200}, 1e-200 * np.ones(4))
    np.testing.assert_allclose(found, [1, 0.5, 0.75, 0.625], rtol=1e-15)


def test_scaled_permutation_of_small_factors() -> None:
    f = tadc.function("x: f64[4]; s: f64; y[i: 4] = s*x[3 - i]")
    with pytest.warns(tadc.CompileWarning, match="can hardly be inverted"):
        found = tadc.inverse(f, "x").jinv({"x": np.zeros(4), "s": 1e-200}, np.arange(1.0, 5))
    np.testing.assert_allclose(found, [4e200, 3e200, 2e200, 1e200], rtol=1e-15)


def test_ratios() -> None:
    algebra = Algebra(Terms())
    i = [Affine.var("i")]
    a, b, c = (algebra.terms.read(name, i, "f64") for name in "abc")
    two = algebra.const(2)
    assert ratio(algebra, algebra.mul(algebra.mul(two, a), b), algebra.mul(b, two)) is a
    assert ratio(algebra, algebra.neg(a), algebra.mul(two, a)) is algebra.const(-0.5)
    assert ratio(algebra, algebra.mul(a, b), algebra.mul(a, c)) is None
    assert ratio(algebra, a, algebra.mul(a, a)) is None
    assert ratio(algebra, a, algebra.zero) is None
