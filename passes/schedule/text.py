"""The text of schedules: where the tensors of a function are computed, and for each map the steps that its
nest takes, one a line.

function f
    merge c, d
map c
    split i 6 overlap -> i0, i1
    split j 32 -> j0, j1
    split j1 16 -> j2, j3
    reorder j0, i0, i1, j2, j3
    jam i1, j2
    lane j3
    stage %1 inside j0 over k, j2, j3
    threads i 6
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import get_args

from tadc.lattice.late_dataclasses import dataclass
from tadc.passes.maps.size_tests import SizeTest
from tadc.passes.nest.form_text import form_text
from tadc.passes.nest.grammar import Grammar, Kind, Writer, listed, one_of, plain
from tadc.passes.nest.steps import Ahead, BoundKind, Fill, Near, Step, Tail
from tadc.passes.where import WhereStep

STEPS = Grammar(
    {step: step.TEXT for step in (*get_args(WhereStep), *get_args(Step))},
    {
        "str": plain(str, lambda reader: reader.name("a loop")),
        "number": plain(str, lambda reader: reader.integer()),
        "tensor": plain(str, lambda reader: reader.name("a tensor")),
        "tuple[str, ...]": listed(lambda reader: reader.name("a loop")),
        "BoundKind": one_of(get_args(BoundKind), "kind of loop"),
        "Tail": one_of(get_args(Tail), "way to end tiles"),
        "Fill": one_of(get_args(Fill), "way to fill a buffer"),
        "Near": one_of(get_args(Near), "memory of threads"),
        "Ahead": one_of(get_args(Ahead), "way to ask ahead"),
        "tuple[SizeTest, ...]": Kind(
            lambda writer, tests: " and ".join(map(_test, tests)), lambda reader, after: reader.tests()
        ),
        "pairs": Kind(
            lambda writer, pairs: ", ".join(f"{name} {count}" for name, count in pairs),
            lambda reader, after: reader.several(reader.pair),
        ),
    },
)
"""The text of each step."""


@dataclass(frozen=True)
class MapSchedule:
    """The steps for the map that computes some tensors."""

    tensors: tuple[str, ...]
    steps: tuple[Step, ...]


Schedule = tuple[MapSchedule, ...]


def schedule_text(schedule: Iterable[MapSchedule]) -> str:
    """A schedule as text, which `read_schedule` reads back."""
    lines: list[str] = []
    for item in schedule:
        lines.append(f"map {', '.join(item.tensors)}")
        lines += [f"    {step_text(step)}" for step in item.steps]
    return "\n".join([*lines, ""])


def function_text(name: str, steps: Iterable[WhereStep]) -> str:
    """Where the tensors of a function are computed, as text."""
    return "\n".join([f"function {name}", *(f"    {step_text(step)}" for step in steps), ""])


def step_text(step: Step | WhereStep) -> str:
    """One step."""
    return Writer(STEPS).record(step)


def text_by_place(steps: Iterable[Step], names: Iterable[str]) -> str:
    """Steps as text where these names, and those of loops that steps make, are numbers in this order: it is
    the same for the same steps of maps that differ in names."""
    steps = tuple(steps)
    made = (getattr(step, field, None) for step in steps for field in ("outer", "inner", "joint"))
    numbers = {name: f"#{n}" for n, name in enumerate(dict.fromkeys((*names, *filter(None, made))))}
    text = "\n".join(map(step_text, steps))
    return re.sub(r"[\w.]+", lambda found: numbers.get(found[0], found[0]), text)


def _test(test: SizeTest) -> str:
    extents = [form_text(extent) for extent in test.extents]
    product = " * ".join(f"({text})" if " " in text else text for text in extents)
    if test.least == test.most:
        return f"{product} = {test.most}"
    least = [f"{product} >= {test.least}"] * (test.least > 0)
    return " and ".join([*least, *([] if test.most is None else [f"{product} <= {test.most}"])])
