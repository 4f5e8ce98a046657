"""Schedules that are given, in the place of those that would be chosen."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tadc
from tadc.cli import main

MATMUL = "a: f64[9, 30]\nb: f64[30, 20]\nc[i, j] = sum{k} (a[i, k] * b[k, j])"
SCAN = "x: f64[6, 9]\nscan{t} p[b, t] = if {t > 0} then (p[b, t - 1] + x[b, t]) else (x[b, t])"
STEP = "x[b, t] + (if {t >= 1} then (sin(u[b, t - 1])) else (x[b, t]))"
TILES = """
    split i 3 -> i0, i1
    split j 8 overlap -> j0, j1
    reorder j0, i0, i1, j1
    jam i1
    lane j1
"""
GIVEN = {
    "plain": "map c",
    "tiles": f"map c {TILES}",
    "threads": "map c threads i 2 split i 2 overlap -> i0, i1 lane i1",
    "staged": f"map c {TILES} stage %0 inside j0 over k, j1",
    "parts": "map c peel i where i >= 2 and i <= 6 split j 6 rest -> j0, j1 unroll j1",
}


@pytest.mark.parametrize("steps", GIVEN.values(), ids=GIVEN)
def test_results_have_the_same_bits(steps: str) -> None:
    f, random = tadc.function(MATMUL), np.random.default_rng(0)
    a, b = random.standard_normal((9, 30)), random.standard_normal((30, 20))
    np.testing.assert_array_equal(tadc.compile(f, schedule=steps)(a, b), f(a, b))


def test_blocks_of_a_reduction() -> None:
    f, random = tadc.function(MATMUL), np.random.default_rng(0)
    a, b = random.standard_normal((9, 30)), random.standard_normal((30, 20))
    steps = "map c split j 8 overlap -> j0, j1 cut %3 k 7 -> k0 reorder j0, k0, i, j1 lane j1"
    np.testing.assert_allclose(tadc.compile(f, schedule=steps)(a, b), a @ b, rtol=1e-13)


def test_what_is_chosen_can_be_given() -> None:
    f = tadc.function(MATMUL)
    chosen = f.lower().schedule
    assert chosen.startswith("function c\n\nmap c")
    tadc.compile(f, schedule=chosen)


@pytest.mark.parametrize(
    ("program", "steps", "at", "words"),
    [
        (MATMUL, "map d", "map d", "no map computes `d`"),
        (MATMUL, "map c split z 4 -> z0, z1", "split", "no loop `z`"),
        (MATMUL, "map c split i 4 -> i0, i1", "split", "does not divide"),
        (MATMUL, "map c split i 4 overlap -> j, i1", "split", "`j` is taken"),
        (MATMUL, "map c stage %9 over k", "stage", "`%9`"),
        (MATMUL, f"map c {TILES} stage %1 inside j0 over k, j1", "stage", "no index or size here"),
        (
            MATMUL.replace("30", "90000"),
            f"map c {TILES} stage %0 inside j0 over k, j1",
            "stage",
            "that the stack has",
        ),
        (MATMUL, "map c rows i 8", "rows", "no chain"),
        (MATMUL, "map c reorder j, j, i", "reorder", "`j` is named twice"),
        (MATMUL, "map c interleave nowhere", "interleave", "no loop `nowhere`"),
        (MATMUL, "map c interleave i", "interleave", "neither copies nor written out"),
        (MATMUL, "map c transpose %0 nowhere", "transpose", "no loop `nowhere`"),
        (MATMUL, "map c transpose %0 i", "transpose", "no copies"),
        (MATMUL, "map c transpose %0 k", "transpose", "not written out"),
        (MATMUL, "map c transpose %99 i", "transpose", "`%99` is no read"),
        (MATMUL, "map c lane j map c jam i", "map c jam", "`c` has steps above"),
        (MATMUL, "map c threads i 1 threads j 1", "threads j", "once"),
        (MATMUL, "map c points where i = j", "points", "other points"),
        (MATMUL, "map c split i 4 overlap -> i0, i1 cut %3 k 7 -> k0", "split", "joined twice"),
        (MATMUL, "map c threads i 1 split i 3 -> i0, i1 cut %3 k 7 -> k0", "threads", "two threads"),
        (SCAN, "map p threads t 1", "threads", "another order"),
        (SCAN, "map p split t 3 -> t0, t1 lane t1", "split", "another order"),
    ],
)
def test_steps_that_do_not_fit(program: str, steps: str, at: str, words: str) -> None:
    with pytest.raises(tadc.CompileError) as caught:
        tadc.compile(tadc.function(program), schedule=steps)
    (found,) = caught.value.diagnostics
    assert found.code == "TAD0612"
    assert found.primary is not None
    assert steps[found.primary.span.start :].startswith(at)
    assert words in found.primary.text


def test_no_tile_of_a_recurrence_that_runs_again_is_moved_back() -> None:
    g = tadc.vjp(
        tadc.function("x: f64[10, 30]\nlet scan{t} u[b: 10, t: 30] = " + STEP + "\ny[b: 10] = u[b, 29]")
    )
    steps = "map u split b 8 {} -> b0, b1 reorder b0, t, b1 lane b1"
    tadc.compile(g, schedule=steps.format("overlap"))
    tadc.compile(g, schedule=steps.format("rest"), memory_limit=400)
    with pytest.raises(tadc.CompileError, match="computed again from later steps"):
        tadc.compile(g, schedule=steps.format("overlap"), memory_limit=400)


def test_usage() -> None:
    f = tadc.function(MATMUL)
    with pytest.raises(tadc.UsageError, match="is text"):
        tadc.compile(f, schedule=3)  # pyright: ignore[reportArgumentType]


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program, schedule = tmp_path / "f.tad", tmp_path / "f.sched"
    program.write_text(MATMUL)
    schedule.write_text("map c split j 4 -> j0, j1 lane j1")
    common = [str(program), "--schedule", str(schedule)]
    assert main([*common, "--emit", "loops"]) == 0
    assert "vector<4xf64>" in capsys.readouterr().out
    schedule.write_text("map c split j 7 -> j0, j1")
    assert main([*common, "--emit", "loops"]) == 1
    error = capsys.readouterr().err
    assert "TAD0612" in error
    assert f"{schedule}:1:7" in error
