"""Reductions whose indices are split, reordered and written out, by random steps: right in machine code."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest

import tadc
from tests.nest.reductions import PROGRAMS


def _steps(indices: str, rng: random.Random) -> str:
    """Tiles of copies and lanes, and steps of the reduction in blocks, some far apart."""
    lines = ["split i 2 overlap -> i0, i1", f"split j {rng.choice([4, 8])} overlap -> j0, j1"]
    lines += ["split j1 4 -> j2, j3", "reorder i0, j0, i1, j2, j3", "jam i1, j2", "lane j3"]
    outer, inner, count = list[str](), list[str](), 1
    for index in indices:
        each, far = rng.choice([(4, 2), (6, 2), (8, 4), (3, 1)])
        lines.append(f"split {index} {each} clip -> {index}0, {index}1")
        outer.append(f"{index}0")
        inner.append(f"{index}1")
        count = each
        if far > 1:
            lines.append(f"split {index}1 {each // far} -> {index}2, {index}3")
            parts = [(f"{index}2", far), (f"{index}3", each // far)]
            rng.shuffle(parts)
            inner[-1:], count = [name for name, _ in parts], parts[-1][1]
    lines.append(f"reorder {', '.join([*outer, *inner])}")
    together = rng.choice([n for n in range(1, count + 1) if count % n == 0])
    lines += rng.choice([[], [f"unroll {inner[-1]}"], [f"unroll {inner[-1]} by {together}"]])
    return "\n    ".join(["map y", *lines, "fits i 2, j 8"])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", PROGRAMS)
def test_split_reductions_are_right(name: str, seed: int) -> None:
    text, indices, shapes, reference = PROGRAMS[name]
    random_steps, numbers = random.Random(f"{name} {seed}"), np.random.default_rng(seed)
    steps = _steps(indices, random_steps)
    arrays = [numbers.uniform(-1, 1, shape) for shape in shapes]
    f = tadc.function(text)
    if seed % 2:
        named = zip(re.findall(r"f64\[(.*?)\]", text), shapes, strict=False)
        sizes = {name: n for names, shape in named for name, n in zip(names.split(", "), shape, strict=True)}
        f = f.at({name: n for name, n in sizes.items() if name.isalpha()})
    found = tadc.compile(f, schedule=steps)(*arrays)
    np.testing.assert_allclose(found, reference(*arrays), rtol=1e-12, atol=1e-12, err_msg=steps)
