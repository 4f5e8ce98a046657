"""Section 5: inverse accumulation (Pearlmutter and Siskind)."""

import numpy as np
import pytest

import tadc
from tests.inversion.checking import compare, compare_case, flat, parted
from tests.inversion.programs import coupling, leapfrog, recurrence, van_der_pol

FIGURE_2 = "x1: f64; x2: f64; x3: f64; z1 = x1*x2; y2 = x2; z2 = z1 + sin(x3)"
DIAMONDS = (
    "x1: f64; x2: f64; let u1 = sin(x1); let v1 = exp(x1); let u2 = sin(x2); let v2 = exp(x2);"
    "y1 = u1*v1; y2 = u2*v2"
)
GREEDY = "x0: f64; x1: f64; let v0 = x1*x0; let v2 = sin(v0); v3 = exp(x0); v4 = x1*v2 + v0*v2"
SIZES = (2, 6, 50, 1000)


def euler(steps: int) -> str:
    lines = ["x0: f64", *(f"let x{k + 1} = x{k} + 1e-3*(-50*x{k})" for k in range(steps))]
    return "\n".join([*lines, f"x = x{steps}"])


def test_figure_2() -> None:
    inverse = tadc.inverse(tadc.function(FIGURE_2))
    at = (2.0, 3.0, 0.5)
    found = inverse.jinv(at, (1, 2, 3))
    np.testing.assert_allclose(flat(found), [-1, 2, 2.278987854649098], rtol=1e-15)
    assert found._fields == ("x1", "x2", "x3")
    found = inverse.jinvT(at, (1, 2, 3))
    np.testing.assert_allclose(flat(found), [-3.0851484486403136, 4 / 3, 3.418481781973647], rtol=1e-15)
    assert found._fields == ("z1", "y2", "z2")
    np.testing.assert_allclose(inverse.logabsdet(at), np.log(3 * np.cos(0.5)), rtol=1e-15)


def test_the_plan_of_figure_2() -> None:
    plan = tadc.inverse(tadc.function(FIGURE_2)).plan
    assert plan.widths == (3, 3, 3)
    assert [(step.dying, step.new) for step in plan.steps] == [(("x1",), ("z1",)), (("x3",), ("z2",))]


def test_invariants() -> None:
    f = tadc.function(FIGURE_2)
    inverse, at = tadc.inverse(f), (2.0, 3.0, 0.5)
    v, w = np.array([0.3, -1.2, 0.7]), np.array([1.1, 0.4, -0.9])
    jvp, vjp = tadc.jvp(f), tadc.vjp(f)
    jacobian = np.array([[3, 2, 0], [0, 1, 0], [3, 2, np.cos(0.5)]])
    forward, reverse = flat(jvp(*at, *v)[3:]), flat(vjp(*at, *w))
    np.testing.assert_allclose(forward, jacobian @ v, rtol=1e-14)
    np.testing.assert_allclose(reverse @ v, w @ forward, rtol=1e-14)
    undone, undone_t = (
        flat(inverse.jinv(at, parted(v, [()] * 3))),
        flat(inverse.jinvT(at, parted(w, [()] * 3))),
    )
    np.testing.assert_allclose(w @ undone, undone_t @ v, rtol=1e-13)
    np.testing.assert_allclose(flat(jvp(*at, *undone)[3:]), v, rtol=1e-13)
    np.testing.assert_allclose(flat(inverse.jinv(at, tuple(forward))), v, rtol=1e-13)
    np.testing.assert_allclose(flat(vjp(*at, *undone_t)), w, rtol=1e-13)
    np.testing.assert_allclose(flat(inverse.jinvT(at, tuple(reverse))), w, rtol=1e-13)


def test_two_diamonds() -> None:
    plan = tadc.inverse(tadc.function(DIAMONDS)).plan
    assert plan.widths == (2, 3, 3, 4, 4, 3, 2)
    assert [step.statements for step in plan.steps] == [("u1", "v1", "y1"), ("u2", "v2", "y2")]
    assert [step.size for step in plan.steps] == [1, 1]


def test_what_a_greedy_partition_misses() -> None:
    steps = tadc.inverse(tadc.function(GREEDY)).plan.steps
    assert [step.statements for step in steps] == [("v0", "v2", "v4"), ("v3",)]


def test_stable_values_with_an_unstable_inverse() -> None:
    inverse = tadc.inverse(tadc.function(euler(1000)))
    assert inverse.plan.kinds == {"diagonal": 1000}
    assert inverse.plan.forms == 1
    found, residual = inverse.jinv(1.0, 1.0, check=True)
    np.testing.assert_allclose(found, 0.95**-1000, rtol=1e-11)
    np.testing.assert_allclose(found, 1.89e22, rtol=2e-3)
    assert 0 <= residual < 1e-12


@pytest.mark.parametrize("size", SIZES)
def test_leapfrog_on_a_ring(size: int) -> None:
    random = np.random.default_rng(1)
    half = size // 2
    arguments = [0.3 * random.standard_normal(half) for _ in range(2)]
    inverse = compare_case(leapfrog(half, 30), arguments)
    assert inverse.plan.kinds == {"diagonal": 60}
    assert inverse.plan.forms == 2


@pytest.mark.parametrize("size", SIZES)
def test_affine_coupling_flow(size: int) -> None:
    half, random = size // 2, np.random.default_rng(2)
    weights = [random.standard_normal((half, half)) / np.sqrt(half) for _ in range(12)]
    inverse = compare_case(coupling(half, 6), [*random.standard_normal((2, half)), *weights])
    assert inverse.plan.kinds == {"diagonal": 6}


def test_van_der_pol() -> None:
    assert compare_case(van_der_pol(40), [np.array(1.2), np.array(-0.4)]).plan.forms == 1


@pytest.mark.parametrize("size", [2, 500])
def test_many_van_der_pol_oscillators(size: int) -> None:
    random = np.random.default_rng(3)
    inverse = compare_case(van_der_pol(20, f"[{size}]"), list(random.standard_normal((2, size))))
    assert inverse.plan.kinds == {f"block-diagonal, {size} of 2x2": 20}


def recurrence_jacobian(x: np.ndarray) -> np.ndarray:
    """Of `y_i = sin(y_{i-1}) + x_i (1 + .1 x_i^2)`, by the chain rule."""
    y = np.zeros(len(x))
    for i in range(len(x)):
        y[i] = (np.sin(y[i - 1]) if i else 0) + x[i] * (1 + 0.1 * x[i] ** 2)
    inner = np.eye(len(x)) - np.diag(np.cos(y[:-1]), -1)
    return np.linalg.solve(inner, np.diag(1 + 0.3 * x**2))


@pytest.mark.parametrize("size", [2, 3, 300])
def test_recurrence_of_scalars(size: int) -> None:
    x = np.random.default_rng(4).standard_normal(size)
    case = recurrence(size)
    inverse = tadc.inverse(tadc.function(case.text))
    compare(inverse, [np.array(each) for each in x], recurrence_jacobian(x))
    assert inverse.plan.kinds == {"diagonal": size}
    assert inverse.plan.forms == 2


@pytest.mark.parametrize("size", [2, 3, 1000])
def test_recurrence(size: int) -> None:
    x = np.random.default_rng(4).standard_normal(size)
    text = (
        f"x: f64[{size}]; scan{{i}} y[i] = x[i]*(1 + .1*x[i]**2) + if {{i > 0}} then (sin(y[i - 1])) else (0)"
    )
    inverse = tadc.inverse(tadc.function(text))
    compare(inverse, [x], recurrence_jacobian(x))
    assert inverse.plan.kinds == {"recurrence, diagonal": 1}


def test_another_width() -> None:
    with pytest.raises(tadc.CompileError, match="a Jacobian of 1 outputs by 2 inputs") as error:
        tadc.inverse(tadc.function("x1: f64; x2: f64; z = x1*x2"))
    assert [d.code for d in error.value.diagnostics] == ["TAD0910"]


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("x1: f64; x2: f64; let z = x1*x2; y1 = sin(z); y2 = exp(z)", "`z`: 1 number for 2"),
        ("x1: f64; x2: f64; y1 = sin(x1); y2 = exp(x1)", "`x1`: 1 number for 2"),
        ("x: f64[4]; let s = sum{k} (x[k]); y[i] = x[0] + s*i + 0*x[i]", None),
        ("x: f64[4]; let s = sum{k} (x[k]); y[i: 4] = s*i", "`s`: 1 number for 4"),
    ],
)
def test_structurally_singular(text: str, cut: str | None) -> None:
    f = tadc.function(text)
    if cut is None:  # the elements of one value are not told apart
        assert tadc.inverse(f).plan.width == 4
        return
    with pytest.raises(tadc.CompileError) as error:
        tadc.inverse(f)
    (problem,) = error.value.diagnostics
    assert problem.code == "TAD0911"
    assert cut in problem.notes[0]


def test_singular_step() -> None:
    inverse = tadc.inverse(tadc.function(FIGURE_2))
    with pytest.raises(tadc.ArgumentError) as error:
        inverse.jinv((2.0, 0.0, 0.5), (1, 2, 3))
    (problem,) = error.value.diagnostics
    assert problem.code == "TAD0912"
    assert problem.message == "`z1` cannot be inverted at these arguments"
    assert problem.notes == ["the derivative by `x1` is 0.0"]
    inverse = tadc.inverse(tadc.function("x: f64[2, 3]; y[i, j] = x[i, j]**3"))
    at = np.ones((2, 3))
    at[1, 2] = 0
    for call in (inverse.jinv, inverse.jinvT):
        with pytest.raises(tadc.ArgumentError) as error:
            call(at, np.ones((2, 3)))
        assert error.value.diagnostics[0].notes == ["the derivative by `x` at element [1, 2] is 0.0"]
