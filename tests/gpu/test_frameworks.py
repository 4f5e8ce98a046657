"""PyTorch and JAX on a GPU of this machine: operators, gradients, streams, and memory that is used again."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

import tadc
from tests.gpu.test_gpu import PROGRAM, REASON

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed")

pytestmark = pytest.mark.skipif(
    bool(REASON) or not torch.cuda.is_available(), reason=f"no GPU: {REASON or 'PyTorch has no CUDA'}"
)


def doubles(*shape: int, **how: Any) -> Any:
    """Random numbers on the GPU."""
    return torch.rand(shape, dtype=torch.float64, device="cuda", **how)


def same(x: Any, w: Any) -> Any:
    """The program in PyTorch."""
    return torch.nn.functional.conv1d(x[None, None], w[None, None])[0, 0]


def test_the_gradient_of_a_sum() -> None:
    x, w = doubles(900, requires_grad=True), doubles(7, requires_grad=True)
    found = torch.autograd.grad(tadc.function(PROGRAM).torch(x, w).sum(), (x, w))
    expected = torch.autograd.grad(same(x, w).sum(), (x, w))
    assert all(a.is_cuda for a in found)
    torch.testing.assert_close(found, expected)


def test_second_derivatives() -> None:
    x = doubles(6, 20)
    f = tadc.function("x: f64[N, K]; y[i] = logsumexp{k} (sin(x[i, k]))").torch
    found = torch.func.hessian(lambda x: f(x).sum())(x)
    expected = torch.func.hessian(lambda x: x.sin().logsumexp(1).sum())(x)
    torch.testing.assert_close(found, expected)


def test_tensors_with_gaps_and_batches() -> None:
    f = tadc.function(PROGRAM).torch
    x, w = doubles(900, 3), doubles(7, 2)
    torch.testing.assert_close(f(x[:, 1], w[:, 0]), same(x[:, 1], w[:, 0]))
    found = torch.func.vmap(f, in_dims=(1, None))(x, w[:, 0])
    torch.testing.assert_close(found, torch.stack([same(x[:, n], w[:, 0]) for n in range(3)]))
    torch.testing.assert_close(f(x[1:, 0].contiguous()[1:], w[:, 1]), same(x[2:, 0], w[:, 1]))


@pytest.mark.parametrize("dynamic", [False, True])
def test_compiled_graphs(dynamic: bool) -> None:
    f = tadc.function(PROGRAM).torch
    compiled = torch.compile(lambda x, w: f(2 * x, w).sin(), fullgraph=True, dynamic=dynamic)
    for count in (900, 800):
        x, w = doubles(count), doubles(7, requires_grad=True)
        found, expected = compiled(x, w), same(2 * x, w).sin()
        torch.testing.assert_close(found, expected)
        torch.testing.assert_close(
            torch.autograd.grad(found.sum(), w), torch.autograd.grad(expected.sum(), w)
        )


def test_autocast() -> None:
    f = tadc.function(PROGRAM.replace("f64", "f32")).torch
    x, w = doubles(900).bfloat16(), doubles(7).bfloat16()
    with torch.autocast("cuda", torch.bfloat16):
        found = f(x, w)
    torch.testing.assert_close(found, same(x.float(), w.float()))


def test_a_captured_graph() -> None:
    """Replayed on other numbers in the same memory."""
    f, x, w = tadc.function(PROGRAM), doubles(900), doubles(7)
    for _ in range(3):
        f(x, w)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = f(x, w)
    x.copy_(doubles(900))
    graph.replay()
    torch.testing.assert_close(y, same(x, w))


SPRINGS = """
i: index[E] in N
j: index[E] in N
x: f64[N, 3]
rest: f64[E]
let length[e] = sqrt(sum{c: 3} ((x[i[e], c] - x[j[e], c])**2))
energy = sum{e} ((length[e] - rest[e])**2) / 2
"""


@pytest.mark.parametrize("integers", ["int32", "int64"])
def test_index_arrays(integers: str) -> None:
    """In calls with PyTorch's operator, and of the function; other edges each time."""
    f, nodes, edges = tadc.function(SPRINGS), 50, 400
    gradient = tadc.vjp(f, wrt="x")
    for turn in range(4):
        how = {"device": "cuda", "dtype": getattr(torch, integers)}
        i, j = (torch.randint(0, nodes, (edges,), **how) for _ in "ij")
        if turn == 2:
            i, j = (torch.zeros_like(a) for a in (i, j))
            j += torch.arange(edges, device="cuda").to(j.dtype) % (nodes - 1) + 1
        x, rest = doubles(nodes, 3, requires_grad=True), doubles(edges)
        if turn != 2:
            j = torch.where(i == j, (j + 1) % nodes, j)
        length = (x[i.long()] - x[j.long()]).pow(2).sum(1).sqrt()
        expected = (length - rest).pow(2).sum() / 2
        torch.testing.assert_close(f.torch(i=i, j=j, x=x, rest=rest), expected)
        (dx,) = torch.autograd.grad(expected, x)
        (found,) = torch.autograd.grad(f.torch(i=i, j=j, x=x, rest=rest), x)
        torch.testing.assert_close(found, dx)
        if integers == "int32":
            one = torch.ones((), dtype=torch.float64, device="cuda")
            torch.testing.assert_close(gradient(i, j, x.detach(), rest, one), dx)
    i = torch.tensor([1, nodes, 3], device="cuda")
    with pytest.raises(tadc.ArgumentError, match=f"`i\\[1\\]` is {nodes}"):
        f.torch(i=i, j=i, x=doubles(nodes, 3), rest=doubles(3))


#: Takes a while, so that what is wrong about waiting shows.
SLOW = "x: f32[N]; y[i] = sum{k: 4000} (sin(x[i] + k))"


def slow(x: float) -> float:
    """An element of it."""
    return float(np.sin(x + np.arange(4000)).sum())


def test_a_stream_beside_the_current_one() -> None:
    """The current stream makes arguments before, and may use their memory for others after."""
    f, count = tadc.function(SLOW), 1 << 20
    stream = torch.cuda.Stream()
    for turn in range(20):
        x = torch.full((count,), float(turn), device="cuda")
        for _ in range(20):
            x = x + 1
        y = f(x, stream=stream)
        del x
        others = [torch.full((count,), -5.0, device="cuda") for _ in range(4)]
        stream.synchronize()
        np.testing.assert_allclose(y[::1000].cpu(), slow(turn + 20.0), rtol=1e-3, atol=1e-3)
        del others, y


def test_arrays_of_cupy() -> None:
    cupy = import_module("cupy") if _has("cupy") else pytest.skip("CuPy is not installed")
    f = tadc.function(PROGRAM)
    x, w = cupy.random.rand(900), cupy.random.rand(7)
    found = f(x, w)
    assert isinstance(found, cupy.ndarray)
    np.testing.assert_allclose(found.get(), np.correlate(x.get(), w.get()), rtol=1e-12)


def _has(name: str) -> bool:
    from importlib.util import find_spec

    return find_spec(name) is not None
