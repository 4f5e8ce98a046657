"""The modes of inverse accumulation over a plan: component by component, forwards or backwards.

Reverse-inverse mode gives J^-1 v: values are computed and taped, then components are undone, last first.
Forward-inverse mode gives J^-T w together with the values, component after component, and keeps no tape
(Pearlmutter and Siskind, eqs. 2.4).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

import numpy as np

from tadc.apps.inversion.bound import BoundComponent
from tadc.apps.inversion.call_sequence import CallSequence
from tadc.apps.inversion.component_groups import groups_of
from tadc.apps.inversion.factors import Array
from tadc.apps.inversion.plan_kernels import LOCK, Arrays, Call, PlanKernels
from tadc.apps.inversion.systems import SystemComponent
from tadc.apps.undoing.plans.planned import Plan, Step
from tadc.apps.undoing.solutions.programs import Programs
from tadc.apps.undoing.solutions.roles import COTANGENT, TANGENT, TOTAL, Role, RoledProgram, value_of
from tadc.apps.undoing.steps.step_programs import programs_of

Named = dict[str, Array]
Product = Literal["inverse", "transposed", "jvp", "vjp"]
Mode = Product | Literal["logabsdet", "check"]


class Modes:
    """The modes of a plan. Values, tangents and cotangents go by the names of the program."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.kernels = plan, PlanKernels()
        self._parameters = RoledProgram(plan.graph.parameter_program, {}) if plan.graph.parameters else None
        self._sequences: dict[Mode, CallSequence] = {}
        made: dict[int, Programs] = {}
        self.components: list[BoundComponent] = []
        for planned in plan.steps:
            if id(planned.form) not in made:
                made[id(planned.form)] = programs_of(planned.form, planned.matrix)
            given = plan, planned, made[id(planned.form)], self.kernels
            is_closed = given[2].is_closed
            self.components.append(BoundComponent(*given) if is_closed else SystemComponent(*given, Modes))

    @property
    def system(self) -> Step | None:
        """The first component that no formula solves."""
        return next((c.planned for c in self.components if not c.programs.is_closed), None)

    def product(self, mode: Product, arguments: Named, given: Named) -> Named:
        """What belongs to values, by name; what the caller passed in is copied.

        `inverse` takes tangents of the outputs to those of the inputs, J^-1 v, and `jvp` back; `transposed`
        takes cotangents of the inputs to those of the outputs, J^-T w, and `vjp` back.
        """
        graph, own = self.plan.graph, {id(array) for array in given.values()}
        kind = TANGENT if mode in ("inverse", "jvp") else COTANGENT
        roles = {
            name: Role(kind, name) for name in (graph.inputs if mode in ("inverse", "vjp") else graph.outputs)
        }
        vectors = {Role(kind, name): array for name, array in given.items()}
        found = self._run(mode, roles.values(), arguments, vectors)
        arrays = {name: found[role] for name, role in roles.items()}
        return {name: np.array(array) if id(array) in own else array for name, array in arrays.items()}

    def logabsdet(self, arguments: Named) -> float:
        """log |det J|, the sum over components."""
        totals = [component.role(Role(TOTAL)) for component in self.components]
        found = self._run("logabsdet", totals, arguments, {})
        return sum((float(found[role]) for role in totals), 0.0)

    def _run(self, mode: Mode, results: Collection[Role], arguments: Named, vectors: Arrays) -> Arrays:
        arrays = {value_of(name): array for name, array in arguments.items()} | vectors
        return self.sequence(mode, results).run(arrays, lambda: self._run("check", (), arguments, {}))

    # -- calls -------------------------------------------------------------------------------------

    def sequence(self, mode: Mode, results: Collection[Role]) -> CallSequence:
        """The calls of a mode, found once."""
        with LOCK:
            if mode not in self._sequences:
                first = [self.kernels.call((self._parameters, lambda role: role))] if self._parameters else []
                self._sequences[mode] = CallSequence([*first, *self._calls(mode)], results)
            return self._sequences[mode]

    def _calls(self, mode: Mode) -> list[Call]:
        components = self.components
        values, back = [c.call(c.programs.value) for c in components], components[::-1]
        match mode:
            case "inverse":
                return self._inverse()
            case "transposed":
                return [call for c in components for call in c.advance()]
            case "logabsdet":
                return [*values, *(c.logabsdet() for c in components)]
            case "jvp":
                return [*values, *(c.call(c.programs.jvp) for c in components)]
            case "vjp":
                return [*values, *(c.call(c.programs.vjp) for c in back)]
            case "check":
                # Each pivot is looked at: raises for one that is 0 or no number, warns of one near 0.
                return [*values, *(c.check() for c in back)]

    def _inverse(self) -> list[Call]:
        """Values of groups of components forwards, then backwards what undoes them."""
        values, undone = list[Call](), list[Call]()
        for group in groups_of(self.components):
            values.append(self.kernels.call(*((c.programs.value, c.role) for c in group)))
            if len(group) == 1:
                undone = [*group[0].undo(), *undone]
            else:
                undone.insert(0, self.kernels.call(*((c.programs.inverse, c.role) for c in reversed(group))))
        return [*values, *undone]
