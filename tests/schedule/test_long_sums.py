"""Long sums of few elements, which read all that there is, run in blocks that all elements read in turn."""

from __future__ import annotations

import numpy as np
import pytest

import tadc
from tadc.frontend.extents import shape_at

PROGRAMS = {
    "a: T[9001, 70]; b: T[9001, 37]; c[i, j] = sum{k} (a[k, i]*b[k, j])": "ki,kj->ij",
    "a: T[60001, 13]; b: T[60001, 9]; c[i, j] = sum{k} (a[k, i]*b[k, j])": "ki,kj->ij",
    "a: T[2, 9000, 40]; b: T[2, 9000, 36]; c[s, i, j] = sum{k} (a[s, k, i]*b[s, k, j])": "ski,skj->sij",
    "a: T[9001, 70]; s: T[9001]; b: T[9001, 37]; c[i, j] = sum{k} (s[k]*a[k, i]*b[k, j])": "ki,k,kj->ij",
}
WINDOWS = """x: T[9, 130, 130, 4]; y: T[9, 128, 128, 8]
w[p: 3, q: 3, c, o] = sum{n, i, j} (x[n, i + p, j + q, c]*y[n, i, j, o])"""


@pytest.mark.parametrize(("target", "type"), [("cpu", "f32"), ("cpu:x86-64-v3", "f64")])
@pytest.mark.parametrize("text", [*PROGRAMS, WINDOWS])
def test_blocks_add_up(text: str, type: str, target: str) -> None:
    f = tadc.function(text.replace("T", type))
    assert "cut" in f.lower(target=target).schedule
    random = np.random.default_rng(1)
    given = [
        random.standard_normal(shape_at(a.shape, {})).astype(type.replace("f32", "f4").replace("f64", "f8"))
        for a in f.program.arguments
    ]
    exact = [array.astype(float) for array in given]
    if text in PROGRAMS:
        expected = np.einsum(PROGRAMS[text], *exact, optimize=True)
    else:
        windows = np.lib.stride_tricks.sliding_window_view(exact[0], (128, 128), (1, 2))
        expected = np.einsum("npqcij,nijo->pqco", windows, exact[1], optimize=True)
    error = np.abs(tadc.compile(f, target=target)(*given) - expected).max() / np.abs(expected).max()
    assert error < (1e-5 if type == "f32" else 1e-13)
