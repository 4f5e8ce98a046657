"""Components between the values and tangents of a program: how each is computed and undone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tadc.apps.inversion.call_sequence import is_good
from tadc.apps.inversion.factors import Array
from tadc.apps.inversion.plan_kernels import Call, PlanKernels, RoledKernel
from tadc.apps.undoing.plans.inversion_errors import bad_pivot
from tadc.apps.undoing.plans.kinds import Steps
from tadc.apps.undoing.plans.planned import Plan, Step
from tadc.apps.undoing.solutions.programs import Programs
from tadc.apps.undoing.solutions.roles import RoledProgram
from tadc.apps.undoing.solutions.undone import naming
from tadc.toolkit.language import Definition
from tadc.toolkit.reporting import ArgumentError, warn_of

#: What an element of one of several pivots is, and of which element of that.
Where = Callable[[int, list[int]], tuple[str, list[int]]]


class BoundComponent:
    """A component that formulas undo, between what belongs to the values of a program."""

    def __init__(self, plan: Plan, planned: Step, programs: Programs, kernels: PlanKernels) -> None:
        self.plan, self.planned, self.programs, self.kernels = plan, planned, programs, kernels
        self.form, self.kind = planned.form, planned.matrix
        self.role = naming(planned.names, planned.component.statements[0])

    @property
    def statements(self) -> list[Definition]:
        """The definitions of what is new."""
        graph = self.plan.graph
        return graph.wholes(s for s in graph.statements if s.name in self.planned.new)

    def own(self, name: str) -> str:
        """The name in the program of a tensor of the form; what is only in between has none."""
        return self.planned.names.get(name, name)

    def call(self, made: RoledProgram, *, fused: bool = False) -> Call:
        """A program of the form, for the tensors of the program; a recurrence of one may be `fused`."""
        is_recurrence = self.kind.base.method == "recurrence"
        return self.kernels.call((made, self.role), fused=fused and is_recurrence)

    def undo(self) -> list[Call]:
        """The tangents of what died from those of what is new."""
        return [self.call(self.programs.inverse, fused=True)]

    def advance(self) -> list[Call]:
        """The new values, and cotangents after the component from those before."""
        return [self.call(self.programs.transposed, fused=True)]

    def logabsdet(self) -> Call:
        """log |det A|."""
        return self.call(self.programs.logabsdet)

    def check(self) -> Call:
        """Raise for a pivot that is 0 or no number (TAD0912), warn of one near 0 (TAD0913)."""
        kernel = self.kernels.all_of(self.programs.pivots, self.role)
        names = [role.name for role in self.programs.pivots.outputs]

        def check(arrays: Sequence[Array]) -> list[Array]:
            self.judge(kernel.call(arrays), lambda n, index: self._pivot(names[n], index))
            return []

        return lambda _: RoledKernel(kernel.inputs, (), check)

    def judge(self, pivots: Sequence[Array], where: Where) -> None:
        """Look at pivots as `check` does."""
        sizes = [np.abs(array) for array in pivots]
        most = max((size.max(initial=0) for size in sizes), default=0)
        least = [size.min(initial=np.inf) for size in sizes]
        if all(is_good(each, float(most)) for each in least):
            return
        bad = [~(size > 0) for size in sizes]
        is_zero = any(map(np.any, bad))
        n = next(n for n, each in enumerate(bad) if each.any()) if is_zero else int(np.argmin(least))
        place = int(np.argmax(bad[n]) if is_zero else np.argmin(sizes[n]))
        what, index = where(n, element_at(place, pivots[n].shape))
        what += f" at element [{', '.join(map(str, index))}]" if index else ""
        value, source = float(pivots[n].reshape(-1)[place]), self.plan.graph.program.source
        found = bad_pivot(source, self.statements, what, value, is_zero=is_zero)
        if is_zero:
            raise ArgumentError([found])
        warn_of([found])

    @property
    def by_dying(self) -> str:
        """What a pivot of a block is."""
        wholes = dict.fromkeys(self.plan.graph.element(self.own(name), ())[0] for name in self.form.dying)
        names = ", ".join(f"`{name}`" for name in wholes)
        return f"the {'derivative' if self.kind.base.size == 1 else 'determinant'} by {names}"

    def _pivot(self, name: str, index: list[int]) -> tuple[str, list[int]]:
        """What an element of a pivot is."""
        kind = self.kind
        if isinstance(kind, Steps):
            name, index = self.programs.element(name, index)
        elif kind.base.method == "formula":
            is_one = kind.base.size == 1
            return self.by_dying, self.element(self.form.dying[0], index)[1] if is_one else index
        name, index = self.element(name, index)
        return f"the derivative of `{name}`", index

    def element(self, name: str, index: Sequence[int]) -> tuple[str, list[int]]:
        """The value of the program, and its element, that an element of a tensor of the form is."""
        return self.plan.graph.element(self.own(name), index)


def element_at(place: int, shape: Sequence[int]) -> list[int]:
    """The indices of an element, of its place in row-major order."""
    return [int(k) for k in np.unravel_index(place, tuple(shape))] if shape else []
