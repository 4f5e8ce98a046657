"""The nests that chosen steps make of maps: right as the verifier has it, and run against the plain ones."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tadc.frontend.diagnostics import CompileError
from tadc.passes.maps.map import Map, MapFunction
from tadc.passes.nest.nest import Nest
from tadc.passes.nest.nest_verifier import verify
from tadc.passes.nest.plain import plain_nest
from tadc.passes.nest.primitives.apply import apply_steps
from tadc.passes.nest.steps import Cut, Rows, Step
from tadc.passes.schedule.cpu_machine import CpuMachine
from tadc.passes.schedule.steps_of_plan import steps_of_plan
from tests.nest.in_parts import assert_same_in_parts, random_arrays
from tests.nest.programs import PROGRAMS, maps_of_program, plans_of
from tests.pages import ROOT

MACHINES = {"AVX-512": CpuMachine(64, 32), "AVX2": CpuMachine(32, 16)}

EXAMPLES = sorted(path.stem for path in (ROOT / "examples").glob("*.tad"))

SMALL = {
    "matmul": "a: f32[13, 11]\nb: f32[11, 37]\nc[i, j] = sum{k} (a[i, k] * b[k, j])",
    "gram": "a: f64[19, 9]\ng[i, j] = sum{k} (a[i, k] * a[j, k])",
    "batched": "a: f32[3, 7, 5]\nb: f32[3, 5, 18]\nc[n, i, j] = sum{k} (a[n, i, k] * b[n, k, j])",
    "matvec": "a: f32[20, 40]\nx: f32[40]\ny[i] = sum{j} (a[i, j] * x[j])",
    "conv2d": "x: f32[1, 3, 8, 20]\nw: f32[5, 3, 3, 3]\n"
    "y[n, o, i: 6, j: 18] = sum{c, k, l} (x[n, c, i + k, j + l] * w[o, c, k, l])",
    "strided": "x: f32[2, 9, 40]\nw: f32[4, 2, 3, 3]\n"
    "y[o, i: 4, j: 19] = sum{c, k, l} (x[c, 2*i + k, 2*j + l] * w[o, c, k, l])",
    "padded": "x: f32[40]\nw: f32[5]\n"
    "y[i: 40] = sum{k}_(max [0; 2 - i])^(min [4; 41 - i]) (x[i + k - 2] * w[k])",
    "dilated": "x: f32[50]\nw: f32[3]\ny[i: 44] = sum{k} (x[i + 3*k] * w[k])",
    "fir": "x: f32[100]\nw: f32[9]\ny[i: 92] = sum{k} (x[i + k] * w[k])",
    "autocorrelation": "x: f32[60]\nr[l: 17] = sum{i}_0^(59 - l) (x[i] * x[i + l])",
    "banded": "a: f64[20, 5]\nx: f64[20]\n"
    "y[i] = sum{k}_(max [0; 2 - i])^(min [4; 21 - i]) (a[i, k] * x[i + k - 2])",
    "mttkrp": "x: f32[5, 6, 7]\nb: f32[6, 17]\nc: f32[7, 17]\n"
    "m[i, r] = sum{j, k} (x[i, j, k] * b[j, r] * c[k, r])",
    "attention": "q: f32[9, 4]\nk: f32[17, 4]\nv: f32[17, 6]\n"
    "s[i, j] = exp(sum{d} (q[i, d] * k[j, d]))\nt[i] = sum{j} (s[i, j])\n"
    "o[i, e] = sum{j} (s[i, j] * v[j, e]) / t[i]",
    "softmax": "x: f32[9, 33]\ne[i, j] = exp(x[i, j])\ns[i] = sum{j} (e[i, j])\ny[i, j] = e[i, j] / s[i]",
    "layer_norm": "x: f32[6, 40]\nm[i] = sum{j} (x[i, j]) / 40\nv[i] = sum{j} ((x[i, j] - m[i]) ** 2) / 40\n"
    "y[i, j] = (x[i, j] - m[i]) / sqrt(v[i] + 0.1)",
    "stencil": "x: f32[12, 40]\n"
    "y[i: 10, j: 38] = x[i, j + 1] + x[i + 2, j + 1] + x[i + 1, j] + x[i + 1, j + 2]",
    "window": "x: f32[90]\nd[i: 98] = sum{k}_(max [0; i - 89])^(min [8; i]) (x[i - k])",
    "prefix": "x: f64[30]\nscan{t} p[t] = if {t > 0} then (p[t - 1] + x[t]) else (x[t])",
    "scans": "x: f64[18, 9]\nscan{t} p[b, t] = if {t > 0} then (p[b, t - 1] + x[b, t]) else (x[b, t])",
    "transpose": "x: f32[20, 37]\ny[i: 37, j: 20] = 2 * x[j, i]",
    "upsampling": "x: f32[5, 20]\ny[i: 10, j: 40] = x[i // 2, j // 2]",
    "polyphase": "x: f32[50]\nw: f32[3, 4]\ny[i: 120] = sum{k} (x[i // 3 + k] * w[i % 3, k])",
    "pooling": "x: f32[2, 8, 34]\ny[c, i: 4, j: 17] = max{k: 2, l: 2} (x[c, 2*i + k, 2*j + l])",
    "mean": "x: f32[10, 100]\nm[i] = sum{j} (x[i, j])",
    "norm": "x: f64[200]\nn = sqrt(sum{i} (x[i] ** 2))",
    "outer": "x: f32[20]\ny: f32[37]\nz[i, j] = x[i] * y[j]",
    "padded image": "x: f32[1, 2, 5, 21]\nw: f32[8, 2, 3, 3]\n"
    "y[n, o, i: 5, j: 21] = sum{c: 2, p: 3, q: 3} (if {i + p >= 1 and i + p <= 5 and j + q >= 1 and "
    "j + q <= 21} then (x[n, c, i + p - 1, j + q - 1] * w[o, c, p, q]) else (0))",
    "moving panel": "x: f32[32, 16]\nw: f32[5, 32]\n"
    "y[n, i: 30, o] = sum{p}_(max [0; i])^(min [31; i + 2]) (x[p - i, o] * w[n, p])",
    "causal": "q: f32[20, 12]\nk: f32[20, 12]\n"
    "s[i: 20, j: 20] = if {j <= i} then (exp(sum{d} (q[i, d] * k[j, d]))) else (0)",
    "triangle": "x: f64[20, 20]\ny[i] = sum{j}_0^i (x[i, j])",
    "density": "x: f32[20]\ny: f32[33]\nd[i] = sum{j} (exp(-(x[i] - y[j]) ** 2))",
    "diagonal": "x: f32[18, 18]\ny[i: 18, j: 18] = if {i = j} then (x[i, j] * 2) else (x[i, j])",
    "toeplitz": "t: f64[41]\nx: f64[22]\ny[i: 20] = sum{j} (t[i - j + 21] * x[j])",
}

LARGE = {
    "blocks of a product": "a: f32[509, 301]\nb: f32[301, 507]\nc[i, j] = sum{k} (a[i, k] * b[k, j])",
    "chain": "x: f32[250, 1021]\ne[i, j] = exp(x[i, j])\ns[i] = sum{j} (e[i, j])\ny[i, j] = e[i, j] / s[i]",
    "filters": "x: f32[2, 16, 64, 67]\nw: f32[32, 16, 3, 3]\n"
    "y[n, o, i: 62, j: 65] = sum{c, k, l} (x[n, c, i + k, j + l] * w[o, c, k, l])",
    "thin set": "x: f32[999, 999]\ny[i: 999, j: 999] = if {i = j} then (x[i, j] * 2) else (x[i, j])",
    "backwards": "x: f64[8, 9999]\n"
    "scan{-t} p[b, t] = if {t < 9998} then (p[b, t + 1] + x[b, t]) else (x[b, t])",
}


def chosen(function: MapFunction, machine: CpuMachine) -> Iterator[tuple[Map, Nest, Nest, tuple[Step, ...]]]:
    """Each map with its plain nest, and with the one that the chosen steps make of it."""
    for item, plan in zip(function.maps, plans_of(function, machine), strict=True):
        plain, steps = plain_nest(function, item), steps_of_plan(item, function, plan, machine)
        nest = apply_steps(plain, steps)
        assert [str(CompileError([found])) for found in verify(nest)] == []
        yield item, plain, nest, steps


@pytest.mark.parametrize("name", SMALL)
def test_chosen_nests_have_the_same_bits_and_accesses(name: str) -> None:
    function = maps_of_program(SMALL[name])
    for machine in MACHINES.values():
        arrays = random_arrays(function.arguments, {})
        for item, plain, nest, steps in chosen(function, machine):
            arrays |= assert_same_in_parts(plain, nest, steps, item, arrays, {}, reads_more=False)


@pytest.mark.parametrize("name", EXAMPLES)
def test_chosen_nests_of_examples_are_right(name: str) -> None:
    """For all sizes, and for all ranges of threads."""
    function = maps_of_program(PROGRAMS[name])
    assert list(chosen(function, MACHINES["AVX2"]))


def test_chosen_nests_of_large_programs_are_right() -> None:
    """Their sums run in blocks, and their maps in chains."""
    taken: set[type[Step]] = set()
    for text in LARGE.values():
        for machine in MACHINES.values():
            for *_, steps in chosen(maps_of_program(text), machine):
                taken |= {type(step) for step in steps}
    assert taken >= {Cut, Rows}


SIZES = {
    "matmul": {"N": 13, "K": 5, "M": 34},
    "conv1d": {"B": 2, "C": 3, "N": 21, "F": 4, "K": 3},
    "stencil": {"N": 9, "M": 20},
    "upsampling": {"C": 2, "H": 5, "W": 12},
    "mttkrp": {"I": 7, "J": 3, "K": 6, "R": 10},
}


@pytest.mark.parametrize("name", SIZES)
def test_ranges_of_threads_make_up_all_elements(name: str) -> None:
    function, sizes = maps_of_program(PROGRAMS[name]), SIZES[name]
    arrays = random_arrays(function.arguments, sizes)
    for item, plain, nest, steps in chosen(function, MACHINES["AVX2"]):
        arrays |= assert_same_in_parts(plain, nest, steps, item, arrays, sizes, reads_more=False)
