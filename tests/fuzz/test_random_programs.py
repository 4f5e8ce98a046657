"""Random programs: value and all gradients against JAX."""

from __future__ import annotations

import pytest

from tests.fuzz.compare import failure

CHUNK = 25


def failures(first: int, order: int, count: int = CHUNK) -> list[str]:
    return [found for seed in range(first, first + count) if (found := failure(seed, order=order))]


@pytest.mark.parametrize(("first", "count", "order"), [(0, 1, 1), (1, 13, 1), (100, 10, 2), (200, 6, 3)])
def test_some(first: int, count: int, order: int) -> None:
    assert not failures(first, order, count)


@pytest.mark.slow
@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("first", range(1000, 2000, CHUNK))
def test_many(first: int, order: int) -> None:
    """1000 more at every order."""
    assert not failures(first, order)
