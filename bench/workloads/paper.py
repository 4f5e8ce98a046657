"""The example of section 6 of the paper (Urban and van der Smagt 2017)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bench.workloads.workload import Arrays, Workload, prange


def _jax(jax: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    jnp = jax.numpy
    i, k = jnp.arange(a.shape[0])[:, None], jnp.arange(a.shape[1])[None, :]
    square = ((a[:, None, :] + b[None, :, :]) ** 2).sum(2) * jnp.diagonal(c)[:, None]
    return jnp.exp(-(square + (d[i + k] ** 3).sum(1)[:, None]))


def _jax_tuned(jax: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    jnp = jax.numpy
    square = (a * a).sum(1)[:, None] + (b * b).sum(1) + 2 * (a @ b.T)
    total = jnp.concatenate([jnp.zeros_like(d, shape=1), jnp.cumsum(d**3)])
    cubes = total[a.shape[1] :] - total[: -a.shape[1]]
    return jnp.exp(-(square * jnp.diagonal(c)[:, None] + cubes[:, None]))


def _torch(torch: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    square = ((a[:, None, :] + b[None, :, :]) ** 2).sum(2) * torch.diagonal(c)[:, None]
    return torch.exp(-(square + (d.unfold(0, a.shape[1], 1) ** 3).sum(1)[:, None]))


def _torch_tuned(torch: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    square = (a * a).sum(1)[:, None] + (b * b).sum(1) + 2 * (a @ b.T)
    cubes = (d**3).unfold(0, a.shape[1], 1).sum(1)
    return torch.exp(-(square * torch.diagonal(c)[:, None] + cubes[:, None]))


def _numpy(a: Any, b: Any, c: Any, d: Any, df: Any) -> Arrays:
    diagonal = np.diagonal(c)[:, None]
    square = (a * a).sum(1)[:, None] + (b * b).sum(1) + 2 * (a @ b.T)
    ones = np.ones(a.shape[1], a.dtype)
    f = np.exp(-(square * diagonal + np.convolve(d**3, ones, "valid")[:, None]))
    g = -df * f
    rows = g.sum(1)
    da = 2 * diagonal * (a * rows[:, None] + g @ b)
    db = 2 * (b * (g * diagonal).sum(0)[:, None] + g.T @ (diagonal * a))
    dc = np.diag((g * square).sum(1))
    return f, da, db, dc, 3 * d**2 * np.convolve(rows, ones)


def _numba(a: Any, b: Any, c: Any, d: Any, df: Any) -> Arrays:
    rows, columns, depth = a.shape[0], b.shape[0], a.shape[1]
    f, g = np.empty_like(df), np.empty_like(df)
    da, db, dc, dd = np.zeros_like(a), np.zeros_like(b), np.zeros_like(c), np.empty_like(d)
    sums = np.empty(rows, a.dtype)
    for i in prange(rows):
        cubes = d[i] * 0
        for k in range(depth):
            cubes += d[i + k] * d[i + k] * d[i + k]
        total = diagonal = d[i] * 0
        for j in range(columns):
            square = d[i] * 0
            for k in range(depth):
                square += (a[i, k] + b[j, k]) * (a[i, k] + b[j, k])
            f[i, j] = math.exp(-(square * c[i, i] + cubes))
            g[i, j] = -df[i, j] * f[i, j]
            total += g[i, j]
            diagonal += g[i, j] * square
            for k in range(depth):
                da[i, k] += 2 * g[i, j] * c[i, i] * (a[i, k] + b[j, k])
        sums[i] = total
        dc[i, i] = diagonal
    for j in prange(columns):
        for i in range(rows):
            factor = 2 * g[i, j] * c[i, i]
            for k in range(depth):
                db[j, k] += factor * (a[i, k] + b[j, k])
    for e in prange(d.shape[0]):
        total = d[e] * 0
        for i in range(max(0, e - depth + 1), min(rows, e + 1)):
            total += sums[i]
        dd[e] = 3 * d[e] * d[e] * total
    return f, da, db, dc, dd


PAPER = Workload(
    "paper",
    "paper example",
    """a: f64[I, K]; b: f64[J, K]; c: f64[I, I]; d: f64[I + K - 1]
f[i, j] = exp(-sum{k} ((a[i, k] + b[j, k])**2 * c[i, i] + d[i + k]**3))""",
    {"I": 512, "J": 384, "K": 64},
    {"I": 7, "J": 6, "K": 5},
    {
        "NumPy": _numpy,
        "JAX": _jax,
        "JAX, tuned": _jax_tuned,
        "PyTorch": _torch,
        "PyTorch, tuned": _torch_tuned,
        "numba": _numba,
    },
)
