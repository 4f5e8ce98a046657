"""Random maxima and minima over computed values, in mixed modes, against JAX."""

from __future__ import annotations

import pytest

from tests.fuzz.maxima import failure

pytestmark = pytest.mark.filterwarnings("ignore::tadc.CompileWarning")


@pytest.mark.parametrize(("seed", "order"), [(5, 1), (12, 2), (9, 3)])
def test_some(seed: int, order: int) -> None:
    assert failure(seed, order) is None
