"""Recurrences that keep their last steps alone: the same bits, in memory for few steps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import tadc
from bench.switches import SWITCHES
from tadc.frontend.extents import shape_at
from tests.fuzz.stepwise import generate
from tests.reference.counting import Run
from tests.reference.sampling import slow_but_one_in

(OFF,) = (switch for switch in SWITCHES if switch.name == "windows")


@contextmanager
def always(rows: int) -> Iterator[None]:
    """Windows however small tensors are; so many steps of a sweep at a time where sizes are known."""
    with (
        patch("tadc.passes.maps.windows.LEAST_BYTES", 0),
        patch("tadc.passes.maps.sweeps.LEAST_ROW", 0),
        patch("tadc.passes.maps.sweeps.MOST_ROWS", rows),
    ):
        yield


@pytest.mark.one_in(8)
@pytest.mark.parametrize("seed", slow_but_one_in(2, range(80)))
def test_random_recurrences(seed: int) -> None:
    """Values, tangents and gradients: those of an element-by-element run, the very bits of all steps kept."""
    case = generate(seed)
    f = tadc.function(case.text)
    # Sums over steps are added up in the order of these.
    in_other_order = "sum{t}" in case.text and "scan{-t}" in case.text
    outputs = [d.name for d in f.program.outputs]
    random = np.random.default_rng(seed)
    shapes = {d.name: shape_at(d.shape, case.sizes) for d in f.program.outputs}
    inputs = dict(case.inputs)
    cotangents = {f"d{name}": random.uniform(-1, 1, shapes[name]) for name in outputs}
    tangents = {"x_dot": random.uniform(-1, 1, inputs["x"].shape)}
    for g, more in ((f, {}), (tadc.vjp(f), cotangents), (tadc.jvp(f), tangents)):
        arrays = {**inputs, **more}
        run = Run(g.at(case.sizes).program, arrays, 40)
        for each in (g, g.at(case.sizes)):
            with OFF.off():
                kept = values(fresh(each)(**arrays))
            with always(seed % 5 + 1):
                found = values(fresh(each)(**arrays))
            for name, one, other in zip((d.name for d in g.program.outputs), found, kept, strict=True):
                if not in_other_order:
                    np.testing.assert_array_equal(one, other)
                np.testing.assert_allclose(one, run.arrays[name], rtol=1e-9, atol=1e-9)


def values(found: Any) -> list[Any]:
    """The results of a call, one or several."""
    return [*found] if isinstance(found, tuple) else [found]


def fresh(f: tadc.Function) -> tadc.Function:
    """The same function, of which no kernel is known."""
    return tadc.function(str(f))
