"""`python -m bench blocks --jax`: programs divided over two devices of JAX, by us and by its own partitioner.

The same arrays, divided along the same dimensions; the program of JAX is as one writes it. Bytes are what a
device gets from others in a call, read off the compiled program; wall time of calls by turns, the least of
several.
"""

from __future__ import annotations

import math
import os
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import tadc

DEVICES, ROUNDS = 2, 7

#: A collective in the text of a compiled program: the type of its result, or of several, and its name.
_COLLECTIVE = re.compile(
    r"= (\([^)]*\)|\S+) (all-gather|all-reduce|all-to-all|collective-permute)(?:-start)?\(", re.M
)
_TYPE = re.compile(r"(f32|f64|s32|pred)\[([\d,]*)\]")
_BYTES = {"f32": 4, "f64": 8, "s32": 4, "pred": 1}


@dataclass(frozen=True)
class Partitioned:
    """A program, the same in JAX, the shapes of its arguments, and which dimension of each is divided."""

    name: str
    text: str
    own: Callable[..., Any]
    shapes: dict[str, tuple[int, ...]]
    divided: dict[str, int]
    gradient: bool = False


def _cases(stencil: str, images_text: str, positions: str, pairs: str) -> list[Partitioned]:
    import jax
    import jax.numpy as jnp

    def heat(u: Any) -> Any:
        inner = u[1:-1, 1:-1]
        near = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * inner
        return u.at[1:-1, 1:-1].set(inner + 0.2 * near)

    def conv(x: Any, w: Any) -> Any:
        return jax.lax.conv(x, w, (1, 1), "VALID")

    def attention(q: Any, k: Any, v: Any) -> Any:
        return jax.nn.softmax(q @ k.transpose(0, 2, 1), axis=-1) @ v

    def kernel_sum(x: Any, y: Any, b: Any) -> Any:
        return jnp.exp(-((x[:, None] - y[None]) ** 2).sum(-1)) @ b

    plate = {"u": (4096, 4096)}
    images = {"x": (8, 16, 258, 256), "w": (16, 16, 3, 3)}
    heads = {name: (8, 1024, 64) for name in "qkv"}
    points = {"x": (8192, 3), "y": (4096, 3), "b": (4096,)}
    return [
        Partitioned("2-D stencil, rows", stencil, heat, plate, {"u": 0}),
        Partitioned("its gradient", stencil, heat, plate, {"u": 0}, True),
        Partitioned("conv2d, rows of images", images_text, conv, images, {"x": 2}),
        Partitioned("attention, heads", positions, attention, heads, dict.fromkeys("qkv", 0)),
        Partitioned("attention, positions", positions, attention, heads, dict.fromkeys("qkv", 1)),
        Partitioned("kernel sum, x", pairs, kernel_sum, points, {"x": 0}),
        Partitioned("kernel sum, all", pairs, kernel_sum, points, {"x": 0, "y": 0, "b": 0}),
    ]


def main(*texts: str) -> None:
    """Time and print all, of the programs of a stencil, a convolution, attention and a sum of kernels."""
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={DEVICES}"
    table = Table("program", "tadc, ms", "JAX, ms", "tadc, KiB", "JAX, KiB")
    for case in _cases(*texts):
        table.add_row(case.name, *_row(case))
    Console(width=120).print(table)


def _row(case: Partitioned) -> list[str]:
    import jax
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    mesh, rng = Mesh(np.array(jax.devices()), ("devices",)), np.random.default_rng(0)
    arrays: list[Any] = []
    for name, shape in case.shapes.items():
        along = [None] * len(shape) if name not in case.divided else [None] * case.divided[name] + ["devices"]
        sharding = NamedSharding(mesh, PartitionSpec(*along))
        arrays.append(jax.device_put(rng.uniform(-1, 1, shape).astype(np.float32), sharding))
    calls: list[Any] = []  # compiled by JAX
    for f in (tadc.function(case.text).jax, case.own):
        made = jax.grad(lambda *given, f=f: (f(*given) ** 2).sum()) if case.gradient else f
        calls.append(jax.jit(made).lower(*arrays).compile())
    mine, theirs = (call(*arrays) for call in calls)
    np.testing.assert_allclose(np.asarray(mine), np.asarray(theirs), rtol=2e-3, atol=2e-3)
    times = _times(calls, arrays)
    moved = [received(call.as_text()) >> 10 for call in calls]
    return [*(f"{ms:.1f}" for ms in times), *(f"{kib:,}" for kib in moved)]


def _times(calls: Sequence[Callable[..., Any]], arrays: Sequence[Any]) -> list[float]:
    """Milliseconds of each, by turns."""
    import jax

    found: list[list[float]] = [[] for _ in calls]
    for _ in range(ROUNDS):
        for call, seen in zip(calls, found, strict=True):
            start = time.perf_counter()
            jax.block_until_ready(call(*arrays))
            seen.append((time.perf_counter() - start) * 1e3)
    return [min(seen) for seen in found]


def received(text: str) -> int:
    """Bytes of the results of all collectives of a compiled program; one in a loop of a ring counts once."""
    found = 0
    for types, _ in _COLLECTIVE.findall(text):
        for kind, shape in _TYPE.findall(types):
            found += _BYTES[kind] * math.prod(int(n) for n in shape.split(",") if n)
    return found
