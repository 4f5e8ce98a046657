"""How much memory calls take besides arguments and results: pooling and its gradient keep no masks."""

from __future__ import annotations

import pytest

import tadc
from tadc.backend.runtime.workspace import workspace
from tests.backend.kernels import on_host

SIZES = {"B": 4, "C": 6, "H": 54, "W": 54}

POOLS = {
    "2x2": "y[b, c, i: H // 2, j: W // 2] = max{p: 2, q: 2} (x[b, c, 2*i + p, 2*j + q])",
    "3x3, stride 2": "y[b, c, i: (H - 1) // 2, j: (W - 1) // 2] "
    "= max{p: 3, q: 3} (x[b, c, 2*i + p, 2*j + q])",
    "3x3, stride 1": "y[b, c, i: H - 2, j: W - 2] = max{p: 3, q: 3} (x[b, c, i + p, j + q])",
    "3x3, stride 3": "y[b, c, i: H // 3, j: W // 3] = max{p: 3, q: 3} (x[b, c, 3*i + p, 3*j + q])",
    "channels last": "y[b, i: C // 2, j: H // 2, c: W] = max{p: 2, q: 2} (x[b, 2*i + p, 2*j + q, c])",
    "two layers": "let z[b, c, i: H // 2, j: W // 2] = max{p: 2, q: 2} (x[b, c, 2*i + p, 2*j + q])\n"
    "y[b, c, i: H // 4, j: W // 4] = max{p: 2, q: 2} (z[b, c, 2*i + p, 2*j + q])",
    "of all": "y[b, c] = max{i, j} (x[b, c, i, j])",
}


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("name", POOLS)
def test_pooling(name: str, is_known: bool) -> None:
    """Value and gradient take no more than half as much again."""
    f = tadc.value_and_vjp(tadc.function(f"x: f32[B, C, H, W]\n{POOLS[name]}"))
    kernel = on_host((f.at(SIZES) if is_known else f).compiled().kernel)
    given = sum(p.at(SIZES).bytes for p in (*kernel.inputs, *kernel.outputs))
    between = workspace([t.at(SIZES) for t in kernel.temporaries])
    assert between.bytes <= given / 2 + 1024
