"""Random programs: value and all gradients against JAX."""

from __future__ import annotations

import pytest

from tests.fuzz.compare import failure

CHUNK = 25


def failures(first: int, order: int) -> list[str]:
    return [found for seed in range(first, first + CHUNK) if (found := failure(seed, order=order))]


@pytest.mark.parametrize("first", [0, 25])
def test_first_order(first: int) -> None:
    assert not failures(first, order=1)


@pytest.mark.parametrize("first", [100])
def test_second_order(first: int) -> None:
    assert not failures(first, order=2)


@pytest.mark.parametrize("first", [200])
def test_third_order(first: int) -> None:
    assert not failures(first, order=3)


@pytest.mark.slow
@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("first", range(1000, 2000, CHUNK))
def test_many(first: int, order: int) -> None:
    """1000 more at every order."""
    assert not failures(first, order)
