"""Memory that tensors in use at different times share."""

from __future__ import annotations

import random

from tadc.backend.runtime.parameters import Parameter
from tadc.backend.runtime.workspace import ALIGNMENT, Temporary, workspace


def tensor(size: int, first: int, last: int) -> Temporary:
    """A temporary of so many lines of the cache."""
    return Temporary(Parameter("t", "f32", (size * ALIGNMENT // 4,)), first, last)


def test_a_chain_takes_two_places() -> None:
    found = workspace([tensor(3, n, n + 1) for n in range(5)])
    assert found.offsets == (0, 192, 0, 192, 0)
    assert found.bytes == 384


def test_the_smallest_gap_is_taken() -> None:
    """Between tensors of 9 lines that live on are gaps of 4 and 3 lines when those of 8 and 7 are gone."""
    found = workspace([tensor(8, 0, 0), tensor(9, 0, 9), tensor(7, 0, 0), tensor(3, 1, 2), tensor(6, 1, 2)])
    assert [offset // ALIGNMENT for offset in found.offsets] == [9, 0, 17, 15, 9]
    assert found.bytes == 24 * ALIGNMENT


def test_empty_tensors_take_nothing() -> None:
    assert workspace([tensor(0, 0, 1), tensor(1, 0, 1)]).bytes == ALIGNMENT
    assert workspace([]).bytes == 0


def test_random_lives() -> None:
    """No two tensors in use at once overlap; the bytes are between the most in use at once and all."""
    for seed in range(300):
        rng = random.Random(seed)
        spans = [sorted(rng.choices(range(8), k=2)) for _ in range(rng.randrange(1, 12))]
        all_of = [Temporary(Parameter("t", "f64", (rng.randrange(60),)), span[0], span[1]) for span in spans]
        found = workspace(all_of)
        for n, x in enumerate(all_of):
            start, end = found.offsets[n], found.offsets[n] + x.tensor.bytes
            assert start % ALIGNMENT == 0
            assert end <= found.bytes
            for m, y in enumerate(all_of[:n]):
                if x.first <= y.last and y.first <= x.last:
                    assert end <= found.offsets[m] or found.offsets[m] + y.tensor.bytes <= start
        at_once = (sum(t.tensor.bytes for t in all_of if t.first <= time <= t.last) for time in range(8))
        rounded = sum(-(-t.tensor.bytes // ALIGNMENT) * ALIGNMENT for t in all_of)
        assert max(at_once) <= found.bytes <= rounded
