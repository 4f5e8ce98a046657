"""Images, stencils and windows."""

from __future__ import annotations

from typing import Any

from bench.workloads.workload import Workload


def _pooled(jax: Any, x: Any, window: int, step: int) -> Any:
    shape, steps = (1, 1, window, window), (1, 1, step, step)
    return jax.lax.reduce_window(x, -jax.numpy.inf, jax.lax.max, shape, steps, "VALID")


def _depthwise(jax: Any, x: Any, w: Any) -> Any:
    return jax.lax.conv_general_dilated(x, w[:, None], (1, 1), "VALID", feature_group_count=w.shape[0])


def _conv3d(jax: Any, x: Any, w: Any) -> Any:
    return jax.lax.conv_general_dilated(x[None], w, (1, 1, 1), "VALID")[0]


def _transposed(jax: Any, x: Any, w: Any) -> Any:
    taps = jax.numpy.flip(w, (2, 3)).transpose(1, 0, 2, 3)
    return jax.lax.conv_general_dilated(x, taps, (1, 1), [(2, 2), (2, 2)], lhs_dilation=(2, 2))


def _seven_points(jax: Any, u: Any, c: Any) -> Any:
    inner = (slice(1, -1),) * 3
    total = -6 * u[inner]
    for axis in range(3):
        for side in (slice(None, -2), slice(2, None)):
            total += u[(*inner[:axis], side, *inner[axis + 1 :])]
    return c[inner] * total


def _nine_points(jax: Any, u: Any) -> Any:
    rows, columns = u.shape[0] - 2, u.shape[1] - 2
    total = sum(u[p : p + rows, q : q + columns] for p in range(3) for q in range(3))
    return total - 9 * u[1:-1, 1:-1]


def _larger(jax: Any, x: Any) -> Any:
    return jax.numpy.repeat(jax.numpy.repeat(x**2, 2, 1), 2, 2)


def _correlation(jax: Any, x: Any, w: Any) -> Any:
    return jax.lax.conv_general_dilated(x[None, None], w[None, None], (1, 1), "VALID")[0, 0]


def _variation(jax: Any, u: Any) -> Any:
    down, right = u[1:, :-1] - u[:-1, :-1], u[:-1, 1:] - u[:-1, :-1]
    return jax.numpy.sqrt(down**2 + right**2 + 1e-3).sum()


GRIDS = (
    Workload(
        "max-pool",
        "largest of 2x2",
        "x: f64[B, C, H, W]\ny[b, c, i: H // 2, j: W // 2] = max{p: 2, q: 2} (x[b, c, 2*i + p, 2*j + q])",
        {"B": 16, "C": 64, "H": 56, "W": 56},
        {"B": 2, "C": 2, "H": 6, "W": 4},
        {"JAX": lambda jax, x: _pooled(jax, x, 2, 2)},
    ),
    Workload(
        "max-pool-3",
        "largest of 3x3, stride 2",
        """x: f64[B, C, H, W]
y[b, c, i: (H - 1) // 2, j: (W - 1) // 2] = max{p: 3, q: 3} (x[b, c, 2*i + p, 2*j + q])""",
        {"B": 16, "C": 32, "H": 57, "W": 57},
        {"B": 2, "C": 2, "H": 7, "W": 5},
        {"JAX": lambda jax, x: _pooled(jax, x, 3, 2)},
    ),
    Workload(
        "mean-pool",
        "mean of 4x4",
        "x: f64[C, H, W]\ny[c, i: H // 4, j: W // 4] = sum{p: 4, q: 4} (x[c, 4*i + p, 4*j + q]) / 16",
        {"C": 64, "H": 256, "W": 256},
        {"C": 2, "H": 8, "W": 12},
        {"JAX": lambda jax, x: x.reshape(x.shape[0], x.shape[1] // 4, 4, x.shape[2] // 4, 4).mean((2, 4))},
    ),
    Workload(
        "depthwise",
        "a filter of 3x3 for each channel",
        """x: f64[B, C, H, W]; w: f64[C, 3, 3]
y[b, c, i: H - 2, j: W - 2] = sum{p, q} (w[c, p, q]*x[b, c, i + p, j + q])""",
        {"B": 8, "C": 32, "H": 58, "W": 58},
        {"B": 2, "C": 3, "H": 5, "W": 6},
        {"JAX": _depthwise},
    ),
    Workload(
        "conv3d",
        "convolution in three dimensions",
        """x: f64[C, D, H, W]; w: f64[F, C, 3, 3, 3]
y[o, i: D - 2, j: H - 2, k: W - 2] = sum{c, p, q, r} (x[c, i + p, j + q, k + r]*w[o, c, p, q, r])""",
        {"C": 8, "D": 34, "H": 34, "W": 34, "F": 16},
        {"C": 2, "D": 4, "H": 5, "W": 6, "F": 3},
        {"JAX": _conv3d},
    ),
    Workload(
        "conv-transposed",
        "transposed convolution, stride 2",
        """x: f64[B, C, H, W]; w: f64[C, F, 4, 4]
y[b, o, i: 2*H, j: 2*W] = sum{c, p, q} (
    if {(i + 1 - p) % 2 = 0 and (j + 1 - q) % 2 = 0
        and i + 1 >= p and i + 1 - p < 2*H and j + 1 >= q and j + 1 - q < 2*W}
    then (x[b, c, (i + 1 - p) // 2, (j + 1 - q) // 2]*w[c, o, p, q]) else (0))""",
        {"B": 4, "C": 16, "H": 32, "W": 32, "F": 8},
        {"B": 2, "C": 2, "H": 3, "W": 4, "F": 2},
        {"JAX": _transposed},
    ),
    Workload(
        "correlation",
        "correlation with 15x15",
        "x: f64[H, W]; w: f64[K, K]\ny[i: H - K + 1, j: W - K + 1] = sum{p, q} (x[i + p, j + q]*w[p, q])",
        {"H": 270, "W": 270, "K": 15},
        {"H": 9, "W": 8, "K": 3},
        {"JAX": _correlation},
    ),
    Workload(
        "upsample",
        "each element of an image four times",
        "x: f64[C, H, W]\ny[c, i: 2*H, j: 2*W] = x[c, i // 2, j // 2]**2",
        {"C": 64, "H": 256, "W": 256},
        {"C": 2, "H": 3, "W": 5},
        {"JAX": _larger},
    ),
    Workload(
        "stencil-3d",
        "7 points in three dimensions",
        """u: f64[N, N, N]; c: f64[N, N, N]
v[i: N - 2, j: N - 2, k: N - 2] = c[i + 1, j + 1, k + 1]*(
    u[i, j + 1, k + 1] + u[i + 2, j + 1, k + 1] + u[i + 1, j, k + 1] + u[i + 1, j + 2, k + 1]
    + u[i + 1, j + 1, k] + u[i + 1, j + 1, k + 2] - 6*u[i + 1, j + 1, k + 1])""",
        {"N": 130},
        {"N": 5},
        {"JAX": _seven_points},
    ),
    Workload(
        "stencil-9",
        "9 points in two dimensions",
        "u: f64[N, N]\nv[i: N - 2, j: N - 2] = sum{p: 3, q: 3} (u[i + p, j + q]) - 9*u[i + 1, j + 1]",
        {"N": 1026},
        {"N": 6},
        {"JAX": _nine_points},
    ),
    Workload(
        "variation",
        "total variation of an image",
        """u: f64[N, M]
f = sum{i: N - 1, j: M - 1} (sqrt((u[i + 1, j] - u[i, j])**2 + (u[i, j + 1] - u[i, j])**2 + 1e-3))""",
        {"N": 1000, "M": 1000},
        {"N": 6, "M": 5},
        {"JAX": _variation},
    ),
)
