"""`python -m bench blocks`: programs in blocks against single calls, and against halos by hand.

Of each program: one call on all arrays; `f.block`, one block after the other; `f.dask` with threads and with
two processes; and where one would write that, `dask.array.map_overlap` with NumPy, and xarray on Dask's
threads, if that is installed. `out` are blocks of `f.dask` that are written into an array. Wall time, the
least of several by turns, two cores; a block has 16 MB of the largest argument, and there are at least four.
Processes have their chunks before, and keep their results. Bytes are those that blocks read beside their own.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import dask.array
import dask.config
import numpy as np
from distributed import Client, LocalCluster, wait
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import tadc
from bench import large_blocks, partitions
from bench.labelled_blocks import attention, kernel_sum, mttkrp, plate

#: Dask's own types are of no use here.
da: Any = dask.array

ROUNDS = 5
#: What has taken so many seconds is timed no more.
LONG = 2
#: So many seconds after nobody holds a result a cluster has forgotten it, and computes it anew.
FORGOTTEN = 0.5
BLOCK, LEAST = 16 << 20, 4

COLUMNS = ("whole", "f.block", "threads", "out", "2 processes", "by hand", "xarray")

Array = NDArray[Any]
ByHand = Callable[[Mapping[str, Any]], Any]

STENCIL_2D = """
u: f32[N, M]
v[i, j] = if {i >= 1 and i <= N - 2 and j >= 1 and j <= M - 2} then (
    u[i, j] + 0.2*(u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4*u[i, j])) else (u[i, j])
"""
STENCIL_3D = """
u: f32[N, M, K]
v[i: N - 2, j: M - 2, k: K - 2] = u[i + 1, j + 1, k + 1] + 0.1*(u[i, j + 1, k + 1] + u[i + 2, j + 1, k + 1]
    + u[i + 1, j, k + 1] + u[i + 1, j + 2, k + 1] + u[i + 1, j + 1, k] + u[i + 1, j + 1, k + 2])
"""
CONV = """
x: f32[B, C, N, M]
w: f32[D, C, 3, 3]
y[b, d, i: N - 2, j: M - 2] = sum{c, p, q} (w[d, c, p, q]*x[b, c, i + p, j + q])
"""
ATTENTION = """
q: f32[H, N, D]
k: f32[H, N, D]
v: f32[H, N, D]
let s[h, i, j] = sum{d} (q[h, i, d]*k[h, j, d])
let z[h, i] = logsumexp{j} (s[h, i, j])
o[h, i, d] = sum{j} (exp(s[h, i, j] - z[h, i])*v[h, j, d])
"""
KERNEL_SUM = """
x: f32[N, 3]
y: f32[M, 3]
b: f32[M]
f[i] = sum{j} (exp(-sum{d} ((x[i, d] - y[j, d])**2))*b[j])
"""
GRAPH = """
src: index[E] in N
dst: index[E] in N
x: f32[N, F]
w: f32[F, F]
let m[e, g] = sum{f} (x[src[e], f]*w[f, g])
h[n: N, g: F] = tanh(sum{e: dst[e] = n} (m[e, g]))
"""
MTTKRP = "t: f32[N, M, K]; b: f32[M, R]; c: f32[K, R]; f[i, r] = sum{j, k} (t[i, j, k]*b[j, r]*c[k, r])"


@dataclass(frozen=True)
class Divided:
    """A program at sizes, the index that is divided, and the same by hand where one would write that."""

    name: str
    text: str
    index: str
    sizes: Mapping[str, int]
    gradient: bool = False
    by_hand: ByHand | None = None
    #: The same with xarray, and the names of dimensions there.
    labelled: ByHand | None = None
    dims: str = ""


def heat(u: Array) -> Array:
    """A step of the plate, whose rim stays."""
    v = u.copy()
    inner = u[1:-1, 1:-1]
    v[1:-1, 1:-1] = inner + np.float32(0.2) * (
        u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * inner
    )
    return v


def overlapped(arrays: Mapping[str, Any]) -> Any:
    """The plate with halos by hand: the rim of the whole is that of no block."""
    return da.map_overlap(heat, arrays["u"], depth=(1, 0), boundary="none", trim=True, dtype=np.float32)


CASES = [
    Divided(
        "2-D stencil",
        STENCIL_2D,
        "i",
        {"N": 8192, "M": 8192},
        by_hand=overlapped,
        labelled=plate,
        dims="u:ij",
    ),
    Divided("2-D stencil, gradient", STENCIL_2D, "u_0", {"N": 8192, "M": 8192}, True),
    Divided("3-D stencil", STENCIL_3D, "i", {"N": 400, "M": 400, "K": 400}),
    Divided("conv2d 3 x 3", CONV, "b", {"B": 32, "C": 16, "D": 16, "N": 130, "M": 130}),
    Divided("conv2d 3 x 3, gradients", CONV, "b", {"B": 32, "C": 16, "D": 16, "N": 130, "M": 130}, True),
    Divided(
        "attention",
        ATTENTION,
        "h",
        {"H": 16, "N": 1024, "D": 64},
        labelled=attention,
        dims="q:hid k:hid v:hid",
    ),
    Divided(
        "kernel sum", KERNEL_SUM, "i", {"N": 40_000, "M": 10_000}, labelled=kernel_sum, dims="x:id y:jd b:j"
    ),
    Divided("graph network", GRAPH, "n", {"N": 100_000, "E": 400_000, "F": 32}),
    Divided(
        "MTTKRP",
        MTTKRP,
        "i",
        {"N": 400, "M": 300, "K": 300, "R": 16},
        labelled=mttkrp,
        dims="t:ijk b:jr c:kr",
    ),
]


def main(words: Sequence[str]) -> None:
    """Time and print all, or with `--large GB` what is larger than memory."""
    parser = argparse.ArgumentParser("python -m bench blocks", description=__doc__)
    parser.add_argument("programs", nargs="*", help="those whose names begin so; by default all")
    parser.add_argument("--jax", action="store_true", help="against JAX's own partitioner, on two devices")
    parser.add_argument("--scaling", action="store_true", help="one, two and four processes")
    parser.add_argument("--large", type=float, metavar="GB", help="a stencil on so much data in files")
    options = parser.parse_args(words)
    if options.large:
        large_blocks.main(options.large)
        return
    if options.jax:
        partitions.main(STENCIL_2D, CONV, ATTENTION, KERNEL_SUM)
        return
    if options.scaling:
        _print_scaling()
        return
    table = Table("program", "blocks", *COLUMNS, "moved")
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        for case in (c for c in CASES if c.name.startswith(tuple(options.programs) or "")):
            table.add_row(*_row(case, client))
    Console(width=140).print(table)
    print(f"load {os.getloadavg()[0]:.1f}")


def _row(case: Divided, client: Client) -> list[str]:
    f = tadc.function(case.text)
    f = tadc.vjp(f) if case.gradient else f
    arrays = _arrays(f, case.sizes)
    largest = max(array.nbytes for array in arrays.values())
    extent = f.block(**{case.index: 1}).plan(**case.sizes).stages[0].places[0]
    length = max(1, min(len(extent) * BLOCK // largest, -(-len(extent) // LEAST)))
    block = f.block(**{case.index: length})
    traffic = block.traffic(workers=2, **case.sizes)
    chunks = {n: _chunks(f, block, n, length) for n in arrays}
    there = {n: da.from_array(a, chunks=chunks[n]) for n, a in arrays.items()}
    results = _several(f.dask(**there, chunks={case.index: length}))
    out = {n: np.empty(result.shape, result.dtype) for n, result in zip(f.outputs, results, strict=True)}
    sent = {n: client.persist(array) for n, array in there.items()}
    wait(list(sent.values()))
    held = _several(f.dask(**sent, chunks={case.index: length}))
    runs: dict[str, Callable[[], Any]] = {
        "whole": lambda: f(**arrays),
        "f.block": lambda: block(**arrays),
        "threads": lambda: da.compute(*results, scheduler="threads"),
        "out": lambda: _written(f, there, {case.index: length}, out),
        "2 processes": lambda: wait(client.persist(list(held))),
    }
    if case.by_hand is not None:
        by_hand = case.by_hand(there)
        runs["by hand"] = lambda: by_hand.compute(scheduler="threads")
    if case.labelled is not None and find_spec("xarray"):
        labelled = case.labelled(_labelled(there, case.dims))
        runs["xarray"] = lambda: labelled.compute(scheduler="threads")
    times = _by_turns(runs)
    return [
        case.name,
        str(traffic.stages[0].blocks),
        *(f"{times[name]:.0f} ms" if name in times else "" for name in COLUMNS),
        f"{traffic.moved >> 10:,} KiB",
    ]


def _several(found: Any) -> tuple[Any, ...]:
    return found if isinstance(found, tuple) else (found,)


def _written(f: tadc.Function, there: Mapping[str, Any], chunks: Mapping[str, int], out: Any) -> None:
    with dask.config.set(scheduler="threads"):
        f.dask(**there, chunks=chunks, out=out)


def _labelled(there: Mapping[str, Any], dims: str) -> dict[str, Any]:
    xarray: Any = import_module("xarray")

    named = dict(word.split(":") for word in dims.split())
    return {name: xarray.DataArray(there[name], dims=list(named[name])) for name in there}


#: What is timed on several processes: work for each byte, and little.
SCALED = ("kernel sum", "2-D stencil")
PROCESSES = (1, 2, 4)


def _print_scaling() -> None:
    """Calls of Dask on several processes: of one size (strong), and of one that grows with them (weak)."""
    table = Table("program", *(f"{n} processes" for n in PROCESSES), *(f"weak, {n}" for n in PROCESSES))
    cases = [case for case in CASES if case.name in SCALED]
    runs: dict[str, Callable[[], Any]] = {}
    with ExitStack() as open_ones:
        for processes in PROCESSES:
            cluster = LocalCluster(n_workers=processes, threads_per_worker=1, dashboard_address=":0")
            client = open_ones.enter_context(Client(open_ones.enter_context(cluster), set_as_default=False))
            for case in cases:
                growing = {**case.sizes, "N": case.sizes["N"] * processes // PROCESSES[-1]}
                runs[f"{case.name}, {processes} processes"] = _scaled(case, case.sizes, client)
                runs[f"{case.name}, weak, {processes} processes"] = _scaled(case, growing, client)
        times = _by_turns(runs)
    for case in cases:
        kinds = [f"{kind}{n} processes" for kind in ("", "weak, ") for n in PROCESSES]
        table.add_row(case.name, *(f"{times[f'{case.name}, {kind}']:.0f} ms" for kind in kinds))
    Console(width=120).print(table)


def _scaled(case: Divided, sizes: Mapping[str, int], client: Client) -> Callable[[], Any]:
    f = tadc.function(case.text)
    length = max(1, sizes["N"] // 16)
    block, there = f.block(**{case.index: length}), dict[str, Any]()
    for name, array in _arrays(f, sizes).items():
        made = da.from_array(array, chunks=_chunks(f, block, name, length))
        there[name] = client.persist(made)
    _await(client, list(there.values()))
    result = f.dask(**there, chunks={case.index: length})
    return lambda: _await(client, [client.persist(result)])


def _await(client: Client, held: Sequence[Any]) -> None:
    """`wait` finds only a client that is the default or the current one."""
    with client.as_current():
        wait(held)


def _arrays(f: tadc.Function, sizes: Mapping[str, int]) -> dict[str, Array]:
    """Arguments at random; index arrays with places that there are."""
    rng, found = np.random.default_rng(0), dict[str, Array]()
    for a in f.program.arguments:
        shape = tuple(_at(size, sizes) for size in a.shape)
        if a.below is None:
            found[a.name] = rng.uniform(-1, 1, shape).astype(np.float32)
        else:
            found[a.name] = rng.integers(0, _at(a.below, sizes), shape, np.int32)
    return found


def _chunks(f: tadc.Function, block: tadc.BlockFunction, name: str, length: int) -> tuple[int, ...]:
    """Chunks of an argument that goes along with what is divided; others are whole."""
    shape = next(len(a.shape) for a in f.program.arguments if a.name == name)
    return tuple(length if block.axes[0].dims.get(name) == d else -1 for d in range(shape))


def _at(size: Any, sizes: Mapping[str, int]) -> int:
    return size if isinstance(size, int) else size.evaluate(sizes)


def _by_turns(runs: Mapping[str, Callable[[], Any]]) -> dict[str, float]:
    """The least milliseconds of each: others may use the machine, now more and now less."""
    found: dict[str, list[float]] = {name: [] for name in runs}
    for run in runs.values():
        run()
    for _ in range(ROUNDS):
        for name, run in runs.items():
            if sum(found[name]) > LONG:
                continue
            time.sleep(FORGOTTEN if "processes" in name else 0)
            start = time.perf_counter()
            run()
            found[name].append(time.perf_counter() - start)
    return {name: min(seconds) * 1e3 for name, seconds in found.items()}
