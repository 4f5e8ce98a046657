"""Uncertainty: the numbers of the GUM, GTC as an oracle, JAX's Jacobians, and samples inside of bounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import GTC
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.typing import NDArray

import tadc
from tadc.uncertainty import Result

IMPEDANCE = "V: f64; I: f64; phi: f64; R = V/I*cos(phi); X = V/I*sin(phi); Z = V/I"
AT = {"V": 4.999, "I": 0.019661, "phi": 1.04446}
U = {"V": 3.2e-3, "I": 9.5e-6, "phi": 7.5e-4}
CORR = {("V", "I"): -0.36, ("V", "phi"): 0.86, ("I", "phi"): -0.65}


def impedance(V: float, I: float, phi: float) -> dict[str, float]:  # noqa: E741
    return {"R": V / I * math.cos(phi), "X": V / I * math.sin(phi), "Z": V / I}


def both() -> list[Any]:
    return [pytest.param(tadc.function(IMPEDANCE), id="program"), pytest.param(impedance, id="python")]


def oracle(dof: float = math.inf) -> dict[str, Any]:
    """The same by GTC."""
    if math.isinf(dof):
        q = {name: GTC.ureal(x, U[name], independent=False) for name, x in AT.items()}
    else:
        q = dict(zip(AT, GTC.multiple_ureal(list(AT.values()), list(U.values()), dof), strict=True))
    for (a, b), r in CORR.items():
        GTC.set_correlation(r, q[a], q[b])
    ratio = q["V"] / q["I"]
    return {"R": ratio * GTC.cos(q["phi"]), "X": ratio * GTC.sin(q["phi"]), "Z": ratio}


def close(found: Any, expected: Any, rel: float = 1e-12) -> None:
    np.testing.assert_allclose(found, expected, rtol=rel, atol=0)


@pytest.mark.parametrize("fn", both())
@pytest.mark.parametrize("dof", [math.inf, 4.0])
def test_gum_h2(fn: Any, dof: float) -> None:
    """Values, uncertainties, covariances, degrees of freedom and contributions."""
    r = tadc.propagate(fn, AT, u=U, corr=CORR, dof={("V", "I", "phi"): dof}, k=2)
    assert list(r.value.values()) == pytest.approx([127.73217, 219.84651, 254.25970], abs=5e-6)
    assert list(r.u.values()) == pytest.approx([0.0699787, 0.2957168, 0.2366030], abs=5e-8)
    expected = oracle(dof)
    for name, y in expected.items():
        close(r.value[name], y.x)
        close(r.u[name], y.u)
        close(r.U[name], 2 * y.u)
        close(r.dof[name], y.df)
        close(r.bounds[name], (y.x - 2 * y.u, y.x + 2 * y.u))
        assert sum(row.share for row in r.budget[name]) == pytest.approx(1)
    close(r.cov, [[GTC.get_covariance(x, y) for y in expected.values()] for x in expected.values()])
    # From the cosine's slope: -V/I sin(phi) u(phi).
    row = next(row for row in r.budget["R"] if row.quantity == "phi")
    close(row.contribution, -expected["X"].x * U["phi"])


RATIO = "a: f64; b: f64; c: f64; y = a*b/c"


def test_welch_satterthwaite() -> None:
    at, u = {"a": 2.0, "b": 3.0, "c": 1.5}, {"a": 0.05, "b": 0.04, "c": 0.02}
    expected = GTC.ureal(2, 0.05, 5) * GTC.ureal(3, 0.04, 9) / GTC.ureal(1.5, 0.02)
    python: Callable[..., float] = lambda a, b, c: a * b / c  # noqa: E731
    for fn, name in ((tadc.function(RATIO), "y"), (python, "f")):
        r = tadc.propagate(fn, at, u=u, dof={"a": 5, "b": 9})
        assert r.u[name] == pytest.approx(0.12525529, abs=5e-9)
        assert r.dof[name] == pytest.approx(11.77766, abs=5e-6)
        close(r.u[name], expected.u)
        close(r.dof[name], expected.df)


def test_degrees_of_freedom_under_correlations() -> None:
    """An observation together counts as one; correlated otherwise there is no number, as in GTC."""
    at, u = {"a": 2.0, "b": 3.0, "c": 1.5}, {"a": 0.05, "b": 0.04, "c": 0.02}
    a, b = GTC.multiple_ureal([2.0, 3.0], [0.05, 0.04], 6)
    c = GTC.ureal(1.5, 0.02, 3)
    f = tadc.function(RATIO)
    together = tadc.propagate(f, at, u=u, dof={("a", "b"): 6, "c": 3})
    close(together.dof["y"], (a * b / c).df)
    GTC.set_correlation(0.4, a, b)
    for dof in ({("a", "b"): 6, "c": 3}, {"a": 6, "b": 6, "c": 3}):
        r = tadc.propagate(f, at, u=u, corr={("b", "a"): 0.4}, dof=dof)
        close(r.u["y"], (a * b / c).u)
        close(r.dof["y"], (a * b / c).df)
    unequal = tadc.propagate(f, at, u=u, corr={("a", "b"): 0.4}, dof={"a": 6, "b": 7})
    assert math.isnan(unequal.dof["y"])
    known = tadc.propagate(f, at, u=u, corr={("a", "b"): 0.4}, dof={"c": 3})
    assert known.dof["y"] == pytest.approx(3 * (known.u["y"] / (6 / 1.5**2 * 0.02)) ** 4)


def test_degrees_of_freedom_of_each_element_and_measurement() -> None:
    """Of one quantity alone they are its own."""
    nu = np.array([3.0, math.inf, 7.0])
    f = tadc.function("x: f64[3]; g: f64; y[i] = x[i] * g")
    r = tadc.propagate(f, {"x": np.ones(3), "g": 2.0}, u={"x": 0.5}, dof={"x": nu})
    close(r.dof["y"], nu)
    one = tadc.function("x: f64; y = x**2")
    for fn in (one, lambda x: {"y": x**2}):
        close(tadc.propagate(fn, {"x": np.ones(3)}, u={"x": 0.5}, dof={"x": nu}).dof["y"], nu)
        t = tadc.propagate(fn, {"x": np.ones(3)}, u={"x": 1e-3}, dof={"x": nu}, method="mc", samples=30_000)
        np.testing.assert_allclose(t.u["y"][1:], 2e-3 * np.sqrt([1, 7 / 5]), rtol=0.05)


def test_defaults_of_python_functions() -> None:
    def fn(x: float, scale: float = 3.0) -> float:
        return x * scale

    for method in ("gum", "worst", "interval", "mc"):
        r = tadc.propagate(fn, {"x": 1.0}, u={"x": 0.5}, method=method, samples=20_000)
        assert r.value["fn"] == pytest.approx(3, abs=0.05)
        assert r.U["fn"] == pytest.approx(1.5 if method in ("worst", "interval") else 3, rel=0.05)
    assert tadc.propagate(fn, {"x": 1.0, "scale": 2}, u={"scale": 0.1}).u["fn"] == pytest.approx(0.1)


def test_aliases_are_summed_before_squaring() -> None:
    x = np.array([1.0, 2.0, 3.0])
    f = tadc.function("x: f64[3]; a[i] = x[i] - x[i]; b[i] = x[i] + x[i]; c[i: 2] = x[i + 1] - x[1 - i]")
    r = tadc.propagate(f, {"x": x}, u={"x": [0.1, 0.2, 0.3]})
    np.testing.assert_array_equal(r.u["a"], 0)
    close(r.u["b"], [0.2, 0.4, 0.6])
    close(r.u["c"], [0.0, math.hypot(0.1, 0.3)])
    python: Callable[..., Any] = lambda x: (x - x, x + x)  # noqa: E731
    assert list(tadc.propagate(python, {"x": 1.0}, u={"x": 0.1}).u.values()) == [0.0, 0.2]


Peer = Callable[..., Any]
PROGRAMS: dict[str, tuple[str, Peer, dict[str, tuple[int, ...]]]] = {
    "one output": (
        "x: f64[6]; w: f64[3]; y = sum{i: 4, k} (w[k] * sin(x[i + k]))",
        lambda x, w: {"y": sum((w * jnp.sin(x[i : i + 3])).sum() for i in range(4))},
        {"x": (6,), "w": (3,)},
    ),
    "shared": (
        "x: f64[N]; g: f64; y[i] = x[i] * exp(g); z[i] = x[i]**2 + g",
        lambda x, g: {"y": x * jnp.exp(g), "z": x**2 + g},
        {"x": (5,), "g": ()},
    ),
    "matrix": (
        "a: f64[3, 4]; b: f64[4, 2]; y[i, j] = sum{k} (a[i, k] * b[k, j])",
        lambda a, b: {"y": a @ b},
        {"a": (3, 4), "b": (4, 2)},
    ),
    "rows": (
        "a: f64[M, N]; s: f64[M]; y[i] = sum{k} (a[i, k]**2) * s[i]",
        lambda a, s: {"y": (a**2).sum(1) * s},
        {"a": (4, 3), "s": (4,)},
    ),
    "many": (
        "x: f64[90]; let h[i] = x[i]**2; y[i: 80] = h[i] * x[i + 10]",
        lambda x: {"y": x[:80] ** 2 * x[10:]},
        {"x": (90,)},
    ),
}


def inputs_of(name: str) -> tuple[dict[str, NDArray[np.float64]], dict[str, NDArray[np.float64]]]:
    random = np.random.default_rng(5)
    shapes = PROGRAMS[name][2]
    return (
        {n: random.uniform(0.5, 2, s) for n, s in shapes.items()},
        {n: random.uniform(0.01, 0.1, s) for n, s in shapes.items()},
    )


def jacobian(name: str, at: dict[str, Any]) -> NDArray[np.float64]:
    """JAX's: all outputs by all inputs."""
    found = jax.jacrev(lambda held: PROGRAMS[name][1](**held))(at)
    shapes = {o: np.shape(y) for o, y in PROGRAMS[name][1](**at).items()}
    return np.block([[np.reshape(found[o][n], (math.prod(shapes[o]), -1)) for n in at] for o in shapes])


def flat(arrays: dict[str, Any], order: Any) -> NDArray[np.float64]:
    return np.concatenate([np.ravel(arrays[name]) for name in order])


@pytest.mark.parametrize("name", PROGRAMS)
def test_arrays_against_jacobians(name: str) -> None:
    """Variances and the whole covariance are J diag(u**2) J^T."""
    f = tadc.function(PROGRAMS[name][0])
    at, u = inputs_of(name)
    r = tadc.propagate(f, at, u=u)
    j = jacobian(name, at)
    expected = (j * flat(u, at) ** 2) @ j.T
    np.testing.assert_allclose(r.cov, expected, rtol=1e-11, atol=1e-16)
    close(flat(r.u, f.outputs), np.sqrt(np.diag(expected)), 1e-11)
    for output in f.outputs:
        assert r.u[output].shape == np.shape(r.value[output]) if np.ndim(r.value[output]) else True


@pytest.mark.parametrize("name", ["one output", "shared", "matrix"])
def test_covariances_of_array_elements(name: str) -> None:
    """A full covariance matrix of all elements of an array, and one between two arrays."""
    f = tadc.function(PROGRAMS[name][0])
    at, u = inputs_of(name)
    first, *others = at
    size = at[first].size
    shape = at[first].shape
    root = np.random.default_rng(6).normal(size=(size, size)) * 0.05
    c = root @ root.T
    rest = {n: u[n] for n in others}
    r = tadc.propagate(f, at, u=rest, cov={first: c.reshape(shape + shape)})
    whole = np.diag(np.concatenate([np.zeros(size), *(u[n].ravel() ** 2 for n in others)]))
    whole[:size, :size] = c
    j = jacobian(name, at)
    np.testing.assert_allclose(r.cov, j @ whole @ j.T, rtol=1e-10, atol=1e-16)
    close(flat(r.u, f.outputs), np.sqrt(np.diag(j @ whole @ j.T)), 1e-10)
    block = np.full((size, at[others[0]].size), 0.02)
    joined = tadc.propagate(f, at, u=u, corr={(first, others[0]): block.reshape(shape + at[others[0]].shape)})
    whole = np.diag(flat(u, at) ** 2)
    whole[:size, size : size + block.shape[1]] = 0.02 * np.outer(u[first], u[others[0]])
    whole = np.maximum(whole, whole.T)
    np.testing.assert_allclose(joined.cov, j @ whole @ j.T, rtol=1e-10, atol=1e-16)


def test_correlations_between_elements_of_one_position() -> None:
    """One number, or one for each element; also in the covariances of all elements, which share an input."""
    f = tadc.function("a: f64[N]; b: f64[N]; g: f64; y[i] = a[i] * b[i] + g")
    a, b, each = np.array([1.0, 2.0, 3.0]), np.array([2.0, 0.5, 1.0]), np.array([0.5, -0.9, 0.1])
    for r in (0.5, each):
        found = tadc.propagate(
            f, {"a": a, "b": b, "g": 1.0}, u={"a": 0.1, "b": 0.2, "g": 0.3}, corr={("a", "b"): r}
        )
        variance = (b * 0.1) ** 2 + (a * 0.2) ** 2 + 2 * r * a * b * 0.02
        close(found.u["y"], np.sqrt(variance + 0.09))
        np.testing.assert_allclose(found.cov, np.diag(variance) + 0.09, rtol=1e-12)
    rows = tadc.function("a: f64[2]; b: f64[2]; y = sum{i} (a[i] * b[i])")
    many = np.array([[1.0, 2.0], [3.0, 4.0]])
    for r in (0.5, np.array([0.5, -0.5])):
        found = tadc.propagate(
            rows, {"a": many, "b": [5.0, 6.0]}, u={"a": 0.1, "b": 0.2}, corr={("a", "b"): r}
        )
        variance = 0.01 * (25 + 36) + 0.04 * (many**2).sum(1) + 2 * r * 0.02 * (many @ [5, 6])
        close(found.u["y"], np.sqrt(variance))


def test_too_many_slopes_are_refused() -> None:
    f = tadc.function("x: f64[N]; y[i] = x[i] * 2; z[j: N] = x[N - 1 - j]")
    with pytest.raises(tadc.ArgumentError) as error:
        tadc.propagate(f, {"x": np.ones(30_000)}, u={"x": 0.1})
    assert error.value.diagnostics[0].code == "TAD0506"


@pytest.mark.parametrize("fn", both())
def test_many_measurements(fn: Any) -> None:
    """Each is what it is alone; what has no dimension for measurements is the same for all."""
    random = np.random.default_rng(7)
    n = 6
    at = {"V": random.uniform(4, 6, n), "I": AT["I"], "phi": random.uniform(0.5, 1.5, n)}
    u = {"V": random.uniform(1e-3, 4e-3, n), "I": 9.5e-6, "phi": 7.5e-4}
    corr = {("V", "phi"): random.uniform(-0.9, 0.9, n), ("I", "V"): 0.2}
    r = tadc.propagate(fn, at, u=u, corr=corr, dof={"V": 5})
    assert r.cov.shape == (n, 3, 3)
    for k in range(n):
        one = tadc.propagate(
            fn,
            {"V": float(at["V"][k]), "I": AT["I"], "phi": float(at["phi"][k])},
            u={**u, "V": float(u["V"][k])},
            corr={("V", "phi"): float(corr["V", "phi"][k]), ("I", "V"): 0.2},
            dof={"V": 5},
        )
        for name in ("R", "X", "Z"):
            close(r.value[name][k], one.value[name], 1e-15)
            close(r.u[name][k], one.u[name])
            np.testing.assert_array_equal(np.isnan(r.dof[name][k]), np.isnan(one.dof[name]))
            shares = {row.quantity: row.share[k] for row in r.budget[name]}
            assert shares == pytest.approx({row.quantity: row.share for row in one.budget[name]})
        np.testing.assert_allclose(r.cov[k], one.cov, rtol=1e-12, atol=1e-18)


def test_measurements_of_arrays_and_sizes() -> None:
    """A dimension in front of a program with arrays, sums, windows, size symbols and a name that is taken."""
    f = tadc.function("x: f64[N]; n: f64; y[i: N - 1] = sum{k}_0^1 (x[i + k]**2) * n; z = sum{j} (x[j] * j)")
    fixed = tadc.function(str(f), sizes={"N": 5})
    random = np.random.default_rng(8)
    x = random.uniform(1, 2, (4, 5))
    r = tadc.propagate(f, {"x": x, "n": 3.0}, u={"x": 0.1, "n": 0.2})
    assert (r.u["y"].shape, r.u["z"].shape, r.cov.shape) == ((4, 4), (4,), (4, 5, 5))
    for k in range(4):
        one = tadc.propagate(fixed, {"x": x[k], "n": 3.0}, u={"x": 0.1, "n": 0.2})
        close(r.u["y"][k], one.u["y"])
        close(r.u["z"][k], one.u["z"])
        close(r.cov[k], one.cov, 1e-11)


@pytest.mark.parametrize("method", ["gum", "interval"])
def test_measurements_of_an_array_that_tells_a_size_with_a_kernel_of_its_own(method: str) -> None:
    f = tadc.function("a: f64[N, K]; x: f64[M]; y[i: N, j: K] = x[K*i + j] * a[i, j]")
    a, x = np.arange(24.0).reshape(4, 2, 3), np.arange(6.0)
    many = tadc.propagate(f, {"a": a, "x": x}, u={"x": 0.1, "a": 0.2}, method=method)
    alone = [tadc.propagate(f, {"a": one, "x": x}, u={"x": 0.1, "a": 0.2}, method=method) for one in a]
    close(many.U["y"], [one.U["y"] for one in alone])


def test_sizes_that_multiply_indices_and_single_precision() -> None:
    f = tadc.function("size M; x: f64[6]; y[i: 2, j: M] = x[M*i + j]**2")
    with pytest.raises(tadc.CompileError):
        tadc.propagate(f, {"x": np.ones(6)}, u={"x": 0.1})
    r = tadc.propagate(f.at({"M": 3}), {"x": np.arange(6.0)}, u={"x": 0.1})
    close(r.u["y"], 0.2 * np.arange(6.0).reshape(2, 3))
    single = tadc.function("x: f32[4]; s: f32; y[i] = x[i] * s")
    r = tadc.propagate(single, {"x": np.arange(4, dtype=np.float32), "s": 2}, u={"x": 0.5, "s": 0.25})
    close(r.u["y"], np.hypot(1.0, 0.25 * np.arange(4)), 1e-6)


def test_slopes_at_poles_and_without_uncertainty() -> None:
    f = tadc.function("x: f64; y: f64; z = sqrt(x) + y")
    r = tadc.propagate(f, {"x": 0.0, "y": 1.0}, u={"x": 0.0, "y": 0.5})
    assert r.u["z"] == 0.5
    exact = tadc.propagate(f, {"x": 4.0, "y": 1.0})
    assert (exact.value["z"], exact.u["z"], exact.dof["z"]) == (3.0, 0.0, math.inf)


def test_worst_case_is_linear_and_says_so() -> None:
    def semenov(x: float) -> float:
        return math.sin(x) * math.exp(-(x**2)) + x

    r = tadc.propagate(semenov, {"x": 1.0}, u={"x": 0.1}, method="worst")
    assert r.U["semenov"] == pytest.approx(0.057965, abs=1e-6)
    assert not r.is_rigorous
    assert "not rigorous" in r.kind
    assert "not rigorous" in str(r)
    low, high = r.bounds["semenov"]
    assert not low <= 1.24847 <= 1.36576 <= high
    with pytest.raises(AttributeError, match="no standard uncertainty"):
        _ = r.u
    two = tadc.propagate(
        tadc.function(RATIO), {"a": 2, "b": 3, "c": 1.5}, u={"a": 0.1, "c": 0.1}, method="worst"
    )
    assert two.U["y"] == pytest.approx(0.2 + 0.4 / 1.5)
    assert [row.quantity for row in two.budget["y"]] == ["c", "a"]
    assert sum(row.share for row in two.budget["y"]) == pytest.approx(1)


def test_lists_names_and_covariance_matrices() -> None:
    f = tadc.function(RATIO)
    at = {"a": 2.0, "b": 3.0, "c": 1.5}
    matrix = np.array([[0.01, 0.002, 0.0], [0.002, 0.04, 0.0], [0.0, 0.0, 0.0]])
    r = tadc.propagate(f, at, cov=matrix)
    gradient = np.array([2.0, 4 / 3, -8 / 3])
    close(r.u["y"], math.sqrt(gradient @ matrix @ gradient))
    same = tadc.propagate(f, at, cov={"a": 0.01, "b": 0.04, ("a", "b"): 0.002})
    close(same.u["y"], r.u["y"])
    mixed = tadc.propagate(f, at, u={"a": 0.1, "b": 0.2}, cov={("b", "a"): 0.002})
    close(mixed.u["y"], r.u["y"])
    pair: Callable[..., Any] = lambda p, q: (p * q, p)  # noqa: E731
    assert list(tadc.propagate(pair, {"p": [1.0, 2.0], "q": 2}, u={"p": 0.1}).u) == ["f_0", "f_1"]


def test_result_prints_as_a_table() -> None:
    r = tadc.propagate(tadc.function(IMPEDANCE), AT, u=U, corr=CORR)
    assert isinstance(r, Result)
    assert "0.069978728" in str(r)
    assert "-0.16488488" in str(r.budget)
    many = tadc.propagate(tadc.function("x: f64[40]; y[i] = x[i]"), {"x": np.ones(40)}, u={"x": 0.5})
    assert "y[11]" in str(many)
    assert "…" in str(many)
    assert "y[12]" not in str(many)
