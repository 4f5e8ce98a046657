"""Whole models in JAX: parameters as a tree, and an input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, nn

rng = np.random.default_rng(7)


def a(*shape: int) -> np.ndarray:
    """Weights."""
    return rng.normal(size=shape) / np.sqrt(shape[0])


def _conv(x: Any, w: Any, stride: int = 1) -> Any:
    return lax.conv_general_dilated(x, w, (stride, stride), "SAME")


def _pool(x: Any, of: Any, first: float) -> Any:
    return lax.reduce_window(x, first, of, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")


def lenet(params: Any, x: Any) -> Any:
    """Two convolutions with pooling, and two layers."""
    h = jnp.tanh(_conv(x, params["conv1"]))
    h = _pool(h, lax.add, 0.0) / 4
    h = jnp.tanh(_conv(h, params["conv2"]))
    h = _pool(h, lax.add, 0.0) / 4
    flat = h.reshape(h.shape[0], -1)
    hidden = jnp.tanh(flat @ params["w1"] + params["b1"])
    return nn.log_softmax(hidden @ params["w2"] + params["b2"])


def _norm(x: Any, scale: Any, shift: Any) -> Any:
    mean = x.mean(-1, keepdims=True)
    centred = x - mean
    return centred * lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * scale + shift


def transformer(params: Any, x: Any) -> Any:
    """Attention with a causal mask and a feed-forward part, each behind a norm."""
    length, width = x.shape
    heads = 2
    h = _norm(x, params["g1"], params["s1"])
    q, k, v = jnp.split(h @ params["qkv"], 3, axis=-1)
    q, k, v = (t.reshape(length, heads, width // heads) for t in (q, k, v))
    scores = jnp.einsum("ihd,jhd->hij", q, k) / np.sqrt(width // heads)
    mask = jnp.arange(length)[:, None] >= jnp.arange(length)[None, :]
    weights = nn.softmax(jnp.where(mask, scores, -1e30), axis=-1)
    mixed = jnp.einsum("hij,jhd->ihd", weights, v).reshape(length, width)
    x = x + mixed @ params["proj"]
    hidden = nn.gelu(_norm(x, params["g2"], params["s2"]) @ params["up"])
    return x + hidden @ params["down"]


def unet(params: Any, x: Any) -> Any:
    """Down, up, and what was before beside it."""
    before = nn.relu(_conv(x, params["first"]))
    low = nn.relu(_conv(_pool(before, lax.max, -np.inf), params["low"]))
    up = jnp.repeat(jnp.repeat(low, 2, axis=2), 2, axis=3)
    both = jnp.concatenate([before, up], axis=1)
    return _conv(both, params["last"])


def gcn(params: Any, x: Any, src: Any, dst: Any) -> Any:
    """Two graph convolutions, with the degrees as weights."""
    degree = jax.ops.segment_sum(jnp.ones(src.shape[0]), dst, x.shape[0]) + 1.0
    weight = lax.rsqrt(degree[src] * degree[dst])
    h = x @ params["w1"]
    h = nn.relu(jax.ops.segment_sum(weight[:, None] * h[src], dst, x.shape[0]) + h / degree[:, None])
    h = h @ params["w2"]
    return jax.ops.segment_sum(weight[:, None] * h[src], dst, x.shape[0]) + h / degree[:, None]


def message_passing(params: Any, x: Any, src: Any, dst: Any) -> Any:
    """Messages by a layer of both ends, summed, and a layer of that."""
    pairs = jnp.concatenate([x[src], x[dst]], axis=1)
    messages = nn.silu(pairs @ params["message"] + params["bias"])
    total = jax.ops.segment_sum(messages, dst, x.shape[0])
    return x + jnp.tanh(total @ params["update"])


def resnet(params: Any, x: Any) -> Any:
    """A basic block, with batch norm in training."""

    def norm(h: Any, scale: Any, shift: Any) -> Any:
        mean = h.mean((0, 2, 3), keepdims=True)
        var = ((h - mean) ** 2).mean((0, 2, 3), keepdims=True)
        return (h - mean) / jnp.sqrt(var + 1e-5) * scale[:, None, None] + shift[:, None, None]

    h = nn.relu(norm(_conv(x, params["conv1"]), params["g1"], params["s1"]))
    h = norm(_conv(h, params["conv2"]), params["g2"], params["s2"])
    return nn.relu(x + h)


def llama(params: Any, x: Any) -> Any:
    """RMS norm, rotary embedding, grouped attention and a SwiGLU."""
    length, width = x.shape
    heads, groups = 4, 2
    size = width // heads

    def rms(h: Any, scale: Any) -> Any:
        return h * lax.rsqrt((h**2).mean(-1, keepdims=True) + 1e-6) * scale

    def rotate(t: Any) -> Any:
        angle = jnp.arange(length)[:, None] * 10000.0 ** (-jnp.arange(0, size, 2) / size)[None, :]
        cos, sin = jnp.cos(angle)[:, None, :], jnp.sin(angle)[:, None, :]
        even, odd = t[..., ::2], t[..., 1::2]
        return jnp.stack([even * cos - odd * sin, even * sin + odd * cos], -1).reshape(t.shape)

    h = rms(x, params["norm1"])
    q = rotate((h @ params["wq"]).reshape(length, heads, size))
    k = rotate((h @ params["wk"]).reshape(length, groups, size))
    v = (h @ params["wv"]).reshape(length, groups, size)
    k, v = jnp.repeat(k, heads // groups, axis=1), jnp.repeat(v, heads // groups, axis=1)
    scores = jnp.einsum("ihd,jhd->hij", q, k) / np.sqrt(size)
    causal = jnp.tril(jnp.ones((length, length), bool))
    weights = nn.softmax(jnp.where(causal, scores, -jnp.inf), axis=-1)
    x = x + jnp.einsum("hij,jhd->ihd", weights, v).reshape(length, width) @ params["wo"]
    h = rms(x, params["norm2"])
    return x + (nn.silu(h @ params["gate"]) * (h @ params["up"])) @ params["down"]


def pinn(params: Any, points: Any) -> Any:
    """The residual of Burgers' equation by a small network with its second derivatives."""

    def u(t: Any, x: Any) -> Any:
        h = jnp.tanh(jnp.stack([t, x]) @ params["w1"] + params["b1"])
        h = jnp.tanh(h @ params["w2"] + params["b2"])
        return (h @ params["w3"])[0]

    def residual(p: Any) -> Any:
        t, x = p
        slope = jax.grad(u, 1)
        return jax.grad(u, 0)(t, x) + u(t, x) * slope(t, x) - 0.01 * jax.grad(slope, 1)(t, x)

    return jnp.mean(jax.vmap(residual)(points) ** 2)


def _edges(nodes: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    return rng.integers(0, nodes, count), rng.integers(0, nodes, count)


#: By name a model and its arguments; `big` of a size at which time counts.
def models(big: bool = False) -> dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
    """Each model with parameters and inputs, small, or of sizes at which time counts."""
    n = 64 if big else 6
    d = 64 if big else 8
    s = 16 if big else 8
    c = 16 if big else 3
    b = 16 if big else 2
    nodes, count = (2000, 10000) if big else (7, 12)
    return {
        "lenet": (
            lenet,
            (
                {
                    "conv1": a(c, 1, 3, 3),
                    "conv2": a(c, c, 3, 3),
                    "w1": a(c * (s // 4) ** 2, d),
                    "b1": a(d),
                    "w2": a(d, 10),
                    "b2": a(10),
                },
                a(b, 1, s, s),
            ),
        ),
        "transformer": (
            transformer,
            (
                {
                    **{"g1": a(d), "s1": a(d), "g2": a(d), "s2": a(d)},
                    **{"qkv": a(d, 3 * d), "proj": a(d, d), "up": a(d, 4 * d), "down": a(4 * d, d)},
                },
                a(n, d),
            ),
        ),
        "unet": (
            unet,
            ({"first": a(c, 2, 3, 3), "low": a(c, c, 3, 3), "last": a(2, 2 * c, 3, 3)}, a(b, 2, s, s)),
        ),
        "gcn": (gcn, ({"w1": a(c, d), "w2": a(d, 3)}, a(nodes, c), *_edges(nodes, count))),
        "message_passing": (
            message_passing,
            (
                {"message": a(2 * c, d), "bias": a(d), "update": a(d, c)},
                a(nodes, c),
                *_edges(nodes, count),
            ),
        ),
        "resnet": (
            resnet,
            (
                {
                    **{"conv1": a(c, c, 3, 3), "conv2": a(c, c, 3, 3)},
                    **{"g1": a(c), "s1": a(c), "g2": a(c), "s2": a(c)},
                },
                a(b, c, s, s),
            ),
        ),
        "llama": (
            llama,
            (
                {
                    **{"norm1": a(d), "norm2": a(d), "wq": a(d, d), "wk": a(d, d // 2), "wv": a(d, d // 2)},
                    **{"wo": a(d, d), "gate": a(d, 2 * d), "up": a(d, 2 * d), "down": a(2 * d, d)},
                },
                a(n, d),
            ),
        ),
        "pinn": (
            pinn,
            (
                {"w1": a(2, d), "b1": a(d), "w2": a(d, d), "b2": a(d), "w3": a(d, 1)},
                a(n, 2),
            ),
        ),
    }
