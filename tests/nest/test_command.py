"""`tadc f.nest` and `tadc emit nest`."""

from __future__ import annotations

from pathlib import Path

import pytest

import tadc
from tadc.cli import main
from tadc.compiler.all_stages import planned
from tadc.frontend.source import Source
from tadc.passes.nest.nest_reader import read_nests

NEST = "nest f(x: f64[3], out y: f64[3]) {{ for i = 0 to {} {{ %1 = x[i] y[i] = %1 }} }}\n"


def test_nests_of_a_file_are_verified_and_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "f.nest"
    file.write_text(NEST.format(3) * 2)
    assert main([str(file)]) == 0
    shown = capsys.readouterr().out
    assert shown.count("for i = 0 to 3 {\n") == 2
    assert main(["check", str(file), "-o", str(tmp_path / "g.nest")]) == 0
    assert (tmp_path / "g.nest").read_text().strip() == shown.strip()
    file.write_text(NEST.format(3) + NEST.format(4))
    assert main([str(file)]) == 1
    assert "f.nest:2:" in capsys.readouterr().err


@pytest.mark.parametrize("options", [["--wrt", "x"], ["--emit", "asm"], ["--fix"], ["-o", "f.tad"]])
def test_nests_take_no_options_of_programs(
    options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "f.nest"
    file.write_text(NEST.format(3))
    assert main([str(file), *options]) == 2
    assert "nests" in capsys.readouterr().err


def test_pieces_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "f.nest"
    file.write_text(NEST.format(3) + "# -----\n" + NEST.format(2))
    assert main([str(file), "--split-input-file"]) == 1
    said = capsys.readouterr()
    assert "for i = 0 to 3 {" in said.out
    assert "`y[2]` is never written" in said.err


@pytest.mark.parametrize("target", ["cpu", "cuda:sm_90"])
def test_the_stage_is_aside(target: str) -> None:
    """It is the last where it is asked for, and on no way to another."""
    lowered = tadc.function("x: f64[8]; f[i: 3] = 2*x[2*i]").lower(target)
    (read,) = read_nests(Source(lowered.as_text("nest")))
    assert read.nest.computed == ("f",)
    plain = [stage.name for stage in planned(lowered.options)]
    assert "nest" not in plain
    assert [stage.name for stage in planned(lowered.options, last="nest")] == [
        *plain[: plain.index("hoist") + 1], "nest",
    ]  # fmt: skip
