"""The plan of an inverse: its steps in order, what each is like, and what it costs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property

from rich.table import Table

from tadc.apps.undoing.plans.components import Component
from tadc.apps.undoing.plans.forms import ComponentForm
from tadc.apps.undoing.plans.graph import StatementGraph
from tadc.apps.undoing.plans.kinds import Class
from tadc.toolkit.reporting import ShownAsTables, counted

#: Of many steps so many are shown, and so many names in a cell.
_STEPS, _NAMES = 24, 4


@dataclass(frozen=True)
class Step:
    """A component of the plan.

    `statements` are the definitions done, `dying` the values that they overwrite, `new` what takes their
    place, and `kept` what they read that stays. `size` numbers are solved for, at `cost` multiplications and
    divisions, by a matrix of class `kind`. `names` are those in the program by those in the `form`.
    """

    statements: tuple[str, ...]
    dying: tuple[str, ...]
    new: tuple[str, ...]
    kept: tuple[str, ...]
    size: int
    kind: str
    cost: int
    component: Component = field(repr=False, compare=False)
    form: ComponentForm = field(repr=False, compare=False)
    matrix: Class = field(repr=False, compare=False)
    names: dict[str, str] = field(repr=False, compare=False)

    @property
    def cells(self) -> list[str]:
        """What a table shows of it."""
        names: list[str] = []
        for each in (self.statements, self.dying, self.new, self.kept):
            more = len(each) - _NAMES
            names.append(" ".join(each[:_NAMES]) + (f" and {more} more" if more > 0 else ""))
        return [*names, str(self.size), self.kind, str(self.cost)]


@dataclass(frozen=True, repr=False)
class Plan(ShownAsTables):
    """How a program is inverted.

    `width` numbers are live between any two steps; `widths` are those before the first statement and after
    each, in the order of the text. `str` is what `tadc inverse --plan` prints.

    >>> import tadc
    >>> plan = tadc.inverse(tadc.function("x: f64[3]; f[i] = 2*x[i]")).plan
    >>> plan.cost, plan.kinds
    (3, {'diagonal': 1})
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    width: int
    widths: tuple[int, ...]
    steps: tuple[Step, ...]
    graph: StatementGraph = field(repr=False, compare=False)

    @property
    def is_closed(self) -> bool:
        """Whether formulas solve all steps."""
        return all(step.matrix.is_closed for step in self.steps)

    @property
    def cost(self) -> int:
        """Multiplications and divisions of all solutions."""
        return sum(step.cost for step in self.steps)

    @cached_property
    def forms(self) -> int:
        """How many steps differ: what is compiled."""
        return len({id(step.form) for step in self.steps})

    @cached_property
    def kinds(self) -> dict[str, int]:
        """How many steps are of each class."""
        return dict(Counter(step.kind for step in self.steps))

    def __repr__(self) -> str:
        of, by = ", ".join(self.outputs), ", ".join(self.inputs)
        return f"<tadc.Plan of {of} by {by}: {self.width} numbers in {len(self.steps)} steps>"

    @property
    def _above(self) -> str:
        """What is inverted, in how many steps, at what cost."""
        steps, forms = counted(len(self.steps), "component"), counted(self.forms, "form")
        return (
            f"inverse of {', '.join(self.outputs)} by {', '.join(self.inputs)}: {self.width} numbers\n"
            f"{steps} of {forms}; widths in the order of the text {self.width}, at most {max(self.widths)}\n"
            f"solutions cost {self.cost} multiplications and divisions"
        )

    def _tables(self) -> list[Table]:
        """A row for each step, of many steps the first."""
        if not self.steps:
            return []
        table = Table()
        table.add_column("component", justify="right")
        for head in ("statements", "overwrites", "with", "reads"):
            table.add_column(head, overflow="fold")
        table.add_column("size", justify="right")
        table.add_column("class", overflow="fold")
        table.add_column("cost", justify="right")
        shown = self.steps if len(self.steps) <= _STEPS else self.steps[: _STEPS - 1]
        for number, step in enumerate(shown, 1):
            table.add_row(str(number), *step.cells)
        if len(shown) < len(self.steps):
            table.add_row("…", f"{len(self.steps) - len(shown)} more")
        return [table]
