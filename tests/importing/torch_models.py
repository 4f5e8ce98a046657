"""Whole models in PyTorch, as people write them, with inputs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.func import grad, vmap
from torch.nn import functional as F


def a(*shape: int) -> torch.Tensor:
    """Normal numbers."""
    return torch.randn(shape, dtype=torch.float64)


class LeNet(nn.Module):
    """Two convolutions with pooling, and two layers."""

    def __init__(self, channels: int, side: int, width: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, channels, 3, padding=1)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)
        self.fc1 = nn.Linear(channels * (side // 4) ** 2, width)
        self.fc2 = nn.Linear(width, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Logarithms of probabilities."""
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = torch.flatten(x, 1)
        x = F.relu(self.fc1(x))
        return F.log_softmax(self.fc2(x), dim=1)


class TransformerBlock(nn.Module):
    """Causal attention and a feed-forward part, each behind a norm."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Of a batch of sequences."""
        batch, length, width = x.shape
        qkv = self.qkv(self.norm1(x))
        q, k, v = qkv.view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(mixed.transpose(1, 2).reshape(batch, length, width))
        hidden = F.gelu(self.up(self.norm2(x)))
        return x + self.down(hidden)


class UNetBlock(nn.Module):
    """Down, up, and what was before beside it."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.enter = nn.Conv2d(2, channels, 3, padding=1)
        self.below = nn.Conv2d(channels, 2 * channels, 3, padding=1)
        self.up = nn.ConvTranspose2d(2 * channels, channels, 2, stride=2)
        self.leave = nn.Conv2d(2 * channels, 2, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Of images."""
        before = F.relu(self.enter(x))
        low = F.relu(self.below(F.max_pool2d(before, 2)))
        return self.leave(torch.cat([before, self.up(low)], dim=1))


class GCN(nn.Module):
    """Two graph convolutions, with the degrees as weights."""

    def __init__(self, channels: int, width: int) -> None:
        super().__init__()
        self.lin1 = nn.Linear(channels, width, bias=False)
        self.lin2 = nn.Linear(width, 3, bias=False)

    def forward(self, x: torch.Tensor, src: torch.Tensor, dst: torch.Tensor) -> torch.Tensor:
        """Of features of nodes, and the ends of edges."""
        degree = x.new_ones(x.shape[0]).index_add(0, dst, x.new_ones(src.shape[0]))
        weight = torch.rsqrt(degree[src] * degree[dst])
        h = self.lin1(x)
        h = F.relu((h / degree[:, None]).index_add(0, dst, weight[:, None] * h[src]))
        h = self.lin2(h)
        return (h / degree[:, None]).index_add(0, dst, weight[:, None] * h[src])


class MessagePassing(nn.Module):
    """Messages by a layer of both ends, summed, and a layer of that."""

    def __init__(self, channels: int, width: int) -> None:
        super().__init__()
        self.message = nn.Linear(2 * channels, width)
        self.update = nn.Linear(width, channels, bias=False)

    def forward(self, x: torch.Tensor, src: torch.Tensor, dst: torch.Tensor) -> torch.Tensor:
        """Of features of nodes, and the ends of edges."""
        messages = F.silu(self.message(torch.cat([x[src], x[dst]], dim=1)))
        total = torch.zeros(x.shape[0], messages.shape[1], dtype=x.dtype)
        total = total.scatter_add(0, dst[:, None].expand_as(messages), messages)
        return x + torch.tanh(self.update(total))


class BasicBlock(nn.Module):
    """The block of ResNet-18."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Of images."""
        h = F.relu(self.bn1(self.conv1(x)))
        h = self.bn2(self.conv2(h))
        return F.relu(h + x)


class LlamaBlock(nn.Module):
    """RMS norm, rotary embedding, grouped attention and a SwiGLU."""

    def __init__(self, width: int, heads: int, groups: int) -> None:
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, width // heads
        self.norm1 = nn.RMSNorm(width, eps=1e-6)
        self.wq = nn.Linear(width, width, bias=False)
        self.wk = nn.Linear(width, groups * self.size, bias=False)
        self.wv = nn.Linear(width, groups * self.size, bias=False)
        self.wo = nn.Linear(width, width, bias=False)
        self.norm2 = nn.RMSNorm(width, eps=1e-6)
        self.gate = nn.Linear(width, 2 * width, bias=False)
        self.up = nn.Linear(width, 2 * width, bias=False)
        self.down = nn.Linear(2 * width, width, bias=False)

    def rotate(self, x: torch.Tensor) -> torch.Tensor:
        """Rotary embedding of an array of shape (length, heads, size)."""
        place = torch.arange(x.shape[0], dtype=x.dtype)
        rate = 10000.0 ** (-torch.arange(0, self.size, 2, dtype=x.dtype) / self.size)
        angle = torch.outer(place, rate)[:, None, :]
        even, odd = x[..., ::2], x[..., 1::2]
        cos, sin = torch.cos(angle), torch.sin(angle)
        return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Of a sequence."""
        length, width = x.shape
        h = self.norm1(x)
        q = self.rotate(self.wq(h).view(length, self.heads, self.size))
        k = self.rotate(self.wk(h).view(length, self.groups, self.size))
        v = self.wv(h).view(length, self.groups, self.size)
        k = k.repeat_interleave(self.heads // self.groups, dim=1)
        v = v.repeat_interleave(self.heads // self.groups, dim=1)
        scores = torch.einsum("ihd,jhd->hij", q, k) / math.sqrt(self.size)
        mask = torch.ones(length, length, dtype=torch.bool).tril()
        weights = torch.softmax(scores.masked_fill(~mask, float("-inf")), dim=-1)
        x = x + self.wo(torch.einsum("hij,jhd->ihd", weights, v).reshape(length, width))
        h = self.norm2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Burgers(nn.Module):
    """The residual of Burgers' equation by a small network, with its second derivatives."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.enter = nn.Linear(2, width)
        self.middle = nn.Linear(width, width)
        self.leave = nn.Linear(width, 1)

    def u(self, t: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        """The solution at a point."""
        h = torch.tanh(self.enter(torch.stack([t, x])))
        h = torch.tanh(self.middle(h))
        return self.leave(h)[0]

    def residual(self, t: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        """What is to be 0."""
        slope = grad(self.u, 1)
        return grad(self.u, 0)(t, x) + self.u(t, x) * slope(t, x) - 0.01 * grad(slope, 1)(t, x)

    def forward(self, points: torch.Tensor) -> torch.Tensor:
        """The mean square at points, a row for each."""
        return (vmap(self.residual)(points[:, 0], points[:, 1]) ** 2).mean()


class Heat(Burgers):
    """The residual of the heat equation, by `autograd.grad` as most people write it."""

    def forward(self, points: torch.Tensor) -> torch.Tensor:
        """The mean square at points, a row for each."""
        t, x = points[:, :1].requires_grad_(), points[:, 1:].requires_grad_()
        u = self.leave(torch.tanh(self.middle(torch.tanh(self.enter(torch.cat([t, x], dim=1))))))
        u_t, u_x = torch.autograd.grad(u.sum(), (t, x), create_graph=True)
        (u_xx,) = torch.autograd.grad(u_x.sum(), x, create_graph=True)
        return ((u_t - 0.1 * u_xx) ** 2).mean()


def models(big: bool = False) -> dict[str, Callable[[], tuple[nn.Module, tuple[Any, ...]]]]:
    """By name what makes a model and its inputs, small, or of sizes at which time counts."""
    length, width = (64, 64) if big else (6, 8)
    side, channels, batch = (16, 16, 16) if big else (8, 3, 2)
    nodes, edges = (2000, 10000) if big else (7, 12)

    def graph() -> tuple[Any, ...]:
        return a(nodes, channels), torch.randint(0, nodes, (edges,)), torch.randint(0, nodes, (edges,))

    return {
        "lenet": lambda: (LeNet(channels, side, width), (a(batch, 1, side, side),)),
        "transformer": lambda: (TransformerBlock(width, 2), (a(batch, length, width),)),
        "unet": lambda: (UNetBlock(channels), (a(batch, 2, side, side),)),
        "gcn": lambda: (GCN(channels, width), graph()),
        "message_passing": lambda: (MessagePassing(channels, width), graph()),
        "resnet_eval": lambda: (BasicBlock(channels).eval(), (a(batch, channels, side, side),)),
        "resnet_train": lambda: (BasicBlock(channels), (a(batch, channels, side, side),)),
        "llama": lambda: (LlamaBlock(width, 4, 2), (a(length, width),)),
        "burgers": lambda: (Burgers(width), (a(length, 2),)),
        "heat": lambda: (Heat(width), (a(length, 2),)),
    }
