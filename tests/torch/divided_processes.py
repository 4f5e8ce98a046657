"""What processes of gloo compute together, each started by `run_processes` with a function of this module."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

import tadc
from tests.torch.programs import assert_alike, torch

LAYER = "x: f64[B, I]; w: f64[O, I]; b: f64[O]; y[n: B, o: O] = tanh(sum{i} (w[o, i]*x[n, i]) + b[o])"
PRODUCT = "x: f64[N, K]; w: f64[K, M]; y[i, j] = sum{k} (x[i, k]*w[k, j])"
WINDOW = "x: f64[B, N]; w: f64[K]; y[b, i: N - K + 1] = sum{k} (x[b, i + k]*w[k])"
DOT = "x: f64[N]; w: f64[N]; s = sum{i} (x[i]*w[i])"
REDUCED = "x: f64[N]; s = sum{i} (x[i]**2); m = max{i} (x[i]); p = prod{i} (x[i])"


def run_processes(work: str, count: int, folder: Path) -> None:
    """Let so many processes do this work together; raise AssertionError with what they say if one fails."""
    command = [sys.executable, "-m", __name__, work, str(count), str(folder / "rendezvous")]
    pipe = subprocess.PIPE
    started = [
        subprocess.Popen([*command, str(n)], stdout=pipe, stderr=subprocess.STDOUT, text=True)
        for n in range(count)
    ]
    try:
        said = [process.communicate(timeout=240)[0] for process in started]
        assert [process.returncode for process in started] == [0] * count, "\n".join(said)
    finally:
        for process in started:
            process.kill()


def doubles(*shape: int) -> Any:
    """The same numbers in all processes."""
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(sum(shape)))


def divided(mesh: Any, value: Any, *placements: Any) -> Any:
    return dt().distribute_tensor(value, mesh, placements)


def dt() -> Any:
    import torch.distributed.tensor

    return torch.distributed.tensor


def compare(
    f: Any, mesh: Any, values: Any, placements: Any, expected: list[Any], is_second: bool = False
) -> None:
    """Assert that values and gradients are those of one process, and lie as is expected."""
    plain = [value.clone().requires_grad_(value.is_floating_point()) for value in values]
    parts = [
        divided(mesh, value.clone(), *of).requires_grad_(value.is_floating_point())
        for value, of in zip(values, placements, strict=True)
    ]
    lie: list[Any] = []
    found: list[list[Any]] = []
    for inputs in (plain, parts):
        results = f(*inputs)
        results = results if isinstance(results, tuple) else (results,)
        wrt = [value for value in inputs if value.requires_grad]
        first = torch.autograd.grad(sum((r**2).sum() for r in results), wrt, create_graph=is_second)
        second = torch.autograd.grad(sum((g**2).sum() for g in first), wrt) if is_second else ()
        lie = [[t.placements for t in ts] for ts in (results, first)] if inputs is parts else lie
        found.append([*results, *first, *second])
    for one, other in zip(*found, strict=True):
        assert_alike(other.full_tensor(), one)
    assert lie == [[tuple(p) for p in of] for of in expected], lie


def dtensors() -> None:
    """A mesh of two processes: rows that do not divide evenly, columns, sums, windows, edges."""
    layer = tadc.function(LAYER).torch  # an operator that is there before DTensors are
    shard, whole, partial = dt().Shard, dt().Replicate(), dt().Partial
    mesh = dt().init_device_mesh("cpu", (2,))
    rows, columns, total = [shard(0)], [shard(1)], [partial()]
    values = doubles(7, 4), doubles(5, 4), doubles(5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compare(layer, mesh, values, (rows, [whole], [whole]), [[rows], [rows, total, total]])
        compare(layer, mesh, values, ([whole], rows, rows), [[columns], [total, rows, rows]])
        compare(layer, mesh, values, ([whole],) * 3, [[[whole]], [[whole]] * 3])
        parts = [divided(mesh, value, whole) for value in values[1:]]
        halves = dt().DTensor.from_local(values[0] / 2, mesh, total)
        assert_alike(layer(halves, *parts).full_tensor(), layer(*values))
        compare(tadc.function(DOT).torch, mesh, (doubles(7),) * 2, (rows, rows), [[total], [rows, rows]])
        for size in (1, 2):  # of fewer than there are processes all have all
            reduce(mesh, size)
    window = tadc.function(WINDOW).torch
    with pytest.warns(UserWarning, match=r"all of dimension 1 of `x`, which is divided along index `i`"):
        found = window(divided(mesh, doubles(3, 9), *columns), divided(mesh, doubles(4), whole))
    assert_alike(found.to_local(), window(doubles(3, 9), doubles(4)))
    refused(layer, mesh, values)


def refused(layer: Any, mesh: Any, values: Any) -> None:
    """What does not fit is said, the same in all processes."""
    whole = dt().Replicate()
    x, w, b = (divided(mesh, value, whole) for value in values)
    other = divided(dt().init_device_mesh("cpu", (2, 1)), values[1], whole, whole)
    edges = tadc.function("src: index[E] in N; x: f64[N, F]; y[e, f] = x[src[e], f]").torch
    given = tadc.function(
        "row: index[E] in N; A: f64[N, N] at (row, row); u: f64[N]; y[i] = sum{j} (A[i, j]*u[j])"
    ).torch
    for call, words in (
        (lambda: layer(x, values[1], b), "`w` is not a DTensor, but `x` is"),
        (lambda: layer(x.detach().requires_grad_(), other, b), "`w` is on another mesh than `x`"),
        (lambda: layer(x, w, w), "2 dimensions"),
        (lambda: layer(x, b[:, None], b), "dimension 1 of `w` has 1 elements, expected 4"),
        (lambda: layer(x.float(), w, b), "type float32, expected float64"),
        (lambda: layer.function(x, w, b), "it is a DTensor, of which each process has a part"),
        (
            lambda: edges(divided(mesh, torch.tensor([0, 7]), whole), x),
            "`src` has an element that is out of range",
        ),
        (lambda: edges(tadc.relation([0, 6], 7), x), "pass the index array that it is made of"),
        (
            lambda: given(torch.eye(5).double().to_sparse(), b),
            "pass what it stores as DTensors, row and row and `A`",
        ),
    ):
        with pytest.raises(tadc.ArgumentError, match=re.escape(words)):
            call()


def training() -> None:
    """A network of layers by DDP, FSDP, DTensors and tensor parallelism is that of one process."""
    from torch.distributed.fsdp import fully_shard
    from torch.nn.parallel import DistributedDataParallel

    mesh, rank = dt().init_device_mesh("cpu", (2,)), torch.distributed.get_rank()
    points, values = doubles(8, 3), doubles(8, 1)
    mine = slice(4 * rank, 4 * rank + 4)
    expected = [parameter.detach() for parameter in trained(network(), points, values).parameters()]
    copies = trained(DistributedDataParallel(network()), points[mine], values[mine])
    assert_alike(list(copies.parameters()), expected)
    parts = network()
    for layer in parts:
        fully_shard(layer, mesh=mesh)
    trained(fully_shard(parts, mesh=mesh), points[mine], values[mine])
    assert_alike([parameter.full_tensor() for parameter in parts.parameters()], expected)
    for inputs, of_weights in ((dt().Shard(0), dt().Replicate()), (dt().Replicate(), dt().Shard(0))):
        module = network()

        def place(_name: str, layer: Any, mesh: Any, how: Any = of_weights) -> None:
            for name, parameter in list(layer.named_parameters(recurse=False)):
                layer.register_parameter(name, torch.nn.Parameter(divided(mesh, parameter.detach(), how)))

        dt().distribute_module(module[0], mesh, place)
        dt().distribute_module(module[1], mesh)
        trained(module, *(divided(mesh, value, inputs) for value in (points, values)))
        assert_alike([parameter.full_tensor() for parameter in module.parameters()], expected)


def network() -> Any:
    torch.manual_seed(0)
    hidden = tadc.function(LAYER).torch.module(w=(7, 3), b=(7,))
    return torch.nn.Sequential(hidden, torch.nn.Linear(7, 1, dtype=torch.float64))


def trained(module: Any, points: Any, values: Any) -> Any:
    optimiser = torch.optim.SGD(module.parameters(), 0.05, momentum=0.9)
    for _ in range(3):
        optimiser.zero_grad()
        (module(points) - values).pow(2).mean().backward()
        optimiser.step()
    return module


def squares() -> None:
    """A mesh of two by two: rows and columns at once, sums of parts, one dimension along both."""
    mesh, shard, whole, part = (
        dt().init_device_mesh("cpu", (2, 2)),
        dt().Shard,
        dt().Replicate(),
        dt().Partial(),
    )
    product = tadc.function(PRODUCT).torch
    pair = doubles(7, 4), doubles(4, 5)
    for placements, expected in (
        (
            ([shard(0), whole], [whole, shard(1)]),
            [[[shard(0), shard(1)]], [[shard(0), part], [part, shard(1)]]],
        ),
        (
            ([shard(0), shard(1)], [whole, shard(0)]),
            [[[shard(0), part]], [[shard(0), shard(1)], [part, shard(0)]]],
        ),
        (([shard(0), shard(0)], [whole, whole]), [[[shard(0)] * 2], [[shard(0)] * 2, [part, part]]]),
    ):
        compare(product, mesh, pair, placements, expected, True)
    reduce(dt().init_device_mesh("cpu", (4,)), 5)  # of which the last process has nothing


def reduce(mesh: Any, size: int) -> None:
    """Reductions of so many numbers that are divided."""
    f, x = tadc.function(REDUCED).torch, doubles(size)
    found = f(divided(mesh, x, dt().Shard(0)))
    if size >= mesh.size():
        assert [t.placements[0].reduce_op for t in found] == ["sum", "max", "product"]
    assert_alike(tuple(t.full_tensor() for t in found), tuple(f(x)))


def compiled() -> None:
    """DTensors in a graph of PyTorch."""
    mesh, rows, whole = dt().init_device_mesh("cpu", (2,)), [dt().Shard(0)], [dt().Replicate()]
    total, f = [dt().Partial()], tadc.function(LAYER).torch
    made = torch.compile(f, fullgraph=True, backend="aot_eager", dynamic=False)
    values = doubles(7, 4), doubles(5, 4), doubles(5)
    compare(made, mesh, values, (rows, whole, whole), [[rows], [rows, total, total]])


def main() -> None:
    import torch.distributed as dist

    work, count, rendezvous, number = sys.argv[1:]
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", init_method=f"file://{rendezvous}", rank=int(number), world_size=int(count)
    )
    globals()[work]()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
