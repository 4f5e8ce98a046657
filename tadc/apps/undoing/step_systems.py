"""A chain of steps that are solved as a system each: dense ones, and bands on both sides of the diagonal.

The matrices of all steps are computed at once and factored; the product is solved from the last step back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from tadc.apps.undoing.factors import Array, Factored, log_abs, of_dense, of_parts
from tadc.apps.undoing.forms import with_results
from tadc.apps.undoing.kinds import MatrixClass, dense
from tadc.apps.undoing.matrices import bands_of
from tadc.apps.undoing.planned import Plan
from tadc.apps.undoing.programs import Programs
from tadc.apps.undoing.roles import (
    COLUMN,
    COTANGENT,
    INNER,
    PIVOT,
    TANGENT,
    Role,
    RoledProgram,
    RoleKind,
    value_of,
)
from tadc.apps.undoing.segments import Part, composed
from tadc.apps.undoing.step_chain import FactorChain
from tadc.apps.undoing.step_lift import Lift
from tadc.apps.undoing.undone import NoFormula, naming, undone
from tadc.toolkit.language import Affine, bytes_of_type
from tadc.toolkit.transforms import derive

Arrays = Mapping[str, Array]
#: Compiles a program.
Compiler = Callable[[RoledProgram], Any]

#: From so many numbers in a state on, a solution for each step takes less time than one system for all.
_DENSE, _BAND = 48, 256
#: So many bytes of matrices are computed at once.
_MOST = 1 << 29


class StepSystems(Programs):
    """The programs of a form that is a chain of such steps. Raises NoFormula for others, and small ones."""

    def __init__(self, chain: FactorChain) -> None:
        super().__init__(chain.form, dense(chain.form.size))
        self.chain, layout = chain, chain.layout
        if layout.depth > 1 or len(layout.parts) > 1 or len(chain.step.steps) != 1:
            raise NoFormula("its states are several tensors")
        (self.planned,) = chain.step.steps
        step = self.planned.matrix
        if not isinstance(step, MatrixClass) or not step.batch or self.planned.form.earlier or step.is_closed:
            raise NoFormula("it is no system")
        self.step = step
        lanes = step.width * layout.count * prod(layout.extents)
        if lanes * bytes_of_type(self.form.types[layout.name]) > _MOST:
            raise NoFormula("its matrices are too large")
        if step.size < (_BAND if step.is_band else _DENSE):
            raise NoFormula("it is small")
        for plan in (chain.end, chain.start):
            if any(role.kind != TANGENT for role in undone(plan, Programs).inputs):
                raise NoFormula("its first or last states are scaled by values")

    @property
    def is_closed(self) -> bool:
        """As `Programs.is_closed`."""
        return False

    def columns(self) -> RoledProgram:
        """The coloured columns of the matrices of all steps, `[lane, step, …]`."""
        lift = Lift(self.form, self.chain.layout)
        form = self.planned.form
        programs = Programs(form, self.step)
        own = naming(self.planned.names, 0)

        def value(role: Role) -> Role:
            return Role(INNER, role.name) if role.name in form.new else own(role)

        between = [d.name for d in form.program.definitions]
        parts: list[Part] = [(programs.value(between), value), (programs.columns(), own)]
        made = composed(parts, lambda role: role.kind == COLUMN)
        known = {"a1_0": lift.ahead(0, 0), "b0_0": lift.ahead(1, 0)}
        rules = lift.rules(made, {value_of(name): rule for name, rule in known.items()})
        lift.emit("each", made, lift.moved(made), rules)
        *before, last = lift.made
        return lift.pieces.program([*before, lift.pieces.result(last, Role(COLUMN, last.name))], taped=True)

    def factored(self, columns: Array, compiler: Compiler) -> Factored:
        """The chain at a point, of its columns there."""
        kind, rows = self.step, columns.reshape(len(columns), -1)
        if kind.is_band:
            parts = bands_of(kind, rows)
        else:
            blocks = rows.reshape(kind.size, kind.count, -1).transpose(1, 0, 2)
            parts = [of_dense(np.ascontiguousarray(block).T) for block in blocks]
        each = len(parts) // self.chain.layout.count
        return self._product([of_parts(parts[n : n + each]) for n in range(0, len(parts), each)], compiler)

    def _product(self, steps: Sequence[Factored], compiler: Compiler) -> Factored:
        """The product of an end, steps and a start; vectors are tensors of the form, one after another."""
        form, extents = self.form, self.chain.layout.extents
        end, start = (_Solved(plan, compiler) for plan in (self.chain.end, self.chain.start))

        def parted(names: Sequence[str], vector: Array) -> dict[str, Array]:
            shapes = [form.shapes[name] for name in names]
            parts = np.split(vector, np.cumsum([prod(shape) for shape in shapes])[:-1])
            return {
                n: np.ascontiguousarray(p).reshape(s) for n, p, s in zip(names, parts, shapes, strict=True)
            }

        def solve(b: Array, across: bool) -> Array:
            if across:
                vector = start.forth(parted(form.dying, b))["f0_0"].reshape(-1)
                for step in steps:
                    vector = step.solve(vector, True)
                names, found = form.new, end.forth({"l0_0": vector.reshape(extents)})
            else:
                vector = end.back(parted(form.new, b))["l0_0"].reshape(-1)
                for step in reversed(steps):
                    vector = step.solve(vector, False)
                names, found = form.dying, start.back({"f0_0": vector.reshape(extents)})
            return np.concatenate([found[name].reshape(-1) for name in names])

        every = of_parts(steps)
        return Factored(every.pivots, solve, lambda: every.logabsdet() + start.logabsdet + end.logabsdet)

    def element(self, place: int) -> tuple[str, tuple[int, ...]]:
        """The recurrence, and the element of it whose pivot is at some place among all."""
        layout = self.chain.layout
        state, *rest = np.unravel_index(place, (layout.count, *layout.extents))
        found = layout.place(0, Affine.const(int(state) + 1), [Affine.const(int(n)) for n in rest])
        return layout.name, tuple(form.constant for form in found)


class _Solved:
    """The first or the last factor of a chain, which formulas undo, whatever the values are."""

    def __init__(self, plan: Plan, compiler: Compiler) -> None:
        made = undone(plan, Programs)
        self._made = RoledProgram(made.program, made.roles)
        self._compiler = compiler
        self._inputs = plan.graph.inputs
        self._named = dict(zip(plan.outputs, plan.graph.outputs, strict=True))

    def back(self, tangents: Arrays) -> dict[str, Array]:
        """The tangents of a plan's inputs, by name, from those of its outputs."""
        given = {Role(TANGENT, self._named[name]): array for name, array in tangents.items()}
        found = given | self._run(self._only(TANGENT), given)
        return {name: found[Role(TANGENT, name)] for name in self._inputs}

    def forth(self, cotangents: Arrays) -> dict[str, Array]:
        """The cotangents of a plan's outputs, by name, from those of its inputs."""
        made = self._only(TANGENT)
        program, role = made.program, made.role
        by = [a.name for a in program.arguments if role(a.name).kind == TANGENT]
        found: dict[Role, Array] = {}
        if by:
            gradient = derive(program, "vjp", by)
            roles = {
                t.name: Role(COTANGENT, role(of).name)
                for t, of in (
                    *((a, a.cotangent_of) for a in gradient.arguments),
                    *((d, d.gradient_of) for d in gradient.outputs),
                )
                if of
            }
            roles = made.roles | roles
            given = {Role(COTANGENT, name): array for name, array in cotangents.items()}
            made = RoledProgram(with_results(gradient, [d.name for d in gradient.outputs]), roles)
            found = self._run(made, given)
        result: dict[str, Array] = {}
        for name, value in self._named.items():
            parts = [found.get(Role(COTANGENT, value)), cotangents.get(value)]
            result[name] = np.sum([part for part in parts if part is not None], axis=0)
        return result

    @property
    def logabsdet(self) -> float:
        pivots = self._run(self._only(PIVOT), {})
        return sum(log_abs(pivot) for pivot in pivots.values())

    def _only(self, kind: RoleKind) -> RoledProgram:
        program, role = self._made.program, self._made.role
        wanted = [d.name for d in program.outputs if role(d.name).kind == kind]
        return RoledProgram(with_results(program, wanted), self._made.roles)

    def _run(self, made: RoledProgram, given: Mapping[Role, Array]) -> dict[Role, Array]:
        return self._compiler(made)(given)
