"""Programs a part of which is known before the arguments: bases, powers, tall products."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.workloads.workload import Workload


def _cosines(jax: Any, x: Any, s: Any) -> Any:
    count = x.shape[1]
    angle = np.pi * (np.arange(count) + 0.5) * np.arange(count)[:, None] / count
    return x @ np.cos(angle).astype(x.dtype).T * s


def _polynomials(jax: Any, x: Any, c: Any) -> Any:
    return jax.numpy.vander(x, len(c), increasing=True) @ c


def _means(jax: Any, x: Any, c: Any) -> Any:
    distances = ((x[:, None] - c[None]) ** 2).sum(2)
    weights = jax.nn.softmax(-distances, axis=1)
    return (weights * distances).sum() / len(x)


def _factors(jax: Any, t: Any, a: Any, b: Any, c: Any) -> Any:
    return ((t - jax.numpy.einsum("ir,jr,kr->ijk", a, b, c)) ** 2).sum()


KNOWN = (
    Workload(
        "cosine-transform",
        "cosine transform",
        "x: f64[B, N]; s: f64[N]\ny[b, k: N] = sum{n} (x[b, n]*cos(pi*(n + 0.5)*k / N))*s[k]",
        {"B": 200, "N": 256},
        {"B": 3, "N": 5},
        {"JAX": _cosines},
    ),
    Workload(
        "polynomials",
        "polynomials at many places",
        "x: f64[N]; c: f64[12]\ny[i] = sum{k} (c[k]*x[i]**k)",
        {"N": 100_000},
        {"N": 9},
        {"JAX": _polynomials},
    ),
    Workload(
        "transposed-product",
        "A^T B",
        "a: f64[K, N]; b: f64[K, M]\nc[i, j] = sum{k} (a[k, i]*b[k, j])",
        {"K": 512, "N": 512, "M": 512},
        {"K": 5, "N": 4, "M": 3},
        {
            "JAX": lambda jax, a, b: a.T @ b,
            "PyTorch": lambda torch, a, b: a.T @ b,
            "NumPy": lambda a, b, dc: (a.T @ b, b @ dc.T, a @ dc),
        },
    ),
    Workload(
        "tall-product",
        "A B^T of tall A",
        "a: f64[N, K]; b: f64[M, K]\nc[i, j] = sum{k} (a[i, k]*b[j, k])",
        {"N": 20000, "K": 64, "M": 32},
        {"N": 5, "K": 4, "M": 3},
        {
            "JAX": lambda jax, a, b: a @ b.T,
            "PyTorch": lambda torch, a, b: a @ b.T,
            "NumPy": lambda a, b, dc: (a @ b.T, dc @ b, dc.T @ a),
        },
    ),
    Workload(
        "soft-means",
        "soft k-means",
        """x: f64[N, D]; c: f64[K, D]
let d[i, k] = sum{m} ((x[i, m] - c[k, m])**2)
let w[i, k] = exp(-d[i, k])
f = sum{i} (sum{k} (w[i, k]*d[i, k]) / sum{k} (w[i, k])) / N""",
        {"N": 5000, "K": 30, "D": 8},
        {"N": 7, "K": 4, "D": 3},
        {"JAX": _means},
    ),
    Workload(
        "factors",
        "loss of a decomposition of rank R",
        """t: f64[I, J, K]; a: f64[I, R]; b: f64[J, R]; c: f64[K, R]
f = sum{i, j, k} ((t[i, j, k] - sum{r} (a[i, r]*b[j, r]*c[k, r]))**2)""",
        {"I": 80, "J": 80, "K": 80, "R": 12},
        {"I": 4, "J": 3, "K": 5, "R": 2},
        {"JAX": _factors},
    ),
)
