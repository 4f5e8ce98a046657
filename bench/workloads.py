"""Workloads: a program of the language, and the same function in JAX."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp


@dataclass(frozen=True)
class Workload:
    """A program with one output, and a JAX function of its arguments in order."""

    name: str
    program: str
    reference: Callable[..., Any]


def _paper(a: Any, b: Any, c: Any, d: Any) -> Any:
    i, k = jnp.arange(a.shape[0])[:, None], jnp.arange(a.shape[1])[None, :]
    square = ((a[:, None, :] + b[None, :, :]) ** 2).sum(2) * jnp.diagonal(c)[:, None]
    return jnp.exp(-(square + (d[i + k] ** 3).sum(1)[:, None]))


def _conv1d(x: Any, w: Any) -> Any:
    t, u = jnp.arange(256)[:, None], jnp.arange(9)[None, :]
    return jnp.einsum("nctu,ocu->not", x[:, :, 2 * t + 3 * u], w)


def _kernel_density(x: Any, q: Any) -> Any:
    return jnp.exp(-((q[:, None, :] - x[None, :, :]) ** 2).sum(2)).sum(1)


def _banded(bands: Any, x: Any) -> Any:
    i, m = jnp.arange(4000)[None, :], jnp.arange(65)[:, None]
    return (bands * x[i + m]).sum(0)


def _stencil(u: Any, k: Any) -> Any:
    return k * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1])


WORKLOADS = (
    Workload(
        "paper",
        """a: f64[96, 32]; b: f64[80, 32]; c: f64[96, 96]; d: f64[127]
f[i, j] = exp(-sum{k}_0^31 ((a[i, k] + b[j, k])**2 * c[i, i] + d[i + k]**3))""",
        _paper,
    ),
    Workload(
        "conv1d, stride 2, dilation 3",
        """x: f64[4, 16, 540]; w: f64[16, 16, 9]
f[n, o, t: 256] = sum{c, u} (x[n, c, 2*t + 3*u] * w[o, c, u])""",
        _conv1d,
    ),
    Workload(
        "kernel density",
        """x: f64[600, 3]; q: f64[500, 3]
f[j] = sum{i} (exp(-sum{m} ((q[j, m] - x[i, m])**2)))""",
        _kernel_density,
    ),
    Workload("banded", "bands: f64[65, 4000]; x: f64[4064]\nf[i] = sum{m} (bands[m, i] * x[i + m])", _banded),
    Workload(
        "stencil",
        """u: f64[402, 402]; k: f64[400, 400]
f[i: 400, j: 400] = k[i, j] * (u[i, j+1] + u[i+2, j+1] + u[i+1, j] + u[i+1, j+2] - 4 * u[i+1, j+1])""",
        _stencil,
    ),
    Workload(
        "matmul",
        "a: f64[192, 192]; b: f64[192, 192]\nf[i, j] = sum{k} (a[i, k] * b[k, j])",
        lambda a, b: a @ b,
    ),
)
