"""Sixty functions and modules of PyTorch, with arguments, written down before the importer was tried."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


def a(*shape: int) -> torch.Tensor:
    """Normal numbers."""
    return torch.randn(shape, dtype=torch.float64)


def p(*shape: int) -> torch.Tensor:
    """Positive numbers."""
    return torch.rand(shape, dtype=torch.float64) + 0.5


def whole(below: int, *shape: int) -> torch.Tensor:
    """Integers."""
    return torch.randint(0, below, shape)


def _attention(q: Any, k: Any, v: Any) -> Any:
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def _masked(q: Any, k: Any, v: Any, mask: Any) -> Any:
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


#: By name a function or module and its arguments.
CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "arithmetic": (lambda x, y: x * y - x / (y + 4) + 3 * x**2, (a(4, 3), p(3))),
    "elementary": (lambda x: torch.exp(x) * torch.sin(x) + torch.log1p(x**2) + torch.atan(x), (a(5),)),
    "powers": (lambda x, y: x**y + torch.rsqrt(x) + torch.pow(2, x) + x.reciprocal(), (p(4), p(4))),
    "special functions": (lambda x: torch.erf(x) + torch.erfc(x) + torch.expm1(x), (a(5),)),
    "clamp": (lambda x: x.clamp(-0.5, 0.5) + x.clamp_min(0.1) + torch.maximum(x, -x), (a(6),)),
    "where": (lambda x, y: torch.where(x > y, x * y, x.exp()), (a(4, 3), a(3))),
    "masked fill": (lambda x, m: x.masked_fill(m, 2.0).sum(1), (a(4, 3), whole(2, 4, 3) > 0)),
    "matmul": (lambda x, y: x @ y, (a(2, 4, 3), a(2, 3, 5))),
    "einsum": (lambda x, y: torch.einsum("bik,bjk->bij", x, y), (a(2, 3, 4), a(2, 5, 4))),
    "outer products": (lambda x, y: torch.outer(x, y) + x[:, None] * y, (a(3), a(4))),
    "sums and means": (lambda x: x.sum(0) + x.mean(0) + x.var(0) + x.std(0), (a(4, 3),)),
    "maxima": (lambda x: x.amax(1) - x.amin(1) + x.max(1).values + x.prod(1), (a(4, 3),)),
    "norms": (lambda x: x.norm(dim=1) + torch.linalg.vector_norm(x), (a(4, 3),)),
    "logsumexp": (lambda x: torch.logsumexp(x, 1), (a(4, 3),)),
    "softmax": (lambda x: F.softmax(x, -1) + F.log_softmax(x, -1), (a(4, 3),)),
    "cumulative sum": (lambda x: torch.cumsum(x, 1) + x.cumsum(0), (a(4, 3),)),
    "ReLUs": (lambda x: F.relu(x) + F.leaky_relu(x) + F.relu6(x) + F.elu(x) + F.selu(x), (a(4, 3),)),
    "smooth activations": (
        lambda x: F.gelu(x) + F.gelu(x, approximate="tanh") + F.silu(x) + F.softplus(x) + F.mish(x),
        (a(4, 3),),
    ),
    "hard activations": (
        lambda x: F.hardtanh(x) + F.hardswish(x) + F.softshrink(x) + F.softsign(x) + F.tanhshrink(x),
        (a(4, 3),),
    ),
    # PyTorch's own backward of `hardsigmoid` has 1/6 in f32, so this is not compared with that.
    "hardsigmoid": (lambda x: F.relu6(x + 3) / 6, (a(4, 3),)),
    "gated unit": (lambda x: F.glu(x, -1), (a(4, 6),)),
    "PReLU": (nn.PReLU(3), (a(4, 3),)),
    "linear": (nn.Linear(3, 2), (a(5, 3),)),
    "bilinear": (nn.Bilinear(3, 4, 2), (a(5, 3), a(5, 4))),
    "embedding": (nn.Embedding(7, 4), (whole(7, 5),)),
    "conv1d": (nn.Conv1d(2, 3, 3, padding=1), (a(2, 2, 7),)),
    "conv2d": (nn.Conv2d(2, 3, 3, stride=2, padding=1), (a(1, 2, 6, 6),)),
    "dilated conv2d": (nn.Conv2d(2, 3, 3, dilation=2), (a(1, 2, 7, 7),)),
    "grouped conv2d": (nn.Conv2d(4, 4, 3, groups=2, bias=False), (a(1, 4, 5, 5),)),
    "depthwise conv2d": (nn.Conv2d(3, 3, 3, groups=3), (a(1, 3, 5, 5),)),
    "transposed conv2d": (nn.ConvTranspose2d(2, 3, 3, stride=2, padding=1), (a(1, 2, 4, 4),)),
    "conv3d": (nn.Conv3d(1, 2, 2), (a(1, 1, 3, 4, 4),)),
    "circular conv1d": (nn.Conv1d(2, 2, 3, padding=1, padding_mode="circular"), (a(1, 2, 6),)),
    "max pooling": (lambda x: F.max_pool2d(x, 3, 2, 1), (a(1, 2, 6, 6),)),
    "average pooling": (lambda x: F.avg_pool2d(x, 2), (a(1, 2, 6, 6),)),
    "average pooling with padding": (lambda x: F.avg_pool2d(x, 3, 2, 1), (a(1, 2, 6, 6),)),
    "adaptive pooling": (
        lambda x: F.adaptive_avg_pool2d(x, 1) + F.adaptive_avg_pool2d(x, 3).sum(),
        (a(1, 2, 6, 6),),
    ),
    "layer norm": (nn.LayerNorm(4), (a(3, 4),)),
    "group norm": (nn.GroupNorm(2, 4), (a(2, 4, 3),)),
    "RMS norm": (nn.RMSNorm(4, eps=1e-6), (a(3, 4),)),
    "instance norm": (nn.InstanceNorm1d(3, affine=True), (a(2, 3, 5),)),
    "batch norm in training": (nn.BatchNorm1d(3), (a(5, 3),)),
    "batch norm": (nn.BatchNorm2d(3).eval(), (a(2, 3, 4, 4),)),
    "slices": (lambda x: x[1:, ::2] - x[:-1, 1::2], (a(5, 6),)),
    "select": (lambda x: x[2] * x[:, -1] + x.select(1, 0), (a(4, 4),)),
    "gather": (lambda x, i: torch.gather(x, 1, i), (a(4, 5), whole(5, 4, 3))),
    "index by arrays": (lambda x, i, j: x[i, j] + x[i].sum(1), (a(4, 5), whole(4, 6), whole(5, 6))),
    "index_select": (lambda x, i: torch.index_select(x, 1, i), (a(4, 5), whole(5, 3))),
    "index_add": (lambda x, i, y: x.index_add(0, i, y), (a(4, 2), whole(4, 6), a(6, 2))),
    "scatter_add": (
        lambda i, y: torch.zeros(4, 2, dtype=y.dtype).scatter_add(0, i, y),
        (whole(4, 6, 2), a(6, 2)),
    ),
    "one-hot": (lambda x, i: x * F.one_hot(i, 3), (a(5, 3), whole(3, 5))),
    "concatenate and stack": (
        lambda x, y: torch.stack([torch.cat([x, y]), torch.cat([y, x])]),
        (a(2, 3), a(4, 3)),
    ),
    "reshape": (lambda x: x.view(3, 2, 2, 4).permute(2, 0, 1, 3).reshape(6, 8) ** 2, (a(6, 8),)),
    "expand and repeat": (lambda x: x[None].expand(4, -1, -1) * x.repeat(1, 2)[:, :3], (a(2, 3),)),
    "roll and flip": (lambda x: x.roll(1, 0) + x.flip(1), (a(4, 4),)),
    "unfold": (lambda x: x.unfold(0, 3, 2).sum(-1), (a(9),)),
    "triangles": (lambda x: torch.tril(x) + 2 * torch.triu(x, 1), (a(4, 4),)),
    "pads": (
        lambda x: F.pad(x, (1, 2)) + F.pad(x, (1, 2), "reflect") + F.pad(x, (1, 2), "replicate"),
        (a(1, 2, 5),),
    ),
    "circular pad": (lambda x: F.pad(x, (1, 2), "circular"), (a(1, 2, 5),)),
    "nearest interpolation": (lambda x: F.interpolate(x, scale_factor=2), (a(1, 2, 3, 4),)),
    "bilinear interpolation": (
        lambda x: F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False),
        (a(1, 1, 3, 4),),
    ),
    "pixel shuffle": (lambda x: F.pixel_shuffle(x, 2), (a(1, 4, 3, 3),)),
    "causal attention": (_attention, (a(1, 2, 4, 3), a(1, 2, 4, 3), a(1, 2, 4, 3))),
    "masked attention": (_masked, (a(1, 2, 4, 3), a(1, 2, 5, 3), a(1, 2, 5, 3), a(4, 5))),
    "multi-head attention": (
        lambda x, w, b: F.multi_head_attention_forward(
            x, x, x, 4, 2, w, b, None, None, False, 0.0, w[:4], b[:4], need_weights=False
        )[0],
        (a(3, 2, 4), a(12, 4), a(12)),
    ),
    "LSTM cell": (nn.LSTMCell(3, 2), (a(4, 3),)),
    "GRU cell": (nn.GRUCell(3, 2), (a(4, 3), a(4, 2))),
    "mean squared error": (
        lambda x, y: F.mse_loss(x, y) + F.l1_loss(x, y) + F.smooth_l1_loss(x, y),
        (a(4), a(4)),
    ),
    "cross entropy": (lambda x, y: F.cross_entropy(x, y), (a(5, 3), whole(3, 5))),
    "binary cross entropy": (
        lambda x, y: F.binary_cross_entropy_with_logits(x, y) + F.kl_div(x, y, reduction="sum"),
        (a(4), p(4) / 2),
    ),
    "cosine similarity": (
        lambda x, y: F.cosine_similarity(x, y) + F.pairwise_distance(x, y),
        (a(4, 3), a(4, 3)),
    ),
    "ranking losses": (
        lambda x, y, z: (
            F.triplet_margin_loss(x, y, z)
            + F.cosine_embedding_loss(x, y, torch.ones(4, dtype=x.dtype))
            + F.margin_ranking_loss(x[:, 0], y[:, 0], torch.ones(4, dtype=x.dtype))
        ),
        (a(4, 3), a(4, 3), a(4, 3)),
    ),
    "weighted and smoothed losses": (
        lambda x, y: (
            F.cross_entropy(x, y, label_smoothing=0.1)
            + F.nll_loss(x, y, weight=torch.tensor([1.0, 2.0, 0.5], dtype=x.dtype))
            + F.cross_entropy(x, y, ignore_index=1)
        ),
        (a(5, 3), whole(3, 5)),
    ),
    "cdist": (torch.cdist, (a(4, 3), a(5, 3))),
    "place of the largest": (lambda x: x * F.one_hot(x.argmax(1), 3) + x.argmin(), (a(4, 3),)),
    "affine grid": (lambda t: F.affine_grid(t, [1, 1, 3, 3], align_corners=False), (a(1, 2, 3),)),
    "number minus an array": (lambda x: 0.1 - x, (a(4),)),
    "columns": (lambda x: F.fold(F.unfold(x, 2, padding=1), (4, 4), 2, padding=1), (a(1, 2, 4, 4),)),
    "other poolings": (
        lambda x: F.lp_pool2d(x.exp(), 2, 2) + F.adaptive_max_pool2d(x, (2, 2)),
        (a(1, 2, 4, 4),),
    ),
    "bicubic interpolation": (
        lambda x: F.interpolate(x, scale_factor=2, mode="bicubic", align_corners=False),
        (a(1, 1, 3, 4),),
    ),
    "GRU": (nn.GRU(3, 2), (a(3, 1, 3),)),
    "encoder layer": (nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True), (a(2, 3, 4),)),
    "weight norm": (nn.utils.parametrizations.weight_norm(nn.Linear(3, 2)), (a(4, 3),)),
    "normalize": (lambda x: F.normalize(x, dim=1), (a(4, 3),)),
    "casts": (lambda x, i: x * i.double() + (x > 0).double(), (a(4), whole(7, 4))),
}

#: What the language has not; each is refused by the name that is given.
REFUSED: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "sorting": (lambda x: torch.sort(x).values, (a(4),)),
    "cannot lower": (lambda x: torch.fft.fft(x).abs(), (a(4),)),
    "largest": (lambda x: torch.topk(x, 2).values, (a(4),)),
    "cannot be imported": (lambda x: x + torch.randn(4, dtype=x.dtype), (a(4),)),
    "control flow": (lambda x: x if x.sum() > 0 else -x, (a(4),)),
}
