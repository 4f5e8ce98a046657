"""Sixty functions of JAX with arguments, written down before the importer was tried on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, nn

rng = np.random.default_rng(0)


def a(*shape: int) -> np.ndarray:
    """Normal numbers."""
    return rng.normal(size=shape)


def p(*shape: int) -> np.ndarray:
    """Positive numbers."""
    return rng.uniform(0.5, 2.0, size=shape)


def whole(below: int, *shape: int) -> np.ndarray:
    """Integers."""
    return rng.integers(0, below, size=shape)


def _attention(q: Any, k: Any, v: Any) -> Any:
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / np.sqrt(q.shape[-1])
    causal = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    weights = nn.softmax(jnp.where(causal, scores, -jnp.inf), axis=-1)
    return jnp.einsum("bhqk,bhkd->bhqd", weights, v)


def _alibi(q: Any, k: Any, v: Any) -> Any:
    heads, length = q.shape[0], q.shape[1]
    slopes = 2.0 ** (-8.0 * jnp.arange(1, heads + 1) / heads)
    distance = jnp.arange(length)[None, :] - jnp.arange(length)[:, None]
    scores = q @ k.swapaxes(-1, -2) + slopes[:, None, None] * distance
    return nn.softmax(scores, axis=-1) @ v


def _lstm(x: Any, w: Any, u: Any, b: Any) -> Any:
    def step(carry: Any, xt: Any) -> Any:
        h, c = carry
        i, f, g, o = jnp.split(xt @ w + h @ u + b, 4)
        c = nn.sigmoid(f) * c + nn.sigmoid(i) * jnp.tanh(g)
        h = nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    zero = jnp.zeros(u.shape[0])
    return lax.scan(step, (zero, zero), x)[1]


def _counted(x: Any) -> Any:
    return lax.fori_loop(0, 4, lambda _, s: jnp.sin(s) * x, x)


def _dilated(x: Any, w: Any) -> Any:
    return lax.conv_general_dilated(x, w, (1, 1), "SAME", rhs_dilation=(2, 2))


def _transposed(x: Any, w: Any) -> Any:
    return lax.conv_transpose(x, w, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def _grouped(x: Any, w: Any) -> Any:
    return lax.conv_general_dilated(x, w, (2, 2), ((1, 1), (1, 1)), feature_group_count=2)


def _layer_norm(x: Any, g: Any, b: Any) -> Any:
    mean = x.mean(-1, keepdims=True)
    var = x.var(-1, keepdims=True)
    return (x - mean) / jnp.sqrt(var + 1e-5) * g + b


def _bilinear(x: Any) -> Any:
    return jax.image.resize(x, (6, 8), "bilinear")


def _cross_entropy(x: Any, y: Any) -> Any:
    return -jnp.mean(jnp.take_along_axis(nn.log_softmax(x), y[:, None], axis=1))


#: By name a function and its arguments.
CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "polynomial": (lambda x: 3 * x**3 - x / 2 + 1, (a(5),)),
    "elementary": (lambda x: jnp.exp(jnp.sin(x)) * jnp.log1p(x**2) + jnp.arctan(x), (a(4, 3),)),
    "hyperbolic": (lambda x: jnp.sinh(x) + jnp.cosh(x) * jnp.arcsinh(x) - jnp.tan(x / 3), (a(4, 3),)),
    "inverse functions": (lambda x: jnp.arcsin(x) + jnp.arccos(x) + jnp.arctanh(x), (a(5) / 5,)),
    "powers": (lambda x, y: x**y + jnp.cbrt(x) + x**-2 + jnp.sqrt(x), (p(4), p(4))),
    "special functions": (lambda x: jax.scipy.special.gammaln(x) + jax.scipy.special.digamma(x), (p(5),)),
    "error function": (lambda x: jax.scipy.special.erf(x) - lax.erfc(x), (a(5),)),
    "hypot and atan2": (lambda x, y: jnp.hypot(x, y) + jnp.arctan2(y, x), (a(4), a(4))),
    "clip": (lambda x: jnp.clip(x, -0.5, 0.5) + jnp.maximum(x, 0.1) + jnp.minimum(x, 0.3), (a(6),)),
    "where": (lambda x, y: jnp.where(x > 0, x * y, jnp.exp(x)), (a(4, 3), a(3))),
    "logical conditions": (
        lambda x: jnp.where((x > 0) & (x < 1) | ~(x > -1), x**2, 3 * x),
        (a(9),),
    ),
    "floor and mod": (lambda x: x - jnp.floor(x) + x % 0.7 + jnp.round(x) * x + jnp.sign(x), (a(6),)),
    "matmul": (lambda x, y: x @ y, (a(4, 3), a(3, 5))),
    "batched matmul": (lambda x, y: x @ y, (a(2, 4, 3), a(2, 3, 5))),
    "einsum": (lambda x, y: jnp.einsum("bik,bjk->bij", x, y), (a(2, 3, 4), a(2, 5, 4))),
    "einsum with a trace": (lambda x, y: jnp.einsum("iij,jk->ik", x, y), (a(3, 3, 4), a(4, 2))),
    "outer and kron": (lambda x, y: jnp.outer(x, y)[None] + jnp.kron(x, y)[:, None, None], (a(3), a(3))),
    "tensordot": (lambda x, y: jnp.tensordot(x, y, axes=((1, 2), (0, 1))), (a(2, 3, 4), a(3, 4, 5))),
    "broadcasting": (lambda x, y: x[:, None] * y[None, :] + x.sum(), (a(3), a(4))),
    "sums and means": (lambda x: x.sum(0) + x.mean(0) + x.std(0) + x.var(0), (a(4, 3),)),
    "max and min": (lambda x: x.max(1) - x.min(1) + jnp.prod(x, 1), (a(4, 3),)),
    "norms": (lambda x: jnp.linalg.norm(x, axis=1) + jnp.linalg.norm(x), (a(4, 3),)),
    "logsumexp": (lambda x: jax.scipy.special.logsumexp(x, axis=1), (a(4, 3),)),
    "softmax": (lambda x: nn.softmax(x) + nn.log_softmax(x), (a(4, 3),)),
    "activations": (
        lambda x: nn.relu(x) + nn.gelu(x) + nn.silu(x) + nn.softplus(x) + nn.elu(x) + nn.leaky_relu(x),
        (a(4, 3),),
    ),
    "more activations": (
        lambda x: nn.selu(x) + nn.celu(x) + nn.hard_tanh(x) + nn.relu6(x) + nn.hard_swish(x) + nn.mish(x),
        (a(4, 3),),
    ),
    "gated units": (lambda x: nn.glu(x) + nn.gelu(x[:, :2], approximate=False), (a(4, 4),)),
    "one-hot": (lambda x, y: x * nn.one_hot(y, 3), (a(4, 3), whole(3, 4))),
    "slices": (lambda x: x[1:, ::2] - x[:-1, 1::2], (a(5, 6),)),
    "negative strides": (lambda x: x[::-1, ::-2], (a(5, 6),)),
    "integer index": (lambda x: x[2] * x[:, -1] + x[-1, 0], (a(4, 4),)),
    "update by slices": (lambda x, y: x.at[1:3].set(y).at[0].add(2 * y[0]), (a(4, 3), a(2, 3))),
    "gather": (lambda x, i: x[i] * 2, (a(6, 4), whole(6, 5))),
    "take along an axis": (lambda x, i: jnp.take_along_axis(x, i, axis=1), (a(4, 5), whole(5, 4, 2))),
    "take": (lambda x, i: jnp.take(x, i, axis=1), (a(4, 5), whole(5, 3))),
    "scatter-add": (lambda x, i, y: x.at[i].add(y), (a(6, 2), whole(6, 4), a(4, 2))),
    "segment sum": (lambda x, i: jax.ops.segment_sum(x, i, 3), (a(6, 4), whole(3, 6))),
    "segment max": (lambda x, i: jax.ops.segment_max(x, i, 2), (a(6, 4), np.arange(6) % 2)),
    "pads": (
        lambda x: jnp.pad(x, 2) + jnp.pad(x, 2, "edge") + jnp.pad(x, 2, "reflect") + jnp.pad(x, 2, "wrap"),
        (a(4, 5),),
    ),
    "symmetric pad": (lambda x: jnp.pad(x, ((1, 2), (0, 3)), "symmetric"), (a(4, 5),)),
    "interior pad": (lambda x: lax.pad(x, 0.5, ((1, 2, 1), (0, -1, 2))), (a(3, 4),)),
    "concatenate": (lambda x, y: jnp.concatenate([x, y, x * y[:1]], 0), (a(2, 3), a(4, 3))),
    "stack": (lambda x, y: jnp.stack([x, y, x + y], 1), (a(4, 3), a(4, 3))),
    "tile and repeat": (lambda x: jnp.tile(x, (2, 3)) * jnp.repeat(jnp.repeat(x, 2, 0), 3, 1), (a(2, 3),)),
    "roll and flip": (lambda x: jnp.roll(x, 2, 0) + jnp.flip(x, 1) + jnp.rot90(x), (a(4, 4),)),
    "reshape": (lambda x: x.reshape(3, 2, 2, 4).transpose(2, 0, 1, 3).reshape(6, 8) ** 2, (a(6, 8),)),
    "flatten": (lambda x: jnp.sin(x.ravel()) * jnp.arange(12), (a(3, 4),)),
    "triangles": (lambda x: jnp.tril(x) + 2 * jnp.triu(x, 1) + jnp.diag(jnp.diag(x)), (a(4, 4),)),
    "differences": (lambda x: jnp.diff(x, axis=1) + jnp.trapezoid(x, axis=1)[:, None], (a(4, 5),)),
    "meshgrid": (lambda x, y: jnp.multiply(*jnp.meshgrid(x, y)), (a(4), a(3))),
    "cumulative sum": (lambda x: jnp.cumsum(x, 0) + jnp.cumsum(x[::-1], 1), (a(5, 4),)),
    "cumulative product and maximum": (lambda x: jnp.cumprod(x) + lax.cummax(x), (p(5),)),
    "convolution of signals": (lambda x, w: jnp.convolve(x, w, "same"), (a(9), a(4))),
    "convolution with dilation": (_dilated, (a(1, 2, 6, 6), a(3, 2, 3, 3))),
    "transposed convolution": (_transposed, (a(1, 4, 4, 2), a(3, 3, 2, 3))),
    "grouped convolution": (_grouped, (a(1, 4, 6, 6), a(4, 2, 3, 3))),
    "max pooling": (
        lambda x: lax.reduce_window(x, -np.inf, lax.max, (1, 3, 3), (1, 2, 2), "SAME"),
        (a(2, 6, 6),),
    ),
    "average pooling": (
        lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 2, 2), (1, 2, 2), "VALID") / 4,
        (a(2, 6, 6),),
    ),
    "layer norm": (_layer_norm, (a(4, 6), a(6), a(6))),
    "causal attention": (_attention, (a(1, 2, 4, 3), a(1, 2, 4, 3), a(1, 2, 4, 3))),
    "attention with ALiBi": (_alibi, (a(2, 4, 3), a(2, 4, 3), a(2, 4, 3))),
    "scan": (lambda x: lax.scan(lambda c, v: (jnp.tanh(c + v), c), x[0], x)[1], (a(5, 3),)),
    "LSTM by scan": (_lstm, (a(4, 3), a(3, 8), a(2, 8), a(8))),
    "fori_loop": (lambda x: lax.fori_loop(0, 4, lambda i, c: c * 0.9 + x[i], x[0]), (a(5, 3),)),
    # JAX has no gradient of `while_loop`; as `fori_loop` it is the same loop.
    "loop of a fixed count": (_counted, (a(4),)),
    "cond": (lambda x, y: lax.cond(x.sum() > 0, lambda v: v**2, jnp.sin, y), (a(3), a(4))),
    "vmap": (jax.vmap(lambda x, y: jnp.dot(x, y) * x, (0, None)), (a(4, 3), a(3))),
    "gradient inside": (lambda x: jax.grad(lambda v: jnp.sum(jnp.sin(v) ** 3))(x) * x, (a(4),)),
    "Hessian inside": (lambda x: jax.hessian(lambda v: jnp.prod(jnp.cos(v)))(x), (a(3),)),
    "dynamic slice": (lambda x, i: lax.dynamic_slice(x, (i, 0), (2, 3)), (a(5, 4), np.array(2))),
    "interpolation": (_bilinear, (a(3, 4),)),
    "cross entropy": (_cross_entropy, (a(5, 3), whole(3, 5))),
    "casts": (lambda x, i: x * i.astype(float) + (x > 0).astype(float), (a(4), whole(7, 4))),
    "mask as an argument": (lambda x, m: jnp.sum(jnp.where(m, x, 0.0), 1), (a(4, 3), whole(2, 4, 3) > 0)),
    "boolean reductions": (
        lambda x: jnp.where(jnp.any(x > 1, axis=1) | jnp.all(x > 0, axis=1), x[:, 0], x[:, 1] ** 2),
        (a(5, 3),),
    ),
    "pytrees": (
        lambda tree, x: {"y": jnp.tanh(x @ tree["w"] + tree["b"]), "z": tree["w"].sum()},
        ({"w": a(3, 4), "b": a(4)}, a(2, 3)),
    ),
    "pairwise distances": (lambda x: jnp.sqrt(jnp.sum((x[:, None] - x[None]) ** 2, -1) + 1.0), (a(5, 3),)),
    "constants": (lambda x: jnp.convolve(x, jnp.array([1.0, -2.0, 0.5])) @ jnp.asarray(CONSTANT), (a(5),)),
    "piecewise": (lambda x: jnp.piecewise(x, [x < 0, x >= 0], [jnp.sin, lambda v: v**3]), (a(7),)),
    "place of the largest": (
        lambda x: x * nn.one_hot(jnp.argmax(x, 1), 3) + jnp.argmin(x, 1)[:, None] * x,
        (a(4, 3),),
    ),
    "fmod and trunc": (lambda x: jnp.fmod(x, 0.7) * x + jnp.trunc(x) * x, (3 * a(6),)),
    "associative scan": (lambda x: lax.associative_scan(jnp.add, x), (a(6),)),
    "map and switch": (
        lambda x, i: lax.map(lambda v: lax.switch(i, [jnp.sin, jnp.cos, jnp.square], v) * v.sum(), x),
        (a(4, 3), np.array(1)),
    ),
    "bincount": (lambda i, w: jnp.bincount(i, w, length=4), (whole(4, 7), a(7))),
    "covariance": (lambda x: jnp.cov(x) + jnp.corrcoef(x), (a(3, 5),)),
    "determinant of 3 by 3": (jnp.linalg.det, (a(3, 3),)),
    "convolution of images": (
        lambda x, w: jax.scipy.signal.convolve2d(x, w, "same"),
        (a(5, 5), a(3, 3)),
    ),
    "cubic interpolation": (lambda x: jax.image.resize(x, (6, 8), "cubic"), (a(3, 4),)),
    "polyval": (lambda c, x: jnp.polyval(c, x) + jnp.sinc(x), (a(4), a(5))),
}

CONSTANT = np.arange(14.0).reshape(7, 2) ** 2

#: What the language has not; each is refused by the name that is given.
REFUSED: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "unusual reduction": (lambda x: lax.cumlogsumexp(x), (a(5),)),
    "computed of values": (
        lambda x, y, i: lax.dynamic_update_slice(x, y, (i, 1)),
        (a(5, 4), a(2, 3), np.array(2)),
    ),
    "sorting": (lambda x: jnp.sort(x), (a(4),)),
    "Fourier": (lambda x: jnp.abs(jnp.fft.fft(x)), (a(4),)),
    "computed": (lambda x: x[jnp.argmax(x)], (a(4),)),
    "lapack_dgesdd": (lambda x, y: jnp.linalg.lstsq(x, y)[0], (a(4, 2), a(4))),
    "solv": (lambda x, y: jnp.linalg.solve(x, y), (a(3, 3), a(3))),
    "random": (lambda x: x + jax.random.normal(jax.random.key(0), (4,)), (a(4),)),
    "steps": (lambda x: lax.while_loop(lambda s: s > 1e-3, lambda s: s / 2, x), (np.array(3.0),)),
    "index": (lambda x: x[jnp.floor(x[0]).astype(int)], (p(3),)),
    "complex": (lambda x: jnp.real(x * 1j), (a(4),)),
}
