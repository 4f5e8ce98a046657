"""Layers of networks, and losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.workloads.workload import Arrays, Workload


def _batch_norm(jax: Any, x: Any, g: Any, b: Any) -> Any:
    m, v = x.mean((0, 2, 3), keepdims=True), x.var((0, 2, 3), keepdims=True)
    return (x - m) / jax.numpy.sqrt(v + 1e-5) * g[:, None, None] + b[:, None, None]


def _layer_norm(jax: Any, x: Any, g: Any, b: Any) -> Any:
    m, v = x.mean(1, keepdims=True), x.var(1, keepdims=True)
    return (x - m) / jax.numpy.sqrt(v + 1e-5) * g + b


def _layer_norm_torch(torch: Any, x: Any, g: Any, b: Any) -> Any:
    return torch.nn.functional.layer_norm(x, g.shape, g, b, 1e-5)


def _layer_norm_numpy(x: Any, g: Any, b: Any, dy: Any) -> Arrays:
    m, s = x.mean(1, keepdims=True), np.sqrt(x.var(1, keepdims=True) + 1e-5)
    z, dz = (x - m) / s, dy * g
    dx = (dz - dz.mean(1, keepdims=True) - z * (dz * z).mean(1, keepdims=True)) / s
    return z * g + b, dx, (dy * z).sum(0), dy.sum(0)


def _softmax_numpy(x: Any, dy: Any) -> Arrays:
    e = np.exp(x - x.max(1, keepdims=True))
    y = e / e.sum(1, keepdims=True)
    return y, y * (dy - (dy * y).sum(1, keepdims=True))


def _causal(jax: Any, q: Any, k: Any, v: Any) -> Any:
    jnp = jax.numpy
    weights = jnp.tril(jnp.exp(jnp.einsum("hid,hjd->hij", q, k) / 8))
    return jnp.einsum("hij,hjd->hid", weights / weights.sum(2, keepdims=True), v)


def _gru(jax: Any, x: Any, h: Any, w: Any, u: Any) -> Any:
    z = jax.nn.sigmoid(x @ w.T + h @ u.T)
    return z * h + (1 - z) * jax.numpy.tanh(x)


def _mixture(jax: Any, x: Any, m: Any, s: Any) -> Any:
    jnp = jax.numpy
    distance = ((x[:, None] - m[None]) ** 2).sum(2)
    return jnp.log(jnp.exp(-distance * s).sum(1) + 1e-6).sum()


def _gates(jax: Any, x: Any, h: Any, c: Any, w: Any, u: Any) -> Any:
    g = jax.numpy.einsum("qik,bk->qbi", w, x) + jax.numpy.einsum("qik,bk->qbi", u, h)
    return jax.nn.sigmoid(g[0]) * c + jax.nn.sigmoid(g[1]) * jax.numpy.tanh(g[2])


LAYERS = (
    Workload(
        "batch-norm",
        "batch normalisation",
        """x: f64[B, C, H, W]; g: f64[C]; b: f64[C]
let m[c] = sum{n, i, j} (x[n, c, i, j]) / (B*H*W)
let v[c] = sum{n, i, j} ((x[n, c, i, j] - m[c])**2) / (B*H*W)
y[n, c, i, j] = (x[n, c, i, j] - m[c]) / sqrt(v[c] + 1e-5) * g[c] + b[c]""",
        {"B": 16, "C": 64, "H": 28, "W": 28},
        {"B": 2, "C": 3, "H": 4, "W": 5},
        {"JAX": _batch_norm},
    ),
    Workload(
        "layer-norm",
        "layer normalisation",
        """x: f64[N, K]; g: f64[K]; b: f64[K]
let m[i] = sum{k} (x[i, k]) / K
let v[i] = sum{k} ((x[i, k] - m[i])**2) / K
y[i, k] = (x[i, k] - m[i]) / sqrt(v[i] + 1e-5) * g[k] + b[k]""",
        {"N": 2048, "K": 512},
        {"N": 7, "K": 19},
        {"JAX": _layer_norm, "PyTorch": _layer_norm_torch, "NumPy": _layer_norm_numpy},
    ),
    Workload(
        "softmax",
        "softmax of rows",
        """x: f64[N, K]
let m[i] = max{k} (x[i, k])
let e[i, k] = exp(x[i, k] - m[i])
y[i, k] = e[i, k] / sum{j} (e[i, j])""",
        {"N": 2048, "K": 512},
        {"N": 5, "K": 21},
        {
            "JAX": lambda jax, x: jax.nn.softmax(x, axis=1),
            "PyTorch": lambda torch, x: torch.softmax(x, 1),
            "NumPy": _softmax_numpy,
        },
    ),
    Workload(
        "softmax-columns",
        "softmax of columns",
        """x: f64[N, K]
let m[k] = max{i} (x[i, k])
let e[i, k] = exp(x[i, k] - m[k])
y[i, k] = e[i, k] / sum{j} (e[j, k])""",
        {"N": 512, "K": 2048},
        {"N": 21, "K": 5},
        {"JAX": lambda jax, x: jax.nn.softmax(x, axis=0)},
    ),
    Workload(
        "cross-entropy",
        "cross entropy",
        """x: f64[N, K]; t: f64[N, K]
let m[i] = max{k} (x[i, k])
f = sum{i} (log(sum{k} (exp(x[i, k] - m[i]))) + m[i] - sum{k} (t[i, k]*x[i, k])) / N""",
        {"N": 4096, "K": 128},
        {"N": 5, "K": 7},
        {"JAX": lambda jax, x, t: (jax.scipy.special.logsumexp(x, axis=1) - (t * x).sum(1)).mean()},
    ),
    Workload(
        "dense",
        "dense layer, relu",
        "x: f64[N, K]; w: f64[M, K]; b: f64[M]\ny[i, j] = relu(sum{k} (x[i, k]*w[j, k]) + b[j])",
        {"N": 512, "K": 512, "M": 512},
        {"N": 6, "K": 7, "M": 5},
        {"JAX": lambda jax, x, w, b: jax.nn.relu(x @ w.T + b)},
    ),
    Workload(
        "gru",
        "gate of a recurrent network",
        """x: f64[B, K]; h: f64[B, K]; w: f64[K, K]; u: f64[K, K]
let z[b, i] = sigmoid(sum{k} (w[i, k]*x[b, k]) + sum{k} (u[i, k]*h[b, k]))
y[b, i] = z[b, i]*h[b, i] + (1 - z[b, i])*tanh(x[b, i])""",
        {"B": 256, "K": 128},
        {"B": 3, "K": 5},
        {"JAX": _gru},
    ),
    Workload(
        "causal-attention",
        "attention to what came before",
        """q: f64[H, N, D]; k: f64[H, N, D]; v: f64[H, N, D]
let s[h, i: N, j: N] = exp(sum{d} (q[h, i, d]*k[h, j, d]) / 8)
let z[h, i: N] = sum{j}_0^i (s[h, i, j])
y[h, i, d] = sum{j}_0^i (s[h, i, j]*v[h, j, d]) / z[h, i]""",
        {"H": 8, "N": 256, "D": 64},
        {"H": 2, "N": 6, "D": 3},
        {"JAX": _causal},
    ),
    Workload(
        "hinge",
        "hinge loss",
        "x: f64[N, K]; w: f64[K]; t: f64[N]\nf = sum{i} (relu(1 - t[i]*sum{k} (x[i, k]*w[k])))",
        {"N": 3000, "K": 50},
        {"N": 8, "K": 3},
        {"JAX": lambda jax, x, w, t: jax.nn.relu(1 - t * (x @ w)).sum()},
    ),
    Workload(
        "mixture",
        "mixture of Gaussians",
        """x: f64[N, D]; m: f64[K, D]; s: f64[K]
f = sum{i} (log(sum{k} (exp(-sum{d} ((x[i, d] - m[k, d])**2)*s[k])) + 1e-6))""",
        {"N": 5000, "K": 20, "D": 2},
        {"N": 9, "K": 3, "D": 2},
        {"JAX": _mixture},
    ),
    Workload(
        "gates",
        "cell of a long short-term memory",
        """x: f64[B, K]; h: f64[B, K]; c: f64[B, K]; w: f64[4, K, K]; u: f64[4, K, K]
let g[q, b, i] = sum{k} (w[q, i, k]*x[b, k]) + sum{k} (u[q, i, k]*h[b, k])
y[b, i] = sigmoid(g[0, b, i])*c[b, i] + sigmoid(g[1, b, i])*tanh(g[2, b, i])""",
        {"B": 64, "K": 128},
        {"B": 3, "K": 5},
        {"JAX": _gates},
    ),
)
