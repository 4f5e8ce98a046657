"""Components that are solved as systems: their matrices at a point, factored."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import numpy as np

from tadc.apps.inversion.bound import Arrays, BoundComponent, drop, element_at
from tadc.apps.inversion.factors import Array, Factored, of_dense, of_low_rank, of_parts
from tadc.apps.inversion.form_kernels import FormKernels
from tadc.apps.inversion.matrices import assembled, blocks_of, joined, of_diagonals, parted, whole_matrix
from tadc.apps.undoing.plans.forms import positions
from tadc.apps.undoing.plans.inversion_errors import too_large
from tadc.apps.undoing.plans.kinds import LowRank, MatrixClass
from tadc.apps.undoing.plans.planned import Plan, Step
from tadc.apps.undoing.solutions.programs import one_band
from tadc.apps.undoing.solutions.roles import COTANGENT, TANGENT, Role, RoleKind, value_of
from tadc.apps.undoing.steps.step_programs import StepSystems
from tadc.toolkit.language import bytes_of_type, shape_at
from tadc.toolkit.running import available_memory, numpy_type


class Solver(Protocol):
    """The modes of a plan."""

    def inverse(self, arguments: dict[str, Array], tangents: dict[str, Array]) -> dict[str, Array]:
        """J^-1 v, by the names of values."""
        ...

    def transposed(self, arguments: dict[str, Array], cotangents: dict[str, Array]) -> dict[str, Array]:
        """J^-T w, by the names of values."""
        ...

    def logabsdet(self, arguments: dict[str, Array]) -> float:
        """log |det J|."""
        ...


class SystemComponent(BoundComponent):
    """A component that is solved as a system; `solver` gives the modes of the ends of a chain of steps."""

    def __init__(
        self, plan: Plan, planned: Step, kernels: FormKernels, solver: Callable[[Plan], Solver]
    ) -> None:
        super().__init__(plan, planned, kernels)
        chain = kernels.programs.chain if isinstance(kernels.programs, StepSystems) else None
        self.ends = [_End(plan, solver(plan)) for plan in (chain.start, chain.end)] if chain else []

    def undo(self, arrays: Arrays) -> None:
        """The tangents of what died from those of what is new."""
        factors = self.factors(arrays)
        vector = joined(self.kind.base, self.kernel("right_side").results(arrays))
        drop(arrays, TANGENT, self.planned.new)
        self._put(arrays, TANGENT, self.form.dying, factors.solve(vector[0], False))

    def advance(self, arrays: Arrays) -> bool:
        """As that of a formula."""
        self.compute(arrays)
        given = [arrays[Role(COTANGENT, name)] for name in self.planned.dying]
        vector = joined(self.kind.base, given)
        drop(arrays, COTANGENT, self.planned.dying)
        self._put(arrays, COTANGENT, self.form.new, self.factors(arrays).solve(vector[0], True))
        arrays.update(self.kernel("back")(arrays))
        for name in self.kernels.taped:
            arrays.pop(self.role(value_of(name)), None)
        return True

    def logabsdet(self, arrays: Arrays) -> float:
        """As that of a formula."""
        return self._factored(arrays).logabsdet()

    def check(self, arrays: Arrays) -> None:
        """As that of a formula."""
        self.factors(arrays)

    def factors(self, arrays: Arrays) -> Factored:
        """The factored matrix, of good pivots."""
        factors = self._factored(arrays)
        self.judge([factors.pivots.reshape(-1)], lambda _, place: self._place(*place))
        return factors

    def _put(self, arrays: Arrays, kind: RoleKind, names: Sequence[str], vector: Array) -> None:
        found = parted(self.form, self.kind.base, names, vector)
        arrays.update({Role(kind, self.own(name)): array for name, array in found.items()})

    # -- matrices ----------------------------------------------------------------------------------

    def _factored(self, arrays: Arrays) -> Factored:
        """The matrix of the component at a point, ready to be solved with."""
        self._check_memory()
        form, kind, programs = self.form, self.kind, self.kernels.programs
        found = self.kernel("columns").results(arrays)
        if isinstance(programs, StepSystems):
            return self._chain(programs, found[0])
        band = one_band(form, kind)
        if band is not None:
            return of_diagonals(band, found)
        columns = joined(kind.base, found, len(found[0]))
        factors = assembled(kind.base, columns)
        if not isinstance(kind, LowRank):
            return factors
        outer = self.kernel("outer").results(arrays)
        outer, inner = joined(kind.base, outer, len(outer[0])).T, self._inner(kind, arrays)
        if _is_far_from_singular(factors):
            return of_low_rank(factors, np.ascontiguousarray(outer), inner)
        # The base alone hardly has an inverse; the sum may have one.
        return of_dense(whole_matrix(kind.base, columns) + outer @ inner)

    def _inner(self, kind: LowRank, arrays: Arrays) -> Array:
        """A row for each number that goes through."""
        kernel, form = self.kernels["inner"], self.form
        units = {
            Role(COTANGENT, n): np.zeros(form.shapes[n], numpy_type(form.types[n])) for n in kind.through
        }
        given = units | {role: arrays[self.role(role)] for role in kernel.inputs if role not in units}
        rows: list[Array] = []
        for role, zeros in units.items():
            for place in range(zeros.size):
                unit = np.zeros_like(zeros)
                unit.reshape(-1)[place] = 1
                rows.append(joined(kind.base, kernel.results(given | {role: unit}))[0])
        return np.stack(rows)

    def _chain(self, programs: StepSystems, columns: Array) -> Factored:
        """The product of an end, steps and a start."""
        form, layout, base = self.form, programs.chain.layout, self.kind.base
        parts = blocks_of(programs.step, columns.reshape(len(columns), -1))
        each = len(parts) // layout.count
        steps = [of_parts(parts[n : n + each]) for n in range(0, len(parts), each)]

        def solve(b: Array, across: bool) -> Array:
            first, last = self.ends if across else reversed(self.ends)
            (state,) = first.solve(parted(form, base, form.dying if across else form.new, b), across)
            vector = state.reshape(-1)
            for step in steps if across else reversed(steps):
                vector = step.solve(vector, across)
            return joined(base, last.solve({"": vector.reshape(layout.extents)}, across))[0]

        every = of_parts(steps)
        return Factored(every.pivots, solve, lambda: every.logabsdet() + sum(e.logabsdet for e in self.ends))

    def _check_memory(self) -> None:
        """Refuse a matrix that does not fit. Raises ArgumentError (TAD0914)."""
        kind = self.kind
        if not isinstance(kind, MatrixClass) or kind.method != "lapack" or kind.is_band or kind.cyclic:
            return
        item = max(bytes_of_type(self.form.types[name]) for name in self.form.dying)
        needed, free = 2 * item * kind.size**2, available_memory()
        if free is not None and needed > free:
            source = self.plan.graph.program.source
            raise too_large(source, self.statements, kind.name, kind.size, needed, free)

    def _place(self, place: int) -> tuple[str, list[int]]:
        """What a pivot is, and of which element."""
        kind, form, programs = self.kind, self.form, self.kernels.programs
        if isinstance(programs, StepSystems):
            name, index = programs.element("", [place])
            return f"the pivot of `{self.own(name)}`", index
        if isinstance(kind, MatrixClass) and kind.method == "blocks":
            return self.by_dying, element_at(place, form.shapes[form.new[0]][: kind.batch])
        for name, (start, step, count) in positions(form, form.dying, kind.base.interleaved).items():
            number, other = divmod(place - start, step)
            if not other and 0 <= number < count:
                return f"the pivot of `{self.own(name)}`", element_at(number, form.shapes[name])
        return "a pivot of the low rank", []


class _End:
    """The first or the last factor of a chain, which formulas undo, and which is the same for all values."""

    def __init__(self, plan: Plan, solver: Solver) -> None:
        self.plan, self.solver = plan, solver
        self.any = {
            a.name: np.zeros(shape_at(a.shape, {}), numpy_type(a.type)) for a in plan.graph.program.arguments
        }

    def solve(self, given: Mapping[str, Array], across: bool) -> list[Array]:
        """What belongs to the inputs, in order, of what belongs to the outputs; if `across` the other way."""
        sides = self.plan.inputs, self.plan.graph.outputs
        known, wanted = sides if across else reversed(sides)
        solve = self.solver.transposed if across else self.solver.inverse
        found = solve(self.any, dict(zip(known, given.values(), strict=True)))
        return [found[name] for name in wanted]

    @property
    def logabsdet(self) -> float:
        """log |det A|."""
        return self.solver.logabsdet(self.any)


def _is_far_from_singular(base: Factored) -> bool:
    """Whether half of the digits are left where a base is divided by."""
    pivots = np.abs(base.pivots)
    limit = np.sqrt(np.finfo(pivots.dtype).eps) * pivots.max(initial=0)
    return bool(np.all(pivots > limit))
