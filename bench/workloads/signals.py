"""Signals: a filter, a banded matrix, an autocorrelation."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.workloads.workload import Arrays, Workload, prange


def _filter_jax(jax: Any, x: Any, w: Any) -> Any:
    jnp = jax.numpy
    i, k = jnp.arange(len(x) - len(w) + 1)[:, None], jnp.arange(len(w))[None, :]
    return x[i + k] @ w


def _filter_jax_tuned(jax: Any, x: Any, w: Any) -> Any:
    return jax.numpy.correlate(x, w, "valid")


def _filter_torch(torch: Any, x: Any, w: Any) -> Any:
    return x.unfold(0, len(w), 1) @ w


def _filter_torch_tuned(torch: Any, x: Any, w: Any) -> Any:
    return torch.nn.functional.conv1d(x[None, None], w[None, None])[0, 0]


def _filter_numpy(x: Any, w: Any, dy: Any) -> Arrays:
    return np.correlate(x, w, "valid"), np.convolve(dy, w), np.correlate(x, dy, "valid")


def _filter_numba(x: Any, w: Any, dy: Any) -> Arrays:
    n, taps = dy.shape[0], w.shape[0]
    y, dx, dw = np.empty_like(dy), np.empty_like(x), np.empty_like(w)
    for i in prange(n):
        total = x[i] * 0
        for k in range(taps):
            total += x[i + k] * w[k]
        y[i] = total
    for e in prange(n + taps - 1):
        total = x[e] * 0
        for k in range(max(0, e - n + 1), min(taps, e + 1)):
            total += dy[e - k] * w[k]
        dx[e] = total
    for k in prange(taps):
        total = w[k] * 0
        for i in range(n):
            total += dy[i] * x[i + k]
        dw[k] = total
    return y, dx, dw


FILTER = Workload(
    "fir",
    "FIR filter (Toeplitz)",
    "x: f64[N]; w: f64[K]\ny[i: N - K + 1] = sum{k} (x[i + k] * w[k])",
    {"N": 100_128, "K": 129},
    {"N": 23, "K": 6},
    {
        "NumPy": _filter_numpy,
        "JAX": _filter_jax,
        "JAX, tuned": _filter_jax_tuned,
        "PyTorch": _filter_torch,
        "PyTorch, tuned": _filter_torch_tuned,
        "numba": _filter_numba,
    },
)


def _banded_jax(jax: Any, bands: Any, x: Any) -> Any:
    jnp = jax.numpy
    half = len(bands) // 2
    i, m = jnp.arange(len(x))[None, :], jnp.arange(len(bands))[:, None]
    return (bands * jnp.pad(x, half)[i + m]).sum(0)


def _banded_jax_tuned(jax: Any, bands: Any, x: Any) -> Any:
    padded = jax.numpy.pad(x, len(bands) // 2)
    return sum(band * padded[m : m + len(x)] for m, band in enumerate(bands))


def _banded_torch(torch: Any, bands: Any, x: Any) -> Any:
    half = len(bands) // 2
    padded = torch.nn.functional.pad(x, (half, half))
    return (bands * padded.unfold(0, len(bands), 1).T).sum(0)


def _banded_numpy(bands: Any, x: Any, dy: Any) -> Arrays:
    n, half = len(x), len(bands) // 2
    y, dbands, dx = np.zeros_like(x), np.zeros_like(bands), np.zeros_like(x)
    for m in range(len(bands)):
        rows = slice(max(0, half - m), min(n, n + half - m))
        columns = slice(rows.start + m - half, rows.stop + m - half)
        y[rows] += bands[m, rows] * x[columns]
        np.multiply(dy[rows], x[columns], out=dbands[m, rows])
        dx[columns] += dy[rows] * bands[m, rows]
    return y, dbands, dx


def _banded_numba(bands: Any, x: Any, dy: Any) -> Arrays:
    n, width = x.shape[0], bands.shape[0]
    half, block = width // 2, 4096
    y, dbands, dx = np.zeros_like(x), np.zeros_like(bands), np.zeros_like(x)
    for part in prange((n + block - 1) // block):
        first, last = part * block, min(n, part * block + block)
        for m in range(width):
            for i in range(max(first, half - m), min(last, n + half - m)):
                y[i] += bands[m, i] * x[i + m - half]
                dbands[m, i] = dy[i] * x[i + m - half]
            for e in range(max(first, m - half), min(last, n + m - half)):
                dx[e] += dy[e - m + half] * bands[m, e - m + half]
    return y, dbands, dx


BANDED = Workload(
    "banded",
    "banded matrix, 129 diagonals",
    """bands: f64[2*W + 1, N]; x: f64[N]
y[i: N] = sum{m}_(max [0; W - i])^(min [2*W; N + W - 1 - i]) (bands[m, i] * x[i + m - W])""",
    {"N": 100_000, "W": 64},
    {"N": 11, "W": 2},
    {
        "NumPy": _banded_numpy,
        "JAX": _banded_jax,
        "JAX, tuned": _banded_jax_tuned,
        "PyTorch": _banded_torch,
        "numba": _banded_numba,
    },
)

#: Lags of the autocorrelation; nothing in its arguments tells them.
LAGS = 512


def _autocorrelation_jax(jax: Any, x: Any) -> Any:
    jnp = jax.numpy
    lags = min(LAGS, len(x))
    lag, n = jnp.arange(lags)[:, None], jnp.arange(len(x))[None, :]
    return jnp.pad(x, (0, lags))[n + lag] @ x


def _autocorrelation_jax_tuned(jax: Any, x: Any) -> Any:
    fft = jax.numpy.fft
    spectrum = fft.rfft(x, 2 * len(x))
    return fft.irfft(spectrum * spectrum.conj(), 2 * len(x))[: min(LAGS, len(x))]


def _autocorrelation_torch(torch: Any, x: Any) -> Any:
    lags = min(LAGS, len(x))
    return torch.nn.functional.pad(x, (0, lags - 1)).unfold(0, len(x), 1) @ x


def _autocorrelation_torch_tuned(torch: Any, x: Any) -> Any:
    spectrum = torch.fft.rfft(x, 2 * len(x))
    return torch.fft.irfft(spectrum * spectrum.conj(), 2 * len(x))[: min(LAGS, len(x))]


def _autocorrelation_numpy(x: Any, dr: Any) -> Arrays:
    padded = np.concatenate([x, np.zeros_like(x, shape=len(dr) - 1)])
    return np.correlate(padded, x, "valid"), np.correlate(padded, dr, "valid") + np.convolve(x, dr)[: len(x)]


def _autocorrelation_numba(x: Any, dr: Any) -> Arrays:
    n, lags = x.shape[0], dr.shape[0]
    r, dx = np.empty_like(dr), np.empty_like(x)
    for lag in prange(lags):
        total = x[0] * 0
        for i in range(n - lag):
            total += x[i] * x[i + lag]
        r[lag] = total
    for e in prange(n):
        total = x[e] * 0
        for lag in range(min(lags, n - e)):
            total += dr[lag] * x[e + lag]
        for lag in range(min(lags, e + 1)):
            total += dr[lag] * x[e - lag]
        dx[e] = total
    return r, dx


AUTOCORRELATION = Workload(
    "autocorrelation",
    "autocorrelation, 512 lags",
    "x: f64[N]\nsize L\nr[lag: L] = sum{n}_0^(N - 1 - lag) (x[n] * x[n + lag])",
    {"N": 16384, "L": LAGS},
    {"N": 13, "L": 13},
    {
        "NumPy": _autocorrelation_numpy,
        "JAX": _autocorrelation_jax,
        "JAX, tuned": _autocorrelation_jax_tuned,
        "PyTorch": _autocorrelation_torch,
        "PyTorch, tuned": _autocorrelation_torch_tuned,
        "numba": _autocorrelation_numba,
    },
)
