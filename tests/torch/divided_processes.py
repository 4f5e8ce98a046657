"""What processes of gloo compute together, each started by `run_processes` with a function of this module."""

from __future__ import annotations

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
REDUCED = "x: f64[N]; s = sum{i} (x[i]**2); m = max{i} (x[i]); p = prod{i} (x[i])"
NODES = "src: index[E] in N; x: f64[N, F]; y[e, f] = 2*x[src[e], f]"


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
    """Placements of a mesh of two processes: rows that do not divide evenly, columns, sums, windows."""
    early = tadc.function(LAYER).torch
    early(doubles(7, 4), doubles(5, 4), doubles(5))  # an operator that is there before DTensors are
    shard, whole, partial = dt().Shard, dt().Replicate(), dt().Partial
    mesh = dt().init_device_mesh("cpu", (2,))
    rows, columns, total = [shard(0)], [shard(1)], [partial()]
    values = doubles(7, 4), doubles(5, 4), doubles(5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compare(early, mesh, values, (rows, [whole], [whole]), [[rows], [rows, total, total]], True)
        compare(early, mesh, values, ([whole], rows, rows), [[columns], [total, rows, rows]])
        compare(early, mesh, values, ([whole],) * 3, [[[whole]], [[whole]] * 3])
        product = tadc.function(PRODUCT).torch
        pair = doubles(7, 4), doubles(4, 5)
        compare(product, mesh, pair, (columns, rows), [[total], [columns, rows]])
        compare(product, mesh, pair, (columns, [whole]), [[total], [columns, rows]])
        halves = dt().DTensor.from_local(pair[0] / 2, mesh, total)
        assert_alike(product(halves, divided(mesh, pair[1], whole)).full_tensor(), pair[0] @ pair[1])
        nodes = tadc.function(NODES).torch
        edges = torch.tensor([0, 6, 2, 2, 3])
        compare(nodes, mesh, (edges, doubles(7, 4)), (rows, [whole]), [[rows], [total]])
    window = tadc.function(WINDOW).torch
    compare(window, mesh, (doubles(3, 9), doubles(4)), (rows, [whole]), [[rows], [rows, total]])
    with pytest.warns(UserWarning, match=r"all of dimension 1 of `x`, which is divided along index `i`"):
        compare(window, mesh, (doubles(3, 9), doubles(4)), (columns, [whole]), [[[whole]], [[whole]] * 2])
    reduced = tadc.function(REDUCED).torch
    for size in (1, 2, 5):
        x = doubles(size)
        found = reduced(divided(mesh, x, *rows))
        assert_alike([t.full_tensor() for t in found], list(reduced(x)))
    assert [t.placements[0].reduce_op for t in found] == ["sum", "max", "product"]
    with pytest.warns(UserWarning, match="all of dimension 0 of `x`"):
        found = nodes(divided(mesh, edges, whole), divided(mesh, doubles(7, 4), *rows))
    assert_alike(found.to_local(), 2 * doubles(7, 4)[edges])


def compiled() -> None:
    """DTensors in a graph of PyTorch."""
    mesh, rows, whole = dt().init_device_mesh("cpu", (2,)), [dt().Shard(0)], [dt().Replicate()]
    total, f = [dt().Partial()], tadc.function(LAYER).torch
    for dynamic in (False, True):
        torch._dynamo.reset()
        made = torch.compile(f, fullgraph=True, backend="aot_eager", dynamic=dynamic)
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
