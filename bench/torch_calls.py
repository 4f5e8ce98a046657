"""`python -m bench torch-calls`: what a call of `f.torch` costs, beside PyTorch's own and NumPy's arrays.

Processor time of calls like one before, all of a row in turns; the least time of each is shown. The peers:
the same function on NumPy's arrays; the same in PyTorch; and `torch.library.custom_op`, whose kernel is
Python that calls the function on NumPy's arrays in the tensors' memory. Then what a million calls leave.
"""

from __future__ import annotations

import gc
import resource
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.table import Table

import tadc
from bench.calls import Call, least

#: A text, the sizes of its inputs, and the same in PyTorch.
Row = tuple[str, tuple[tuple[int, ...], ...], Callable[..., Any]]

COUNT = 1_000_000


def _rows(torch: Any) -> dict[str, Row]:
    square = "x: f64[N]; y[i] = x[i]*x[i]"
    sliding = "x: f64[N]; w: f64[K]; y[i: N - K + 1] = sum{k} (x[i + k] * w[k])"
    layer = "x: f64[B, I]; w: f64[O, I]; b: f64[O]; y[n: B, o: O] = tanh(sum{i} (w[o, i]*x[n, i]) + b[o])"
    linear = torch.nn.functional.linear

    def slid(x: Any, w: Any) -> Any:
        return torch.nn.functional.conv1d(x[None, None], w[None, None])[0, 0]

    return {
        "x*x, 8": (square, ((8,),), lambda x: x * x),
        "x*x, 10,000": (square, ((10_000,),), lambda x: x * x),
        "sliding sum, 9 and 3": (sliding, ((9,), (3,)), slid),
        "sliding sum, 4,096 and 9": (sliding, ((4096,), (9,)), slid),
        "layer, 8 by 16 by 16": (
            layer,
            ((8, 16), (16, 16), (16,)),
            lambda x, w, b: torch.tanh(linear(x, w, b)),
        ),
    }


def _custom(torch: Any, f: tadc.Function, name: str) -> Any:
    """The function as an operator in Python, as one does without `f.torch`."""
    gradient = tadc.vjp(f)
    tensors = ", ".join(f"Tensor {n}" for n in f.inputs)

    def value(*inputs: Any) -> Any:
        return torch.from_numpy(f(*[t.numpy() for t in inputs]))

    def gradients(*inputs: Any) -> Any:
        found = gradient(*[t.numpy() for t in inputs])
        return [torch.from_numpy(g) for g in (found if isinstance(found, tuple) else (found,))]

    make: Any = torch.library.custom_op
    forward = make(f"bench::{name}", value, mutates_args=(), schema=f"({tensors}) -> Tensor")
    backward = make(
        f"bench::{name}_b", gradients, mutates_args=(), schema=f"({tensors}, Tensor g) -> Tensor[]"
    )

    def keep(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    def back(ctx: Any, g: Any) -> Any:
        found = backward(*ctx.saved_tensors, g.contiguous())
        return tuple(found) if len(found) > 1 else found[0]

    forward.register_autograd(back, setup_context=keep)
    return forward


def _of(torch: Any, name: str, row: Row) -> list[list[Call | None]]:
    """Calls of the value, and of value and gradients."""
    text, shapes, same = row
    f = tadc.function(text)
    torch.manual_seed(0)
    plain = [torch.randn(shape, dtype=torch.float64) for shape in shapes]
    arrays = [tensor.numpy() for tensor in plain]
    recorded = [tensor.clone().requires_grad_() for tensor in plain]
    custom = _custom(torch, f, "f" + str(abs(hash(name))))
    seed = torch.ones_like(same(*plain))
    gradient = tadc.vjp(f)

    def both(g: Callable[..., Any]) -> Call:
        return lambda: torch.autograd.grad(g(*recorded), recorded, seed)

    def by_numpy() -> object:
        return f(*arrays), gradient(*arrays, seed.numpy())

    def values(g: Callable[..., Any]) -> Call:
        return lambda: g(*plain)

    return [
        [lambda: f(*arrays), values(f.torch), values(same), values(custom)],
        [by_numpy, both(f.torch), both(same), both(custom)],
    ]


def _kept(f: Any, x: Any, w: Any) -> int:
    """Bytes that a million calls leave behind."""

    def calls(count: int) -> None:
        for _ in range(count):
            f(x, w)

    calls(COUNT // 100)
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    calls(COUNT)
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024


def main() -> None:
    """Print the tables."""
    import torch

    torch.set_num_threads(1)
    tadc.set_num_threads(1)
    table = Table(title="microseconds a call, one thread")
    names = ("call", "", "tadc, NumPy", "f.torch", "over NumPy", "PyTorch", "custom_op")
    for n, column in enumerate(names):
        table.add_column(column, justify="left" if n < 2 else "right")
    for name, row in _rows(torch).items():
        for kind, calls in zip(("value", "value and gradients"), _of(torch, name, row), strict=True):
            own, ours, *peers = [1e-3 * (t or 0) for t in least(calls)]
            shown = [f"{own:.2f}", f"{ours:.2f}", f"{ours / own:.2f}", *(f"{t:.2f}" for t in peers)]
            table.add_row(name, kind, *shown)
    Console().print(table)
    text, shapes, _ = _rows(torch)["sliding sum, 9 and 3"]
    tensors = [torch.randn(shape, dtype=torch.float64) for shape in shapes]
    print(f"{COUNT:,} calls leave {_kept(tadc.function(text).torch, *tensors):,} bytes behind")
