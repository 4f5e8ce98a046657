"""Schedules that are given for kernels of a GPU, and steps that its threads cannot take."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import tadc
from tadc.backend.target import parse_target
from tadc.cli import main
from tadc.compiler.all_stages import compile_until
from tadc.compiler.compile_options import Options
from tadc.compiler.stages import Compilation
from tadc.frontend.source import Source

MATMUL = "a: f32[20, 24]; b: f32[24, 40]; c[i, j] = sum{k} (a[i, k] * b[k, j])"
COLUMNS = "a: f32[40, 20]; b: f32[40, 20]; c[i, j] = a[j, i] - exp(b[j, i])"
ROWS = "x: f32[20, 640]; y[i] = sum{j} (x[i, j])"
EXP = "x: f32[N, M]; y[i, j] = exp(x[i, j])"
HEAT = (
    "x: f64[N]; size T; scan{t} u[t: T, i: N] = x[i] + if {t > 0 and i > 0} then (u[t - 1, i - 1]) else (0)"
)
ORDER = (
    "x: f64[6, 7]; scan{i + j} f[i, j] = x[i, j] + (if {i >= 2 and j >= 2 and i <= 4 and j <= 4} "
    "then (f[i - 2, j + 1] * f[i + 1, j - 2]) else (0))"
)
STEPS = "x: f32[40]; scan{t} u[t: 5, i: 40] = x[i] + if {t > 0 and i > 0} then (u[t - 1, i - 1]) else (0)"
PROGRAMS = {
    "product": "a: f32[N, K]; b: f32[K, M]; c[i, j] = sum{k} (a[i, k] * b[k, j])",
    "known product": "a: f32[512, 64]; b: f32[64, 512]; c[i, j] = sum{k} (a[i, k] * b[k, j])",
    "rows": "x: f32[N, M]; y[i] = sum{j} (x[i, j])",
    "one sum": "x: f32[N]; s = sum{i} (x[i])",
    "flat": EXP,
    "vectors": "x: f32[N]; y[i: N - 1] = x[i] * 2; z[i: N] = sum{k: 3} (x[i] * k)",
    "transpose": "x: f32[256, 512]; y[i, j] = x[j, i]",
    "filter": "x: f32[4096]; w: f32[9]; y[i: 4088] = sum{k} (x[i + k] * w[k])",
    "triangle": "x: f32[64, 64]; y[i] = sum{j}_(0)^(i) (x[i, j])",
    "softmax": "x: f32[64, 128]; m[i] = max{j} (x[i, j]); e[i, j] = exp(x[i, j] - m[i])\n"
    "z[i] = sum{j} (e[i, j]); y[i, j] = e[i, j] / z[i]",
    "filter of rows": "x: f64[B, N]\nscan{t} p[b, t] = x[b, t] + if {t > 0} then (p[b, t - 1]) else (0)",
    "heat": HEAT,
    "diagonals that wait": ORDER,
    "places": "x: f32[64]; y[i, m: 2] = if {m = 0} then (exp(x[i])) else (sin(x[i]))",
}


def stage(text: str, last: str, schedule: str = "") -> str:
    """The text of a stage for a GPU."""
    given = Source(schedule, "f.sched") if schedule else None
    state = Compilation(Options(target=parse_target("cuda:sm_90"), schedule=given), Source(text))
    shown = compile_until(state, last).show(state)
    assert isinstance(shown, str)
    return shown


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_what_is_chosen_can_be_given(text: str) -> None:
    chosen = stage(text, "schedule")
    assert "map " in chosen
    assert stage(text, "gpu", chosen) == stage(text, "gpu")


def test_the_same_ptx() -> None:
    text = PROGRAMS["rows"]
    assert stage(text, "ptx", stage(text, "schedule")) == stage(text, "ptx")


TILES = """
    split i 16 guard -> i0, i1
    split i1 4 -> i2, i3
    split j 8 guard -> j0, j1
    reorder i0, j0, i2, j1, i3
    block i0, j0
    thread i2, j1
    jam i3
    in_blocks 32
"""
SHARED = "split k 5 clip -> k0, k1 stage %1 inside k0 by threads"
GIVEN = {
    "one thread": (MATMUL, "map c in_blocks 32"),
    "steps in launches": (STEPS, "map u reorder t, i launch t grid i in_blocks 32"),
    "steps in a block": (STEPS, "map u reorder t, i thread i in_blocks 64"),
    "no loop on threads of a block": (MATMUL, "map c block i, j in_blocks 64"),
    "tiles": (MATMUL, f"map c {TILES}"),
    "all that a block reads": (MATMUL, f"map c {TILES} stage %0 by threads"),
    "tiles, one read shared": (MATMUL, f"map c {TILES} {SHARED}"),
    "turns written out": (MATMUL, f"map c {TILES} {SHARED} unroll k0"),
    "turns split": (MATMUL, f"map c {TILES} {SHARED} split k0 2 guard -> k2, k3"),
    "rows of each turn": (MATMUL, f"map c {TILES} {SHARED} stage %0 inside k0 by threads"),
    "two reads shared": (COLUMNS, f"map c {TILES} stage %0 by threads stage %1 by threads"),
    "vectors moved back": (MATMUL, "map c split j 4 overlap -> j0, j1 grid i, j0 lane j1 in_blocks 32"),
    "warps": (ROWS, "map y grid i split j 32 clip -> j0, j1 thread j1 warp 32 in_blocks 64"),
    "columns": (ROWS, "map y grid i split j 4 clip -> j0, j1 thread j1 in_blocks 32"),
    "sizes": (EXP, "map y when (M % 4) = 0 flatten n grid n in_blocks 32\nmap y grid i, j in_blocks 64"),
}
ARGUMENTS = {
    MATMUL: ((20, 24), (24, 40)),
    COLUMNS: ((40, 20), (40, 20)),
    ROWS: ((20, 640),),
    EXP: ((5, 12),),
    STEPS: ((40,),),
}


@pytest.mark.parametrize(("program", "steps"), GIVEN.values(), ids=GIVEN)
def test_other_steps_have_the_same_values(program: str, steps: str) -> None:
    f, random = tadc.function(program), np.random.default_rng(0)
    arguments = [random.standard_normal(shape).astype("f4") for shape in ARGUMENTS[program]]
    found = tadc.compile(f, target="emulated:sm_90", schedule=steps)(*arguments)
    np.testing.assert_allclose(found, f(*arguments), rtol=1e-5, atol=1e-5)


def test_tiles_for_large_sizes_are_right_at_small_ones() -> None:
    """The first kernel of each map, for all sizes; boxes have every second element."""
    f = tadc.vjp(
        tadc.function(
            "x: f64[B, C, W]; w: f64[F, C, 3]\n"
            "y[n, o, j: (W - 1) // 2] = sum{c, u} (w[o, c, u] * x[n, c, 2*j + u])"
        )
    )
    _, *kernels = f.lower(target="emulated:sm_90").schedule.split("# ")
    first = {re.findall(r"map (\w+)", kernel)[0]: kernel for kernel in reversed(kernels) if kernel}
    steps = "".join(re.sub(r"tad_.*|when .*", "", kernel) for kernel in first.values())
    assert steps.count("by threads") == 4
    random = np.random.default_rng(0)
    arguments = [random.standard_normal(shape) for shape in ((3, 5, 9), (4, 5, 3), (3, 4, 4))]
    found = tadc.compile(f, target="emulated:sm_90", schedule=steps)(*arguments)
    for one, other in zip(found, f(*arguments), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("row", ["k <= i + j", "k >= i"])
def test_sums_whose_ends_are_in_a_block_that_is_shared(row: str) -> None:
    """The schedule of large matrices at small sizes: some steps of a copied block have no element."""
    text = f"a: f32[N, N]; b: f32[N, N]; c[i, j] = sum{{k: {row}}} (a[i, k]*b[k, j])"
    f = tadc.function(text)
    steps = f.at({"N": 1024}).lower(target="emulated:sm_90").schedule
    assert "by threads" in steps
    a, b = np.random.default_rng(1).standard_normal((2, 70, 70)).astype("f4")
    found = tadc.compile(f.at({"N": 70}), target="emulated:sm_90", schedule=steps)(a, b)
    i, j, k = np.ogrid[:70, :70, :70]
    kept = k <= i + j if row == "k <= i + j" else (k >= i) & (j >= 0)
    expected = np.where(kept, a[:, None, :].astype("f8") * b.T[None], 0).sum(axis=2)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("program", "steps", "at", "words"),
    [
        (MATMUL, "map d", "map d", "no map computes `d`"),
        (MATMUL, "map c", "map c", "how many threads"),
        (MATMUL, "map c in_blocks 48", "in_blocks", "whole warps of 32"),
        (MATMUL, "map c in_blocks 2048", "in_blocks", "no more than 1024"),
        (MATMUL, "map c split z 4 -> z0, z1 in_blocks 32", "split", "no loop `z`"),
        (MATMUL, "map c split i 3 clip -> i0, i1 in_blocks 32", "split", "do not end so"),
        (MATMUL, "map c threads i 2 in_blocks 32", "threads", "kernels of a GPU"),
        (MATMUL, "map c grid j in_blocks 32", "grid", "`j` is divided"),
        (MATMUL, "map c block i thread j in_blocks 32", "in_blocks", "40 points"),
        (MATMUL, "map c split j 8 -> j0, j1 grid i, j0 lane j1 in_blocks 32", "lane", "of 16 bytes"),
        (MATMUL.replace("24", "K"), f"map c {TILES} stage %0 by threads", "stage", "moves with a reduction"),
        (MATMUL, f"map c {TILES} {SHARED.replace('5', '4096')}", "stage", "of memory, and has 49152"),
        (MATMUL, f"map c grid i, j in_blocks 32 {SHARED}", "stage", "no loop is divided"),
        (MATMUL, f"map c {TILES} stage %1 inside i0 by threads", "stage", "no index of a reduction"),
        (MATMUL, f"map c {TILES} {SHARED.replace('by', 'over i2 by')}", "stage", "leave `over`"),
        (MATMUL, f"map c {TILES} stage %1 inside j0 over k, j1", "stage", "only threads copy"),
        (MATMUL, f"map c {TILES} {SHARED} reorder k1, k0", "reorder k1", "no loop `k1`"),
        (MATMUL, f"map c {TILES} {SHARED} thread k0", "thread", "where it stands in another"),
        (
            MATMUL,
            "map c grid i, j split k 8 clip -> k0, k1 thread k1 warp 8 in_blocks 32",
            "thread",
            "warp has 32",
        ),
        (
            MATMUL,
            "map c grid i, j split k 64 clip -> k0, k1 thread k1 warp 32 in_blocks 256",
            "thread",
            "neither a warp",
        ),
        (MATMUL, "map c flatten n in_blocks 32", "flatten", "others than those at its place"),
        (MATMUL, "map c in_blocks 32 when 4 >= 2", "when", "before all others"),
        (HEAT, "map u grid i in_blocks 32", "in_blocks", "in another order, or read before"),
        (HEAT, "map u grid t, i in_blocks 32", "in_blocks", "in another order, or read before"),
        (HEAT, "map u reorder t, i thread i in_blocks 33", "in_blocks", "whole warps of 32"),
        (HEAT, "map u reorder t, i launch t grid i", "grid", "in another order, or read before"),
        (ORDER, "map f grid step in_blocks 32", "in_blocks", "in another order, or read before"),
        (EXP, "map y when N >= 4 grid i, j in_blocks 32", "when", "all other sizes"),
        (EXP, "map y flatten n split n 8 -> a, b grid a, b in_blocks 32", "split", "does not divide"),
        (EXP, "map y flatten n split n 8 guard -> a, b grid a, b in_blocks 32", "grid", "together"),
    ],
)
def test_steps_that_do_not_fit(program: str, steps: str, at: str, words: str) -> None:
    with pytest.raises(tadc.CompileError) as caught:
        stage(program, "schedule", steps)
    (found,) = caught.value.diagnostics
    assert (found.code, found.source and found.source.name) == ("TAD0612", "f.sched")
    assert found.primary is not None
    assert steps[found.primary.span.start :].startswith(at)
    assert words in found.primary.text
    assert found.helps


def test_a_cpu_takes_no_steps_of_a_gpu() -> None:
    for steps in ("map c grid i", "map c in_blocks 32", "map c when 3 >= 2", "map c merge i"):
        with pytest.raises(tadc.CompileError, match="does not fit"):
            tadc.compile(tadc.function(MATMUL), schedule=steps)


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program, schedule = tmp_path / "f.tad", tmp_path / "f.sched"
    program.write_text(MATMUL)
    common = [str(program), "--target", "cuda:sm_90"]
    assert main([*common, "--emit", "schedule"]) == 0
    schedule.write_text(capsys.readouterr().out)
    assert main([*common, "--emit", "gpu", "--schedule", str(schedule)]) == 0
    assert "gpu.func" in capsys.readouterr().out
    schedule.write_text("map c\n    splt i 4 -> i0, i1\n")
    assert main([*common, "--emit", "gpu", "--schedule", str(schedule)]) == 1
    assert f"{schedule}:2:5" in capsys.readouterr().err
