"""The modes of inverse accumulation over a plan: component by component, forwards or backwards.

Reverse-inverse mode gives J^-1 v: values are computed and taped, then components are undone, last first.
Forward-inverse mode gives J^-T w together with the values, component after component, and keeps no tape
(Pearlmutter and Siskind, eqs. 2.4).
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

from tadc.frontend.program import Program
from tadc.frontend.terms import tensors_read
from tadc.inversion.array_pool import Pool, Store
from tadc.inversion.bound import Arrays, BoundComponent, drop
from tadc.inversion.compiled_forms import LOCK, Kernel, Kernels, compiled
from tadc.inversion.units import Unit, units_of
from tadc.passes.terms.liveness import needed
from tadc.undoing.inverse_plan import Plan
from tadc.undoing.planned import Planned


class Modes:
    """The modes of a plan. Values, tangents and cotangents go by the names of the program."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        made: dict[int, Kernels] = {}
        for planned in plan.components:
            if id(planned.form) not in made:
                made[id(planned.form)] = Kernels(planned.form, planned.kind)
        self.components = [
            BoundComponent(plan, planned, made[id(planned.form)]) for planned in plan.components
        ]
        self.store = Store()
        self._parameters: Kernel | None = None

    @property
    def system(self) -> Planned | None:
        """The first component that no formula solves."""
        return next((c.planned for c in self.components if not c.kernels.is_closed), None)

    # -- modes -------------------------------------------------------------------------------------

    def inverse(self, arguments: Arrays, tangents: Arrays) -> Arrays:
        """J^-1 v: the tangents of the inputs from those of the outputs, by the names of values."""
        pool, units = Pool(self.store), self.units
        values, state = self.start(arguments), dict(tangents)
        for unit in units:
            unit.compute(values, pool)
            drop(values, unit.ends_forwards, pool)
        for unit in reversed(units):
            if not unit.undo(values, state, pool):
                self.diagnose(arguments)
            drop(values, unit.ends_backwards, pool)
        return self._kept(state, pool)

    @cached_property
    def units(self) -> list[Unit]:
        """The components in groups that are computed and undone together."""
        with LOCK:
            return units_of(self.components)

    def diagnose(self, arguments: Arrays) -> None:
        """Look at each pivot: raises for one that is 0 or no number, warns of one near 0."""
        pool = Pool(self.store)
        values = self.forwards(arguments, pool)
        for component in reversed(self.components):
            component.factors(values)
        pool.close()

    def transposed(self, arguments: Arrays, cotangents: Arrays) -> Arrays:
        """J^-T w: the cotangents of the outputs from those of the inputs."""
        pool = Pool(self.store)
        values, state = self.start(arguments), dict(cotangents)
        for component in self.components:
            if not component.advance(values, state, pool):
                self.diagnose(arguments)
            drop(values, component.planned.component.dying, pool)
        return self._kept(state, pool)

    def _kept(self, state: Arrays, pool: Pool) -> Arrays:
        """Results, and the memory of all else given back."""
        found = {name: pool.keep(array) for name, array in state.items()}
        pool.close()
        return found

    def logabsdet(self, arguments: Arrays) -> float:
        """log |det J|, the sum over components."""
        values, total, pool = self.start(arguments), 0.0, Pool(self.store)
        for component in self.components:
            component.compute(values, pool)
            total += component.logabsdet(values, pool)
        return total

    def jvp(self, arguments: Arrays, tangents: Arrays) -> Arrays:
        """J v."""
        values, state, pool = self.start(arguments), dict(tangents), Pool(self.store)
        for component in self.components:
            found = component.run(component.kernels.jvp, values, state, pool)
            component.replace(
                state, component.planned.component.dying, {n[2:]: a for n, a in found.items()}, pool
            )
            component.compute(values, pool)
        return state

    def vjp(self, arguments: Arrays, cotangents: Arrays) -> Arrays:
        """J^T w."""
        pool = Pool(self.store)
        values, state = self.forwards(arguments, pool), dict(cotangents)
        for component in reversed(self.components):
            found = component.run(component.kernels.vjp, values, state, pool)
            component.replace(
                state, component.planned.component.new, {n[2:]: a for n, a in found.items()}, pool
            )
        return state

    # -- values ------------------------------------------------------------------------------------

    def start(self, arguments: Arrays) -> Arrays:
        """The arguments, and the parameters computed from them."""
        if not self.plan.graph.parameters:
            return dict(arguments)
        if self._parameters is None:
            self._parameters = compiled(_parameter_program(self.plan))
        return arguments | dict(self._parameters(arguments))

    def forwards(self, arguments: Arrays, pool: Pool) -> Arrays:
        """All values, with what is taped in between."""
        values = self.start(arguments)
        for component in self.components:
            component.compute(values, pool)
        return values


def _parameter_program(plan: Plan) -> Program:
    """What the statements read that depends on no input."""
    graph = plan.graph
    wanted = {graph.names.get(n, n) for s in graph.statements for n in tensors_read([s.body])}
    made = [replace(d, is_output=d.name in wanted) for d in graph.parameters]
    kept = needed(made)
    read = {name for d in kept for name in tensors_read([d.body])}
    arguments = tuple(a for a in graph.program.arguments if a.name in read)
    return Program(arguments, kept, graph.program.terms, graph.program.source)


__all__ = ["Modes"]
