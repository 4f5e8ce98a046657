"""Windows with borders and groups: padded convolutions in the ways they are written, causal products."""

from __future__ import annotations

from typing import Any

from bench.workloads.workload import Form, Workload


def _padded(groups: int) -> dict[str, Form]:
    def in_jax(jax: Any, x: Any, w: Any) -> Any:
        return jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", feature_group_count=groups)

    def in_torch(torch: Any, x: Any, w: Any) -> Any:
        return torch.nn.functional.conv2d(x, w, padding=1, groups=groups)

    return {"JAX": in_jax, "PyTorch": in_torch}


def _grouped_jax(jax: Any, x: Any, w: Any) -> Any:
    return jax.lax.conv_general_dilated(x, w, (1, 1), "VALID", feature_group_count=len(w) // 8)


def _grouped_torch(torch: Any, x: Any, w: Any) -> Any:
    return torch.nn.functional.conv2d(x, w, groups=len(w) // 8)


def _causal(jax: Any, q: Any, k: Any, v: Any) -> Any:
    jnp = jax.numpy
    s = jnp.einsum("hid,hjd->hij", q, k) / 8
    return jnp.einsum("hij,hjd->hid", jax.nn.softmax(jnp.where(jnp.tril(jnp.ones_like(s)), s, -1e30)), v)


def _causal_torch(torch: Any, q: Any, k: Any, v: Any) -> Any:
    return torch.nn.functional.scaled_dot_product_attention(
        q[None], k[None], v[None], is_causal=True, scale=1 / 8
    )[0]


_SIZES = {"B": 8, "C": 32, "H": 56, "W": 56, "F": 32}
_SMALL = {"B": 2, "C": 3, "H": 5, "W": 7, "F": 4}

WINDOWS = (
    Workload(
        "padded",
        "3x3 convolution, padded, by bounds",
        """x: f64[B, C, H, W]; w: f64[F, C, 3, 3]
y[n, o, i: H, j: W] = sum{c} (sum{p}_(max [0; 1 - i])^(min [2; H - i]) (
    sum{q}_(max [0; 1 - j])^(min [2; W - j]) (x[n, c, i + p - 1, j + q - 1]*w[o, c, p, q])))""",
        _SIZES,
        _SMALL,
        _padded(1),
    ),
    Workload(
        "padded-guards",
        "3x3 convolution, padded, by conditions",
        """x: f64[B, C, H, W]; w: f64[F, C, 3, 3]
y[n, o, i: H, j: W] = sum{c, p: 3, q: 3} (w[o, c, p, q]*if {
    i + p >= 1 and i + p <= H and j + q >= 1 and j + q <= W}
    then (x[n, c, i + p - 1, j + q - 1]) else (0))""",
        _SIZES,
        _SMALL,
        _padded(1),
    ),
    Workload(
        "padded-let",
        "3x3 convolution of a padded image",
        """x: f64[B, C, H, W]; w: f64[F, C, 3, 3]
let z[n, c, i: H + 2, j: W + 2] = if {i >= 1 and i <= H and j >= 1 and j <= W} then (
    x[n, c, i - 1, j - 1]) else (0)
y[n, o, i: H, j: W] = sum{c, p, q} (z[n, c, i + p, j + q]*w[o, c, p, q])""",
        _SIZES,
        _SMALL,
        _padded(1),
    ),
    Workload(
        "grouped",
        "3x3 convolution in groups of 8",
        """x: f64[B, C, H, W]; w: f64[F, 8, 3, 3]
y[n, o, i: H - 2, j: W - 2] = sum{c: 8, p, q} (x[n, 8*(o // 8) + c, i + p, j + q]*w[o, c, p, q])""",
        {"B": 8, "C": 64, "H": 30, "W": 30, "F": 64},
        {"B": 2, "C": 16, "H": 5, "W": 6, "F": 16},
        {"JAX": _grouped_jax, "PyTorch": _grouped_torch},
    ),
    Workload(
        "causal-guards",
        "softmax attention to what came before, by conditions",
        """q: f64[H, N, D]; k: f64[H, N, D]; v: f64[H, N, D]
let s[h, i: N, j: N] = if {j <= i} then (exp(sum{d} (q[h, i, d]*k[h, j, d]) / 8)) else (0)
y[h, i, d] = sum{j} (s[h, i, j]*v[h, j, d]) / sum{j} (s[h, i, j])""",
        {"H": 8, "N": 256, "D": 64},
        {"H": 2, "N": 6, "D": 3},
        {"JAX": _causal, "PyTorch": _causal_torch},
    ),
    Workload(
        "local-attention",
        "attention in a window",
        """q: f64[H, N, D]; k: f64[H, N, D]; v: f64[H, N, D]
let s[h, i: N, p: 64] = if {i + p >= 63} then (exp(sum{d} (q[h, i, d]*k[h, i + p - 63, d]) / 8)) else (0)
y[h, i, d] = sum{p} (if {i + p >= 63} then (s[h, i, p]*v[h, i + p - 63, d]) else (0)) / (
    sum{p} (s[h, i, p]))""",
        {"H": 8, "N": 512, "D": 32},
        {"H": 2, "N": 70, "D": 3},
        {"JAX": lambda jax, q, k, v: _local(jax, q, k, v)},
    ),
)


def _local(jax: Any, q: Any, k: Any, v: Any) -> Any:
    jnp = jax.numpy
    s = jnp.einsum("hid,hjd->hij", q, k) / 8
    i, j = jnp.arange(q.shape[1])[:, None], jnp.arange(q.shape[1])
    return jnp.einsum("hij,hjd->hid", jax.nn.softmax(jnp.where((j <= i) & (j > i - 64), s, -1e30)), v)
