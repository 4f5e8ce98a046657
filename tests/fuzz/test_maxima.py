"""Random maxima and minima over computed values, in mixed modes, against JAX."""

from __future__ import annotations

import pytest

from tests.fuzz.maxima import failure

pytestmark = pytest.mark.filterwarnings("ignore::tadc.CompileWarning")


@pytest.mark.parametrize(("seed", "order"), [(5, 1), (12, 2), (9, 3)])
def test_some(seed: int, order: int) -> None:
    assert failure(seed, order=order) is None


@pytest.mark.slow
@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("first", range(1000, 1200, 25))
def test_many(first: int, order: int) -> None:
    """200 more at every order."""
    assert not [found for seed in range(first, first + 25) if (found := failure(seed, order=order))]
