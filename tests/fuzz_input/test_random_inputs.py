"""Random inputs end in a program or in diagnostics; `python -m tests.fuzz_input` tries them for long."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz_input.attempt import failure
from tests.fuzz_input.inputs import make

CHUNK = {"bytes": 100, "tokens": 100, "programs": 10}


@pytest.mark.parametrize("part", range(2))
@pytest.mark.parametrize("kind", CHUNK)
def test_random_inputs(kind: str, part: int, tmp_path: Path) -> None:
    """A few hundred of each kind."""
    count = CHUNK[kind]
    seeds = range(part * count, (part + 1) * count)
    wrong = {seed: failure(make(kind, seed), tmp_path / "input.tad") for seed in seeds}
    assert not {seed: text for seed, text in wrong.items() if text}


@pytest.mark.slow
@pytest.mark.parametrize("kind", CHUNK)
def test_many_inputs(kind: str, tmp_path: Path) -> None:
    """About ten minutes of all kinds."""
    count = 60 * CHUNK[kind]
    wrong = {seed: failure(make(kind, seed), tmp_path / "input.tad") for seed in range(1000, 1000 + count)}
    assert not {seed: text for seed, text in wrong.items() if text}
