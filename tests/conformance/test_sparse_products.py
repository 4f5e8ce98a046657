"""Products of sparse tensors, whose places differ and occur twice, against dense ones in JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tadc
from tadc.analysis.statistics import compiled_form

N = 6
RANDOM = np.random.default_rng(5)
HEAD = """
row: index[E] in N; col: index[E] in N; r2: index[F] in N; c2: index[F] in N
r3: index[G] in N; c3: index[G] in N
A: f64[N, N] at (row, col); B: f64[N, N] at (r2, c2); x: f64[N]; y: f64[N]
"""
PLACES = {
    name: RANDOM.integers(0, N, size)
    for name, size in {"row": 12, "col": 12, "r2": 15, "c2": 15, "r3": 9, "c3": 9}.items()
}
VALUES = tuple(RANDOM.normal(size=size) for size in (12, 15, N, N))

Value = Callable[..., Any]


def stored(values: Any) -> Any:
    return values[PLACES["r3"], PLACES["c3"]]


def where(condition: Any, then: Any, otherwise: Any) -> Any:
    return jnp.where(condition, then, otherwise)


#: What is computed of A, B, x and y, and the same of dense ones.
PROGRAMS: dict[str, tuple[str, Value]] = {
    "by rows": ("z[i] = sum{j} (A[i, j] * B[i, j])", lambda a, b, x, y: (a * b).sum(1)),
    "by rows and a vector": ("z[i] = sum{j} (A[i, j] * B[i, j] * x[j])", lambda a, b, x, y: (a * b) @ x),
    "a trace": ("z = sum{i, j} (A[i, j] * B[j, i])", lambda a, b, x, y: jnp.trace(a @ b)),
    "elements": ("z[i, j] = A[i, j] * B[i, j]", lambda a, b, x, y: a * b),
    "with its transpose": ("z[i] = sum{j} (A[i, j] * A[j, i])", lambda a, b, x, y: (a * a.T).sum(1)),
    "three": ("z[i] = sum{j} (A[i, j] * B[i, j] * A[j, i])", lambda a, b, x, y: (a * b * a.T).sum(1)),
    "a diagonal": ("z = sum{i} (A[i, i] * B[i, i] * x[i])", lambda a, b, x, y: (a * b).diagonal() @ x),
    "matrices": ("z[i, k] = sum{j} (A[i, j] * B[j, k])", lambda a, b, x, y: a @ b),
    "a Gram matrix": ("z[i, k] = sum{j} (A[i, j] * A[k, j])", lambda a, b, x, y: a @ a.T),
    "at a pattern": ("C: at (r3, c3); C[i, k] = sum{j} (A[i, j] * B[j, k])",
                     lambda a, b, x, y: stored(a @ b)),
    "elements at a pattern": ("C: at (r3, c3); C[i, j] = A[i, j] * B[i, j]",
                              lambda a, b, x, y: stored(a * b)),
    "a Gram matrix at a pattern": ("C: at (r3, c3); C[i, k] = sum{j} (A[i, j] * x[j] * A[k, j])",
                                   lambda a, b, x, y: stored((a * x) @ a.T)),
    "powers of sums": ("z = sum{i} ((sum{j} (A[i, j] * x[j]) - y[i])**3)",
                       lambda a, b, x, y: ((a @ x - y) ** 3).sum()),
    "a power of a quotient": ("z[i] = sum{j, k} ((A[i, j] / (2 + sin(B[i, k])))**2 * (A[i, j] * B[i, k]))",
                              lambda a, b, x, y: (a**3).sum(1) * (b / (2 + jnp.sin(b)) ** 2).sum(1)),
    "a quadratic form": ("z = sum{i, j, k} (x[i] * A[i, j] * B[j, k] * y[k])",
                         lambda a, b, x, y: x @ a @ b @ y),
    "shifted": ("z[i: N - 1] = sum{j: N - 1} (A[i + 1, j] * B[i, j + 1])",
                lambda a, b, x, y: (a[1:, :-1] * b[:-1, 1:]).sum(1)),
    "every second": ("z[i: N // 2] = sum{j: N // 2} (A[2*i, j] * B[i, 2*j])",
                     lambda a, b, x, y: (a[::2, : N // 2] * b[: N // 2, ::2]).sum(1)),
    "squares": ("z[i] = sum{j} (A[i, j]**2)", lambda a, b, x, y: (a**2).sum(1)),
    "cubes": ("z = sum{i, j} ((A[i, j] + B[i, j] + x[j])**3)", lambda a, b, x, y: ((a + b + x) ** 3).sum()),
    "sines": ("z[i] = sum{j} (sin(A[i, j] * x[j]) * y[i])", lambda a, b, x, y: jnp.sin(a * x).sum(1) * y),
    "of a sum": ("z[i] = sum{j} (tanh(A[i, j] - B[j, i]))", lambda a, b, x, y: jnp.tanh(a - b.T).sum(1)),
    "the larger": ("z[i] = sum{j} (max(A[i, j], B[i, j]) + max(A[i, j], 0) + abs(B[i, j]))",
                   lambda a, b, x, y: (where(a > b, a, b) + where(a > 0, a, 0) + where(b < 0, -b, b)).sum(1)),
    "exponentials": ("z[i] = sum{j} (A[i, j] * exp(A[i, j] * B[i, j]) / (2 + sin(A[i, j])))",
                     lambda a, b, x, y: (a * jnp.exp(a * b) / (2 + jnp.sin(a))).sum(1)),
    "chosen": ("z[i] = sum{j} (select(A[i, j] > x[j], B[i, j]*A[i, j], A[i, j]))",
               lambda a, b, x, y: where(a > x, a * b, a).sum(1)),
    "of elements at a pattern": ("C: at (r3, c3); C[i, j] = exp(A[i, j]) + sin(B[i, j])",
                                 lambda a, b, x, y: stored(jnp.exp(a) + jnp.sin(b))),
    "cut off": ("z[i] = sum{j} (max(min(A[i, j], 0.5), -0.3) * x[j] + min(2, B[i, j]))",
                lambda a, b, x, y: jnp.clip(a, -0.3, 0.5) @ x + jnp.minimum(2, b).sum(1)),
    "in between": ("let C[i, j] = A[i, j] * y[j]; z[i] = sum{j} (C[i, j] * x[j] + C[i, j]**2)",
                   lambda a, b, x, y: (a * y) @ x + ((a * y)**2).sum(1)),
    "rows of sum 1": ("let s[i] = sum{j} (A[i, j]); let C[i, j] = A[i, j] / (9 + s[i])\n"
                      "z[i, k] = sum{j} (C[i, j] * B[j, k]) + C[i, k]",
                      lambda a, b, x, y: (a / (9 + a.sum(1)[:, None])) @ b + a / (9 + a.sum(1)[:, None])),
    "a product in between": ("let C[i, j] = A[i, j] * B[j, i]; z[i] = sum{j} (C[i, j] * C[j, i])",
                             lambda a, b, x, y: ((a * b.T) * (a * b.T).T).sum(1)),
    "triples": ("z = sum{i, j, k} (A[i, j] * B[j, k] * A[k, i])", lambda a, b, x, y: jnp.trace(a @ b @ a)),
}  # fmt: skip


def program(name: str) -> tuple[tadc.Function, Value]:
    """A program, and its function of what A and B store in JAX."""
    text, value = PROGRAMS[name]
    head = HEAD if "r3" in text else HEAD.replace("r3: index[G] in N; c3: index[G] in N", "")

    def call(A: Any, B: Any, x: Any, y: Any) -> tuple[Any]:
        a, b = jnp.zeros((N, N)), jnp.zeros((N, N))
        a, b = a.at[PLACES["row"], PLACES["col"]].add(A), b.at[PLACES["r2"], PLACES["c2"]].add(B)
        return (value(a, b, x, y),)

    return tadc.function(head + text), call


def places_of(f: tadc.Function) -> list[Any]:
    return [PLACES[name] for name in f.inputs if name in PLACES]


def cotangents(f: Value, n: int) -> Value:
    """The gradients by all n arguments, from cotangents that stand behind them."""
    return lambda *args: jax.vjp(f, *args[:n])[1](tuple(args[n:]))


def alike(found: Any, expected: Any) -> None:
    for one, other in zip(found if isinstance(found, tuple) else (found,), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", PROGRAMS)
def test_values(name: str) -> None:
    f, value = program(name)
    alike(f(*places_of(f), *VALUES), value(*VALUES))


def check_gradients(name: str, order: int) -> None:
    f, value = program(name)
    values = list(VALUES)
    for _ in range(order):
        f, before = tadc.vjp(f), value
        more = [RANDOM.normal(size=np.shape(out)) for out in before(*values)]
        value, values = cotangents(before, len(values)), [*values, *more]
    alike(tuple(f(*places_of(f), *values)), value(*values))


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients(name: str) -> None:
    check_gradients(name, 1)


@pytest.mark.parametrize("order", [2, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_of_gradients(name: str, order: int) -> None:
    check_gradients(name, order)


@pytest.mark.parametrize("name", ["by rows and a vector", "at a pattern"])
def test_the_inspector_of_native_functions(name: str) -> None:
    f, value = program(name)
    alike(f.jax(*places_of(f), *VALUES), value(*VALUES))


#: Of matrices that would have 10**12 elements.
LARGE = {
    "elements": "s = sum{i, j} (A[i, j] * B[i, j] * x[j]**2 + A[i, j] * x[i]**2)",
    "a product": "s = sum{i, j, k} (A[i, j] * B[j, k] * x[k] * x[i])",
    "a trace": "s = sum{i, j} (A[i, j] * B[j, i] * x[i]**2)",
    "triples": "s = sum{i, j, k} (A[i, j] * B[j, k] * A[k, i] * x[k]**2)",
    "what is not linear": "s = sum{i, j} (A[i, j]**2 * x[j]**2 + sin(A[i, j] * x[i]) / (1 + A[i, j]**2))",
}


def large(name: str) -> tuple[tadc.Function, dict[str, Any]]:
    head = f"{HEAD.partition('r3')[0]}A: f64[N, N] at (row, col); B: f64[N, N] at (r2, c2); x: f64[N]\n"
    values = {place: RANDOM.integers(0, 1000, 10**4) for place in ("row", "col", "r2", "c2")}
    values |= {name: RANDOM.normal(size=10**4) for name in "AB"} | {"x": RANDOM.normal(size=10**6)}
    return tadc.function(head + LARGE[name]), values


def test_products_of_large_matrices() -> None:
    f, given = large("a product")
    right = np.bincount(given["r2"], given["B"] * given["x"][given["c2"]], 10**6)
    np.testing.assert_allclose(f(**given), given["x"][given["row"]] @ (given["A"] * right[given["col"]]))


@pytest.mark.parametrize(
    "text",
    ["z[i: N] = sum{j} (sin(A[i, j]) * x[j])", "z[i: N] = sum{j} (A[i, j]**2 * exp(A[i, j] * B[j, i]))"],
)
@pytest.mark.parametrize("sizes", [None, {"N": 2000, "E": 10000, "F": 10000}])
def test_no_tensor_in_between_is_dense(text: str, sizes: dict[str, int] | None) -> None:
    f = tadc.function(HEAD.partition("r3")[0] + HEAD.splitlines()[3] + "\n" + text)
    form = compiled_form((f.at(sizes) if sizes else f).program, "vjp", ("A", "x"))
    assert all(len(d.shape) == 1 for d in form.definitions)


@pytest.mark.parametrize("name", LARGE)
def test_nothing_has_the_size_of_all_elements(name: str) -> None:
    f, values = large(name)
    slopes, turn = tadc.grad(f)(**values), RANDOM.normal(size=10**6)
    product = tadc.hvp(f, "x")(**values, x_dot=turn)
    later, before = (tadc.grad(f, "x")(**values | {"x": values["x"] + step * turn}) for step in (1e-6, -1e-6))
    np.testing.assert_allclose(product, (later - before) / 2e-6, rtol=1e-5, atol=1e-5)
    ahead, behind = (f(**values | {"A": values["A"] * (1 + step)}) for step in (1e-6, -1e-6))
    np.testing.assert_allclose(np.vdot(slopes.dA, values["A"]), (ahead - behind) / 2e-6, rtol=1e-6)
