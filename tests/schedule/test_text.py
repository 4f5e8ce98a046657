"""Schedules as text, which reads back as the same schedule."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import pytest

from tadc.frontend.diagnostics import CompileError
from tadc.frontend.source import Source
from tadc.passes.nest.steps import Split, StageRead, Step
from tadc.passes.schedule.cpu_machine import CpuMachine
from tadc.passes.schedule.reader import WORDS, read_schedule
from tadc.passes.schedule.text import MapSchedule, Schedule, schedule_text
from tests.nest.programs import PROGRAMS, chosen_schedule, maps_of_program

DOCS = Path(__file__).parents[2] / "docs" / "schedules.md"

EVERYTHING = """\
map c, d.2
    join i, k -> ik
    reorder j, i
    reverse i
    peel i where i >= 4 and N >= 2*i + 3 by 2 room 8 groups all
    peel j
    threads i 6, j 1
    rows i 8
    residues i 2 -> i0, i1
    thread k2, l1 warp 32
    split i 6 overlap -> i2, i3
    split j 205 clip -> j0, j1
    split j1 5 rest -> j2, j3
    split j3 64 again -> j4, j5
    split i3 3 -> i4, i5
    cut %3 k 128 -> k0
    scatter %3 i -> i_block
    scatter %3 p -> row, room
    unroll i1, k
    unroll k by 4
    shift k
    jam i4
    lane i5
    stage %1 inside j0 over k, i4, i5 by transpose
    stage %2.x over k, i5
    stage %1 inside k0 by threads
    stage %2 by threads
    transpose %5 i4
    interleave i4
    prefetch %1 rows
    prefetch %2 vectors
    stream c, d.2
    points where i = j
    points where i = s - j step s
    fits i 6, j 1
    when N >= 4 and N * M <= 30
    flatten n
    in_blocks 64
    merge part, i0
    thread i1, c.j0 teams 2
    cut %3 k 1 -> k1 inside part
    stage c, d.2 in shared inside i0
    stage c in register inside part
map e
"""


def read(text: str) -> Schedule:
    return tuple(item.schedule for item in read_schedule(Source(text, "<test>")))


def test_every_step_reads_back() -> None:
    assert schedule_text(read(EVERYTHING)) == EVERYTHING


@pytest.mark.parametrize("step", get_args(Step), ids=lambda step: step.__name__)
def test_the_text_of_a_step_has_all_its_fields(step: Any) -> None:
    named = ",".join(re.findall(r"\{([\w,]+)", step.TEXT)).split(",")
    assert sorted(named) == sorted(field.name for field in fields(step))


@pytest.mark.parametrize("word", sorted(WORDS))
def test_every_step_stands_in_the_docs_and_reads_back(word: str) -> None:
    assert re.search(rf"^\|.*`{word} .*\|.*\|$", DOCS.read_text("utf-8"), re.M)
    if word not in ("grid", "block", "thread", "launch"):
        assert f"    {word} " in EVERYTHING


def test_layout_is_free() -> None:
    text = "map c: split i 6 -> i0, i1; # tiles\nlane i1 stage %1 over k, i1"
    steps = (
        Split("i", 6, "exact", "i0", "i1"),
        read("map c lane i1")[0].steps[0],
        StageRead("%1", "", ("k", "i1")),
    )
    assert read(text) == (MapSchedule(("c",), steps),)


@pytest.mark.parametrize("name", ["conv2d", "matmul", "attention", "orbit", "upsampling"])
def test_schedules_of_programs_read_back(name: str) -> None:
    for machine in (CpuMachine(64, 32, 1 << 18), CpuMachine(32, 16)):
        chosen = chosen_schedule(maps_of_program(PROGRAMS[name]), machine)
        assert read(schedule_text(chosen)) == chosen


@pytest.mark.parametrize(
    ("text", "at", "help"),
    [
        ("map c splt i 6 -> a, b", "splt", "did you mean `split`?"),
        ("map c split i 0 -> a, b", "0", "write 1 at least"),
        ("map c split i 6 overlp -> a, b", "overlp", "did you mean `overlap`?"),
        ("map c split i 6 -> a", "", "--emit schedule"),
        ("map c stage b over k", "over", "--emit schedule"),
        ("map c threads i, j, k", "i, j, k", "two indices"),
        ("split i 6 -> a, b", "split", "--emit schedule"),
    ],
)
def test_what_is_no_schedule(text: str, at: str, help: str) -> None:
    with pytest.raises(CompileError) as caught:
        read(text)
    (found,) = caught.value.diagnostics
    assert found.code == "TAD0611"
    assert found.primary is not None
    assert text[found.primary.span.start :].startswith(at)
    assert help in found.helps[0]
