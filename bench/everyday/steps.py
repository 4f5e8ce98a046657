"""Recurrences: tables, Markov chains, filters, solves, networks over time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bench.workloads.workload import Arrays, Workload, prange


def _edit_distance(jax: Any, c: Any) -> Any:
    """By diagonals: each needs the two before it."""
    jnp = jax.numpy
    rows, columns = c.shape
    far = jnp.asarray(1e30, c.dtype)
    at = jnp.arange(rows)

    def step(before: Any, t: Any) -> Any:
        last, older = before
        j = t - at
        up, left = jnp.concatenate([far[None], last[:-1]]), last
        corner = jnp.concatenate([far[None], older[:-1]])
        smallest = -jax.nn.logsumexp(-jnp.stack([up, left, corner]), axis=0)
        cost = 1 + c[at, jnp.clip(j, 0, columns - 1)]
        made = jnp.where(t == 0, jnp.where(at == 0, cost, far), cost + smallest)
        made = jnp.where((j >= 0) & (j < columns), made, far)
        return (made, last), made

    start = jnp.full(rows, far)
    _, made = jax.lax.scan(step, (start, start), jnp.arange(rows + columns - 1))
    return made[-1, -1]


def _edit_numba(c: Any, df: Any) -> Arrays:
    rows, columns = c.shape
    d = np.full((rows + 1, columns + 1), 1e30).astype(c.dtype)
    d[0, 0] = 0
    for i in range(rows):
        for j in range(columns):
            u, v, w = d[i, j + 1], d[i + 1, j], d[i, j]
            low = min(u, min(v, w))
            d[i + 1, j + 1] = (
                1 + c[i, j] + low - math.log(math.exp(low - u) + math.exp(low - v) + math.exp(low - w))
            )
    e = np.zeros((rows + 1, columns + 1), c.dtype)
    for i in range(rows - 1, -1, -1):
        for j in range(columns - 1, -1, -1):
            total = df[()] if i == rows - 1 and j == columns - 1 else df[()] * 0
            here = d[i + 1, j + 1]
            if i + 1 < rows:
                total += e[i + 1, j] * math.exp(d[i + 2, j + 1] - 1 - c[i + 1, j] - here)
            if j + 1 < columns:
                total += e[i, j + 1] * math.exp(d[i + 1, j + 2] - 1 - c[i, j + 1] - here)
            if i + 1 < rows and j + 1 < columns:
                total += e[i + 1, j + 1] * math.exp(d[i + 2, j + 2] - 1 - c[i + 1, j + 1] - here)
            e[i, j] = total
    return np.array(d[rows, columns]), e[:rows, :columns].copy()


def _alignment(jax: Any, s: Any, g: Any) -> Any:
    """By diagonals: each needs the two before it."""
    jnp = jax.numpy
    rows, columns = s.shape
    at, zero = jnp.arange(rows), jnp.zeros(1, s.dtype)

    def step(before: Any, t: Any) -> Any:
        last, older = before
        j = t - at
        corner = s[at, jnp.clip(j, 0, columns - 1)] + jnp.concatenate([zero, older[:-1]])
        gap = jnp.maximum(jnp.concatenate([zero, last[:-1]]), last) - abs(g)
        made = jnp.maximum(0, jnp.maximum(corner, gap))
        made = jnp.where((j >= 0) & (j < columns), made, 0)
        return (made, last), made.max()

    start = jnp.zeros(rows, s.dtype)
    return jax.lax.scan(step, (start, start), jnp.arange(rows + columns - 1))[1].max()


def _alignment_numba(s: Any, g: Any, df: Any) -> Arrays:
    rows, columns = s.shape
    gap = abs(g[()])
    h = np.zeros((rows + 1, columns + 1), s.dtype)
    best, k, m = h[0, 0], 0, 0
    for i in range(rows):
        for j in range(columns):
            corner, side = h[i, j] + s[i, j], max(h[i, j + 1], h[i + 1, j]) - gap
            h[i + 1, j + 1] = max(h[0, 0], max(corner, side))
            if h[i + 1, j + 1] > best:
                best, k, m = h[i + 1, j + 1], i + 1, j + 1
    ds, dg = np.zeros_like(s), g[()] * 0
    while h[k, m] > 0:
        if h[k, m] == h[k - 1, m - 1] + s[k - 1, m - 1]:
            ds[k - 1, m - 1] = df[()]
            k, m = k - 1, m - 1
        else:
            dg -= df[()] * np.sign(g[()])
            if h[k - 1, m] >= h[k, m - 1]:
                k -= 1
            else:
                m -= 1
    return np.array(best), ds, np.array(dg)


def _heat(jax: Any, x: Any, k: Any, steps: int = 40) -> Any:
    def step(u: Any, _: Any) -> Any:
        sides = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
        return u.at[1:-1, 1:-1].add(0.1 * k * sides), None

    return jax.lax.scan(step, x, None, steps - 1)[0]


def _heat_numba(x: Any, k: Any, df: Any) -> Arrays:
    """200 steps, of which the gradient by k needs all states."""
    n, c, steps = len(x), k[()] * k.dtype.type(0.1), 200
    u = np.empty((steps, n, n), x.dtype)
    u[0] = x
    for t in range(1, steps):
        for i in prange(n):
            u[t, i] = u[t - 1, i]
            if 0 < i < n - 1:
                for j in range(1, n - 1):
                    old = u[t - 1, i, j]
                    sides = u[t - 1, i - 1, j] + u[t - 1, i + 1, j] + u[t - 1, i, j - 1] + u[t - 1, i, j + 1]
                    u[t, i, j] = old + c * (sides - 4 * old)
    e, parts = df.copy(), np.zeros(n, x.dtype)
    for t in range(steps - 1, 0, -1):
        d = np.empty_like(x)
        for i in prange(n):
            for j in range(n):
                total = e[i, j]
                if 0 < i < n - 1 and 0 < j < n - 1:
                    total -= 4 * c * e[i, j]
                    old = u[t - 1, i, j]
                    sides = u[t - 1, i - 1, j] + u[t - 1, i + 1, j] + u[t - 1, i, j - 1] + u[t - 1, i, j + 1]
                    parts[i] += e[i, j] * (sides - 4 * old)
                if 1 < i and 0 < j < n - 1:
                    total += c * e[i - 1, j]
                if i < n - 2 and 0 < j < n - 1:
                    total += c * e[i + 1, j]
                if 1 < j and 0 < i < n - 1:
                    total += c * e[i, j - 1]
                if j < n - 2 and 0 < i < n - 1:
                    total += c * e[i, j + 1]
                d[i, j] = total
        e = d
    return u[steps - 1].copy(), e, np.array(parts.sum() * k.dtype.type(0.1))


def _markov(jax: Any, p: Any, w: Any) -> Any:
    def step(a: Any, row: Any) -> Any:
        return row + jax.nn.logsumexp(a[:, None] + w, axis=0), None

    last, _ = jax.lax.scan(step, p[0], p[1:])
    return jax.nn.logsumexp(last)


def _filter(jax: Any, x: Any, a: Any) -> Any:
    def step(s: Any, value: Any) -> Any:
        s = a * s + (1 - a) * value
        return s, s

    _, rest = jax.lax.scan(step, x[:, 0], x[:, 1:].T)
    return jax.numpy.concatenate([x[:, :1], rest.T], 1)


def _network(jax: Any, x: Any, w: Any) -> Any:
    def step(h: Any, row: Any) -> Any:
        h = jax.numpy.tanh(0.25 * (h @ w.T) + row)
        return h, h

    _, rows = jax.lax.scan(step, jax.numpy.zeros_like(x[0]), x)
    return rows


def _state_network(jax: Any, x: Any, w: Any, v: Any) -> Any:
    """Where the inputs go in is one product for all steps."""

    def step(h: Any, row: Any) -> Any:
        h = jax.numpy.tanh(0.05 * (h @ w.T) + row)
        return h, None

    rows = 0.05 * (x @ v.T)
    return jax.lax.scan(step, jax.numpy.zeros_like(rows[0]), rows)[0]


def _state_network_numba(x: Any, w: Any, v: Any, df: Any) -> Arrays:
    steps = len(x)
    c = x.dtype.type(0.05)
    given = c * (x @ v.T)
    h = np.zeros((steps + 1, len(w)), x.dtype)
    for t in range(steps):
        h[t + 1] = np.tanh(c * (w @ h[t]) + given[t])
    e = np.empty_like(given)
    dh = df.copy()
    for t in range(steps - 1, -1, -1):
        e[t] = c * dh * (1 - h[t + 1] ** 2)
        dh = w.T @ e[t]
    return h[steps].copy(), e @ v, e.T @ h[:steps], e.T @ x


def _thomas(jax: Any, a: Any, b: Any, d: Any) -> Any:
    """Lower a, diagonal 3 + b, upper a: forward elimination, backward substitution."""

    def forward(before: Any, row: Any) -> Any:
        c, e = before
        lower, middle, right = row
        pivot = 3 + middle - lower * c
        made = lower / pivot, (right - lower * e) / pivot
        return made, made

    zero = jax.numpy.zeros_like(a[:, 0])
    _, (c, e) = jax.lax.scan(forward, (zero, zero), (a.T, b.T, d.T))

    def backward(x: Any, row: Any) -> Any:
        x = row[1] - row[0] * x
        return x, x

    _, x = jax.lax.scan(backward, zero, (c, e), reverse=True)
    return x.T


STEPS = (
    Workload(
        "edit-distance",
        "soft edit distance",
        """c: f64[N, M]
let scan{i + j} d[i: N, j: M] = 1 + c[i, j] + if {i = 0 and j = 0} then (0) else (-log(
    if {i >= 1} then (exp(-d[i - 1, j])) else (0) + if {j >= 1} then (exp(-d[i, j - 1])) else (0)
    + if {i >= 1 and j >= 1} then (exp(-d[i - 1, j - 1])) else (0)))
f = d[N - 1, M - 1]""",
        {"N": 64, "M": 64},
        {"N": 24, "M": 17},
        {"JAX": _edit_distance, "numba": _edit_numba},
    ),
    Workload(
        "local-alignment",
        "local alignment (Smith and Waterman)",
        """s: f64[N, M]; g: f64
let scan{i + j} h[i: N, j: M] = max(0, max(s[i, j] + if {i >= 1 and j >= 1} then (h[i - 1, j - 1]) else (0),
    max(if {i >= 1} then (h[i - 1, j]) else (0), if {j >= 1} then (h[i, j - 1]) else (0)) - abs(g)))
f = max{i: N, j: M} (h[i, j])""",
        {"N": 256, "M": 256},
        {"N": 19, "M": 23},
        {"JAX": _alignment, "numba": _alignment_numba},
    ),
    Workload(
        "heat-steps",
        "heat over time",
        """x: f64[N, N]; k: f64
let scan{t} u[t: 40, i: N, j: N] = if {t = 0} then (x[i, j]) else (
    if {i >= 1 and i <= N - 2 and j >= 1 and j <= N - 2} then (
    u[t - 1, i, j] + 0.1*k*(u[t - 1, i - 1, j] + u[t - 1, i + 1, j] + u[t - 1, i, j - 1] + u[t - 1, i, j + 1]
    - 4*u[t - 1, i, j])) else (u[t - 1, i, j]))
f[i: N, j: N] = u[39, i, j]""",
        {"N": 128},
        {"N": 9},
        {"JAX": _heat},
    ),
    Workload(
        "heat-grid",
        "heat on a large grid, 200 steps",
        """x: f64[N, N]; k: f64
let scan{t} u[t: 200, i: N, j: N] = if {t = 0} then (x[i, j]) else (
    if {i >= 1 and i <= N - 2 and j >= 1 and j <= N - 2} then (
    u[t - 1, i, j] + 0.1*k*(u[t - 1, i - 1, j] + u[t - 1, i + 1, j] + u[t - 1, i, j - 1] + u[t - 1, i, j + 1]
    - 4*u[t - 1, i, j])) else (u[t - 1, i, j]))
f[i: N, j: N] = u[199, i, j]""",
        {"N": 512},
        {"N": 9},
        {"JAX": lambda jax, x, k: _heat(jax, x, k, 200), "numba": _heat_numba},
    ),
    Workload(
        "markov",
        "likelihood of a hidden Markov chain",
        """p: f64[T, S]; w: f64[S, S]
let scan{t} a[t: T, s: S] = p[t, s] + if {t = 0} then (0) else (logsumexp{r: S} (a[t - 1, r] + w[r, s]))
f = logsumexp{s: S} (a[T - 1, s])""",
        {"T": 500, "S": 32},
        {"T": 5, "S": 3},
        {"JAX": _markov},
    ),
    Workload(
        "smoothing",
        "exponential smoothing of many rows",
        """x: f64[B, T]; a: f64
scan{t} s[b: B, t: T] = if {t = 0} then (x[b, 0]) else (a*s[b, t - 1] + (1 - a)*x[b, t])""",
        {"B": 256, "T": 2000},
        {"B": 3, "T": 9},
        {"JAX": _filter},
    ),
    Workload(
        "recurrent",
        "recurrent network",
        """x: f64[T, B, K]; w: f64[K, K]
scan{t} h[t: T, b, i] = tanh(x[t, b, i] + if {t = 0} then (0) else (0.25*sum{k} (w[i, k]*h[t - 1, b, k])))""",
        {"T": 60, "B": 32, "K": 64},
        {"T": 4, "B": 2, "K": 3},
        {"JAX": _network},
    ),
    Workload(
        "recurrent-one",
        "recurrent network, one sequence, last state",
        """x: f64[T, M]; w: f64[N, N]; v: f64[N, M]
let scan{t} h[t: T, i: N] = tanh(0.05*sum{m} (v[i, m]*x[t, m]) + if {t = 0} then (0) else (
    0.05*sum{k} (w[i, k]*h[t - 1, k])))
f[i: N] = h[T - 1, i]""",
        {"T": 200, "N": 512, "M": 512},
        {"T": 5, "N": 3, "M": 4},
        {"JAX": _state_network, "numba": _state_network_numba},
    ),
    Workload(
        "recurrent-batch",
        "recurrent network, 32 sequences, last state",
        """x: f64[T, B, M]; w: f64[N, N]; v: f64[N, M]
let scan{t} h[t: T, b: B, i: N] = tanh(0.05*sum{m} (v[i, m]*x[t, b, m]) + if {t = 0} then (0) else (
    0.05*sum{k} (w[i, k]*h[t - 1, b, k])))
f[b: B, i: N] = h[T - 1, b, i]""",
        {"T": 200, "B": 32, "N": 512, "M": 128},
        {"T": 5, "B": 2, "N": 3, "M": 4},
        {"JAX": _state_network},
    ),
    Workload(
        "tridiagonal",
        "tridiagonal solves",
        """a: f64[B, N]; b: f64[B, N]; d: f64[B, N]
let scan{i} c[r: B, i: N] = a[r, i] / (3 + b[r, i] - if {i = 0} then (0) else (a[r, i]*c[r, i - 1]))
let scan{i} e[r: B, i: N] = if {i = 0} then (d[r, i] / (3 + b[r, i])) else (
    (d[r, i] - a[r, i]*e[r, i - 1]) / (3 + b[r, i] - a[r, i]*c[r, i - 1]))
scan{-i} x[r: B, i: N] = e[r, i] - if {i = N - 1} then (0) else (c[r, i]*x[r, i + 1])""",
        {"B": 200, "N": 1000},
        {"B": 3, "N": 7},
        {"JAX": _thomas},
    ),
)
