"""The Hessian of the energy of a cloud of points under a Gaussian kernel."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import tadc
from bench.workloads.workload import Arrays, Derivative, Workload, prange


@dataclass(frozen=True)
class Hessian(Workload):
    """A workload whose second derivative by x is timed, an N x N matrix.

    The forms of JAX and PyTorch are the function, which they differentiate twice; the other forms
    return the Hessian.
    """

    kind: str = "hessian"

    def differentiated(self, dtype: str, sizes: Mapping[str, int]) -> Derivative:
        """The Hessian as the vjp of a gradient.

        Each element r of the gradient has a copy of x of its own, row r of a matrix, so that one vjp
        finds all of the Jacobian of the gradient.
        """
        gradient = str(tadc.grad(tadc.function(self.text(dtype), self.name), wrt="x"))
        index, body = re.split(r"\ndx\[(\w+)\] = ", gradient)[1:]
        rows = re.sub(r"\bx\[", "x[r, ", re.sub(rf"\b{index}\b", "r", body))
        row = tadc.function(f"x: {dtype}[N, N]\nrow[r: N] = {rows}", self.name, sizes=sizes)
        return row, "vjp", row.inputs

    def arguments(self, inputs: Arrays) -> Arrays:
        """A copy of x for each row, and ones."""
        (x,) = inputs
        return np.tile(x, (len(x), 1)), np.ones_like(x)


def _energy_jax(jax: Any, x: Any) -> Any:
    return jax.numpy.exp(-((x[:, None] - x[None, :]) ** 2)).sum()


def _energy_torch(torch: Any, x: Any) -> Any:
    return torch.exp(-((x[:, None] - x[None, :]) ** 2)).sum()


def _closed(exp: Any, diagonal: Any, x: Any) -> Any:
    square = (x[:, None] - x[None, :]) ** 2
    h = (4 - 8 * square) * exp(-square)
    return h - diagonal(h.sum(1))


def _closed_jax(jax: Any, x: Any) -> Any:
    return _closed(jax.numpy.exp, jax.numpy.diag, x)


def _closed_torch(torch: Any, x: Any) -> Any:
    return _closed(torch.exp, torch.diag, x)


def _closed_numpy(x: Any) -> Any:
    square = (x[:, None] - x[None, :]) ** 2
    h = (4 - 8 * square) * np.exp(-square)
    h[np.arange(len(x)), np.arange(len(x))] -= h.sum(1)
    return h


def _closed_numba(x: Any) -> Any:
    n = x.shape[0]
    h = np.empty((n, n), x.dtype)
    for i in prange(n):
        total = x[i] * 0
        for j in range(n):
            square = (x[i] - x[j]) * (x[i] - x[j])
            h[i, j] = (4 - 8 * square) * math.exp(-square)
            total += h[i, j]
        h[i, i] -= total
    return h


_PROGRAM = "x: f64[N]\nf = sum{i, j} (exp(-(x[i] - x[j])**2))"
_CLOSED = {
    "NumPy": _closed_numpy,
    "JAX, tuned": _closed_jax,
    "PyTorch, tuned": _closed_torch,
    "numba": _closed_numba,
}

HESSIAN_500 = Hessian(
    "hessian_500",
    "Hessian, n = 500",
    _PROGRAM,
    {"N": 500},
    {"N": 9},
    {**_CLOSED, "JAX": _energy_jax, "PyTorch": _energy_torch},
)

HESSIAN_1500 = Hessian(
    "hessian_1500",
    "Hessian, n = 1500",
    _PROGRAM,
    {"N": 1500},
    {"N": 9},
    _CLOSED,
    {"JAX": "needs 27 GB", "PyTorch": "takes a backward pass for each of 1500 rows"},
)
