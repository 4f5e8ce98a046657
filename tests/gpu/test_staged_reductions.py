"""Reads of reductions that the threads of a block copy first, by random steps: right at any size and tile."""

from __future__ import annotations

import random

import numpy as np
import pytest

import tadc
from tests.nest.reductions import PROGRAMS


def _steps(indices: str, reads: int, rng: random.Random) -> str:
    """Blocks of threads with copies, and steps of the reduction in blocks."""
    lines = ["split i 8 guard -> i0, i1", f"split i1 {rng.choice([1, 2])} -> i2, i3"]
    copies, rows = int(lines[-1].split()[2]), 8
    lines += [
        "split j 8 guard -> j0, j1",
        "reorder i0, j0, i2, j1, i3",
        "block i0, j0",
        "thread i2, j1",
        "jam i3",
    ]
    outer, inner = list[str](), list[str]()
    for index in indices:
        steps = rng.choice([1, 2, 4, 6])
        outer.append(index if steps == 1 else f"{index}0")
        if steps > 1:
            inner.append(f"{index}1")
            lines.append(f"split {index} {steps} clip -> {index}0, {index}1")
    if inner:
        lines.append(f"reorder {', '.join([*outer, *inner])}")
        lines += rng.choice([[], [f"unroll {inner[-1]}"], [f"unroll {inner[-1]} by 2"]])
    chosen = rng.sample(range(reads), rng.randint(1, reads))
    lines += [f"stage %{number} inside {outer[-1]} by threads" for number in chosen]
    return "\n    ".join(["map y", *lines, f"in_blocks {rows // copies * 8}"])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_threads_copy_is_what_they_read(name: str, seed: int) -> None:
    text, indices, shapes, reference = PROGRAMS[name]
    steps = _steps(indices, len(shapes), random.Random(f"{name} {seed}"))
    numbers = np.random.default_rng(seed)
    arrays = [numbers.uniform(-1, 1, shape) for shape in shapes]
    found = tadc.compile(tadc.function(text), target="emulated:sm_90", schedule=steps)(*arrays)
    np.testing.assert_allclose(found, reference(*arrays), rtol=1e-12, atol=1e-12, err_msg=steps)
