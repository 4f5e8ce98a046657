"""Recurrences of several components: values and gradients against loops in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import tadc
from tests.fuzz.components import STEPS, generate


@pytest.mark.parametrize("seed", range(2))
def test_components(seed: int) -> None:
    program = generate(seed)
    draw = np.random.default_rng(seed)
    x, cotangent = draw.uniform(-1, 1, STEPS), draw.uniform(-1, 1, (STEPS, len(program.reads)))
    f = tadc.function(str(program))
    np.testing.assert_allclose(f(x), program.value(x), rtol=1e-11, atol=1e-12)
    expected = program.gradient(x, cotangent)
    np.testing.assert_allclose(tadc.vjp(f)(x, cotangent), expected, rtol=1e-9, atol=1e-11)
    tangent = draw.uniform(-1, 1, STEPS)
    found = np.sum(cotangent * tadc.jvp(f)(x, tangent)[1])
    np.testing.assert_allclose(found, expected @ tangent, rtol=1e-9, atol=1e-11)
