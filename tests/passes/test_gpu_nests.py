"""The nests of kernels of a GPU: right by the verifier, and of the same bits as the code made of them."""

from __future__ import annotations

import numpy as np
import pytest

import tadc
from tadc.frontend.extents import shape_at
from tadc.frontend.source import Source
from tadc.passes.nest.interpret import interpret
from tadc.passes.nest.nest_reader import read_nests
from tadc.passes.nest.nest_verifier import verify
from tadc.passes.numpy_types import numpy_type

ROWS = "let s[i] = sum{k} (x[i, k]); y[i, k] = x[i, k] * s[i]"
PROGRAMS = {
    "a thread an element": "x: f32[9, 10]; y[i: 10, j: 9] = x[j, i] * x[j, 0]",
    "vectors": "x: f32[5, 8]; w: f32[8]; y[i, j] = x[i, j] * w[j]",
    "flat": "x: f64[5, 7]; y[i, j] = x[i, j] * x[i, j]",
    "a warp an element": "x: f32[7, 130]; y[i] = sum{k} (x[i, k])",
    "a block an element": "x: f32[2000]; y = sum{k} (x[k])",
    "columns": "x: f32[150, 40]; y[k] = sum{i} (x[i, k])",
    "several indices": "x: f32[6, 7, 10, 3]; y[i] = sum{a, b, c} (x[i, a, b, c])",
    "a chain of warps": f"x: f32[9, 37]; {ROWS}",
    "a chain with sums over rows": f"x: f32[45, 33]; {ROWS}; c[k] = sum{{i}} (y[i, k])",
    "a chain by turns": f"x: f32[9, 1030]; {ROWS}; c[k] = sum{{i}} (y[i, k])",
    "a tile that is copied": "x: f32[40, 37]; y[i: 37, j: 40] = x[j, i]",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_nests_are_what_kernels_compute(name: str) -> None:
    f = tadc.function(PROGRAMS[name])
    nests = [each.nest for each in read_nests(Source(tadc_nests(f), "<nests>"))]
    assert [str(found) for nest in nests for found in verify(nest)] == []
    random = np.random.default_rng(0)
    arrays = {
        a.name: random.uniform(-1, 1, shape_at(a.shape, {})).astype(numpy_type(a.type))
        for a in f.program.arguments
    }
    given = list(arrays.values())
    for nest in nests:
        arrays |= interpret(nest, {t.name: arrays[t.name] for t in nest.tensors if t.name in arrays}).results
    made = tadc.compile(f, target="emulated:sm_90")(*given)
    for output, found in zip(f.program.outputs, made if isinstance(made, tuple) else (made,), strict=True):
        # Parts of a sum over rows have its name, and the sum the next one.
        last = [array for name, array in arrays.items() if name.split("_")[0] == output.name][-1]
        np.testing.assert_array_equal(found, last)


def tadc_nests(f: tadc.Function) -> str:
    """The nests of the kernels of a function, as text."""
    return f.lower(target="cuda:sm_90").as_text("scheduled-nest")
