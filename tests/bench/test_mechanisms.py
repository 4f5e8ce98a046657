"""What mechanisms buy: each can be switched off, and what that changes is measured."""

from __future__ import annotations

import inspect
import re
from dataclasses import replace

import pytest

import tadc
from bench import mechanisms
from bench.mechanisms import Finding
from bench.switches import SWITCHES
from bench.workloads import MATMUL
from tadc.passes import catalogue, term_catalogue

SIZES = {"N": 48, "K": 64, "M": 48}


@pytest.mark.parametrize("switch", SWITCHES, ids=lambda switch: switch.name)
def test_each_is_there_to_be_switched_off(switch: mechanisms.Switch) -> None:
    with switch.off():
        pass


#: What programs are not right, or have no end, without: derivatives and their normal form, the marks of what
#: was decided or given, the kernels of a GPU.
NEEDED = {
    "active_tensors", "forward_program", "reverse_program", "jacobian_program", "by_tangents",
    "cancel_program", "with_fibres", "simplify_program", "renewed", "factor_program", "stored_for_values",
    "mark_maps", "blocks", "with_gathered_rows", "is_of_elements", "lower_to_loops",
    "operations_of", "gpu_of", "with_stored_values", "store_compared", "store_compared_of_recurrences",
    "stored_for_derivative", "store_values",
}  # fmt: skip


def test_every_pass_of_the_catalogues_can_be_switched_off() -> None:
    switched = {name for switch in SWITCHES for name in switch.without}
    functions = {
        (module.__name__.split(".")[-1], name)
        for module in (catalogue, term_catalogue)
        for name, found in vars(module).items()
        if inspect.isfunction(found) and re.search(r"\.passes\.\w+\.", found.__module__)
    }
    assert {name for module, name in functions if f"{module}:{name}" not in switched} == NEEDED


def test_the_table_has_each_mechanism() -> None:
    rows = re.findall(
        r"^\| ([^|]+) \| [^|]+ \| \d+ \| \d+\.\d{3} \|", mechanisms.PAGE.read_text("utf-8"), re.M
    )
    assert sorted(rows) == sorted(switch.name for switch in SWITCHES)


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
