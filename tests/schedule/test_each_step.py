"""Each step of a schedule that is chosen says something: given back, the schedule makes the same loops, and
without one of its steps others, or an error."""

from __future__ import annotations

from dataclasses import replace

import pytest

import tadc
from bench.everyday import EVERYDAY
from bench.workloads import WORKLOADS
from tadc.api.lowered import Lowered
from tadc.frontend.source import Source

PROGRAMS = {each.name: each for each in (*WORKLOADS, *EVERYDAY)}

QUICK = ("softmax", "mean-pool", "heat-steps")
OTHERS = (
    "matmul",
    "cubic",
    "max-pool",
    "stencil",
    "permuted",
    "mttkrp",
    "banded",
    "hinge",
)
MOST = 16
"""So many steps of a program are left out."""

FORMS = {"cpu": "loops", "cuda:sm_90": "gpu"}


def loops(lowered: Lowered, schedule: str, form: str) -> str | None:
    """The loops of a program with a schedule; None where that does not fit."""
    options = replace(lowered.options, schedule=Source(schedule, "<schedule>"))
    try:
        return Lowered(lowered.program, options).as_text(form)
    except tadc.CompileError as error:
        if error.diagnostics[0].code == "TAD0612":
            return None
        raise


def without_each(schedule: str) -> list[tuple[str, str]]:
    """Steps, each with the schedule without it; that a map runs for some rows follows from a step of the
    function."""
    lines = schedule.split("\n")
    places = [n for n, line in enumerate(lines) if line.startswith("    ") and "    rows" not in line]
    chosen = places[:: max(1, -(-len(places) // MOST))]
    return [(lines[n].strip(), "\n".join([*lines[:n], *lines[n + 1 :]])) for n in chosen]


@pytest.mark.parametrize("target", FORMS)
@pytest.mark.parametrize("name", [*QUICK, *(pytest.param(name, marks=pytest.mark.sweep) for name in OTHERS)])
def test_each_step_changes_the_loops(name: str, target: str) -> None:
    """Of value and gradients."""
    workload, form = PROGRAMS[name], FORMS[target]
    lowered = workload.derivative("f32", workload.sizes).lower(target)
    chosen = lowered.as_text(form)
    assert loops(lowered, lowered.schedule, form) == chosen
    idle = [step for step, rest in without_each(lowered.schedule) if loops(lowered, rest, form) == chosen]
    assert not idle
