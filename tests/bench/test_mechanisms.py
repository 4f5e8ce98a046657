"""What mechanisms buy: each can be switched off, and what that changes is measured."""

from __future__ import annotations

from dataclasses import replace

import pytest

import tadc
from bench import mechanisms
from bench.mechanisms import Finding
from bench.switches import SWITCHES
from bench.workloads import MATMUL

SIZES = {"N": 48, "K": 64, "M": 48}


@pytest.mark.parametrize("switch", SWITCHES, ids=lambda switch: switch.name)
def test_each_is_there_to_be_switched_off(switch: mechanisms.Switch) -> None:
    with switch.off():
        pass


def test_a_program_that_one_changes_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mechanisms, "BUDGET", 0.0)
    monkeypatch.setattr(mechanisms, "LEAST", 1)
    found = {
        switch.name: Finding(switch) for switch in SWITCHES if switch.name in ("register tiles", "residues")
    }
    mechanisms.measure(replace(MATMUL, sizes=SIZES), list(found.values()))
    assert found["register tiles"].ratios.keys() == {"matmul"}
    assert not found["residues"].ratios


def test_the_row_of_a_mechanism() -> None:
    finding = Finding(SWITCHES[0], {"one": 4.0, "other": 0.5, "third": 1.01})
    assert finding.row(4).endswith("| 3 | 1.192 | one 4.00 | other 0.50 |")


def test_a_switch_is_on_again() -> None:
    function = tadc.function(MATMUL.text("f32"), sizes=SIZES)
    before = function.lower().schedule
    (tiles,) = (switch for switch in SWITCHES if switch.name == "register tiles")
    with tiles.off():
        assert "jam" not in tadc.function(MATMUL.text("f32"), sizes=SIZES).lower().schedule
    assert "jam" in before
    assert tadc.function(MATMUL.text("f32"), sizes=SIZES).lower().schedule == before
