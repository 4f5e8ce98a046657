"""A chain of steps that are solved as a system each: dense ones, and bands on both sides of the diagonal.

The matrices of all steps are computed at once and factored; the product is solved from the last step back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from tadc.apps.undoing.factors import Array, DenseFactors, Factored
from tadc.apps.undoing.forms import with_results
from tadc.apps.undoing.kinds import Bands, Blocks, Dense
from tadc.apps.undoing.matrices import factors_of_bands
from tadc.apps.undoing.planned import PlanData
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
from tadc.apps.undoing.step_chain import Chain
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

    def __init__(self, chain: Chain) -> None:
        super().__init__(chain.form, Dense(chain.form.size))
        self.chain, layout = chain, chain.layout
        if layout.depth > 1 or len(layout.parts) > 1 or len(chain.step.components) != 1:
            raise NoFormula("its states are several tensors")
        (self.planned,) = chain.step.components
        self.step = self.planned.kind
        if not isinstance(self.step, Blocks | Bands) or self.planned.form.earlier:
            raise NoFormula("it is no system")
        lanes = self.step.lower + self.step.upper + 1 if isinstance(self.step, Bands) else self.step.size
        item = bytes_of_type(self.form.types[layout.name])
        if lanes * layout.count * prod(layout.extents) * item > _MOST:
            raise NoFormula("its matrices are too large")
        if self.step.size < (_BAND if isinstance(self.step, Bands) else _DENSE):
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
        kind, count = self.step, self.chain.layout.count
        assert isinstance(kind, Blocks | Bands)
        rows = columns.reshape(len(columns), -1)
        parts: list[Factored]
        if isinstance(kind, Bands):
            parts = factors_of_bands(kind, rows)
        else:
            blocks = rows.reshape(kind.size, kind.count, -1).transpose(1, 0, 2)
            parts = [DenseFactors(np.ascontiguousarray(block).T) for block in blocks]
        each = len(parts) // count
        steps = [parts[n : n + each] for n in range(0, len(parts), each)]
        return ChainFactors(self, steps, compiler)

    def element(self, place: int) -> tuple[str, tuple[int, ...]]:
        """The recurrence, and the element of it whose pivot is at some place among all."""
        layout = self.chain.layout
        state, *rest = np.unravel_index(place, (layout.count, *layout.extents))
        found = layout.place(0, Affine.const(int(state) + 1), [Affine.const(int(n)) for n in rest])
        return layout.name, tuple(form.constant for form in found)


class ChainFactors(Factored):
    """The product of an end, steps and a start; vectors are tensors of the form, one after another."""

    def __init__(self, programs: StepSystems, steps: list[list[Factored]], compiler: Compiler) -> None:
        self._programs, self._steps = programs, steps
        self._end, self._start = (
            _Solved(plan, compiler) for plan in (programs.chain.end, programs.chain.start)
        )
        self.pivots = np.concatenate([part.pivots.ravel() for parts in steps for part in parts])

    def solve(self, right: Array) -> Array:
        """As `Factored.solve`."""
        form = self._programs.form
        vector = self._end.back(self._parted(form.new, right))["l0_0"].reshape(-1)
        for parts in reversed(self._steps):
            vector = _each(parts, vector, lambda part, v: part.solve(v))
        found = self._start.back({"f0_0": vector.reshape(self._programs.chain.layout.extents)})
        return np.concatenate([found[name].reshape(-1) for name in form.dying])

    def solve_transposed(self, right: Array) -> Array:
        """As `Factored.solve_transposed`."""
        form = self._programs.form
        vector = self._start.forth(self._parted(form.dying, right))["f0_0"].reshape(-1)
        for parts in self._steps:
            vector = _each(parts, vector, lambda part, v: part.solve_transposed(v))
        found = self._end.forth({"l0_0": vector.reshape(self._programs.chain.layout.extents)})
        return np.concatenate([found[name].reshape(-1) for name in form.new])

    @property
    def logabsdet(self) -> float:
        """As `Factored.logabsdet`."""
        steps = sum(part.logabsdet for parts in self._steps for part in parts)
        return steps + self._start.logabsdet + self._end.logabsdet

    def _parted(self, names: Sequence[str], vector: Array) -> dict[str, Array]:
        shapes = [self._programs.form.shapes[name] for name in names]
        cuts = np.cumsum([prod(shape) for shape in shapes])[:-1]
        parts = np.split(vector, cuts)
        return {
            name: np.ascontiguousarray(p).reshape(s) for name, p, s in zip(names, parts, shapes, strict=True)
        }


def _each(parts: list[Factored], vector: Array, solve: Callable[[Factored, Array], Array]) -> Array:
    """The solutions of the blocks of one step."""
    if len(parts) == 1:
        return solve(parts[0], vector)
    pieces = vector.reshape(len(parts), -1)
    return np.concatenate([solve(part, piece) for part, piece in zip(parts, pieces, strict=True)])


class _Solved:
    """The first or the last factor of a chain, which formulas undo, whatever the values are."""

    def __init__(self, plan: PlanData, compiler: Compiler) -> None:
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
        with np.errstate(divide="ignore"):
            return sum(float(np.log(np.abs(pivot)).sum()) for pivot in pivots.values())

    def _only(self, kind: RoleKind) -> RoledProgram:
        program, role = self._made.program, self._made.role
        wanted = [d.name for d in program.outputs if role(d.name).kind == kind]
        return RoledProgram(with_results(program, wanted), self._made.roles)

    def _run(self, made: RoledProgram, given: Mapping[Role, Array]) -> dict[Role, Array]:
        return self._compiler(made)(given)
