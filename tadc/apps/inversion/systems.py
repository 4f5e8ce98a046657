"""Components that are solved as systems: their matrices at a point, factored."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Literal, Protocol

import numpy as np

from tadc.apps.inversion.bound import BoundComponent, element_at
from tadc.apps.inversion.factors import Array, Factored, of_dense, of_low_rank, of_parts
from tadc.apps.inversion.matrices import assembled, blocks_of, joined, of_diagonals, parted, whole_matrix
from tadc.apps.inversion.plan_kernels import Arrays, Call, PlanKernels, RoledKernel
from tadc.apps.undoing.plans.forms import positions
from tadc.apps.undoing.plans.inversion_errors import too_large
from tadc.apps.undoing.plans.kinds import LowRank, MatrixClass
from tadc.apps.undoing.plans.planned import Plan, Step
from tadc.apps.undoing.solutions.programs import Programs, one_band
from tadc.apps.undoing.solutions.roles import COTANGENT, INNER, RIGHT_SIDE, TANGENT, TOTAL, Role, RoleKind
from tadc.apps.undoing.steps.step_programs import StepSystems
from tadc.toolkit.language import bytes_of_type, shape_at
from tadc.toolkit.running import available_memory, numpy_type

#: What is made of vectors, and of the arrays that a matrix is computed from.
AtMatrix = Callable[[Sequence[Array], Arrays], list[Array]]


class Solver(Protocol):
    """The modes of a plan."""

    def product(
        self, mode: Literal["inverse", "transposed"], arguments: dict[str, Array], given: dict[str, Array]
    ) -> dict[str, Array]:
        """J^-1 v or J^-T w, by the names of values."""
        ...

    def logabsdet(self, arguments: dict[str, Array]) -> float:
        """log |det J|."""
        ...


class SystemComponent(BoundComponent):
    """A component that is solved as a system; `solver` gives the modes of the ends of a chain of steps."""

    def __init__(
        self,
        plan: Plan,
        planned: Step,
        programs: Programs,
        kernels: PlanKernels,
        solver: Callable[[Plan], Solver],
    ) -> None:
        super().__init__(plan, planned, programs, kernels)
        chain = programs.chain if isinstance(programs, StepSystems) else None
        self.ends = [_End(plan, solver(plan)) for plan in (chain.start, chain.end)] if chain else []

    def undo(self) -> list[Call]:
        """As that of a formula."""
        right_side = [self.role(Role(RIGHT_SIDE, name)) for name in self.form.new]
        return [
            self.call(self.programs.right_side),
            self._solution(right_side, TANGENT, self.form.dying, across=False),
        ]

    def advance(self) -> list[Call]:
        """As that of a formula."""
        given = [Role(COTANGENT, name) for name in self.planned.dying]
        solution = self._solution(given, COTANGENT, self.form.new, across=True)
        return [self.call(self.programs.value), solution, self.call(self.programs.back)]

    def logabsdet(self) -> Call:
        """As that of a formula."""

        def logabsdet(_: Sequence[Array], arrays: Arrays) -> list[Array]:
            return [np.asarray(self._factored(arrays).logabsdet())]

        return self._at_matrix([], [self.role(Role(TOTAL))], logabsdet)

    def check(self) -> Call:
        """As that of a formula."""

        def check(_: Sequence[Array], arrays: Arrays) -> list[Array]:
            self.factors(arrays)
            return []

        return self._at_matrix([], [], check)

    def factors(self, arrays: Arrays) -> Factored:
        """The factored matrix, of good pivots."""
        factors = self._factored(arrays)
        self.judge([factors.pivots.reshape(-1)], lambda _, place: self._place(*place))
        return factors

    def _solution(self, given: list[Role], kind: RoleKind, names: Sequence[str], *, across: bool) -> Call:
        """What belongs to tensors of the form from a vector, by the matrix, or if `across` its transpose."""

        def solve(vectors: Sequence[Array], arrays: Arrays) -> list[Array]:
            (vector,) = joined(self.kind.base, vectors)
            found = parted(self.form, self.kind.base, names, self.factors(arrays).solve(vector, across))
            return [found[name] for name in names]

        return self._at_matrix(given, [Role(kind, self.own(name)) for name in names], solve)

    def _at_matrix(self, given: list[Role], found: list[Role], make: AtMatrix) -> Call:
        """A call on what is given, and on what the matrix is computed from."""
        read = dict.fromkeys(r for kernel in self._matrix for r in kernel.inputs if r.kind != INNER)

        def call(arrays: Sequence[Array]) -> list[Array]:
            return make(arrays[: len(given)], dict(zip(read, arrays[len(given) :], strict=True)))

        return lambda _: RoledKernel((*given, *read), tuple(found), call)

    # -- matrices ----------------------------------------------------------------------------------

    def _factored(self, arrays: Arrays) -> Factored:
        """The matrix of the component at a point, ready to be solved with."""
        self._check_memory()
        form, kind, programs = self.form, self.kind, self.programs
        kernel, *low = self._matrix
        found = kernel.results(arrays)
        if isinstance(programs, StepSystems):
            return self._chain(programs, found[0])
        band = one_band(form, kind)
        if band is not None:
            return of_diagonals(band, found)
        columns = joined(kind.base, found, len(found[0]))
        factors = assembled(kind.base, columns)
        if not isinstance(kind, LowRank):
            return factors
        outer = low[0].results(arrays)
        outer, inner = joined(kind.base, outer, len(outer[0])).T, self._inner(kind, low[1], arrays)
        if _is_far_from_singular(factors):
            return of_low_rank(factors, np.ascontiguousarray(outer), inner)
        # The base alone hardly has an inverse; the sum may have one.
        return of_dense(whole_matrix(kind.base, columns) + outer @ inner)

    @cached_property
    def _matrix(self) -> list[RoledKernel]:
        """What computes the matrix: its columns, and those and rows of a low rank."""
        programs, kernel = self.programs, self.kernels.all_of
        found = [kernel(programs.columns, self.role)]
        if isinstance(self.kind, LowRank):
            found += [kernel(programs.outer, self.role), kernel(programs.inner, self._of_inner)]
        return found

    def _of_inner(self, role: Role) -> Role:
        """The roles of rows of a low rank, whose arguments are cotangents of what goes through."""
        return Role(INNER, role.name) if role in self._through else self.role(role)

    @cached_property
    def _through(self) -> list[Role]:
        return [Role(COTANGENT, name) for name in self.kind.through] if isinstance(self.kind, LowRank) else []

    def _inner(self, kind: LowRank, kernel: RoledKernel, arrays: Arrays) -> Array:
        """A row for each number that goes through."""
        form, rows = self.form, list[Array]()
        units = {Role(INNER, n): np.zeros(form.shapes[n], numpy_type(form.types[n])) for n in kind.through}
        for role, zeros in units.items():
            for place in range(zeros.size):
                unit = np.zeros_like(zeros)
                unit.reshape(-1)[place] = 1
                rows.append(joined(kind.base, kernel.results(arrays | units | {role: unit}))[0])
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
        kind, form, programs = self.kind, self.form, self.programs
        if isinstance(programs, StepSystems):
            name, index = programs.element("", [place])
            return f"the pivot of `{self.own(name)}`", index
        if isinstance(kind, MatrixClass) and kind.method == "blocks":
            return self.by_dying, element_at(place, form.shapes[form.new[0]][: kind.batch])
        for name, (start, step, count) in positions(form, form.dying, kind.base.interleaved).items():
            number, other = divmod(place - start, step)
            if not other and 0 <= number < count:
                name, index = self.element(name, element_at(number, form.shapes[name]))
                return f"the pivot of `{name}`", index
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
        vectors = dict(zip(known, given.values(), strict=True))
        found = self.solver.product("transposed" if across else "inverse", self.any, vectors)
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
