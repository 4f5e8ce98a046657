"""Value and gradients of programs for each layout of threads: lane by lane, against the CPU."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tadc
from tadc.passes import catalogue
from tadc.passes.rewrites.parts import blocks
from tests.gpu_programs import PROGRAMS, GpuProgram


def inputs(f: tadc.Function, sizes: dict[str, int]) -> dict[str, Any]:
    """Random arguments, in double precision."""
    from tadc.frontend.extents import shape_at

    random = np.random.default_rng(0)
    return {a.name: random.uniform(0.1, 0.9, shape_at(a.shape, sizes)) for a in f.program.arguments}


def compare(one: GpuProgram, sizes: dict[str, int] | None = None, target: str = "emulated") -> None:
    """Of all elements, relative to the largest; the reference has twice the digits."""
    f, exact = (
        tadc.value_and_vjp(tadc.function(text)) for text in (one.text, one.text.replace("f32", "f64"))
    )
    arrays = inputs(f, one.sizes)
    expected = exact(**arrays)
    rounded = {
        a.name: arrays[a.name].astype(np.float32 if a.type == "f32" else np.float64)
        for a in f.program.arguments
    }
    if "f32" in one.text:
        expected = exact(**{name: a.astype(np.float64) for name, a in rounded.items()})
    found = tadc.compile(f, target=target, sizes=sizes)(**rounded)
    for want, got in zip(expected, found, strict=True):
        scale = np.abs(want).max(initial=0) or 1
        assert np.abs(got - want).max(initial=0) <= (1e-4 if got.dtype == np.float32 else 1e-12) * scale


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums that the emulator has time for are cut."""
    small = {"worth": 1 << 13, "part": 1 << 12, "work": 1 << 18}
    monkeypatch.setattr(catalogue, "blocks", lambda gpu: replace(blocks(gpu), **small))


@pytest.mark.parametrize("name", PROGRAMS)
def test_layouts(name: str) -> None:
    compare(PROGRAMS[name])


@pytest.mark.parametrize("name", [name for name, one in PROGRAMS.items() if one.sizes])
def test_layouts_of_known_sizes(name: str) -> None:
    compare(PROGRAMS[name], sizes=PROGRAMS[name].sizes)


@pytest.mark.parametrize("name", ["windows of several rows", "what rows share", "softmax"])
def test_layouts_of_a_gpu_that_few_threads_keep_busy(name: str) -> None:
    """A thread computes several rows, which share what they read."""
    compare(PROGRAMS[name], target="emulated:sm_72")
