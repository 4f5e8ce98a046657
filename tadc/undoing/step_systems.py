"""A chain of steps that are solved as a system each: dense ones, and bands on both sides of the diagonal.

The matrices of all steps are computed at once and factored; the product is solved from the last step back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from tadc.compiler.derive import derive
from tadc.frontend.dtypes import bytes_of_type
from tadc.frontend.program import Program
from tadc.frontend.terms import tensors_read
from tadc.lattice.affine import Affine
from tadc.passes.terms.liveness import needed
from tadc.undoing.factors import Array, DenseFactors, Factored
from tadc.undoing.kinds import Bands, Blocks, Dense
from tadc.undoing.matrices import factors_of_bands
from tadc.undoing.planned import PlanData
from tadc.undoing.programs import Programs
from tadc.undoing.segments import Part, composed
from tadc.undoing.step_chain import Chain
from tadc.undoing.step_lift import Lift
from tadc.undoing.undone import PIVOT, TANGENT, NoFormula, undone

Arrays = Mapping[str, Array]
#: Compiles a program.
Compiler = Callable[[Program], Any]

#: From so many numbers in a state on, a solution for each step takes less time than one system for all.
_DENSE, _BAND = 48, 256
#: So many bytes of matrices are computed at once.
_MOST = 1 << 29

_COLUMNS = "columns"


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
            if any(not name.startswith(TANGENT) for name in undone(plan, Programs).inputs):
                raise NoFormula("its first or last states are scaled by values")

    @property
    def is_closed(self) -> bool:
        """As `Programs.is_closed`."""
        return False

    def columns(self) -> Program:
        """The coloured columns of the matrices of all steps, `[lane, step, …]`."""
        lift = Lift(self.form, self.chain.layout)
        form, names = self.planned.form, self.planned.names
        programs = Programs(form, self.step)
        between = [d.name for d in form.program.definitions]

        def own(name: str) -> str:
            return names.get(name) or f"0.{name}"

        def value(name: str) -> str:
            return f"gone:{own(name)}" if name in form.new else own(name)

        def column(name: str) -> str:
            return _COLUMNS if name == f"c_{form.new[0]}" else own(name)

        parts: list[Part] = [(programs.value(between), value), (programs.columns(), column)]
        made = composed(parts, lambda name: name == _COLUMNS)
        rules = lift.rules(made, {"a1_0": lift.ahead(0, 0), "n_0": lift.ahead(1, 0)})
        lift.emit("each", made, lift.moved(made), rules)
        *before, last = lift.made
        return lift.pieces.program([*before, replace(last, is_output=True)], taped=True)

    def factored(self, found: Arrays, compiler: Compiler) -> Factored:
        """The chain at a point, of its columns there."""
        (columns,) = found.values()
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
        self._made = made = undone(plan, Programs)
        self._own = {a.name: own for a, own in zip(made.program.arguments, made.inputs, strict=True)}
        self._own |= {d.name: own for d, own in zip(made.program.outputs, made.outputs, strict=True)}
        self._compiler = compiler
        self._inputs = plan.graph.inputs
        self._named = dict(zip(plan.outputs, plan.graph.outputs, strict=True))

    def back(self, tangents: Arrays) -> dict[str, Array]:
        """The tangents of a plan's inputs, by name, from those of its outputs."""
        given = {self._named[name]: array for name, array in tangents.items()}
        found = self._run(self._only(TANGENT), {TANGENT + name: array for name, array in given.items()})
        return {name: found.get(TANGENT + name, given.get(name)) for name in self._inputs}  # type: ignore[misc]

    def forth(self, cotangents: Arrays) -> dict[str, Array]:
        """The cotangents of a plan's outputs, by name, from those of its inputs."""
        program = self._only(TANGENT)
        by = [a.name for a in program.arguments if self._own[a.name].startswith(TANGENT)]
        found: dict[str, Array] = {}
        if by:
            made = _with_what_is_read(derive(program, "vjp", by))
            self._own |= {a.name: f"w:{self._own[a.cotangent_of]}" for a in made.arguments if a.cotangent_of}
            self._own |= {d.name: f"w:{self._own[d.gradient_of]}" for d in made.outputs}
            found = self._run(made, {f"w:{TANGENT}{name}": array for name, array in cotangents.items()})
        result: dict[str, Array] = {}
        for name, value in self._named.items():
            parts = [found.get(f"w:{TANGENT}{value}"), cotangents.get(value)]
            result[name] = np.sum([part for part in parts if part is not None], axis=0)
        return result

    @property
    def logabsdet(self) -> float:
        """log |det| of the factor."""
        pivots = self._run(self._only(PIVOT), {})
        with np.errstate(divide="ignore"):
            return sum(float(np.log(np.abs(pivot)).sum()) for pivot in pivots.values())

    def _only(self, front: str) -> Program:
        """The program of the results whose names begin so."""
        program = self._made.program
        wanted = {d.name for d in program.outputs if self._own[d.name].startswith(front)}
        kept = needed([replace(d, is_output=d.name in wanted) for d in program.definitions])
        return _with_what_is_read(replace(program, definitions=kept))

    def _run(self, program: Program, given: Arrays) -> dict[str, Array]:
        kernel = self._compiler(program)
        arrays = {name: given[self._own[name]] for name in kernel.inputs}
        return {self._own[name]: array for name, array in kernel(arrays).items()}


def _with_what_is_read(program: Program) -> Program:
    """The program without arguments that nothing reads."""
    read = tensors_read(d.body for d in program.definitions)
    return replace(program, arguments=tuple(a for a in program.arguments if a.name in read))
