"""Nests that seeds draw, and weights that are fitted to their times."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import tadc
from bench import calibrate
from bench.drawn_nests import drawn_nest
from bench.weights import FITTED, fitted
from tadc.passes.schedule.cpu_machine import CpuMachine


@pytest.mark.parametrize("seed", range(0, 60, 4))
def test_nests_that_are_drawn_are_programs(seed: int) -> None:
    program = tadc.function(drawn_nest(seed)).program
    assert len(program.outputs) == 1
    assert not program.sizes


@dataclass
class Made:
    """Tilings that load and broadcast so often, and take what a machine of other weights takes."""

    counts: Sequence[tuple[int, int]]

    @property
    def seconds(self) -> list[float]:
        return self.costs({"load": 1.0, "broadcast": 3.0})

    def costs(self, weights: Mapping[str, float]) -> list[float]:
        return [loads * weights["load"] + others * weights["broadcast"] for loads, others in self.counts]

    def loss_by(self, costs: Sequence[float]) -> float:
        return self.seconds[int(np.argmin(costs))] / min(self.seconds)


def test_weights_are_fitted_to_times() -> None:
    nests = [Made([(8, 1), (4, 3), (1, 5)]), Made([(9, 2), (3, 6)]), Made([(2, 1), (1, 2)])]
    before = {name: getattr(CpuMachine(), name) for name in FITTED}
    assert max(nest.loss_by(nest.costs(before)) for nest in nests) > 1
    weights = fitted(nests)
    assert all(nest.loss_by(nest.costs(weights)) == 1 for nest in nests)
    assert weights["broadcast"] / weights["load"] == pytest.approx(3, rel=0.3)


def test_the_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calibrate, "NEAR", 2)
    monkeypatch.setattr(calibrate, "FAR", 0)
    monkeypatch.setattr(calibrate, "race", lambda calls, seconds: [1.0, *[2.0] * (len(calls) - 1)])
    file, threads = tmp_path / "times.json", tadc.get_num_threads()
    words = ["--nests", "3", "--times", str(file), "--worst", "1", "--target", "cpu"]
    try:
        calibrate.main(words)
    finally:
        tadc.set_num_threads(threads)
    assert "what is chosen                   loss 1.000 median" in capsys.readouterr().out
    assert len(json.loads(file.read_text())["cpu"]) == 3
