"""Sums of gradients whose loops are not entered for nothing."""

from __future__ import annotations

import pytest

from bench.empty_iterations import gradients, measure
from tests.conformance import test_index_maps, test_quasi_affine, test_scan, test_tensor_algebra

MODULES = (test_tensor_algebra, test_index_maps, test_quasi_affine, test_scan)
PROGRAMS = {f"{m.__name__}: {case.name}": case.program for m in MODULES for case in m.CATALOGUE.cases}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
@pytest.mark.filterwarnings("ignore::tadc.CompileWarning")
def test_gradients_have_no_empty_range(program: str) -> None:
    """Neither those with unit coefficients nor, in these programs, those with others."""
    assert measure(gradients(program, 1)).empty == 0


@pytest.mark.parametrize(
    "text",
    [
        "x: f64[7, 9]\nw: f64[3, 3]\nf[i: 3, j: 4] = sum{u, v} (w[u, v] * x[2*i + u, 2*j + v])**2",
        "x: f64[4]\nf[i: 8] = x[(7 - i) // 2]**2 * x[(-i) % 4]",
        "x: f64[14]\nw: f64[3]\nf[i: 4] = sum{k} (w[k] * x[3*i + 2*k])**2",
    ],
)
def test_second_derivatives_of_strides_have_no_empty_range(text: str) -> None:
    counts = measure(gradients(text, 2))
    assert counts.entries > 0
    assert counts.empty == 0
