"""Random programs: value and all gradients against JAX."""

from __future__ import annotations

import pytest

from tests.fuzz.compare import failure

CHUNK = 25


@pytest.mark.parametrize("first", range(0, 300, CHUNK))
def test_first_order(first: int) -> None:
    """300 programs: the value and the gradient of every argument."""
    assert not [found for seed in range(first, first + CHUNK) if (found := failure(seed, order=1))]


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 3000, CHUNK))
def test_second_order(first: int) -> None:
    """2000 more, second derivatives too."""
    assert not [found for seed in range(first, first + CHUNK) if (found := failure(seed, order=2))]
