"""Recurrences on a GPU: values, gradients and tangents against an element-by-element run.

Each is divided in every way that fits it: a thread runs all steps of an element of a batch, or a block those
of a row, or each step is a launch. The emulator checks each access, and that lanes wait for each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from numpy.typing import NDArray

import tadc
from tadc.backend.cuda.ptx import resources
from tadc.backend.emulator.ptx_reader import parse_ptx
from tadc.backend.target import parse_target
from tadc.compiler.all_stages import compile_until
from tadc.compiler.compile_options import Options
from tadc.compiler.stages import Compilation
from tadc.frontend.extents import shape_at, symbol_of
from tadc.frontend.source import Source
from tests.conformance import test_scan, test_science
from tests.fuzz import stepwise
from tests.fuzz.test_recurrences import recurrence
from tests.reference.cases import Case
from tests.reference.counting import Run

DTYPES = {"f32": np.float32, "f64": np.float64}
WAYS = ("blocks", "launches", "warps")

CASES = [
    case for module in (test_scan, test_science) for case in module.CATALOGUE.cases if "scan{" in case.program
]
EXAMPLES = sorted(
    path for path in (Path(__file__).parents[2] / "examples").glob("*.tad") if "scan{" in path.read_text()
)


@contextmanager
def divided(way: str) -> Iterator[None]:
    """Steps are divided among the threads of blocks, or are launches, perhaps with a warp for each element
    whose sums are long or of sizes that are not known; windows however small."""
    least = 0 if way == "warps" else 1 << 40
    with (
        patch("tadc.passes.gpu.recurrence_steps.MOST_OF_BLOCK", 1 << 40 if way == "blocks" else 0),
        patch("tadc.passes.gpu.recurrence_steps.LONG", least),
        patch("tadc.passes.gpu.recurrence_steps.WORTH_LAUNCHES", least),
        patch("tadc.passes.maps.windows.LEAST_BYTES", 0),
    ):
        yield


def sizes_of(f: tadc.Function, arrays: Mapping[str, NDArray[Any]]) -> dict[str, int]:
    """The sizes that shapes of arguments say."""
    pairs = [
        pair for a in f.program.arguments for pair in zip(a.shape, np.shape(arrays[a.name]), strict=True)
    ]
    return {name: size for form, size in pairs if (name := symbol_of(form))}


def check(
    text: str,
    inputs: Mapping[str, NDArray[Any]],
    way: str,
    bound: float = 1e-10,
    given: Mapping[str, int] | None = None,
) -> None:
    """Assert that the emulator gives what an element-by-element run does, sizes being known or not."""
    f = tadc.function(text)
    sizes = {**sizes_of(f, inputs), **(given or {})}
    random = np.random.default_rng(0)
    shapes = {d.name: shape_at(d.shape, sizes) for d in f.program.outputs}
    cotangents = {f"d{name}": random.uniform(-1, 1, shape) for name, shape in shapes.items()}
    tangents = {f"{name}_dot": random.uniform(-1, 1, np.shape(x)) for name, x in inputs.items()}
    for g, more in ((f, {}), (tadc.vjp(f), cotangents), (tadc.jvp(f), tangents)):
        every = {**inputs, **more}
        arrays = {a.name: np.asarray(every[a.name], DTYPES[a.type]) for a in g.program.arguments}
        expected = Run(g.at(sizes).program, arrays, max([60, *(2 * n for n in sizes.values())])).arrays
        for each, named in ((g, given or {}), (g.at(sizes), {}))[: 2 if sizes else 1]:
            with divided(way):
                found = tadc.compile(each, target="emulated")(**arrays, **named)
            results = [*found] if isinstance(found, tuple) else [found]
            for definition, result in zip(g.program.outputs, results, strict=True):
                want = expected[definition.name]
                most = bound * max(1, np.abs(want).max(initial=0))
                np.testing.assert_allclose(result, want, rtol=bound, atol=most, err_msg=str(g))


@pytest.mark.parametrize("way", WAYS[:2])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_conformance(case: Case, way: str) -> None:
    bound = 1e-10 if all(t.dtype == "float64" for t in case.tensors.values()) else 2e-5
    check(case.program, case.inputs(), way, bound)


@pytest.mark.parametrize("way", WAYS[::-1])
def test_long_sums(way: str) -> None:
    """A network of more neurons than a warp has threads, and a sum over all steps before."""
    random = np.random.default_rng(2)
    arrays = {"x": random.uniform(-1, 1, (2, 33)), "w": random.uniform(-0.1, 0.1, (33, 33))}
    network = """
    x: f64[T, N]; w: f64[N, N]
    scan{t} h[t: T, i: N] = tanh(x[t, i] + if {t = 0} then (0) else (sum{k} (w[i, k]*h[t - 1, k])))
    """
    check(network, arrays, way)
    volterra = "x: f64[T]; w: f64[T]; scan{t} f[t] = x[t] + sum{k}_0^(t - 1) (w[t - k]*f[k])"
    check(volterra, {name: random.uniform(-0.1, 0.1, 40) for name in "xw"}, way)


@pytest.mark.parametrize("way", WAYS[:2])
def test_orbit(way: str) -> None:
    (path,) = EXAMPLES
    arrays = {"place": np.array([1, 0.1]), "speed": np.array([0.1, 0.9]), "dt": np.array(0.1)}
    check(path.read_text(), arrays, way, given={"T": 7})


@pytest.mark.parametrize(("seed", "way"), list(product(range(41), WAYS)))
def test_random_recurrences(seed: int, way: str) -> None:
    """Of one to three indices, along orders of any of these."""
    random = np.random.default_rng(seed)
    text, inputs, _ = recurrence(random, int(random.integers(1, 4)))
    check(text, inputs, way, 1e-9)


@pytest.mark.parametrize(("seed", "way"), list(product(range(40), WAYS[:2])))
def test_random_readers(seed: int, way: str) -> None:
    """Some, up to four steps back and in batches, which others read."""
    case = stepwise.generate(seed)
    check(case.text, case.inputs, way, 1e-9)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_ptxas_takes_it(case: Case, way: str) -> None:
    """Values and gradients; a launch a step has the number of the step as its last argument."""
    source = Source(case.program, "f.tad")
    state = Compilation(Options("value-and-vjp", target=parse_target("cuda:sm_90")), source)
    with divided(way):
        compile_until(state, "ptx")
    ptx = str(state.code["ptx"])
    kernels = parse_ptx(ptx).kernels
    assert set(resources(ptx, 90)) == {launch.kernel for launch in state.launches}
    for launch in state.launches:
        sizes = len(tadc.function(case.program).program.sizes)
        assert len(kernels[launch.kernel].parameters) == len(launch.buffers) + sizes + bool(launch.steps)


def test_a_lane_that_does_not_wait_is_found() -> None:
    """Without barriers between steps the emulator refuses the kernel, whatever the order of its lanes."""
    text = "x: f64[40]; scan{t} u[t: 3, i: 40] = if {t = 0} then (x[i]) else (u[t - 1, 39 - i] + x[i])"
    with patch("tadc.passes.gpu.thread_loops.Thread.after_turn", lambda *_: None), divided("blocks"):
        compiled = tadc.compile(tadc.function(text), target="emulated")
    with pytest.raises(tadc.CompileError, match="read of memory that another lane writes"):
        compiled(np.ones(40))
