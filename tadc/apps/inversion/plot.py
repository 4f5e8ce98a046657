"""Pictures of plans: the flow graph of a program, after figure 2 of Pearlmutter and Siskind.

Statements go from left to right in the order in which they run. A slot is a row: a value stays in its row
while it lives, and what overwrites it takes the row over. Between two components as many slots are in use as
there are inputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tadc.toolkit.reporting import COLORS, GREY, INK, CompileError, Diagnostic, picture_of

if TYPE_CHECKING:
    from tadc.apps.undoing.plans.planned import Plan

#: More statements than this cannot be told apart.
MOST = 60


@dataclass(frozen=True)
class Life:
    """Where a value is drawn: its row, and from which column it lives to which."""

    name: str
    row: int
    begin: int
    end: int


def lives(plan: Plan) -> tuple[list[Life], list[tuple[int, int]]]:
    """The values of a plan in their rows; of each component the columns; inputs are column 0."""
    graph = plan.graph
    order = [position for planned in plan.steps for position in planned.component.statements]
    column = {name: 0 for name in graph.inputs}
    column |= {graph.statements[position].name: n for n, position in enumerate(order, 1)}
    end = {
        name: max((column[graph.statements[p].name] for p in readers), default=column[name])
        for name, readers in graph.readers.items()
    }
    end |= {name: len(order) + 1 for name in graph.outputs}
    row, free = {name: n for n, name in enumerate(graph.inputs)}, list[int]()
    spans: list[tuple[int, int]] = []
    begin, rows = 1, len(row)
    for planned in plan.steps:
        component = planned.component
        # Each new value takes over the row of a dying one; what is only in between gets a row of its own.
        heirs = dict(zip(component.new, (row[name] for name in component.dying), strict=False))
        for position in component.statements:
            name = graph.statements[position].name
            if name in heirs:
                row[name] = heirs[name]
            else:
                if not free:
                    free.append(rows)
                    rows += 1
                row[name] = free.pop()
        free += [
            row[graph.statements[p].name]
            for p in component.statements
            if graph.statements[p].name not in component.new
        ]
        spans.append((begin, begin + len(component.statements) - 1))
        begin += len(component.statements)
    return [Life(name, row[name], column[name], end[name]) for name in column], spans


def draw(plan: Plan, kind: str) -> bytes:
    """The picture in a format: svg, png or pdf.

    Raises CompileError: TAD0802 without matplotlib, TAD0803 where there are too many statements.
    """
    _check(plan)
    found, spans = lives(plan)
    rows = 1 + max(life.row for life in found)

    def fill(figure: Any) -> None:
        axes = figure.add_subplot()
        _values(axes, plan, found)
        _components(axes, plan, spans, rows)

    return picture_of(kind, (2 + 0.9 * (spans[-1][1] + 2), 1.2 + 0.7 * rows), fill)


def _check(plan: Plan) -> None:
    count = len(plan.graph.statements)
    if 0 < count <= MOST:
        return
    note = f"the program has {count} statements" if count else "the outputs are the inputs"
    helps = [f"draw a program of at most {MOST} statements"] if count else []
    source = plan.graph.program.source
    raise CompileError(
        [Diagnostic("TAD0803", "there is nothing to draw", notes=[note], helps=helps, source=source)]
    )


def _values(axes: Any, plan: Plan, found: list[Life]) -> None:
    """A line for each value along its row, and an arrow from each value to what reads it."""
    graph = plan.graph
    made = {life.name: life for life in found}
    for life in found:
        axes.plot([life.begin, life.end], [life.row, life.row], color=GREY, linewidth=1.5, zorder=1)
    for statement in graph.statements:
        there = made[statement.name]
        for read in graph.reads[statement.name]:
            here = made[read]
            style = {"arrowstyle": "->", "color": INK, "linewidth": 0.9, "shrinkB": 11}
            if here.row != there.row:
                axes.annotate(
                    "",
                    (there.begin, there.row),
                    (max(here.begin, there.begin - 0.7), here.row),
                    arrowprops=style,
                )
    outputs = set(graph.outputs)
    for life in found:
        size = graph.sizes[life.name]
        label = life.name if size == 1 else f"{life.name}\n{size}"
        edge = INK if life.name in outputs or not life.begin else GREY
        box = {"boxstyle": "circle,pad=0.25", "facecolor": "white", "edgecolor": edge}
        axes.text(life.begin, life.row, label, ha="center", va="center", color=INK, bbox=box, zorder=3)


def _components(axes: Any, plan: Plan, spans: list[tuple[int, int]], rows: int) -> None:
    """A band for each component, and the width of each state."""
    for number, ((begin, end), step) in enumerate(zip(spans, plan.steps, strict=True)):
        color = COLORS[number % len(COLORS)]
        axes.axvspan(begin - 0.45, end + 0.45, color=color, alpha=0.13, zorder=0, linewidth=0)
        title = f"{step.kind}\n{step.size}"
        axes.text((begin + end) / 2, -0.75, title, ha="center", va="bottom", fontsize=7, color=color)
    for place in (0.5, *(end + 0.5 for _, end in spans)):
        axes.axvline(place, color=GREY, linewidth=0.7, linestyle=":", zorder=0)
    axes.set(xlim=(-0.7, spans[-1][1] + 1.3), ylim=(rows - 0.4, -1.3), yticks=range(rows))
    axes.set(xlabel=f"statements; {plan.width} numbers are live at each dotted line", ylabel="slot")
    axes.set_xticks([])
    axes.spines[["top", "right"]].set_visible(False)
