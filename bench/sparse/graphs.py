"""Layers of graph networks: messages that are computed for each edge, and attention among neighbours."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from bench.sparse.drawing import Drawn
from bench.workloads.workload import Arrays, Workload, prange


def _convolution_data(sizes: Mapping[str, int]) -> Arrays:
    drawn, (n, e, c, f) = Drawn(), (sizes[name] for name in "NECF")
    edges = drawn.indices(n, e), drawn.indices(n, e)
    return (*edges, drawn.floats(n, c), drawn.floats(f, c), drawn.floats(f), drawn.floats(n, f))


def _convolution_jax(jax: Any, src: Any, dst: Any, x: Any, w: Any, b: Any) -> Any:
    return jax.ops.segment_sum(jax.nn.relu((x[src] - x[dst]) @ w.T + b), dst, len(x))


def _convolution_torch(torch: Any, src: Any, dst: Any, x: Any, w: Any, b: Any) -> Any:
    messages = torch.relu((x[src] - x[dst]) @ w.T + b)
    return torch.zeros(len(x), len(b), dtype=x.dtype).index_add(0, dst, messages)


def _convolution_numba(src: Any, dst: Any, x: Any, w: Any, b: Any, dy: Any) -> Arrays:
    y, dx, dw, db = np.zeros_like(dy), np.zeros_like(x), np.zeros_like(w), np.zeros_like(b)
    for e in range(len(src)):
        s, d = src[e], dst[e]
        for f in range(len(b)):
            message = b[f]
            for c in range(x.shape[1]):
                message += w[f, c] * (x[s, c] - x[d, c])
            if message > 0:
                y[d, f] += message
                db[f] += dy[d, f]
                for c in range(x.shape[1]):
                    dw[f, c] += dy[d, f] * (x[s, c] - x[d, c])
                    dx[s, c] += dy[d, f] * w[f, c]
                    dx[d, c] -= dy[d, f] * w[f, c]
    return y, dx, dw, db


def _attention_data(sizes: Mapping[str, int]) -> Arrays:
    """Every node is a neighbour of itself."""
    drawn, (n, e, c) = Drawn(), (sizes[name] for name in "NEC")
    loops = np.arange(n, dtype=np.int32)
    src, dst = (np.concatenate([drawn.indices(n, e - n), loops]) for _ in range(2))
    return src, dst, drawn.floats(n), drawn.floats(n), drawn.floats(n, c), drawn.floats(n, c)


def _attention_jax(jax: Any, src: Any, dst: Any, s: Any, t: Any, x: Any) -> Any:
    n = len(s)
    logits = jax.nn.leaky_relu(s[src] + t[dst], 0.2)
    highest = jax.lax.stop_gradient(jax.ops.segment_max(logits, dst, n))
    weights = jax.numpy.exp(logits - highest[dst])
    shares = weights / jax.ops.segment_sum(weights, dst, n)[dst]
    return jax.ops.segment_sum(shares[:, None] * x[src], dst, n)


def _attention_torch(torch: Any, src: Any, dst: Any, s: Any, t: Any, x: Any) -> Any:
    logits = torch.nn.functional.leaky_relu(s[src] + t[dst], 0.2)
    highest = torch.full_like(s, -torch.inf).index_reduce(0, dst, logits.detach(), "amax")
    weights = torch.exp(logits - highest[dst])
    shares = weights / torch.zeros_like(s).index_add(0, dst, weights)[dst]
    return torch.zeros_like(x).index_add(0, dst, shares[:, None] * x[src])


def _attention_numba(src: Any, dst: Any, s: Any, t: Any, x: Any, dy: Any) -> Arrays:
    weights, dots = np.empty(len(src), s.dtype), np.empty(len(src), s.dtype)
    for e in prange(len(src)):
        logit = s[src[e]] + t[dst[e]]
        weights[e] = math.exp(logit if logit > 0 else 0.2 * logit)
        total = s[0] * 0
        for c in range(x.shape[1]):
            total += dy[dst[e], c] * x[src[e], c]
        dots[e] = total
    sums, means = np.zeros_like(s), np.zeros_like(s)
    for e in range(len(src)):
        sums[dst[e]] += weights[e]
        means[dst[e]] += weights[e] * dots[e]
    y, ds, dt, dx = np.zeros_like(x), np.zeros_like(s), np.zeros_like(t), np.zeros_like(x)
    for e in range(len(src)):
        share = weights[e] / sums[dst[e]]
        for c in range(x.shape[1]):
            y[dst[e], c] += share * x[src[e], c]
            dx[src[e], c] += share * dy[dst[e], c]
        slope = 1.0 if s[src[e]] + t[dst[e]] > 0 else 0.2
        d = share * (dots[e] - means[dst[e]] / sums[dst[e]]) * slope
        ds[src[e]] += d
        dt[dst[e]] += d
    return y, ds, dt, dx


GRAPHS = (
    Workload(
        "edge-convolution",
        "edge convolution",
        """src: index[E] in N
dst: index[E] in N
x: f64[N, C]
w: f64[F, C]
b: f64[F]
let h[e, f] = b[f] + sum{c} (w[f, c]*(x[src[e], c] - x[dst[e], c]))
y[n: N, f] = sum{e: dst[e] = n} (relu(h[e, f]))""",
        {"N": 20_000, "E": 200_000, "C": 16, "F": 32},
        {"N": 7, "E": 18, "C": 3, "F": 4},
        {"JAX": _convolution_jax, "PyTorch": _convolution_torch, "numba": _convolution_numba},
        fixed=2,
        data=_convolution_data,
    ),
    Workload(
        "graph-attention",
        "softmax over neighbours",
        """src: index[E] in N
dst: index[E] in N
s: f64[N]
t: f64[N]
x: f64[N, C]
let a[e] = s[src[e]] + t[dst[e]]
let l[e] = max(a[e], 0.2*a[e])
let z[n: N] = logsumexp{e: dst[e] = n} (l[e])
y[n: N, c] = sum{e: dst[e] = n} (exp(l[e] - z[n])*x[src[e], c])""",
        {"N": 20_000, "E": 300_000, "C": 16},
        {"N": 7, "E": 25, "C": 3},
        {"JAX": _attention_jax, "PyTorch": _attention_torch, "numba": _attention_numba},
        fixed=2,
        data=_attention_data,
    ),
)
