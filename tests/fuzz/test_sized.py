"""Random programs with size symbols: one kernel for all sizes against JAX on the numbers."""

from __future__ import annotations

import pytest

from tests.fuzz.sized import generate
from tests.fuzz.sized_compare import Outcome, compare

CHUNK = 25

pytestmark = pytest.mark.filterwarnings("ignore::tadc.CompileWarning")


def outcomes(first: int, count: int, order: int) -> list[Outcome]:
    seeds = range(first, first + count)
    return [compare(*generate(seed, small=order > 1), order=order, seed=seed) for seed in seeds]


@pytest.mark.parametrize(
    ("first", "count", "order"), [(0, 3, 1), pytest.param(100, 3, 2, marks=pytest.mark.slow), (201, 1, 3)]
)
def test_sizes(first: int, count: int, order: int) -> None:
    found = outcomes(first, count, order)
    assert sum(outcome.compared for outcome in found) >= 3 * count
    assert sum(outcome.rejected for outcome in found) <= count // 2


def test_a_reduction_over_nothing() -> None:
    """The program of this seed has a logsumexp that is empty at some sizes: -inf, as the language says."""
    program, tries = generate(607)
    assert "logsumexp" in str(program)
    assert compare(program, tries, order=1, seed=607).compared == len(tries)


@pytest.mark.slow
@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("first", range(1000, 1500, CHUNK))
def test_many(first: int, order: int) -> None:
    """500 more at every order."""
    assert len(outcomes(first, CHUNK, order)) == CHUNK
