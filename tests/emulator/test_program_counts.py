"""How much memory programs move on a GPU, and how: the numbers that decide their speed, in one table.

`WANTED` is the traffic that would be good, as a multiple of the least: each argument and each result once.
`dram` is what is reached, `l2` the same for the second cache. A number that falls is lowered here; one that
rises is a kernel that became slower.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tadc
from bench.everyday import EVERYDAY
from bench.gpu.sizes import LARGER
from bench.workloads import WORKLOADS
from tadc.backend.emulator.counts import LaunchCounts, counting
from tadc.backend.target import parse_target
from tadc.compiler.all_stages import compile_until
from tadc.compiler.compile_options import Options
from tadc.compiler.stages import Compilation
from tadc.frontend.extents import shape_at

TEXTS = {w.name: w.text("f32") for w in (*WORKLOADS, *EVERYDAY)}
TEXTS |= {
    "fused": "x: f32[N]; y: f32[N]; a[i] = exp(x[i]) + y[i]; b[i] = exp(x[i])*y[i]; c[i] = a[i]*b[i]",
    "gelu": "x: f32[N]; y[i] = 0.5*x[i]*(1 + tanh(0.7978845608*(x[i] + 0.044715*x[i]**3)))",
    "transpose": "x: f32[N, M]; y[i: M, j: N] = x[j, i]",
    "transposed rows": "x: f32[N, M, K]; y[i: K, k: M, j: N] = 2*x[j, k, i]",
}
WANTED = 1.3


@dataclass(frozen=True)
class Bound:
    """A program at a size: most launches, most bytes as multiples of the least, most sectors a request.

    `sectors` are those of the worst launch that moves a quarter of the least bytes, `passes` over banks of
    shared memory those of the worst launch; `special` is the number of functions, `divide` of divisions of
    integers, for each point of an iteration domain of `points`.
    """

    name: str
    sizes: dict[str, int]
    launches: int
    dram: float
    l2: float
    sectors: float
    is_gradient: bool = True
    passes: float = 1.2
    special: float | None = None
    points: int = 1
    divide: int = 0


TABLE = [
    Bound("fused", {"N": 4096}, 1, 1.0, 1.0, 4.0, is_gradient=False, special=2, points=4096),
    Bound("fused", {"N": 4096}, 1, 1.0, 1.0, 4.0),
    Bound("gelu", {"N": 4096}, 1, 1.0, 1.0, 4.0),
    Bound("layer-norm", {"N": 64, "K": 256}, 1, 1.0, 1.5, 4.0, is_gradient=False),
    Bound("layer-norm", {"N": 64, "K": 256}, 3, 1.15, 1.2, 4.0),
    Bound("softmax", {"N": 64, "K": 256}, 1, 1.0, 1.0, 4.0),
    Bound("log_sum", {"N": 128}, 2, 1.1, 2.1, 4.5, is_gradient=False),
    Bound("log_sum", {"N": 128}, 4, 1.25, 1.4, 4.5),
    Bound("transpose", {"N": 128, "M": 96}, 1, 1.0, 1.0, 4.0, is_gradient=False),
    Bound("transpose", {"N": 128, "M": 96}, 2, 1.0, 1.0, 4.0),
    Bound("transposed rows", {"N": 64, "M": 5, "K": 64}, 1, 1.0, 1.0, 4.0, is_gradient=False),
    Bound("stencil", {"N": 64, "M": 64}, 2, 1.34, 2.5, 4.8),
    Bound("conv1d", {"B": 1, "C": 4, "N": 200, "F": 8, "K": 9}, 3, 1.7, 40, 6.5, passes=1.4),
    Bound(
        "conv1d",
        {"B": 1, "C": 8, "N": 4096, "F": 32, "K": 9},
        1,
        1.0,
        3.0,
        4.5,
        is_gradient=False,
        passes=1.6,
    ),
    Bound("density", {"N": 256, "M": 256}, 2, 1.6, 180, 10.5, special=2, points=256 * 256),
    Bound("attention", {"H": 1, "N": 48, "D": 16}, 8, 6.0, 50, 8.0),
]


#: By program, the launches of its value with all gradients at the size of the benchmark, and the bytes of the
#: whole tensors that these read and write, as multiples of the least.
AT_BENCHMARK = {
    "layer-norm": (3, 1.2),
    "softmax": (1, 1.0),
    "log_sum": (4, 2.1),
    "stencil": (2, 1.35),
    "density": (2, 1.55),
    "attention": (8, 18.2),
}


def programs(bound: Bound) -> tadc.Function:
    """The program, or its value with all gradients, for the sizes of a bound."""
    f = tadc.function(TEXTS[bound.name]).at(bound.sizes)
    return tadc.value_and_vjp(f) if bound.is_gradient else f


def counted(f: tadc.Function) -> tuple[list[LaunchCounts], int]:
    """What the launches do, and the bytes of arguments and results; the values are those of the CPU."""
    random = np.random.default_rng(0)
    given = [random.uniform(0.1, 0.9, shape_at(a.shape, {})).astype(np.float32) for a in f.program.arguments]
    kernel: Any = tadc.compile(f, target="emulated:sm_90")
    with counting() as launches:
        found = kernel(*given)
    expected = f(*given)
    pairs = zip(_listed(found), _listed(expected), strict=True)
    for got, want in pairs:
        np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-3 * float(np.abs(want).max()))
    return launches, sum(a.nbytes for a in (*given, *_listed(found)))


def _listed(found: Any) -> list[np.ndarray]:
    return list(found) if isinstance(found, tuple) else [found]


@pytest.mark.parametrize("bound", TABLE, ids=lambda b: b.name + ("-gradient" if b.is_gradient else ""))
def test_traffic(bound: Bound) -> None:
    launches, least = counted(programs(bound))
    assert len(launches) <= bound.launches
    assert sum(c.dram_bytes for c in launches) <= bound.dram * least
    assert sum(c.l2_bytes for c in launches) <= bound.l2 * least
    heavy = [c for c in launches if 4 * c.dram_bytes >= least]
    assert max(max(c.loads.each, c.stores.each) for c in heavy) <= bound.sectors
    assert max(c.shared.each for c in launches) <= bound.passes
    assert sum(c.lanes["divide"] for c in launches) <= bound.divide * bound.points
    assert not sum(c.issued["load local"] + c.issued["store local"] for c in launches)
    if bound.special is not None:
        assert sum(c.lanes["special"] for c in launches) <= bound.special * bound.points


@pytest.mark.parametrize(
    ("text", "shape"),
    [("x: f32[N]; s = sum{i} (x[i])", (40000,)), ("x: f32[N, M]; y[i] = sum{j} (x[i, j])", (8, 4096))],
)
def test_long_sums_of_unknown_sizes_read_rows_of_lanes(text: str, shape: tuple[int, ...]) -> None:
    """Consecutive lanes read consecutive elements: four sectors a request, each once."""
    kernel: Any = tadc.compile(tadc.function(text), target="emulated:sm_90")
    x = np.ones(shape, np.float32)
    with counting() as launches:
        np.testing.assert_array_equal(kernel(x), x.sum(-1))
    assert launches[0].loads.each <= 4.1
    assert launches[0].dram_bytes <= 1.05 * x.nbytes
    assert not sum(c.lanes["divide"] for c in launches)


@pytest.mark.parametrize("name", AT_BENCHMARK)
def test_launches_at_the_size_of_the_benchmark(name: str) -> None:
    """Counted from the launches alone, without running them."""
    (workload,) = [w for w in (*WORKLOADS, *EVERYDAY) if w.name == name]
    program = workload.derivative("f32", {**workload.sizes, **LARGER.get(name, {})}).program
    state = Compilation(Options(target=parse_target("cuda:sm_90")), program.source, program=program)
    compile_until(state, "gpu", first="tad")
    given = [shape_at(a.shape, {}) for a in (*program.arguments, *program.outputs)]
    between = [shape_at(tensor.shape, {}) for tensor in state.temporaries]
    bytes = [4 * math.prod(shape) for shape in (*given, *between)]
    moved = sum(bytes[n] for launch in state.launches for n in launch.buffers)
    launches, most = AT_BENCHMARK[name]
    assert len(state.launches) <= launches
    assert moved <= most * sum(bytes[: len(given)])


def test_what_is_wanted_is_reached_by_most() -> None:
    """The rows of the table that are not yet good, by name: a list that gets shorter."""
    behind = {b.name for b in TABLE if b.dram > WANTED}
    assert behind == {"stencil", "conv1d", "density", "attention"}
