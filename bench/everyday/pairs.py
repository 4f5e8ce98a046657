"""Sums over all pairs of points whose terms are vectors: forces, springs, interpolation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bench.workloads.workload import Arrays, Workload, prange


def _gravity(jax: Any, x: Any, m: Any) -> Any:
    apart = x[None] - x[:, None]
    r = jax.numpy.sqrt((apart**2).sum(2) + 0.01)
    return ((m / r**3)[:, :, None] * apart).sum(1)


def _gravity_numba(x: Any, m: Any, da: Any) -> Arrays:
    a, dx, dm = np.empty_like(x), np.empty_like(x), np.empty_like(m)
    for i in prange(x.shape[0]):
        a0 = a1 = a2 = g0 = g1 = g2 = gm = x[i, 0] * 0
        for j in range(x.shape[0]):
            t0, t1, t2 = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
            r = 1 / math.sqrt(t0 * t0 + t1 * t1 + t2 * t2 + 0.01)
            c = r * r * r
            a0 += m[j] * c * t0
            a1 += m[j] * c * t1
            a2 += m[j] * c * t2
            u0 = m[j] * da[i, 0] - m[i] * da[j, 0]
            u1 = m[j] * da[i, 1] - m[i] * da[j, 1]
            u2 = m[j] * da[i, 2] - m[i] * da[j, 2]
            s = 3 * c * r * r * (u0 * t0 + u1 * t1 + u2 * t2)
            g0 += s * t0 - c * u0
            g1 += s * t1 - c * u1
            g2 += s * t2 - c * u2
            gm -= c * (da[j, 0] * t0 + da[j, 1] * t1 + da[j, 2] * t2)
        a[i, 0], a[i, 1], a[i, 2] = a0, a1, a2
        dx[i, 0], dx[i, 1], dx[i, 2] = g0, g1, g2
        dm[i] = gm
    return a, dx, dm


def _springs(jax: Any, x: Any) -> Any:
    apart = x[None] - x[:, None]
    r = jax.numpy.sqrt((apart**2).sum(2) + 0.01)
    return ((1 - 0.5 / r)[:, :, None] * apart).sum(1)


def _springs_numba(x: Any, df: Any) -> Arrays:
    f, dx = np.empty_like(x), np.empty_like(x)
    for i in prange(x.shape[0]):
        f0 = f1 = g0 = g1 = x[i, 0] * 0
        for j in range(x.shape[0]):
            t0, t1 = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1]
            r = 1 / math.sqrt(t0 * t0 + t1 * t1 + 0.01)
            k = 1 - 0.5 * r
            f0 += k * t0
            f1 += k * t1
            u0, u1 = df[j, 0] - df[i, 0], df[j, 1] - df[i, 1]
            s = 0.5 * r * r * r * (u0 * t0 + u1 * t1)
            g0 += k * u0 + s * t0
            g1 += k * u1 + s * t1
        f[i, 0], f[i, 1], dx[i, 0], dx[i, 1] = f0, f1, g0, g1
    return f, dx


def _interpolated(jax: Any, x: Any, y: Any, b: Any) -> Any:
    return jax.numpy.exp(-((x[:, None] - y[None]) ** 2).sum(2)) @ b


def _coulomb(jax: Any, x: Any, q: Any) -> Any:
    jnp = jax.numpy
    squares = ((x[None] - x[:, None]) ** 2).sum(2)
    itself = jnp.eye(len(x), dtype=bool)
    return 0.5 * (jnp.where(itself, 0, q[:, None] * q / jnp.sqrt(jnp.where(itself, 1, squares)))).sum()


def _coulomb_numba(x: Any, q: Any, de: Any) -> Arrays:
    e, dx, dq = np.empty_like(q), np.empty_like(x), np.empty_like(q)
    for i in prange(x.shape[0]):
        p = g0 = g1 = g2 = x[i, 0] * 0
        for j in range(x.shape[0]):
            if i != j:
                t0, t1, t2 = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
                r = 1 / math.sqrt(t0 * t0 + t1 * t1 + t2 * t2)
                c = q[j] * r
                p += c
                c *= r * r
                g0 += c * t0
                g1 += c * t1
                g2 += c * t2
        s = de * q[i]
        e[i], dq[i] = 0.5 * q[i] * p, de * p
        dx[i, 0], dx[i, 1], dx[i, 2] = s * g0, s * g1, s * g2
    return e.sum(), dx, dq


PAIRS = (
    Workload(
        "gravity",
        "accelerations by gravity",
        """x: f64[N, 3]; m: f64[N]
let r[i: N, j: N] = sqrt(sum{d} ((x[j, d] - x[i, d])**2) + 0.01)
a[i, c] = sum{j: N} (m[j]*(x[j, c] - x[i, c]) / r[i, j]**3)""",
        {"N": 2000},
        {"N": 11},
        {"JAX": _gravity, "numba": _gravity_numba},
    ),
    Workload(
        "springs",
        "forces of springs between all points",
        """x: f64[N, 2]
f[i: N, c] = sum{j: N} ((1 - 0.5 / sqrt(sum{d} ((x[j, d] - x[i, d])**2) + 0.01))*(x[j, c] - x[i, c]))""",
        {"N": 2000},
        {"N": 11},
        {"JAX": _springs, "numba": _springs_numba},
    ),
    Workload(
        "interpolation",
        "radial interpolation of vectors",
        """x: f64[N, 3]; y: f64[M, 3]; b: f64[M, 4]
f[i, c] = sum{j} (exp(-sum{d} ((x[i, d] - y[j, d])**2))*b[j, c])""",
        {"N": 2000, "M": 1500},
        {"N": 11, "M": 7},
        {"JAX": _interpolated},
    ),
    Workload(
        "coulomb",
        "energy of charges",
        """x: f64[N, 3]; q: f64[N]
e = 0.5*sum{i: N, j: N} (if {i != j} then (q[i]*q[j] / sqrt(sum{d} ((x[i, d] - x[j, d])**2))) else (0))""",
        {"N": 2000},
        {"N": 11},
        {"JAX": _coulomb, "numba": _coulomb_numba},
    ),
)
