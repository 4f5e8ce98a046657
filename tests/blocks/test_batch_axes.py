"""Indices along which a function of parts of its arguments gives parts of its results: cut in NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import tadc
from tadc.frontend.extents import shape_at
from tests.blocks.batch_parts import in_parts

SIZES = {"B": 7, "N": 7, "M": 6, "K": 5, "E": 9, "H": 4}

#: Programs, what is made of them, and the indices that are like those of a batch.
CASES: Mapping[str, tuple[str, Any, str]] = {
    "layer": ("x: f64[B, K]; w: f64[M, K]; y[n, o] = tanh(sum{i} (w[o, i]*x[n, i]))", None, "n o"),
    "layer, gradient": (
        "x: f64[B, K]; w: f64[M, K]; b: f64[M]; y[n, o] = tanh(sum{i} (w[o, i]*x[n, i]) + b[o])",
        tadc.value_and_vjp,
        "n o",
    ),
    "product": ("a: f64[N, K]; b: f64[K, M]; c[i, j] = sum{k} (a[i, k]*b[k, j])", None, "i j k"),
    "product, second": (
        "a: f64[N, K]; b: f64[K, M]; c[i, j] = sum{k} (a[i, k]*b[k, j])",
        lambda f: tadc.vjp(tadc.vjp(f)),
        "i k j",
    ),
    "reductions": ("x: f64[N]; s = sum{i} (x[i]); m = max{i} (x[i]); p = prod{i} (x[i])", None, "i"),
    "window": ("x: f64[B, N]; w: f64[3]; y[b, i: N - 2] = sum{k} (x[b, i + k]*w[k])", tadc.vjp, "b"),
    "attention": (
        "q: f64[H, N, K]; k: f64[H, M, K]; v: f64[H, M, K]; let s[h, i, j] = sum{d} (q[h, i, d]*k[h, j, d])\n"
        "y[h, i, c] = sum{j} (exp(s[h, i, j])*v[h, j, c]) / sum{j} (exp(s[h, i, j]))",
        tadc.vjp,
        "h i",
    ),
    "recurrence": (
        "x: f64[B, N]; a: f64\n"
        "scan{t} s[b: B, t: N] = if {t = 0} then (x[b, 0]) else (a*s[b, t - 1]*x[b, t])",
        tadc.value_and_vjp,
        "b",
    ),
    "edges": ("src: index[E] in N; x: f64[N, K]; y[e, f] = x[src[e], f]**2", tadc.vjp, "f e"),
    "read for its size": ("src: index[E] in N; x: f64[N, K]; y[e, f] = x[src[e], f]", tadc.vjp, "f e"),
    "place": ("x: f64[N]; y[i] = i*x[i]", None, ""),
    "condition": ("x: f64[N]; y[i] = if {i < N - 1} then (x[i]) else (0)", None, ""),
    "number of places": ("x: f64[N]; y[i] = x[i]/N", None, ""),
    "mean": ("x: f64[N]; s = sum{i} (x[i])/N", None, ""),
    "first": ("x: f64[N, M]; y[i, j] = x[i, j] - x[0, j]", None, "j"),
    "reflected": ("x: f64[N]; y[i] = x[N - 1 - i]", None, ""),
    "two by two": ("x: f64[2*N]; y[i: N] = x[2*i] - x[2*i + 1]", None, ""),
    "pairs": ("p: f64[N, K]; r[i: N] = sum{j: N} (exp(-sum{d} ((p[i, d] - p[j, d])**2)))", None, ""),
    "other size": ("q: f64[N, K]; v: f64[M, K]; y[i, c] = sum{d} (q[i, d])*sum{j} (v[j, c])", None, "i"),
    "part below a function": ("x: f64[N]; s = exp(sum{i} (x[i]))", None, ""),
    "fixed": ("x: f64[6, M]; y[i, j] = 2*x[i, j]", None, "j"),
    "transposed": ("x: f64[N, N]; y[i, j] = x[i, j] + x[j, i]", None, ""),
    "permutation": ("p: index[N] in N; x: f64[N]; y[i] = x[p[i]]", None, ""),
}


@pytest.mark.parametrize("name", CASES)
def test_parts_are_those_of_the_whole(name: str) -> None:
    text, derived, indices = CASES[name]
    f = tadc.function(text)
    f = f if derived is None else derived(f)
    assert [axis.name for axis in f.block.batch_axes] == indices.split()
    rng, arrays = np.random.default_rng(3), {}
    for a in f.program.arguments:
        shape = shape_at(a.shape, SIZES)
        below = a.below and shape_at([a.below], SIZES)[0]
        arrays[a.name] = rng.integers(0, below, shape) if below else rng.uniform(0.5, 1.5, shape)
    whole = f(**arrays) if len(f.outputs) > 1 else [f(**arrays)]
    for axis in f.block.batch_axes:
        places = next(arrays[tensor].shape[d] for tensor, d in axis.dims.items() if tensor in arrays)
        for cuts in ([3], [1, 1, places]):  # the second has parts with nothing in them
            for one, other in zip(in_parts(f, axis, arrays, cuts), whole, strict=True):
                np.testing.assert_allclose(one, other, 1e-12, 1e-13)
