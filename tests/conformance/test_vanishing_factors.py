"""Derivatives at points where a factor is 0 and a slope infinite, against series of the formula by mpmath."""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import numpy as np
import pytest

import tadc
from tadc.passes.derivatives import coefficients
from tests.fuzz import zeros
from tests.fuzz.compare import Skipped

MP: Any = mpmath.mp
NAMES = {
    name: getattr(MP, name)
    for name in "sin cos tan sinh cosh tanh asin acos acosh atan exp log sqrt cbrt erf pi".split()
}
NAMES |= {"abs": abs, "sigmoid": lambda u: 1 / (1 + MP.exp(-u))}
NAMES |= {"atan2": MP.atan2, "asinh": MP.asinh, "max": max, "min": min, "relu": lambda u: max(u, 0)}
NAMES |= {"floor": MP.floor, "ceil": MP.ceil, "sign": MP.sign, "c": MP.mpf(1.5)}

#: Formulas of x with derivatives at x = 0 from above, though a root in them has none.
FORMULAS = [
    "sqrt(x)**2",
    "sqrt(x)*sqrt(x)",
    "(x**0.5)**2",
    "cbrt(x)**3",
    "cbrt(x)*cbrt(x)**2",
    "(x**0.25)**4",
    "sqrt(x)**6",
    "sqrt(2*x)*sqrt(3*x)",
    "tanh(sqrt(x))*sqrt(x)",
    "sin(sqrt(x))/(1 + x)*sqrt(x)",
    "cos(sqrt(x))",
    "cosh(2*sqrt(x)) + x",
    "log(cosh(sqrt(x)))",
    "exp(-3*sqrt(x)**2)",
    "acos(1 - x)**2",
    "cos(acos(1 - x))",
    "acosh(1 + x)**2",
    "(asin(1 - x) - pi/2)**2",
    "acos(1 - 2*x)*sin(acos(1 - 2*x))",
    "cos(x**0.5)*(2 + x)",
    "(cbrt(x)**3 + 1)**2",
    "sqrt(sin(x))**2",
    "sqrt(x + x**2)*tanh(sqrt(x + x**2))",
    "exp(log(x) + 2)",
    "exp(2*log(x))*cos(x)",
    "1/(1/x + 1/3)",
    "sqrt(1 - cos(sqrt(x)))**2",
    "sigmoid(sqrt(x)) * sigmoid(-sqrt(x))",
    "abs(x)**2 + abs(x)**4",
]


def series(formula: str, root: int, length: int) -> list[float]:
    """Coefficients of the formula in t, where x = t**root: a polynomial through its values at tiny t > 0."""
    with mpmath.workdps(60 * length):
        step = MP.mpf(10) ** -40
        nodes = [step * k for k in range(1, length + 1)]
        values = MP.matrix([eval(formula, {}, {**NAMES, "x": t**root}) for t in nodes])
        rows = MP.matrix([[(t / step) ** k for k in range(length)] for t in nodes])
        found = MP.lu_solve(rows, values)
        return [float(c / step**k) for k, c in enumerate(found)]


def expected(formula: str, order: int) -> list[float]:
    """The derivatives at 0 from above."""
    root = 6 if "cbrt" in formula else 4 if "0.25" in formula or "cos(sqrt" in formula else 2
    found = series(formula, root, root * order + 2)
    return [found[root * n] * float(MP.factorial(n)) for n in range(1, order + 1)]


def derivative(f: tadc.Function, given: dict[str, Any], modes: Sequence[str]) -> Any:
    """The derivative by x along x of the one output of f, of as many orders as there are modes."""
    output = next(iter(f.outputs))
    given = dict(given)
    for mode in modes:
        if mode == "vjp":
            f = tadc.vjp(f, wrt="x")
            for name, cotangent in f.cotangents.items():
                given[cotangent] = float(name == output)
            output = f.gradients["x"]
        else:
            f = tadc.jvp(f, wrt="x")
            given[f.tangents["x"]] = 1.0
            output = f.output_tangents[output]
    found = f(**given)
    return found if len(f.outputs) == 1 else getattr(found, output)


@pytest.mark.parametrize("formula", FORMULAS)
def test_third_order(formula: str) -> None:
    """By reverse mode, and by a random mix of modes."""
    modes = random.Random(formula).choices(("vjp", "jvp"), k=3)
    f = tadc.function(f"x: f64; f = {formula}")
    wanted = expected(formula, 3)
    for mix in (("vjp",) * 3, tuple(modes)):
        found = [float(derivative(f, {"x": 0.0}, mix[:n])) for n in (1, 2, 3)]
        np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-12, err_msg=f"{formula}: {mix}")


#: Roots t and what they are roots of: each t vanishes with x, and x is a series in t.
ROOTS = [
    "sqrt(x)",
    "sqrt(3*x)",
    "x**0.5",
    "cbrt(x)",
    "acos(1 - x)",
    "acosh(1 + x)",
    "sqrt(x + x**2)",
    "sqrt(sin(x))",
]
#: Functions that are smooth where their operand is small.
SMOOTH = [
    "sin({})",
    "cos({})",
    "tanh({})",
    "exp({})",
    "({})**2",
    "({})**3",
    "1/(2 + {})",
    "log(1 + {})",
    "sinh({})",
]
#: Functions with a kink, a step or an end elsewhere, and of two operands.
PIECEWISE = [
    "max({}, 0.37)",
    "min({}, 0.37)",
    "relu(2.3 - {})",
    "abs({} - 0.37)",
    "atan2({}, 0.7)",
    "atan2(0.7, {})",
    "(3 + ({})**2)**1.7",
    "log(2 + ({})**2)",
]


def random_formula(rng: random.Random, depth: int, functions: Sequence[str] = SMOOTH) -> str:
    """A formula of a root of x, and of x."""
    if depth == 0:
        return rng.choice([ROOT, ROOT, ROOT, "x", "2"])
    kind = rng.random()
    if kind < 0.45:
        return rng.choice(functions).replace("{}", random_formula(rng, depth - 1, functions))
    left, right = (random_formula(rng, depth - 1, functions) for _ in range(2))
    return f"({left} {rng.choice('**+-')} {right})"


ROOT = "ROOT"


@pytest.mark.parametrize("seed", range(100))
def test_random_formula(seed: int) -> None:
    """A derivative is right, or infinite where that is right, or NaN with a warning; never another number."""
    rng = random.Random(seed)
    formula = random_formula(rng, 3).replace(ROOT, rng.choice(ROOTS))
    order = rng.choice((1, 2))
    modes = rng.choices(("vjp", "jvp"), k=order)
    root = 6 if "cbrt" in formula else 2
    known = series(formula, root, root * order + 2)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        found = float(derivative(tadc.function(f"x: f64; f = {formula}"), {"x": 0.0}, modes))
    told = any("TAD0412" in str(warning.message) for warning in seen)
    if any(abs(known[k]) > 1e-9 for k in range(1, root * order) if k % root):
        assert not np.isfinite(found), formula
    elif not (np.isnan(found) and told):
        wanted = known[root * order] * float(MP.factorial(order))
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-10, err_msg=f"{formula}: {modes}")


@pytest.mark.parametrize("seed", range(60))
def test_random_formula_of_a_norm(seed: int) -> None:
    """The gradient is 0 where a vector is, and the Hessian that of the even part of the formula, f''(0) * I.

    The slope of the norm itself, which has none there, counts as 0; so do its further derivatives.
    """
    rng = random.Random(seed)
    formula = re.sub(r"\bx\b", "2", random_formula(rng, 3, [*SMOOTH[:-2], *PIECEWISE]))
    known = series(formula.replace(ROOT, "x"), 1, 5)
    spelled = [("", "norm{i} (x[i])"), ("let n = norm{i} (x[i]);", "n"), ("", "(x[0]**2 + x[1]**2)**0.5")]
    let, read = rng.choice(spelled)
    f = tadc.function(f"x: f64[2]; {let} f = {formula.replace(ROOT, read)}")
    check_norm(f, formula, 2 * known[2], rng.choices(("vjp", "jvp"), k=2))


#: Formulas of a norm n and of c, which is 1.5, with kinks or steps elsewhere, or functions of two operands.
OF_A_NORM = [
    "max(1 - n, 0)**4*(4*n + 1)",
    "relu(c - n)**4*(4*n + c)",
    "min(n, c)**2",
    "max(0, c - n)**2 + 2*c*n",
    "abs(n - c)*(n + c)",
    "(n % c)**2",
    "(c - n) % 1 * (1 + n + 2*n**2)",
    "n*atan2(n, c)",
    "cos(atan2(n, -c))",
    "(atan2(c, n) + n)**2",
    "acos(1 - n**2/2)**2",
    "(asin(1 - 2*n**2) - pi/2)**2",
    "acosh(1 + c*n**2)**2",
    "n**2.0",
    "(c + n**2)**c",
    "floor(c + n)*n**2",
    "n*sin(n)*sqrt(c + n)",
    "sign(c - n)*n*sinh(n)",
]


@pytest.mark.parametrize("formula", OF_A_NORM)
def test_formula_of_a_norm(formula: str) -> None:
    """With c in the formula, and as an argument."""
    known = series(re.sub(r"\bn\b", "x", formula), 1, 5)
    rng = random.Random(formula)
    for where in ("", "c: f64;"):
        text = formula if where else re.sub(r"\bc\b", "1.5", formula)
        f = tadc.function(f"{where} x: f64[2]; let n = norm{{i}} (x[i]); f = {text}")
        given = {"c": 1.5} if "c" in f.inputs else {}
        check_norm(f, formula, 2 * known[2], rng.choices(("vjp", "jvp"), k=2), **given)


def check_norm(
    f: tadc.Function, formula: str, curvature: float, modes: Sequence[str], **given: float
) -> None:
    """Assert that the gradient by x is 0 where x is, and the Hessian the curvature times the identity."""
    zero, along = np.zeros(2), np.array([1.0, -2.0])
    if modes[0] == "vjp":
        g = tadc.vjp(f, wrt="x")
        np.testing.assert_array_equal(g(x=zero, df=1.0, **given), zero, err_msg=formula)
        if modes[1] == "vjp":
            found = tadc.vjp(g, wrt="x")(x=zero, df=1.0, ddx=along, **given)
        else:
            found = tadc.jvp(g, wrt="x")(x=zero, df=1.0, x_dot=along, **given)[1]
    else:
        f = tadc.vjp(tadc.jvp(f, wrt="x"), wrt="x")
        found = f(x=zero, x_dot=along, df=0.0, df_dot=1.0, **given)
    np.testing.assert_allclose(found, curvature * along, rtol=1e-9, atol=1e-10, err_msg=formula)


#: What is infinite where x is 0.
POLES = [
    *("1/x", "2/x", "1/x**2", "x**-2", "1/(x + x**2)", "1/sin(x)", "x**-0.5", "1/sqrt(x)", "1/tanh(x)"),
    *("(1 + x)/x", "cos(x)/x", "1/x/x", "1/log(1 + x)", "1/(exp(x) - 1)", "1/x**3"),
]
#: Functions that are finite, or 0, where their operand is infinite, and others.
OF_POLES = [
    *("1/(2 + {})", "tanh({})", "atan({})", "exp(-({}))", "sigmoid({})", "erf({})", "x*({})"),
    *("1/(1 + ({})**2)", "({})**-2", "1/({})", "sin(1/({}))", "exp(-({})**2)", "sqrt(1 + ({})**2)"),
]


def formula_of_pole(rng: random.Random, depth: int) -> str:
    """A formula of a pole, and of x."""
    if depth == 0:
        return rng.choice([ROOT, ROOT, ROOT, "x", "2"])
    if rng.random() < 0.6:
        return rng.choice(OF_POLES).format(formula_of_pole(rng, depth - 1))
    left, right = formula_of_pole(rng, depth - 1), formula_of_pole(rng, depth - 1)
    return f"({left} {rng.choice('**+-/')} {right})"


@pytest.mark.parametrize("seed", range(100))
def test_random_formula_of_a_pole(seed: int) -> None:
    """Where a quotient is infinite and the formula finite, a derivative is right or not finite."""
    rng = random.Random(seed)
    formula = formula_of_pole(rng, rng.choice((2, 3))).replace(ROOT, f"({rng.choice(POLES)})")
    order = rng.choice((1, 2))
    modes = rng.choices(("vjp", "jvp"), k=order)
    f = tadc.function(f"x: f64; f = {formula}")
    if not np.isfinite(f(x=0.0)):
        pytest.skip("the formula itself is not finite")
    known = series(formula, 4, 4 * order + 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tadc.CompileWarning)
        found = float(derivative(f, {"x": 0.0}, modes))
    if any(abs(known[k]) > 1e-9 for k in range(1, 4 * order) if k % 4):
        assert not np.isfinite(found), formula
    elif np.isfinite(found):
        wanted = known[4 * order] * float(MP.factorial(order))
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9, err_msg=f"{formula}: {modes}")


@pytest.mark.parametrize(
    ("formula", "wanted"),
    [("1/(1/a + 1/b)", 1.0), ("atan(b/a)", 1 / 3), ("tanh(b/a)", 0.0), ("log(b/a)", -np.inf)],
)
def test_quotients_of_two_arguments(formula: str, wanted: float) -> None:
    f = tadc.vjp(tadc.function(f"a: f64; b: f64; f = {formula}"), wrt="a")
    np.testing.assert_allclose(f(a=0.0, b=-3.0, df=1.0), wanted, rtol=1e-15)


@pytest.mark.parametrize(
    ("formula", "wanted"),
    [("c**2*sqrt(1 + x**2/c**2)", 0.0), ("c*c*sqrt(1 + 3*x**2/(c*c))", 0.0), ("c*tanh(2*x/c)", 2.0)],
)
def test_quotients_by_what_stands_in_front(formula: str, wanted: float) -> None:
    """The divisor's powers cancel, and nothing is divided by the dividend, which is 0."""
    f = tadc.vjp(tadc.function(f"x: f64; c: f64; f = {formula}"), wrt="x")
    np.testing.assert_allclose(f(x=0.0, c=2.0, df=1.0), wanted, rtol=1e-15)


def test_what_a_quotient_gets_from_outside() -> None:
    """A cotangent of 0, or a mask, leaves nothing of what is infinite."""
    f = tadc.vjp(tadc.function("a: f64[2]; m: f64[2]; f[i] = m[i] * (tanh(a[i] / 2) / a[i])"), wrt="a")
    np.testing.assert_array_equal(f(a=np.zeros(2), m=np.ones(2), df=np.zeros(2)), 0.0)
    np.testing.assert_array_equal(f(a=np.zeros(2), m=np.zeros(2), df=np.ones(2)), 0.0)


def test_a_long_formula_is_never_0_in_silence() -> None:
    """Of long formulas there is no series, but they are no 0 where their factors are not told apart."""
    text = " + ".join(f"x**{k}/(1 + x/{k}.5)" for k in range(2, 200))
    f = tadc.function(f"x: f64; f = (sqrt(x) * (1 + {text})) * sqrt(x)")
    with pytest.warns(tadc.CompileWarning, match="TAD0412"):
        found = float(derivative(f, {"x": 0.0}, ["vjp"]))
    assert np.isnan(found) or found == 1.0


def test_choices_in_series_stay_one_choice() -> None:
    """Coefficients that are one choice by values each are no sums of products of choices: these explode."""
    f = tadc.function("x: f64; y: f64; f = tanh(select(y > 0.1, x, (sqrt(x*x) + x)**2))")
    wanted = [float(MP.diff(lambda x: MP.tanh(4 * x**2), 0.5, n)) for n in (1, 2)]
    found = [float(derivative(f, {"x": 0.5, "y": 0.0}, ["vjp"] * n)) for n in (1, 2)]
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("seed", range(400))
def test_random_formula_against_limits(seed: int) -> None:
    """To third order, by any mix of modes: the limit, or NaN with a warning where there is one."""
    try:
        found = zeros.failure(seed, 1 + seed % 3)
    except Skipped:
        pytest.skip("no derivative")
    assert found is None, found


#: Formulas of a norm n of x, or of its elements, and what their Hessians are at x = 0 times the identity.
HESSIANS = [
    ("let n = norm{i} (x[i]); f = sum{k: 3} (n**(2*k))", 2.0),
    ("f = sum{k: 3} (norm{i} (x[i])**(2*k))", 2.0),
    ("let n = norm{i} (x[i]); f = n**p", 2.0),
    ("f = (x[0]**2 + x[1]**2)**(p/2)", 2.0),
    ("f = sum{i} (abs(x[i])**p)", 2.0),
    ("let n = norm{i} (x[i]); f = (n**2 - 3)**p", -12.0),
    ("f = sum{i, k: 2} ((abs(x[i])**2.5)**k)", 0.0),
    ("let n = norm{i} (x[i]); f = select(n > 0, sin(n)/n, 1)", -1 / 3),
    ("let n = norm{i} (x[i]); f = select(n = 0, 1, tanh(n)/n)", -2 / 3),
    ("f = acosh(1 + sum{i} (x[i]**2))**2", 4.0),
]
#: The same of formulas that nothing tells the Hessian of.
UNTOLD = [
    ("f = prod{k: 2} (norm{i} (x[i]))", 2.0),
    ("f = sum{k: 3} (log(1 + norm{i} (x[i]))**(2*k))", 2.0),
    ("let n = norm{i} (x[i]); f = cos(sum{k: 3} (k*n))", -9.0),
    ("let n = norm{i} (x[i]); let s = n + 2*n; f = prod{k: 2} (s)", 18.0),
    ("f = sum{i} (prod{k: 2} (abs(x[i])))", 2.0),
    ("let a = acosh(1 + sum{i} (x[i]**2)); f = (a + sum{i} (x[i]**2)**0.75)*a", 4.0),
]


@pytest.mark.parametrize(("text", "curvature"), HESSIANS)
def test_hessian_where_a_norm_is_0(text: str, curvature: float) -> None:
    f = tadc.function(f"x: f64[2]; {'p: f64; ' * ('p' in text)}{text}")
    check_norm(f, text, curvature, ["vjp", "jvp"], **({"p": 2.0} if "p" in f.inputs else {}))


@pytest.mark.parametrize("modes", [("vjp", "vjp"), ("jvp", "jvp")])
@pytest.mark.parametrize(("text", "curvature"), UNTOLD)
def test_a_hessian_that_is_not_told(text: str, curvature: float, modes: Sequence[str]) -> None:
    """Right or NaN where a norm is 0, and then with a warning; the gradient is 0."""
    generated = zeros.Generated(f"x: f64[2]; {text}", lambda values: 0, "x", {"x": [0.0, 0.0]})
    assert zeros.derivative(generated, [1.0, -2.0], modes[:1]) == (0.0, False)
    found, told = zeros.derivative(generated, [1.0, -2.0], modes)
    assert found == pytest.approx(5 * curvature) or (np.isnan(found) and told)


#: Programs with infinite slopes at points where they have no finite value, and orders.
WITHOUT_A_VALUE = [
    ("q: f64; x: f64[N]; h: f64; f = sum{i} (exp(-((q - x[i])/h)**2/2)) / (N*h)", 2),
    (
        "s: f64[N, M]; v: f64[M]; let t[i] = sum{j} (exp(s[i, j])); f[i] = sum{j} (exp(s[i, j])*v[j]) / t[i]",
        2,
    ),
    ("x: f64; f = log(x)**2", 3),
    ("x: f64; g: f64; f = -g*log(exp(-x/g) + exp(-x**2/g))", 2),
]


@pytest.mark.parametrize(("text", "order"), WITHOUT_A_VALUE)
def test_no_warning_where_there_is_no_value(text: str, order: int) -> None:
    f = tadc.function(text)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(order):
            f = tadc.vjp(f)


@pytest.mark.parametrize(
    "formula", ["safe(x**2, log(x))", "safe(sin(x)**2, log(x))", "exp(safe(x*x, log(x)))"]
)
def test_what_vanishes_beside_a_logarithm(formula: str) -> None:
    """The value is 0 or 1 and the slope 0, as `x**2 * log(x)` tends to them; the second slope is none."""
    f = tadc.function(f"x: f64; f = {formula}")
    assert float(derivative(f, {"x": 0.0}, ["vjp"])) == 0.0
    assert float(derivative(f, {"x": 0.0}, ["jvp"])) == 0.0
    assert not np.isfinite(derivative(f, {"x": 0.0}, ["vjp", "vjp"]))


#: Functions whose derivatives are choices at 0, with the third derivative there.
SPLIT = {
    "sin(abs(y))*y*abs(y)": 6.0,
    "log(1 + abs(y))*y*abs(y)": 6.0,
    "log(1 + sqrt(y**2))*cbrt(y)**3*abs(y)": 6.0,
    "select(y = 0, 1, sin(y)/y)*y": -1.0,
    "select(y = 0, 1, (exp(y) - 1)/y)": 0.25,
}


@pytest.mark.parametrize("step", [tadc.vjp, tadc.jvp, tadc.grad])
@pytest.mark.parametrize("formula", SPLIT)
def test_the_parts_of_a_choice_count_once(formula: str, step: Callable[..., tadc.Function]) -> None:
    """Reverse mode splits a choice in two, of which one is 0 at the point."""
    f = tadc.function(f"y: f64; f = {formula}")
    for _ in range(3):
        f = step(f, wrt="y")
    given = [0.0 if argument.name == "y" else 1.0 for argument in f.program.arguments]
    found = f(*given)
    last = found[-1] if isinstance(found, tuple) else found
    np.testing.assert_allclose(last, SPLIT[formula], rtol=1e-9)


@pytest.mark.parametrize("modes", [("jvp", "vjp", "jvp"), ("vjp", "jvp", "vjp")])
def test_powers_by_an_index_of_what_is_0(modes: Sequence[str]) -> None:
    """The weight k*(k - 1) is 0 beside an infinite power, whatever else stands there."""
    program = "x: f64; let s = x + x**2; f = sum{k: 4} (s**k)"
    found, told = zeros.derivative(zeros.Generated(program, lambda values: 0, "x", {"x": 0.0}), 1.0, modes)
    assert (found, told) == (18.0, False)


#: With w = x + x**2, tanh(sqrt(w)*c)**2 is c**2*w - 2*c**4*w**2/3 + 17*c**6*w**3/45 - …
BESIDE = {"sqrt(w)**2*(k + 1)": 18.0, "tanh(sqrt(w)*(k + 1))**2": 158 / 3}


@pytest.mark.parametrize("formula", BESIDE)
@pytest.mark.filterwarnings("ignore::tadc.CompileWarning")
def test_a_root_beside_a_power_of_which_nothing_is_known(formula: str) -> None:
    """Third derivatives at 0; the cotangent of n is a power that stands in choices of its exponent."""
    f = tadc.function(f"x: f64; p: f64; let w = x + x**2; let n = sum{{k: 2}} ({formula}); f = n*(x**p + 2)")
    for _ in range(3):
        f = tadc.vjp(f, wrt="x")
    assert f(0.0, 2.0, 1.0, 1.0, 1.0) == pytest.approx(BESIDE[formula], rel=1e-12)


def test_a_kink_beside_another_is_told() -> None:
    """The third derivative at 0 is 6, of which no series of one absolute value knows."""
    program = "y: f64; f = log(1 + abs(y))*y*abs(sin(y))"
    generated = zeros.Generated(program, lambda values: 0, "y", {"y": 0.0})
    found, told = zeros.derivative(generated, 1.0, ["vjp", "jvp", "vjp"])
    assert found == pytest.approx(6.0) or (np.isnan(found) and told)


def test_a_choice_in_a_program_of_many_terms(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has the derivatives of the branch that is taken, where no series is worth its terms."""
    monkeypatch.setattr(coefficients, "MAX_TERMS", 2)
    f = tadc.function("c: f64; x: f64; f = select(x = c, 1, sin(x - c)/(x - c))")
    assert tadc.grad(f, wrt="x")(1.0, 1.0) == 0
