"""Recurrences of several components: values and gradients against loops in NumPy."""

from __future__ import annotations

import pytest

from tests.fuzz.components import failure


@pytest.mark.parametrize("seed", range(2))
def test_components(seed: int) -> None:
    assert failure(seed, 1) is None
