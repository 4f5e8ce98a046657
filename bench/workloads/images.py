"""Windows on grids: convolutions with strides, filters of their own at each place, a stencil."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.workloads.workload import Arrays, Workload, prange


def _conv1d_jax(jax: Any, x: Any, w: Any) -> Any:
    return jax.lax.conv_general_dilated(x, w, (2,), "VALID", rhs_dilation=(3,))


def _conv1d_torch(torch: Any, x: Any, w: Any) -> Any:
    return torch.nn.functional.conv1d(x, w, stride=2, dilation=3)


def _conv1d_numpy(x: Any, w: Any, dy: Any) -> Arrays:
    y, dx, dw = np.zeros_like(dy), np.zeros_like(x), np.empty_like(w)
    for u in range(w.shape[2]):
        at = slice(3 * u, 3 * u + 2 * dy.shape[2] - 1, 2)
        taps, part = np.ascontiguousarray(w[:, :, u]), np.ascontiguousarray(x[:, :, at])
        y += taps @ part
        dw[:, :, u] = (dy @ part.swapaxes(1, 2)).sum(0)
        dx[:, :, at] += taps.T @ dy
    return y, dx, dw


CONV1D = Workload(
    "conv1d",
    "conv1d, stride 2, dilation 3",
    """x: f64[B, C, N]; w: f64[F, C, K]
y[n, o, t: (N - 3*K + 4) // 2] = sum{c, u} (x[n, c, 2*t + 3*u] * w[o, c, u])""",
    {"B": 16, "C": 64, "N": 4096, "F": 128, "K": 9},
    {"B": 2, "C": 3, "N": 31, "F": 4, "K": 5},
    {"NumPy": _conv1d_numpy, "JAX": _conv1d_jax, "PyTorch": _conv1d_torch},
)


def _conv2d_jax(jax: Any, x: Any, w: Any) -> Any:
    return jax.lax.conv_general_dilated(x, w, (2, 2), "VALID")


def _conv2d_torch(torch: Any, x: Any, w: Any) -> Any:
    return torch.nn.functional.conv2d(x, w, stride=2)


def _conv2d_numpy(x: Any, w: Any, dy: Any) -> Arrays:
    batch, filters, rows, columns = dy.shape
    y, dx, dw = np.zeros((batch, filters, rows * columns), dy.dtype), np.zeros_like(x), np.empty_like(w)
    dy = dy.reshape(batch, filters, rows * columns)
    for u, v in np.ndindex(w.shape[2:]):
        at = np.s_[:, :, u : u + 2 * rows - 1 : 2, v : v + 2 * columns - 1 : 2]
        taps = np.ascontiguousarray(w[:, :, u, v])
        part = x[at].reshape(batch, x.shape[1], -1)
        y += taps @ part
        dw[:, :, u, v] = (dy @ part.swapaxes(1, 2)).sum(0)
        dx[at] += (taps.T @ dy).reshape(batch, -1, rows, columns)
    return y.reshape(batch, filters, rows, columns), dx, dw


CONV2D = Workload(
    "conv2d",
    "conv2d, stride 2",
    """x: f64[B, C, H, W]; w: f64[F, C, 3, 3]
y[n, o, i: (H - 1) // 2, j: (W - 1) // 2] = sum{c, u, v} (x[n, c, 2*i + u, 2*j + v] * w[o, c, u, v])""",
    {"B": 8, "C": 32, "H": 56, "W": 56, "F": 64},
    {"B": 2, "C": 3, "H": 8, "W": 9, "F": 4},
    {"NumPy": _conv2d_numpy, "JAX": _conv2d_jax, "PyTorch": _conv2d_torch},
)


def _local_jax(jax: Any, x: Any, w: Any) -> Any:
    jnp = jax.numpy
    i, j = jnp.arange(w.shape[2])[:, None, None, None], jnp.arange(w.shape[3])[:, None, None]
    u, v = jnp.arange(3)[:, None], jnp.arange(3)
    return jnp.einsum("ncijuv,ocijuv->noij", x[:, :, i + u, j + v], w)


def _local_jax_tuned(jax: Any, x: Any, w: Any) -> Any:
    filters, channels, rows, columns, *_ = w.shape
    kernel = w.transpose(0, 1, 4, 5, 2, 3).reshape(filters, channels * 9, rows, columns)
    return jax.lax.conv_general_dilated_local(x, kernel, (1, 1), "VALID", (3, 3))


def _local_torch(torch: Any, x: Any, w: Any) -> Any:
    return torch.einsum("ncijuv,ocijuv->noij", x.unfold(2, 3, 1).unfold(3, 3, 1), w)


def _local_torch_tuned(torch: Any, x: Any, w: Any) -> Any:
    filters, channels, rows, columns, *_ = w.shape
    windows = torch.nn.functional.unfold(x, 3).permute(2, 0, 1)
    kernel = w.permute(2, 3, 1, 4, 5, 0).reshape(rows * columns, channels * 9, filters)
    return torch.bmm(windows, kernel).permute(1, 2, 0).reshape(-1, filters, rows, columns)


def _local_numpy(x: Any, w: Any, dy: Any) -> Arrays:
    filters, channels, rows, columns, *_ = w.shape
    places = rows * columns
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3))
    inputs = windows.transpose(2, 3, 0, 1, 4, 5).reshape(places, -1, channels * 9)
    kernels = w.transpose(2, 3, 1, 4, 5, 0).reshape(places, channels * 9, filters)
    cotangents = dy.transpose(2, 3, 0, 1).reshape(places, -1, filters)
    y = (inputs @ kernels).reshape(rows, columns, -1, filters).transpose(2, 3, 0, 1)
    dkernels = (inputs.swapaxes(1, 2) @ cotangents).reshape(rows, columns, channels, 3, 3, filters)
    dinputs = (cotangents @ kernels.swapaxes(1, 2)).reshape(rows, columns, -1, channels, 3, 3)
    dx = np.zeros_like(x)
    for u, v in np.ndindex(3, 3):
        dx[:, :, u : u + rows, v : v + columns] += dinputs[..., u, v].transpose(2, 3, 0, 1)
    return y, dx, np.ascontiguousarray(dkernels.transpose(5, 2, 0, 1, 3, 4))


def _local_numba(x: Any, w: Any, dy: Any) -> Arrays:
    batch, channels, height, width = x.shape
    filters, rows, columns = dy.shape[1], dy.shape[2], dy.shape[3]
    y, dx, dw = np.empty_like(dy), np.empty_like(x), np.empty_like(w)
    for o in prange(filters):
        for i in range(rows):
            for j in range(columns):
                for n in range(batch):
                    total = x[0, 0, 0, 0] * 0
                    for c in range(channels):
                        for u in range(3):
                            for v in range(3):
                                total += x[n, c, i + u, j + v] * w[o, c, i, j, u, v]
                    y[n, o, i, j] = total
                for c in range(channels):
                    for u in range(3):
                        for v in range(3):
                            total = x[0, 0, 0, 0] * 0
                            for n in range(batch):
                                total += dy[n, o, i, j] * x[n, c, i + u, j + v]
                            dw[o, c, i, j, u, v] = total
    for c in prange(channels):
        for n in range(batch):
            for p in range(height):
                for q in range(width):
                    total = x[0, 0, 0, 0] * 0
                    for o in range(filters):
                        for u in range(max(0, p - rows + 1), min(3, p + 1)):
                            for v in range(max(0, q - columns + 1), min(3, q + 1)):
                                total += dy[n, o, p - u, q - v] * w[o, c, p - u, q - v, u, v]
                    dx[n, c, p, q] = total
    return y, dx, dw


LOCAL = Workload(
    "local",
    "locally connected, 3x3",
    """x: f64[B, C, H, W]; w: f64[F, C, H - 2, W - 2, 3, 3]
y[n, o, i, j] = sum{c, u, v} (x[n, c, i + u, j + v] * w[o, c, i, j, u, v])""",
    {"B": 8, "C": 16, "H": 30, "W": 30, "F": 16},
    {"B": 2, "C": 3, "H": 6, "W": 7, "F": 4},
    {
        "NumPy": _local_numpy,
        "JAX": _local_jax,
        "JAX, tuned": _local_jax_tuned,
        "PyTorch": _local_torch,
        "PyTorch, tuned": _local_torch_tuned,
        "numba": _local_numba,
    },
)


def _stencil_slices(_: Any, u: Any, k: Any) -> Any:
    return k * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1])


def _stencil_numpy(u: Any, k: Any, df: Any) -> Arrays:
    flow = u[:-2, 1:-1] + u[2:, 1:-1]
    flow += u[1:-1, :-2]
    flow += u[1:-1, 2:]
    flow -= 4 * u[1:-1, 1:-1]
    g, du = df * k, np.zeros_like(u)
    du[:-2, 1:-1] += g
    du[2:, 1:-1] += g
    du[1:-1, :-2] += g
    du[1:-1, 2:] += g
    du[1:-1, 1:-1] -= 4 * g
    return k * flow, du, df * flow


def _stencil_numba(u: Any, k: Any, df: Any) -> Arrays:
    n, m = k.shape
    f, dk = np.empty_like(k), np.empty_like(k)
    g, du = np.zeros((n + 4, m + 4), k.dtype), np.empty_like(u)
    for i in prange(n):
        for j in range(m):
            flow = u[i, j + 1] + u[i + 2, j + 1] + u[i + 1, j] + u[i + 1, j + 2] - 4 * u[i + 1, j + 1]
            f[i, j] = k[i, j] * flow
            dk[i, j] = df[i, j] * flow
            g[i + 2, j + 2] = df[i, j] * k[i, j]
    for i in prange(n + 2):
        for j in range(m + 2):
            du[i, j] = g[i + 2, j + 1] + g[i, j + 1] + g[i + 1, j + 2] + g[i + 1, j] - 4 * g[i + 1, j + 1]
    return f, du, dk


STENCIL = Workload(
    "stencil",
    "stencil, variable coefficient",
    """u: f64[N + 2, M + 2]; k: f64[N, M]
f[i: N, j: M] = k[i, j] * (
    u[i, j + 1] + u[i + 2, j + 1] + u[i + 1, j] + u[i + 1, j + 2] - 4 * u[i + 1, j + 1])""",
    {"N": 2048, "M": 2048},
    {"N": 7, "M": 8},
    {
        "NumPy": _stencil_numpy,
        "JAX": _stencil_slices,
        "PyTorch": _stencil_slices,
        "numba": _stencil_numba,
    },
)
