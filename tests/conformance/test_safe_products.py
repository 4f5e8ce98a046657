"""Which gradients hold products that have to be safe: those of which a partial is not finite everywhere."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import tadc
from bench.everyday import EVERYDAY
from bench.workloads import WORKLOADS
from tests.conformance.test_operation_bound import CASES

EXAMPLES = Path(__file__).parents[2] / "examples"
PROGRAMS = {
    **{f"example: {path.stem}": path.read_text(encoding="utf-8") for path in sorted(EXAMPLES.glob("*.tad"))},
    **{f"workload: {w.name}": w.program for w in (*WORKLOADS, *EVERYDAY)},
    **CASES,
}
#: Programs that divide by an argument, or take a root or logarithm of what may be 0.
SAFE = {
    "example: impedance": "quotients by the current",
    "example: kernel_density": "quotients by bandwidths",
    "workload: cosines": "the root of a sum of squares, and a quotient by it",
    "workload: coulomb": "a quotient by a distance",
    "workload: causal-guards": "a quotient by a sum",
    "workload: local-attention": "a quotient by a sum",
    "workload: tridiagonal": "quotients by pivots",
    "workload: polynomials": "powers of what may be 0",
    "test_large_sizes: element by element": "a quotient by 2 + y",
    "test_large_sizes: element by element, f32": "a logarithm of 2 + x",
    "test_programs: remainder of values": "the floor of a quotient by y",
    "test_scan: a triangular solve": "quotients by the diagonal",
    "test_scan: a backward solve": "quotients by the diagonal",
    "test_tensor_algebra: ref 6": "a quotient by 1 + 2*Sigma",
    "test_tensor_algebra: ref 7": "a quotient by 1 + 4*Sigma",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_safe_products(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tadc.CompileWarning)
        gradient = str(tadc.vjp(tadc.function(PROGRAMS[name])))
    assert ("safe(" in gradient) == (name in SAFE), gradient


def test_names_of_those_with_safe_products() -> None:
    assert SAFE.keys() <= PROGRAMS.keys()


def test_signs_of_safe_products_in_sums() -> None:
    """A sum of differences of safe products keeps the sign that they have in common."""
    text = "-safe(y[k]*y[k], d[k]/c/c) - safe(y[k]*y[k], 1/c*(d[k]/c))"
    f = tadc.function(f"c: f64; g: f64; y: f64[3]; d: f64[3]; f = sum{{k}} (safe(g, {text}))")
    y, d = np.array([1.0, 2.0, 3.0]), np.array([0.5, -1.5, 2.0])
    np.testing.assert_allclose(f(c=1.25, g=3.0, y=y, d=d), -6 * (y * y * d).sum() / 1.25**2, rtol=1e-14)
