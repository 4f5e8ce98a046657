"""Tiles of sums whose edges are left out, and of results whose rows share sets of the cache."""

from __future__ import annotations

import re
from itertools import islice

import pytest

import tadc
from tadc.backend.target import parse_target
from tadc.compiler.choices import choices_of
from tadc.compiler.compile_options import Options
from tadc.compiler.stages import Compilation
from tadc.passes.nest.steps import Cut, StageRead

PADDED = """x: f32[2, 64, N, N]; w: f32[64, 64, 3, 3]
y[b, o, i: N, j: N] = sum{c} (sum{p}_(max [0; 1 - i])^(min [2; N - i]) (
    sum{q}_(max [0; 1 - j])^(min [2; N - j]) (x[b, c, i + p - 1, j + q - 1]*w[o, c, p, q])))"""
VALID = """x: f32[4, 32, N + 2, M + 2]; w: f32[64, 32, 3, 3]
y[b, o, i: N, j: M] = sum{c, p, q} (x[b, c, i + p, j + q]*w[o, c, p, q])"""


def steps_of(text: str, target: str, **sizes: int) -> str:
    return tadc.function(text, sizes=sizes).lower(target=target).schedule


@pytest.mark.parametrize("size", [26, 28, 36])
def test_edges_of_few_elements_make_no_small_tiles(size: int) -> None:
    # With two vectors, tiles of four rows and more do not wait for additions; an edge is a row of its own.
    steps = steps_of(PADDED, "cpu:x86-64-v3", N=size)
    rows = re.findall(r"split [ij] (\d+)", steps)
    assert rows
    assert all(int(count) >= 4 for count in rows), steps


@pytest.mark.parametrize(("rows", "columns"), [(32, 32), (16, 64)])
def test_no_tile_stores_rows_that_share_a_set(rows: int, columns: int) -> None:
    # The results of 64 channels are 4 KiB apart, where all lines are of one set of the first cache.
    assert "lane j" in steps_of(VALID, "cpu:x86-64-v4", N=rows, M=columns)
    assert "lane o" in steps_of(VALID, "cpu:x86-64-v4", N=rows - 4, M=columns - 4)


def test_tilings_without_panels_have_blocks() -> None:
    f = tadc.function("a: f32[8192, 512]; b: f32[8192, 128]; c[i, j] = sum{k} (a[k, i]*b[k, j])")
    options = Options(target=parse_target("cpu:x86-64-v4"))
    (function,) = choices_of(Compilation(options, f.program.source, program=f.program))
    others = [each.steps for each in islice(function.maps[0].others, 20)]
    kinds = [{type(step) for step in steps} for steps in others]
    assert any(Cut in each and StageRead not in each for each in kinds)
