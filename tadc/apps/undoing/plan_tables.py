"""Plans as tables."""

from __future__ import annotations

import io

from rich.console import Console
from rich.table import Table

from tadc.apps.undoing.planned import PlanData, Step

#: Of many steps so many are shown, and so many names in a cell.
_STEPS, _NAMES = 24, 4


def summary(plan: PlanData) -> str:
    """What is inverted, in how many steps, at what cost."""
    widest = max(plan.widths)
    lines = [
        f"inverse of {', '.join(plan.outputs)} by {', '.join(plan.inputs)}: {plan.width} numbers",
        f"{len(plan.steps)} component{_s(len(plan.steps))} of {plan.forms} form{_s(plan.forms)}; "
        f"widths in the order of the text {plan.width}, at most {widest}",
        f"solutions cost {plan.cost} multiplications and divisions",
    ]
    return "\n".join(lines)


def plan_text(plan: PlanData) -> str:
    """The summary and the steps of a plan."""
    if not plan.steps:
        return summary(plan)
    text = io.StringIO()
    Console(file=text, width=110, color_system=None).print(plan_table(plan))
    return "\n".join([summary(plan), *(line.rstrip() for line in text.getvalue().splitlines())])


def plan_table(plan: PlanData) -> Table:
    """A row for each step, of many steps the first."""
    table = Table()
    table.add_column("component", justify="right")
    for head in ("statements", "overwrites", "with", "reads"):
        table.add_column(head, overflow="fold")
    table.add_column("size", justify="right")
    table.add_column("class", overflow="fold")
    table.add_column("cost", justify="right")
    shown = plan.steps if len(plan.steps) <= _STEPS else plan.steps[: _STEPS - 1]
    for number, step in enumerate(shown, 1):
        table.add_row(str(number), *_cells(step))
    if len(shown) < len(plan.steps):
        table.add_row("…", f"{len(plan.steps) - len(shown)} more")
    return table


def _cells(step: Step) -> list[str]:
    names = [_names(each) for each in (step.statements, step.dying, step.new, step.kept)]
    return [*names, str(step.size), step.kind, str(step.cost)]


def _names(names: tuple[str, ...]) -> str:
    more = len(names) - _NAMES
    return " ".join(names[:_NAMES]) + (f" and {more} more" if more > 0 else "")


def _s(count: int) -> str:
    return "" if count == 1 else "s"
