"""A plan as data: components in order, what each is like, and what it costs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property

from tadc.apps.undoing.components import Component
from tadc.apps.undoing.forms import Form
from tadc.apps.undoing.graph import Graph
from tadc.apps.undoing.kinds import Class


@dataclass(frozen=True)
class Step:
    """A component of the plan.

    `statements` are the definitions done, `dying` the values that they overwrite, `new` what takes their
    place, and `kept` what they read that stays. `size` numbers are solved for, at `cost` multiplications and
    divisions, by a matrix of class `kind`.
    """

    statements: tuple[str, ...]
    dying: tuple[str, ...]
    new: tuple[str, ...]
    kept: tuple[str, ...]
    size: int
    kind: str
    cost: int


@dataclass(frozen=True, eq=False)
class Planned:
    """A component with its form, its class, and the names in the program by those in the form."""

    component: Component
    form: Form
    kind: Class
    names: dict[str, str]


@dataclass(frozen=True, repr=False)
class PlanData:
    """The fields of a plan, and what follows from them alone."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    width: int
    widths: tuple[int, ...]
    steps: tuple[Step, ...]
    graph: Graph = field(repr=False, compare=False)
    components: tuple[Planned, ...] = field(repr=False, compare=False)

    @property
    def cost(self) -> int:
        """Multiplications and divisions of all solutions."""
        return sum(step.cost for step in self.steps)

    @cached_property
    def forms(self) -> int:
        """How many steps differ: what is compiled."""
        return len({id(planned.form) for planned in self.components})

    @cached_property
    def kinds(self) -> dict[str, int]:
        """How many steps are of each class."""
        return dict(Counter(step.kind for step in self.steps))
