"""Linear algebra, contractions, transposes, sums over pairs."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.workloads.workload import Form, Workload


def _einsum(what: str) -> Form:
    return lambda jax, *arrays: jax.numpy.einsum(what, *arrays, optimize=True)


def _rbf(jax: Any, x: Any, y: Any, s: Any) -> Any:
    return jax.numpy.exp(-(((x[:, None] - y[None]) * s) ** 2).sum(-1))


def _cosines(jax: Any, x: Any) -> Any:
    norms = jax.numpy.sqrt((x**2).sum(1))
    return (x @ x.T) / (norms[:, None] * norms[None])


def _lennard_jones(jax: Any, x: Any) -> Any:
    r = ((x[:, None] - x[None]) ** 2).sum(-1) + 0.1
    return jax.numpy.where(np.eye(len(x), dtype=bool), 0, 1 / r**6 - 1 / r**3).sum(1)


def _spectrum(jax: Any, x: Any) -> Any:
    jnp, count = jax.numpy, len(x)
    angle = 2 * np.pi * np.arange(count // 2)[:, None] * np.arange(count) / count
    return (jnp.cos(angle).astype(x.dtype) @ x) ** 2 + (jnp.sin(angle).astype(x.dtype) @ x) ** 2


def _contraction(name: str, title: str, program: str, sizes: dict[str, int], what: str) -> Workload:
    small = {size: 2 + n for n, size in enumerate(sizes)}
    return Workload(name, title, program, sizes, small, {"JAX": _einsum(what)})


ARRAYS = (
    _contraction(
        "matvec",
        "matrix times vector",
        "a: f64[N, K]; x: f64[K]\ny[i] = sum{k} (a[i, k]*x[k])",
        {"N": 2000, "K": 2000},
        "ik,k->i",
    ),
    _contraction(
        "vecmat",
        "vector times matrix",
        "a: f64[K, N]; x: f64[K]\ny[i] = sum{k} (a[k, i]*x[k])",
        {"N": 2000, "K": 2000},
        "ki,k->i",
    ),
    _contraction(
        "batched-matvec",
        "small matrices times vectors",
        "a: f64[B, N, N]; x: f64[B, N]\ny[b, i] = sum{k} (a[b, i, k]*x[b, k])",
        {"B": 2000, "N": 40},
        "bik,bk->bi",
    ),
    Workload(
        "quadratic",
        "quadratic form of many vectors",
        "a: f64[K, K]; x: f64[N, K]\ny[n] = sum{i, j} (x[n, i]*a[i, j]*x[n, j])",
        {"N": 20000, "K": 64},
        {"N": 5, "K": 4},
        {"JAX": lambda jax, a, x: ((x @ a) * x).sum(1)},
    ),
    _contraction(
        "tucker",
        "Tucker decomposition",
        """g: f64[R, R, R]; a: f64[N, R]; b: f64[N, R]; c: f64[N, R]
t[i, j, k] = sum{p, q, r} (g[p, q, r]*a[i, p]*b[j, q]*c[k, r])""",
        {"N": 96, "R": 16},
        "pqr,ip,jq,kr->ijk",
    ),
    _contraction(
        "contraction",
        "contraction over two of four indices",
        "a: f64[I, J, K, L]; b: f64[L, J, M]\nc[i, k, m] = sum{j, l} (a[i, j, k, l]*b[l, j, m])",
        {"I": 32, "J": 24, "K": 40, "L": 20, "M": 36},
        "ijkl,ljm->ikm",
    ),
    _contraction(
        "trilinear",
        "bilinear maps of many pairs",
        "a: f64[K, K, K]; x: f64[N, K]; y: f64[N, K]\nz[n, k] = sum{i, j} (a[i, j, k]*x[n, i]*y[n, j])",
        {"N": 300, "K": 50},
        "ijk,ni,nj->nk",
    ),
    Workload(
        "cubic",
        "cubic features",
        "w: f64[K, K, K]; x: f64[N, K]\ny[n] = sum{i, j, k} (w[i, j, k]*x[n, i]*x[n, j]*x[n, k])",
        {"N": 20000, "K": 12},
        {"N": 5, "K": 3},
        {"JAX": lambda jax, w, x: _einsum("ijk,ni,nj,nk->n")(jax, w, x, x, x)},
    ),
    Workload(
        "kronecker",
        "Kronecker product",
        "a: f64[N, N]; b: f64[K, K]\ny[i: N*K, j: N*K] = a[i // K, j // K]*b[i % K, j % K]",
        {"N": 40, "K": 40},
        {"N": 3, "K": 4},
        {"JAX": lambda jax, a, b: jax.numpy.kron(a, b)},
    ),
    Workload(
        "symmetric",
        "product with the transpose, element by element",
        "x: f64[N, N]\ny[i, j] = x[i, j]*x[j, i]",
        {"N": 2048},
        {"N": 19},
        {"JAX": lambda jax, x: x * x.T},
    ),
    Workload(
        "permuted",
        "an array with its axes in reverse order",
        "x: f64[N, N, N]\ny[i, j, k] = 2*x[k, j, i]",
        {"N": 192},
        {"N": 7},
        {"JAX": lambda jax, x: 2 * x.transpose(2, 1, 0)},
    ),
    Workload(
        "column-sums",
        "sums of squares of columns",
        "x: f64[N, K]\ny[k] = sum{i} (x[i, k]**2)",
        {"N": 20000, "K": 100},
        {"N": 30, "K": 4},
        {"JAX": lambda jax, x: (x**2).sum(0)},
    ),
    Workload(
        "differences",
        "differences, times the array backwards",
        "x: f64[N]\ny[i: N - 1] = (x[i + 1] - x[i])**2 * x[N - 1 - i]",
        {"N": 4_000_000},
        {"N": 40},
        {"JAX": lambda jax, x: (x[1:] - x[:-1]) ** 2 * x[::-1][: len(x) - 1]},
    ),
    Workload(
        "cosines",
        "cosines of the angles of all pairs",
        """x: f64[N, K]
let n[i] = sqrt(sum{k} (x[i, k]**2))
s[i, j] = sum{k} (x[i, k]*x[j, k]) / (n[i]*n[j])""",
        {"N": 1000, "K": 128},
        {"N": 6, "K": 5},
        {"JAX": _cosines},
    ),
    Workload(
        "rbf",
        "Gaussian kernel with scales",
        """x: f64[N, D]; y: f64[M, D]; s: f64[D]
k[i, j] = exp(-sum{d} (((x[i, d] - y[j, d])*s[d])**2))""",
        {"N": 600, "M": 500, "D": 16},
        {"N": 6, "M": 5, "D": 3},
        {"JAX": _rbf},
    ),
    Workload(
        "lennard-jones",
        "potential of all pairs",
        """x: f64[N, 3]
let r[i, j] = sum{d} ((x[i, d] - x[j, d])**2) + 0.1
f[i] = sum{j} (if {i != j} then (1/r[i, j]**6 - 1/r[i, j]**3) else (0))""",
        {"N": 1500},
        {"N": 7},
        {"JAX": _lennard_jones},
    ),
    Workload(
        "spectrum",
        "power spectrum by its definition",
        """x: f64[N]
p[k: N // 2] = sum{n} (x[n]*cos(2*pi*k*n/N))**2 + sum{n} (x[n]*sin(2*pi*k*n/N))**2""",
        {"N": 600},
        {"N": 12},
        {"JAX": _spectrum},
    ),
)
