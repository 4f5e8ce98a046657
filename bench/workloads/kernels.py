"""Sums over all pairs: kernel density, attention, a log-sum with a diagonal."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bench.workloads.workload import Arrays, Workload, prange


def _density_jax(jax: Any, x: Any, q: Any) -> Any:
    return jax.numpy.exp(-((q[:, None, :] - x[None, :, :]) ** 2).sum(2)).sum(1)


def _density_jax_tuned(jax: Any, x: Any, q: Any) -> Any:
    distance = (q * q).sum(1)[:, None] + (x * x).sum(1) - 2 * (q @ x.T)
    return jax.numpy.exp(-distance).sum(1)


def _density_torch(torch: Any, x: Any, q: Any) -> Any:
    return torch.exp(-((q[:, None, :] - x[None, :, :]) ** 2).sum(2)).sum(1)


def _density_torch_tuned(torch: Any, x: Any, q: Any) -> Any:
    distance = (q * q).sum(1)[:, None] + (x * x).sum(1) - 2 * (q @ x.T)
    return torch.exp(-distance).sum(1)


def _density_keops(keops: Any, x: Any, q: Any) -> Any:
    pairs = keops.LazyTensor(q[:, None, :]) - keops.LazyTensor(x[None, :, :])
    return (-(pairs**2).sum(-1)).exp().sum(1)[:, 0]


def _density_numpy(x: Any, q: Any, df: Any) -> Arrays:
    e = np.exp(2 * (q @ x.T) - (q * q).sum(1)[:, None] - (x * x).sum(1))
    g = e * (-2 * df[:, None])
    return e.sum(1), g.sum(0)[:, None] * x - g.T @ q, g.sum(1)[:, None] * q - g @ x


def _density_numba(x: Any, q: Any, df: Any) -> Arrays:
    f, dx, dq = np.empty_like(df), np.empty_like(x), np.empty_like(q)
    for j in prange(q.shape[0]):
        total = g0 = g1 = g2 = df[j] * 0
        for i in range(x.shape[0]):
            t0, t1, t2 = q[j, 0] - x[i, 0], q[j, 1] - x[i, 1], q[j, 2] - x[i, 2]
            e = math.exp(-(t0 * t0 + t1 * t1 + t2 * t2))
            total += e
            g0 += e * t0
            g1 += e * t1
            g2 += e * t2
        f[j] = total
        dq[j, 0], dq[j, 1], dq[j, 2] = -2 * df[j] * g0, -2 * df[j] * g1, -2 * df[j] * g2
    for i in prange(x.shape[0]):
        g0 = g1 = g2 = x[i, 0] * 0
        for j in range(q.shape[0]):
            t0, t1, t2 = q[j, 0] - x[i, 0], q[j, 1] - x[i, 1], q[j, 2] - x[i, 2]
            e = df[j] * math.exp(-(t0 * t0 + t1 * t1 + t2 * t2))
            g0 += e * t0
            g1 += e * t1
            g2 += e * t2
        dx[i, 0], dx[i, 1], dx[i, 2] = 2 * g0, 2 * g1, 2 * g2
    return f, dx, dq


DENSITY = Workload(
    "density",
    "kernel density, D = 3",
    """x: f64[N, 3]; q: f64[M, 3]
f[j] = sum{i} (exp(-sum{m} ((q[j, m] - x[i, m])**2)))""",
    {"N": 8192, "M": 8192},
    {"N": 19, "M": 17},
    {
        "NumPy": _density_numpy,
        "JAX": _density_jax,
        "JAX, tuned": _density_jax_tuned,
        "PyTorch": _density_torch,
        "PyTorch, tuned": _density_torch_tuned,
        "numba": _density_numba,
        "KeOps": _density_keops,
    },
)


def _attention_jax(jax: Any, q: Any, k: Any, v: Any) -> Any:
    jnp = jax.numpy
    scores = jnp.einsum("him,hjm->hij", q, k) / math.sqrt(q.shape[2])
    return jnp.einsum("hij,hjm->him", jax.nn.softmax(scores, axis=-1), v)


def _attention_jax_tuned(jax: Any, q: Any, k: Any, v: Any) -> Any:
    weight = jax.numpy.exp((q / math.sqrt(q.shape[2])) @ k.swapaxes(1, 2))
    return (weight @ v) / weight.sum(2)[:, :, None]


def _attention_torch(torch: Any, q: Any, k: Any, v: Any) -> Any:
    scores = torch.einsum("him,hjm->hij", q, k) / math.sqrt(q.shape[2])
    return torch.einsum("hij,hjm->him", torch.softmax(scores, -1), v)


def _attention_torch_tuned(torch: Any, q: Any, k: Any, v: Any) -> Any:
    return torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None])[0]


def _attention_numpy(q: Any, k: Any, v: Any, do: Any) -> Arrays:
    scale = q.dtype.type(1 / math.sqrt(q.shape[2]))
    weight = np.exp((q * scale) @ k.swapaxes(1, 2))
    weight /= weight.sum(2)[:, :, None]
    o = weight @ v
    g = weight * (do @ v.swapaxes(1, 2) - (do * o).sum(2)[:, :, None]) * scale
    return o, g @ k, g.swapaxes(1, 2) @ q, weight.swapaxes(1, 2) @ do


ATTENTION = Workload(
    "attention",
    "attention, 16 heads",
    """q: f64[H, N, D]; k: f64[H, N, D]; v: f64[H, N, D]
let weight[h: H, i: N, j: N] = exp(sum{m} (q[h, i, m] * k[h, j, m]) / sqrt(D))
let total[h, i] = sum{j} (weight[h, i, j])
o[h, i, m] = sum{j} (weight[h, i, j] * v[h, j, m]) / total[h, i]""",
    {"H": 16, "N": 512, "D": 64},
    {"H": 2, "N": 7, "D": 5},
    {
        "NumPy": _attention_numpy,
        "JAX": _attention_jax,
        "JAX, tuned": _attention_jax_tuned,
        "PyTorch": _attention_torch,
        "PyTorch, tuned": _attention_torch_tuned,
    },
)


def _log_sum_jax(jax: Any, a: Any) -> Any:
    return jax.numpy.log(jax.numpy.exp(a - jax.numpy.diagonal(a)).sum(1))


def _log_sum_torch(torch: Any, a: Any) -> Any:
    return torch.log(torch.exp(a - torch.diagonal(a)).sum(1))


def _log_sum_torch_tuned(torch: Any, a: Any) -> Any:
    return torch.logsumexp(a - torch.diagonal(a), 1)


def _log_sum_numpy(a: Any, df: Any) -> Arrays:
    e = np.exp(a - np.diagonal(a))
    total = e.sum(1)
    e *= (df / total)[:, None]
    columns = e.sum(0)
    e[np.arange(len(a)), np.arange(len(a))] -= columns
    return np.log(total), e


def _log_sum_numba(a: Any, df: Any) -> Arrays:
    n = a.shape[0]
    f, da = np.empty_like(df), np.empty_like(a)
    diagonal = np.diag(a).copy()
    for i in prange(n):
        total = df[i] * 0
        for j in range(n):
            da[i, j] = math.exp(a[i, j] - diagonal[j])
            total += da[i, j]
        f[i] = math.log(total)
        for j in range(n):
            da[i, j] *= df[i] / total
    columns = np.zeros_like(df)
    for block in prange((n + 63) // 64):
        for i in range(n):
            for j in range(64 * block, min(n, 64 * block + 64)):
                columns[j] += da[i, j]
    for i in range(n):
        da[i, i] -= columns[i]
    return f, da


LOG_SUM = Workload(
    "log_sum",
    "log-sum with a diagonal",
    "a: f64[N, N]\nf[i] = log(sum{j} (exp(a[i, j] - a[j, j])))",
    {"N": 2048},
    {"N": 9},
    {
        "NumPy": _log_sum_numpy,
        "JAX": _log_sum_jax,
        "PyTorch": _log_sum_torch,
        "PyTorch, tuned": _log_sum_torch_tuned,
        "numba": _log_sum_numba,
    },
)
