"""The modes of inverse accumulation over a plan: component by component, forwards or backwards.

Reverse-inverse mode gives J^-1 v: values are computed and taped, then components are undone, last first.
Forward-inverse mode gives J^-T w together with the values, component after component, and keeps no tape
(Pearlmutter and Siskind, eqs. 2.4).
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from tadc.apps.inversion.bound import Arrays, BoundComponent, drop
from tadc.apps.inversion.factors import Array
from tadc.apps.inversion.form_kernels import LOCK, FormKernels, RoledKernel, compiled
from tadc.apps.inversion.systems import SystemComponent
from tadc.apps.inversion.units import ComponentUnit, units_of
from tadc.apps.undoing.plans.planned import Plan, Step
from tadc.apps.undoing.solutions.roles import (
    COTANGENT,
    TANGENT,
    VALUE,
    Role,
    RoledProgram,
    RoleKind,
    value_of,
)

Named = dict[str, Array]


class Modes:
    """The modes of a plan. Values, tangents and cotangents go by the names of the program."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        made: dict[int, FormKernels] = {}
        self.components: list[BoundComponent] = []
        for planned in plan.steps:
            if id(planned.form) not in made:
                made[id(planned.form)] = FormKernels(planned.form, planned.matrix)
            given = plan, planned, made[id(planned.form)]
            is_closed = given[2].is_closed
            self.components.append(BoundComponent(*given) if is_closed else SystemComponent(*given, Modes))

    @property
    def system(self) -> Step | None:
        """The first component that no formula solves."""
        return next((c.planned for c in self.components if not c.kernels.is_closed), None)

    # -- modes -------------------------------------------------------------------------------------

    def inverse(self, arguments: Named, tangents: Named) -> Named:
        """J^-1 v: the tangents of the inputs from those of the outputs, by the names of values."""
        arrays, units = self.start(arguments, TANGENT, tangents), self.units
        for unit in units:
            unit.compute(arrays)
        for unit in reversed(units):
            if not unit.undo(arrays):
                self.diagnose(arguments)
        return _results(arrays, TANGENT, tangents)

    @cached_property
    def units(self) -> list[ComponentUnit]:
        """The components in groups that are computed and undone together."""
        with LOCK:
            return units_of(self.components)

    def diagnose(self, arguments: Named) -> None:
        """Look at each pivot: raises for one that is 0 or no number, warns of one near 0."""
        arrays = self.start(arguments)
        for component in self.components:
            component.compute(arrays)
        for component in reversed(self.components):
            component.check(arrays)

    def transposed(self, arguments: Named, cotangents: Named) -> Named:
        """J^-T w: the cotangents of the outputs from those of the inputs."""
        arrays = self.start(arguments, COTANGENT, cotangents)
        for component in self.components:
            if not component.advance(arrays):
                self.diagnose(arguments)
            drop(arrays, VALUE, component.planned.dying)
        return _results(arrays, COTANGENT, cotangents)

    def logabsdet(self, arguments: Named) -> float:
        """log |det J|, the sum over components."""
        arrays, total = self.start(arguments), 0.0
        for component in self.components:
            component.compute(arrays)
            total += component.logabsdet(arrays)
        return total

    def jvp(self, arguments: Named, tangents: Named) -> Named:
        """J v."""
        arrays = self.start(arguments, TANGENT, tangents)
        for component in self.components:
            component.push(arrays)
        return _results(arrays, TANGENT, tangents)

    def vjp(self, arguments: Named, cotangents: Named) -> Named:
        """J^T w."""
        arrays = self.start(arguments, COTANGENT, cotangents)
        for component in self.components:
            component.compute(arrays)
        for component in reversed(self.components):
            component.pull(arrays)
        return _results(arrays, COTANGENT, cotangents)

    def start(self, arguments: Named, kind: RoleKind = VALUE, given: Named | None = None) -> Arrays:
        """The arguments, the parameters computed from them, and what is given of values."""
        arrays = {value_of(name): array for name, array in arguments.items()}
        if self.plan.graph.parameters:
            arrays |= self._parameters(arrays)
        return arrays | {Role(kind, name): array for name, array in (given or {}).items()}

    @cached_property
    def _parameters(self) -> RoledKernel:
        """What the statements read that depends on no input."""
        return compiled(RoledProgram(self.plan.graph.parameter_program, {}))


def _results(arrays: Arrays, kind: RoleKind, given: Named) -> Named:
    """What belongs to values, by name; what the caller passed in is copied."""
    own = {id(array) for array in given.values()}
    return {
        role.name: np.array(array) if id(array) in own else array
        for role, array in arrays.items()
        if role.kind == kind
    }


__all__ = ["Modes"]
