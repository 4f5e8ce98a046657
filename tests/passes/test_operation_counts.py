"""Counts from domains against an instrumented run, which does the operations and counts them."""

from __future__ import annotations

import numpy as np
import pytest

import tadc
from bench.operations import SIZES, programs
from tadc.analysis.statistics import compiled_form, compiled_work, fused_form
from tadc.compiler.compile_options import Options
from tadc.frontend.extents import shape_at
from tadc.frontend.program import Program
from tadc.passes.rewrites import rows
from tadc.passes.terms.operation_counts import ComputedTogether, count_program
from tests.conformance import (
    test_index_maps,
    test_quasi_affine,
    test_reductions,
    test_scan,
    test_tensor_algebra,
)
from tests.reference.counting import Run

CATALOGUES = (test_index_maps, test_quasi_affine, test_reductions, test_scan, test_tensor_algebra)
CASES = {c.name: c.program for module in CATALOGUES for c in module.CATALOGUE.cases}
#: More elements make the run too long.
LARGEST = 5000


def run(program: Program, together: ComputedTogether | None = None) -> Run:
    random = np.random.default_rng(0)
    shapes = {a.name: shape_at(a.shape, {}) for a in program.arguments}
    arrays = {name: random.uniform(0.1, 0.9, shape) for name, shape in shapes.items()}
    types = {a.name: {"f32": np.float32, "f64": np.float64}[a.type] for a in program.arguments}
    reach = max((size for d in program.definitions for size in shape_at(d.shape, {})), default=1)
    reach = 2 * max([reach, 1, *(size for shape in shapes.values() for size in shape)])
    return Run(program, {name: array.astype(types[name]) for name, array in arrays.items()}, reach, together)


def check(program: Program, together: ComputedTogether | None = None) -> None:
    counted, done = count_program(program, together), run(program, together)
    assert counted.weighted == done.weighted
    assert counted.transcendental == done.transcendental
    assert counted.loaded == done.moved("load")
    assert counted.stored == done.moved("store")


@pytest.mark.parametrize("name", CASES)
def test_counts_of_conformance_programs(name: str) -> None:
    """Of the program as written, and of value and gradients as compiled."""
    f = tadc.function(CASES[name])
    if f.per_value is not None or f.program.sizes:
        pytest.skip("compiled for each value of a size")
    check(f.program)
    derived = compiled_form(f.program, "value-and-vjp")
    if count_program(derived).weighted <= LARGEST:
        check(derived)
        check(*fused_form(f.program, "value-and-vjp"))


DENSITY = "f[j: 4] = sum{i} (exp(-sum{m} ((q[j, m] - x[i, m])**2)))"
SUMS = {
    "two sums of a map": (
        "f[j: 4] = sum{i: 5} (exp(x[i, 0] * q[j, 0])) / sum{i: 5} (exp(x[i, 0] * q[j, 0]) * x[i, 1])"
    ),
    "sums of two maps, of other heights": (
        "f[j: 4] = sum{i: 5} (exp(x[i, 0] * q[j, 0]))\n"
        "g[j: 4] = sum{i: 5} (exp(x[i, 0] * q[j, 0]) * sum{k}_0^(i) (x[k, 1]))"
    ),
    "density": DENSITY,
}
#: No tensor of all pairs has room.
NO_PAIRS = Options(memory_limit=5 * 3 * 8)


@pytest.mark.parametrize("text", SUMS.values(), ids=SUMS)
@pytest.mark.parametrize("mode", ["value", "value-and-vjp"])
def test_counts_of_merged_sums(text: str, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of sums that share an exponential, by themselves and in rows of gradients."""
    monkeypatch.setattr(rows, "WORTH", 0)
    monkeypatch.setattr(rows, "WORTH_IN_ALL", 0)
    f = tadc.function(f"x: f64[5, 3]; q: f64[4, 3]\n{text}")
    program, together = fused_form(f.program, mode, options=NO_PAIRS)
    assert together.sums or (text == DENSITY and mode == "value")
    check(program, together)


def test_a_row_of_a_gradient_shares_an_exponential(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two for each pair: one for the value and the gradient by q, one for that by x."""
    monkeypatch.setattr(rows, "WORTH", 0)
    monkeypatch.setattr(rows, "WORTH_IN_ALL", 0)
    f = tadc.function(f"x: f64[5, 3]; q: f64[4, 3]\n{DENSITY}")
    assert compiled_work(f.program, "value-and-vjp", options=NO_PAIRS).transcendental == 2 * 5 * 4


@pytest.mark.parametrize("name", SIZES)
def test_counts_of_examples(name: str) -> None:
    program = programs([name])[name]
    if count_program(program).weighted <= LARGEST:
        check(program)


def test_counts_do_not_walk_what_only_multiplies() -> None:
    """A sum over 10**12 points is counted at once."""
    f = tadc.function("x: f64[N]; y: f64[N]\nf = sum{i, j} (x[i] * y[j])")
    counted = count_program(f.at({"N": 10**6}).program)
    assert counted.weighted == counted.operations == 2 * 10**12


def test_triangle() -> None:
    """`1 + 2 + … + n` products and as many additions."""
    f = tadc.function("x: f64[1000]\nf[i] = sum{j}_0^i (x[i] * x[j])")
    assert count_program(f.program).weighted == 1000 * 1001


def test_memory_of_temporaries() -> None:
    """Tensors in use at different times share it; what is a value of fused maps has none."""
    chain = "\n".join(f"let h{n + 1}[i: 4096] = h{n}[4095 - i]**2" for n in range(4))
    counted = tadc.statistics(tadc.function(f"x: f64[4096]\nlet h0[i] = exp(x[i])\n{chain}\nf[i] = h4[i]"))
    assert counted.written.temporaries.bytes == 5 * 8 * 4096
    assert counted.value.temporaries.bytes == 4 * 8 * 4096
    assert counted.value.temporaries.peak == 2 * 8 * 4096
    counted = tadc.statistics(tadc.function("x: f64[4096]\nlet h[i] = exp(x[i])\nf[i: 4096] = h[i]**2"))
    assert counted.written.temporaries.peak == 8 * 4096
    assert counted.value.temporaries.peak == 0
