"""The class of each component, and products with its inverse, against dense solutions by `tadc.jacobian`."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

import tadc
from tadc.frontend.extents import shape_at
from tests.inversion.checking import compare

#: Programs with one component but for permutations, its class, and the inputs to differentiate by.
PROGRAMS = {
    "an element-wise formula": ("x: f64[7]; y[i] = x[i]**3 + 2*x[i]", "diagonal", "x"),
    "a formula of many dimensions": ("x: f64[2, 3, 4]; y[i, j, k] = exp(x[i, j, k])", "diagonal", "x"),
    "two tensors at each element": (
        "a: f64[6]; b: f64[6]; y[i] = a[i]*b[i] + a[i]; z[i] = a[i] - 3*b[i]",
        "block-diagonal, 6 of 2x2",
        "a b",
    ),
    "a small matrix for all rows": (
        "x: f64[6, 3]; W: f64[3, 3]; y[i, j] = tanh(sum{k} (W[j, k]*x[i, k]))",
        "block-diagonal, 6 of 3x3",
        "x",
    ),
    "larger blocks": (
        "x: f64[4, 5]; W: f64[5, 5]; y[i, j] = sum{k} (W[j, k]*x[i, k]**3)",
        "block-diagonal, 4 of 5x5",
        "x",
    ),
    "four scalars": (
        "a: f64; b: f64; c: f64; d: f64; p = a*b; q = a + b + sin(c); r = c*d*b; s = d + a",
        "dense",
        "a b c d",
    ),
    "a reversal": ("x: f64[7]; y[i: 7] = x[6 - i]", "permutation", "x"),
    "a transposition": ("x: f64[4, 5]; y[j, i] = x[i, j]", "permutation", "x"),
    "a scaled permutation": ("x: f64[12]; y[i: 4, j: 3] = x[4*j + i]**3 + x[4*j + i]", "permutation", "x"),
    "a shift around a ring": ("x: f64[7]; y[i: 7] = 3*x[(i + 2) % 7]", "permutation", "x"),
    "halves": ("x: f64[8]; a[i: 4] = x[i]; b[i: 4] = sinh(x[i + 4])", "permutation", "x"),
    "even and odd": ("x: f64[8]; a[i: 4] = x[2*i]; b[i: 4] = sinh(x[2*i + 1])", "permutation", "x"),
    "one after another": (
        "a: f64[3]; b: f64[4]; x[i: 7] = if {i < 3} then (a[i]) else (b[i - 3])",
        "permutation",
        "a b",
    ),
    "a lower bidiagonal matrix": (
        "x: f64[9]; y[i] = 3*x[i] + if {i > 0} then (x[i - 1]**2) else (0)",
        "lower triangular, banded, 1 below",
        "x",
    ),
    "an upper band for each row": (
        "x: f64[3, 9]; y[b, i] = 3*x[b, i] + if {i < 7} then (x[b, i + 2]*x[b, i]) else (0)",
        "upper triangular, banded, 2 above",
        "x",
    ),
    "a band through values in between": (
        "x: f64[9]; let h[i] = x[i]**3 + 3*x[i]; let g[i] = h[i] + if {i > 0} then (.3*h[i - 1]) else (0);"
        "y[i] = g[i] + if {i > 0} then (.1*g[i - 1]*x[i]) else (0)",
        "lower triangular, banded, 2 below",
        "x",
    ),
    "a band": (
        "x: f64[20]; y[i: 20] = 4*x[i] + sum{k}_(max [0; i - 2])^(min [i + 1; 19]) (sin(x[k]))",
        "banded, 2 below and 1 above",
        "x",
    ),
    "three diagonals": (
        "x: f64[20]; y[i] = 4*x[i] + (if {i > 0} then (sin(x[i - 1])) else (0))"
        "+ (if {i < 19} then (x[i]*x[i + 1]) else (0))",
        "banded, 1 below and 1 above",
        "x",
    ),
    "three diagonals through values in between": (
        "x: f64[20]; let h[i] = x[i]**2 + x[i]; y[i] = 4*h[i] + (if {i > 0} then (sin(h[i - 1])) else (0))"
        "+ (if {i < 19} then (x[i]*h[i + 1]) else (0))",
        "banded, 1 below and 1 above",
        "x",
    ),
    "a band of two tensors": (
        "a: f64[9]; b: f64[9]; y[i] = 2*a[i] + b[i]; z[i] = 3*b[i] + if {i > 0} then (a[i - 1]) else (0)",
        "banded, 3 below and 1 above",
        "a b",
    ),
    "a band around a ring": (
        "x: f64[12]; y[i] = 3*x[i] + x[(i + 1) % 12]**2 + sin(x[(i + 11) % 12])",
        "cyclic banded, 1 below and 1 above",
        "x",
    ),
    "cumulative sums": ("x: f64[9]; y[i: 9] = sum{k}_0^(i) (x[k]*x[i] + x[k])", "lower triangular", "x"),
    "two tensors, triangles in turns": (
        "x: f64[7]; y: f64[7]; a[i: 7] = 2*x[i] + sin(x[i]) + .3*sum{q}_0^(i - 1) (y[q]);"
        "b[i: 7] = exp(y[i]) + .3*sum{q}_0^(i - 1) (x[q])",
        "lower triangular",
        "x y",
    ),
    "two tensors, triangles above": (
        "x: f64[7]; y: f64[7]; a[i: 7] = 3*x[i] + sin(x[i]) + .3*sum{q}_(i)^6 (y[q]);"
        "b[i: 7] = 2*y[i] + .3*sum{q}_(i + 1)^6 (x[q])",
        "upper triangular",
        "x y",
    ),
    "a sum added to each": (
        "x: f64[9]; u: f64[9]; y[i] = 2*x[i] + u[i]*sum{k} (u[k]*x[k]**2)",
        "diagonal plus rank 1",
        "x",
    ),
    "a low rank": (
        "x: f64[20]; U: f64[20, 2]; V: f64[2, 20];"
        "let h[r: 2] = tanh(sum{k} (V[r, k]*x[k])); y[i] = x[i]**3 + 4*x[i] + sum{r} (U[i, r]*h[r])",
        "diagonal plus rank 2",
        "x",
    ),
    "a dense layer": ("x: f64[9]; W: f64[9, 9]; y[i: 9] = tanh(sum{k} (W[i, k]*x[k]))", "dense", "x"),
    "f32": ("x: f32[7]; y[i] = exp(x[i])", "diagonal", "x"),
    "a recurrence": (
        "x: f64[9]; scan{i} y[i] = x[i]*(1 + .1*x[i]**2) + if {i > 0} then (sin(y[i - 1])) else (0)",
        "recurrence, diagonal",
        "x",
    ),
    "a recurrence from the end, of what is kept": (
        "x: f64[9]; s: f64[9]; r[i] = s[i];"
        "scan{-i} y[i] = x[i] + s[i] + if {i < 8} then (sin(y[i + 1])*s[i + 1]) else (0)",
        "recurrence, diagonal",
        "x s",
    ),
    "a recurrence of two sides": (
        "x: f64[9]; scan{i} y[i] = 2*x[i] + if {i > 0} then (sin(y[i - 1]) + .3*x[i - 1]**2) else (0)",
        "recurrence, lower triangular, banded, 1 below",
        "x",
    ),
    "a recurrent network": (
        "x: f64[5, 4]; W: f64[4, 4]; V: f64[4, 4]; scan{t} y[t, i] = sum{k} (V[i, k]*x[t, k])"
        "+ if {t > 0} then (tanh(sum{k} (W[i, k]*y[t - 1, k]))) else (0)",
        "recurrence, block-diagonal, 5 of 4x4",
        "x",
    ),
    "a recurrence in between": (
        "x: f64[3]; let scan{t} h[t: 5, i: 3] = if {t = 0} then (x[i])"
        "else (h[t - 1, i] + .1*h[t - 1, 2 - i]**2); y[i: 3] = h[4, i]",
        "4 steps, each permutation and block-diagonal, 4 of 2x2 and diagonal",
        "x",
    ),
}


def inputs(f: tadc.Function) -> list[np.ndarray]:
    random = np.random.default_rng(7)
    kinds = {"f32": np.float32, "f64": np.float64}
    return [
        random.uniform(0.3, 0.9, shape_at(a.shape, {})).astype(kinds[a.type]) for a in f.program.arguments
    ]


def dense(f: tadc.Function, wrt: Sequence[str], arguments: Sequence[np.ndarray]) -> np.ndarray:
    jacobian = tadc.jacobian(f, wrt)
    found = jacobian(*arguments)
    blocks = dict(zip(jacobian.outputs, found if isinstance(found, tuple) else (found,), strict=True))
    sizes = {t.name: math.prod(shape_at(t.shape, {})) for t in (*f.program.arguments, *f.program.outputs)}
    return np.block(
        [[blocks[f"d{y}_d{x}"].reshape(sizes[y], sizes[x]) for x in wrt] for y in f.outputs]
    ).astype(float)


@pytest.mark.parametrize("name", PROGRAMS)
def test_class(name: str) -> None:
    text, kind, wrt = PROGRAMS[name]
    f = tadc.function(text)
    inverse = tadc.inverse(f, wrt.split())
    # Permutations bring values in parts together.
    assert next((found for found in inverse.plan.kinds if found != "permutation"), "permutation") == kind
    arguments = inputs(f)
    tolerance = 1e-5 if f.program.arguments[0].type == "f32" else 1e-9
    compare(inverse, arguments, dense(f, wrt.split(), arguments), tolerance)


def test_costs_tell_classes_apart() -> None:
    """A structure that the compiler finds is cheaper than a dense system of that size."""
    costs = {name: tadc.inverse(tadc.function(t), w.split()).plan for name, (t, _, w) in PROGRAMS.items()}
    for name, plan in costs.items():
        for step in plan.steps:
            lu = (step.size**3 - step.size) // 3 + step.size**2
            # A dense system takes, besides, as many tangents through all steps as it has columns.
            lu += plan.width * sum(plan.graph.sizes.values()) if "steps" in step.kind else 0
            assert step.cost == lu if step.kind == "dense" else step.cost <= lu, name
