"""What compiling deep, wide and nested programs takes does not explode."""

from __future__ import annotations

import pytest

from tests.fuzz.effort import Excess, counted, loops
from tests.fuzz.large import FAMILIES, Large

pytestmark = pytest.mark.filterwarnings("ignore::tadc.CompileWarning")

MOST = 40_000_000
"""No program of this file is let call more functions: half a minute."""

ONCE = 500_000
"""Calls that a short program may take."""

EACH = 25
"""Calls for each character of the loops: two or three times as many as most programs take."""


def calls(text: str, order: int) -> tuple[int, int]:
    """How many calls compiling takes, and how long the loops are."""
    with counted(MOST) as found:
        made = loops(text, order)
    return found.count, len(made)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("seed", range(len(FAMILIES)), ids=FAMILIES)
def test_calls_are_in_proportion_to_the_loops(seed: int, order: int) -> None:
    count, length = calls(Large(seed, 8).text, order)
    assert count <= ONCE + EACH * length


@pytest.mark.slow
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("seed", range(100, 199))
def test_many_programs(seed: int, order: int) -> None:
    count, length = calls(Large(seed).text, order)
    assert count <= ONCE + EACH * length


def sums(depth: int, size: str) -> str:
    """Sums of nothing but sums."""
    opened = "".join(f"sum{{i{n}: {size}}} (" for n in range(depth))
    return f"x: f64[N]; f[k] = {opened}x[k]{')' * depth}"


@pytest.mark.parametrize("size", ["1", "3", "N"])
def test_sums_of_sums_are_each_looked_at_once(size: str) -> None:
    """Not twice for each that is around them."""
    (few, _), (many, _) = calls(sums(10, size), 0), calls(sums(40, size), 0)
    assert many <= 10 * few


def test_counting_operations_ends() -> None:
    """Of conditions that tie the places of an index array to each other, three derivatives deep."""
    relation = "src: index[E] in N; x: f64[N + 2]"
    text = f"{relation}; f = prod{{e: src[e] % 2 = 0}} (1 + tanh(sum{{g: E}} (x[src[e] // 2 + 1])))"
    count, length = calls(text, 2)
    assert count <= ONCE + EACH * length


def test_places_are_looked_at_once_for_all_their_terms() -> None:
    """Of sums over the stored elements of two matrices: which indices others tell is known of a place."""
    matrices = (
        "r: index[E] in N; c: index[E] in N; q: index[F] in N; d: index[F] in N; "
        "A: f64[N, N] at (r, c); B: f64[N, N] at (q, d)"
    )
    text = f"{matrices}; z[i] = sum{{j, k}} ((A[i, j]/(2 + sin(B[i, k])))**2*(A[i, j]*B[i, k]))"
    count, length = calls(text, 1)
    assert count <= 5 * EACH * length


def test_functions_in_functions_are_each_looked_at_once() -> None:
    """Which coordinates a term has is told by what it is made of."""

    def nested(depth: int) -> str:
        body = "x[i] - x[i + 1]"
        for n in range(depth):
            body = f"sin({body}) + x[i]*{n}.5"
        return f"x: f64[N + 1]; f[i: N] = {body}"

    calls(nested(2), 0)
    (few, _), (many, _) = calls(nested(50), 0), calls(nested(400), 0)
    assert many <= 16 * few


def test_more_calls_are_an_error() -> None:
    with pytest.raises(Excess, match="more than 1,000 calls"), counted(1000):
        loops("x: f64[3]; f[i] = x[i]**2", 0)
