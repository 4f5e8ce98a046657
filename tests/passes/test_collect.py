"""Contributions to one gradient, collected: the same values as apart, in less text and time."""

import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tadc
from tadc.backend.object_code import object_code
from tadc.compiler.all_stages import compile_until
from tadc.compiler.compile_options import Options
from tadc.compiler.stages import Compilation
from tadc.frontend.terms import Guard, Reduce, reachable


def kinds(f, kind):
    """How many terms of a kind the gradients have."""
    found = reachable(d.body for d in f.program.definitions if d.gradient_of)
    return sum(isinstance(term, kind) for term in found)


@pytest.mark.parametrize("n", [7, 8, 9, 33])
def test_many_single_elements(n):
    """`x[0]*x[3] + x[1]*x[10] + …`: every element has its own part, found by halving."""
    pairs = [(k, (7 * k + 3) % n) for k in range(n)]
    f = tadc.function(f"x: f64[{n + 2}]\nf = " + " - ".join(f"x[{a}] * x[{b}]**2" for a, b in pairs))
    x = np.random.default_rng(n).uniform(-1, 1, n + 2)

    def reference(x):
        first, *rest = [x[a] * x[b] ** 2 for a, b in pairs]
        return first - sum(rest)

    with jax.enable_x64(True):
        expected = jax.grad(reference)(jnp.asarray(x))
    np.testing.assert_allclose(tadc.grad(f)(x), expected, rtol=1e-12, atol=1e-15)


def test_elements_of_a_matrix():
    """Equalities of two indices: halved by one, then by the other."""
    places = [(a, b) for a in range(9) for b in range(9) if (a * b) % 4 != 1]
    f = tadc.function("x: f64[9, 9]\nf = " + " + ".join(f"{a + 2 * b}*x[{a}, {b}]**2" for a, b in places))
    x = np.random.default_rng(0).uniform(-1, 1, (9, 9))
    expected = np.zeros((9, 9))
    for a, b in places:
        expected[a, b] = 2 * (a + 2 * b) * x[a, b]
    np.testing.assert_allclose(tadc.grad(f)(x), expected, rtol=1e-12)


def test_equal_domains_are_one_sum():
    f = tadc.function(
        "x: f64[9]; w: f64[3]; f[i: 7] = sum{k} (x[i + k] * w[k] + x[i + k]**2 - sin(x[i + k]))"
    )
    g = tadc.function("x: f64[9]; f[i: 7] = sum{k}_0^2 (x[i + k]**2) - sum{k}_0^2 (cos(x[i + k]))")
    assert kinds(tadc.vjp(f, "x"), Reduce) == 1
    assert kinds(tadc.vjp(g), Reduce) == 1
    x, df = np.linspace(-1, 1, 9), np.linspace(1, 2, 7)
    expected = np.zeros(9)
    for i in range(7):
        expected[i : i + 3] += df[i] * (2 * x[i : i + 3] + np.sin(x[i : i + 3]))
    np.testing.assert_allclose(tadc.vjp(g)(x, df), expected, rtol=1e-12)


def test_equal_guards_are_one():
    f = tadc.function("u: f64[8]; f[i: 6] = u[i + 1]**2 + sin(u[i + 1]) * u[i]")
    assert kinds(tadc.vjp(f), Guard) == 2


def test_sums_over_parts_of_a_set_are_one():
    """`x[i - 1]` is read with one weight at the end and elsewhere, or with another one there."""
    text = "x: f64[N]\nf[i: N] = if {i = 0} then (0) else (if {i = N - 1} then (A) else (2*x[i - 1] * i))"
    f, g = (tadc.vjp(tadc.function(text.replace("A", a))) for a in ("1 + 2*x[i - 1] * i", "3*x[i - 1]"))
    assert [kinds(h, Guard) for h in (f, g)] == [1, 2]
    x, df = np.linspace(-1, 1, 5), np.linspace(3, 5, 5)
    np.testing.assert_allclose(f(x, df), [*(2 * df * range(5))[1:], 0])
    np.testing.assert_allclose(g(x, df), [*(2 * df * range(5))[1:4], 3 * df[4], 0])


def test_guards_of_one_term_over_parts_of_a_set_are_one():
    """Where r is read at all, both parts of the band read the same of the row above."""
    text = """x: f64[N]; size W
    let scan{i + j} r[i: N, j: N] = if {i - j <= W and j - i <= W} then (x[i]
    + if {i = 0} then (0) else (if {j = 0} then (0) else (if {i - j = W} then (A*sin(r[i - 1, j])) else (
    if {j - i = W} then (x[j]) else (2*sin(r[i - 1, j])))))) else (0)
    f = sum{i, j} (r[i, j])"""
    f, g = (tadc.vjp(tadc.function(text.replace("A", a))) for a in "23")
    assert [str(h).count("cos(r[") for h in (f, g)] == [1, 2]
    x, e = np.random.default_rng(0).normal(size=6), 1e-6

    def value(x: np.ndarray, a: int) -> float:
        r = np.zeros((6, 6))
        for i, j in np.ndindex(6, 6):
            if abs(i - j) <= 2:
                above = a if i - j == 2 else 2
                rest = x[j] if j - i == 2 else above * np.sin(r[i - 1, j])
                r[i, j] = x[i] + (rest if i and j else 0)
        return r.sum()

    for h, a in ((f, 2), (g, 3)):
        expected = [(value(x + d, a) - value(x - d, a)) / (2 * e) for d in e * np.eye(6)]
        np.testing.assert_allclose(h(x=x, W=2, df=1.0), expected, rtol=1e-6, atol=1e-6)


def test_hundreds_of_squares_compile_in_linear_time():
    """LLVM took 14 times as long for the gradient of 800 squares as for that of 200."""

    def seconds(n):
        program = tadc.function(f"x: f64[{n}]\nf = " + " + ".join(f"x[{i}]**2" for i in range(n))).program
        state = Compilation(Options("vjp"), program.source, program=program)
        compile_until(state, "llvm", first="tad")
        begin = time.process_time()
        object_code(state.llvm_ir)
        return time.process_time() - begin

    seconds(2)
    assert seconds(600) < 8 * seconds(150)
