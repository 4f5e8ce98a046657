"""Contractions: MTTKRP, a batch of bilinear forms, a matrix product."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.workloads.workload import Arrays, Workload, prange


def _mttkrp_jax(jax: Any, x: Any, b: Any, c: Any) -> Any:
    return jax.numpy.einsum("ijk,jr,kr->ir", x, b, c)


def _mttkrp_torch(torch: Any, x: Any, b: Any, c: Any) -> Any:
    return torch.einsum("ijk,jr,kr->ir", x, b, c)


def _mttkrp_torch_tuned(torch: Any, x: Any, b: Any, c: Any) -> Any:
    return ((x @ c) * b).sum(1)


def _mttkrp_numpy(x: Any, b: Any, c: Any, dm: Any) -> Arrays:
    rows, columns, depth = x.shape
    flat = x.reshape(rows * columns, depth)
    t = (flat @ c).reshape(rows, columns, -1)
    g = dm[:, None] * b
    dx = (g.reshape(rows * columns, -1) @ c.T).reshape(x.shape)
    db = (dm[:, None] * t).sum(0)
    return (t * b).sum(1), dx, db, flat.T @ g.reshape(rows * columns, -1)


def _mttkrp_numba(x: Any, b: Any, c: Any, dm: Any) -> Arrays:
    rows, columns, depth = x.shape
    rank = b.shape[1]
    m, dx, db, dc = np.zeros_like(dm), np.empty_like(x), np.zeros_like(b), np.zeros_like(c)
    t = np.zeros((rows, columns, rank), x.dtype)
    for i in prange(rows):
        for j in range(columns):
            for k in range(depth):
                total = x[i, j, k] * 0
                for r in range(rank):
                    t[i, j, r] += x[i, j, k] * c[k, r]
                    total += dm[i, r] * b[j, r] * c[k, r]
                dx[i, j, k] = total
            for r in range(rank):
                m[i, r] += t[i, j, r] * b[j, r]
    for j in prange(columns):
        for i in range(rows):
            for r in range(rank):
                db[j, r] += dm[i, r] * t[i, j, r]
    for k in prange(depth):
        for i in range(rows):
            for j in range(columns):
                for r in range(rank):
                    dc[k, r] += x[i, j, k] * dm[i, r] * b[j, r]
    return m, dx, db, dc


MTTKRP = Workload(
    "mttkrp",
    "MTTKRP, rank 32",
    """x: f64[I, J, K]; b: f64[J, R]; c: f64[K, R]
m[i, r] = sum{j, k} (x[i, j, k] * b[j, r] * c[k, r])""",
    {"I": 256, "J": 256, "K": 256, "R": 32},
    {"I": 5, "J": 6, "K": 7, "R": 3},
    {
        "NumPy": _mttkrp_numpy,
        "JAX": _mttkrp_jax,
        "PyTorch": _mttkrp_torch,
        "PyTorch, tuned": _mttkrp_torch_tuned,
        "numba": _mttkrp_numba,
    },
)


def _bilinear_jax(jax: Any, x: Any, w: Any, z: Any) -> Any:
    return jax.numpy.einsum("ni,oij,nj->no", x, w, z)


def _bilinear_torch(torch: Any, x: Any, w: Any, z: Any) -> Any:
    return torch.nn.functional.bilinear(x, z, w)


def _bilinear_torch_tuned(torch: Any, x: Any, w: Any, z: Any) -> Any:
    return torch.einsum("ni,oij,nj->no", x, w, z)


def _bilinear_numpy(x: Any, w: Any, z: Any, dy: Any) -> Arrays:
    outputs, rows, columns = w.shape
    flat = np.ascontiguousarray(w.transpose(1, 0, 2)).reshape(rows, -1)
    t = (x @ flat).reshape(-1, outputs, columns)
    y = (t * z[:, None]).sum(2)
    g = (dy[:, :, None] * z[:, None]).reshape(len(x), -1)
    dw = (x.T @ g).reshape(rows, outputs, columns).transpose(1, 0, 2)
    return y, g @ flat.T, np.ascontiguousarray(dw), (dy[:, :, None] * t).sum(1)


BILINEAR = Workload(
    "bilinear",
    "bilinear forms, batch of 256",
    """x: f64[N, I]; w: f64[O, I, J]; z: f64[N, J]
y[n, o] = sum{i, j} (x[n, i] * w[o, i, j] * z[n, j])""",
    {"N": 256, "O": 64, "I": 128, "J": 128},
    {"N": 5, "O": 4, "I": 6, "J": 7},
    {
        "NumPy": _bilinear_numpy,
        "JAX": _bilinear_jax,
        "PyTorch": _bilinear_torch,
        "PyTorch, tuned": _bilinear_torch_tuned,
    },
)


def _matmul(_: Any, a: Any, b: Any) -> Any:
    return a @ b


def _matmul_numpy(a: Any, b: Any, dc: Any) -> Arrays:
    return a @ b, dc @ b.T, a.T @ dc


MATMUL = Workload(
    "matmul",
    "matrix product",
    "a: f64[N, K]; b: f64[K, M]\nc[i, j] = sum{k} (a[i, k] * b[k, j])",
    {"N": 1024, "K": 1024, "M": 1024},
    {"N": 6, "K": 7, "M": 5},
    {"NumPy": _matmul_numpy, "JAX": _matmul, "PyTorch": _matmul},
)
