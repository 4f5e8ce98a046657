"""Components with their kernels, between the values and tangents of a program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from tadc.backend.runtime.free_memory import available_memory
from tadc.caller.warn_caller import warn_of
from tadc.frontend.dtypes import bytes_of_type
from tadc.frontend.extents import shape_at
from tadc.frontend.program import Definition
from tadc.inversion.array_pool import Pool
from tadc.inversion.compiled_forms import Kernel, Kernels
from tadc.undoing.factors import Array, Factored
from tadc.undoing.forms import positions
from tadc.undoing.inverse_plan import Plan
from tadc.undoing.inversion_errors import near_singular, singular_step, too_large
from tadc.undoing.kinds import (
    Blocks,
    Class,
    Dense,
    LowRank,
    Permutation,
    Recurrent,
    Steps,
    Triangles,
    Triangular,
    is_interleaved,
)
from tadc.undoing.matrices import joined, parted
from tadc.undoing.planned import Planned
from tadc.undoing.step_programs import StepPrograms
from tadc.undoing.step_systems import StepSystems

Arrays = dict[str, Array]

#: Pivots are near 0 below this many units in the last place of the greatest, or of 1.
_NEAR = 64


def is_good(least: Any, most: float = 1.0) -> bool:
    """Whether pivots between these magnitudes are far from 0; not so if one is no number."""
    return float(least) > _NEAR * float(np.finfo(least.dtype).eps) * max(1.0, most)


def drop(values: Arrays, names: Iterable[str], pool: Pool) -> None:
    """Forget values."""
    for name in names:
        array = values.pop(name, None)
        if array is not None:
            pool.give(array)


class BoundComponent:
    """A component with its kernels. Values in between go by a name that says of which component they are."""

    def __init__(self, plan: Plan, planned: Planned, kernels: Kernels) -> None:
        self.plan, self.planned, self.kernels = plan, planned, kernels
        self.form, self.kind = planned.form, planned.kind
        self._bound: dict[int, tuple[tuple[bool, str], ...]] = {}
        first = planned.component.statements[0]
        self._between = f"{first}:"

    def own(self, name: str) -> str:
        """The name in the program of a tensor of the form."""
        return self.planned.names.get(name) or self._between + name

    def read(self, kernels: Iterable[Kernel]) -> list[str]:
        """The values that kernels read, by their names in the program."""
        return [self.own(name) for kernel in kernels for name in kernel.inputs if name[1:2] != "_"]

    def run(self, kernel: Kernel, values: Arrays, state: Arrays, pool: Pool) -> Arrays:
        """Run a kernel on values, and on tangents or cotangents; the outputs by their names there."""
        bound = self._bound.get(id(kernel))
        if bound is None:
            bound = self._bound[id(kernel)] = tuple(
                (name[1:2] == "_", self.own(name[2:] if name[1:2] == "_" else name)) for name in kernel.inputs
            )
        arrays = [state[name] if of_state else values[name] for of_state, name in bound]
        return dict(zip(kernel.outputs, kernel.run(arrays, pool), strict=True))

    def inside(self, values: Arrays) -> _Inside:
        """The values under the names of the form."""
        return _Inside(self, values)

    def compute(self, values: Arrays, pool: Pool) -> None:
        """Compute the new values, and what is taped."""
        for name, array in self.run(self.kernels.value, values, {}, pool).items():
            values[self.own(name)] = array

    def replace(self, state: Arrays, gone: Sequence[str], found: Mapping[str, Array], pool: Pool) -> None:
        """Put tangents or cotangents, by the names of the form, in the place of others."""
        drop(state, gone, pool)
        for name, array in found.items():
            own = self.own(name)
            if own in state:
                pool.give(state[own])
            state[own] = array

    # -- backwards ---------------------------------------------------------------------------------

    def undo(self, values: Arrays, state: Arrays, pool: Pool) -> None:
        """The tangents of what died from those of what is new, of a component that is solved as a system."""
        kernels, form, base = self.kernels, self.form, _base(self.kind)
        factors = self.factors(values)
        right = {n[2:]: a for n, a in self.run(kernels.right_side, values, state, pool).items()}
        vector = factors.solve(joined(form, base, form.new, right))
        solved = parted(form, base, form.dying, vector)
        self.replace(state, self.planned.component.new, solved, pool)

    # -- forwards ----------------------------------------------------------------------------------

    def advance(self, values: Arrays, state: Arrays, pool: Pool) -> bool:
        """The new values, the cotangents after the component from those before it; whether pivots are."""
        kernels, component = self.kernels, self.planned.component
        if kernels.is_closed:
            found = self.run(kernels.transposed, values, state, pool)
            for name, array in found.items():
                if name in self.form.new:
                    values[self.own(name)] = array
            solved = {name[2:]: array for name, array in found.items() if name[1:2] == "_"}
            self.replace(state, component.dying, solved, pool)
            return "least" not in found or is_good(found["least"])
        self.compute(values, pool)
        factors = self.factors(values)
        given = {name: state[self.own(name)] for name in self.form.dying}
        vector = factors.solve_transposed(joined(self.form, _base(self.kind), self.form.dying, given))
        solved = parted(self.form, _base(self.kind), self.form.new, vector)
        self.replace(state, component.dying, solved, pool)
        left = self.run(kernels.back, values, state, pool)
        self.replace(state, (), {name[2:]: array for name, array in left.items()}, pool)
        drop(values, [self.own(name) for name in kernels.taped], pool)
        return True

    def logabsdet(self, values: Arrays, pool: Pool) -> float:
        """log |det A|."""
        if self.kernels.is_closed:
            return float(self.run(self.kernels.log_determinant, values, {}, pool)["logabsdet"])
        self._check_memory()
        return self.kernels.factored(self.inside(values)).logabsdet

    # -- pivots ------------------------------------------------------------------------------------

    def factors(self, values: Arrays) -> Factored:
        """The factored matrix; raises for a pivot that is 0 or no number, warns of one near 0."""
        self._check_memory()
        factors = self.kernels.factored(self.inside(values))
        pivots = np.abs(factors.pivots)
        least = pivots.min(initial=np.inf)
        if not is_good(least, float(pivots.max(initial=0))):
            self._report(factors.pivots, pivots)
        return factors

    def _check_memory(self) -> None:
        """Refuse a matrix that does not fit. Raises ArgumentError (TAD0914)."""
        if not isinstance(self.kind, Dense | Triangular):
            return
        item = max(bytes_of_type(self.form.types[name]) for name in self.form.dying)
        needed, free = 2 * item * self.kind.size**2, available_memory()
        if free is not None and needed > free:
            raise too_large(
                self.plan.graph.program.source,
                self._statements(),
                self.kind.name,
                self.kind.size,
                needed,
                free,
            )

    def _statements(self) -> list[Definition]:
        """The definitions of what is new."""
        names = set(self.planned.component.new)
        return [s for s in self.plan.graph.statements if s.name in names]

    def _report(self, pivots: Array, sizes: Array) -> None:
        bad = ~(sizes > 0)
        place = int(np.argmax(bad)) if bad.any() else int(np.argmin(sizes))
        graph, statements = self.plan.graph, self._statements()
        what, element = self._where(place)
        value = float(pivots.reshape(-1)[place])
        source = graph.program.source
        if bad.any():
            raise singular_step(source, statements, what, element, value)
        warning = near_singular(source, statements, what, element, value)
        warn_of([warning])

    def _where(self, place: int) -> tuple[str, str]:
        """What a pivot is, and of which element."""
        kind, form = self.kind, self.form
        if isinstance(kind, Blocks):
            shape = form.shapes[form.new[0]][: kind.batch]
            names = ", ".join(f"`{self.own(name)}`" for name in form.dying)
            what = f"the derivative by {names}" if kind.size == 1 else f"the determinant by {names}"
            return what, _element(np.unravel_index(place, shape) if shape else ())
        if isinstance(kind, Steps):
            return self._where_in_steps(place)
        is_scaled = isinstance(kind, Permutation | Recurrent | Triangles)
        names, title = (form.new, "derivative") if is_scaled else (form.dying, "pivot")
        for name, (start, step, count) in positions(form, names, is_interleaved(_base(kind))).items():
            number, other = divmod(place - start, step)
            if not other and 0 <= number < count:
                element = _element(np.unravel_index(number, form.shapes[name]) if form.shapes[name] else ())
                return f"the {title} of `{self.own(name)}`", element
        return "a pivot of the low rank", ""

    def _where_in_steps(self, place: int) -> tuple[str, str]:
        """What a pivot of a chain of steps is, and of which element."""
        programs = self.kernels.programs
        if isinstance(programs, StepSystems):
            name, element = programs.element(place)
            return f"the pivot of `{self.own(name).split(':')[-1]}`", _element(element)
        assert isinstance(programs, StepPrograms)
        kernel = self.kernels.columns
        for pivot, parameter in zip(kernel.outputs, kernel.parameters, strict=True):
            shape = shape_at(parameter.shape, {})
            count = prod(shape)
            if place < count:
                index: Sequence[Any] = np.unravel_index(place, shape) if shape else ()
                name, element = programs.element(pivot, [int(n) for n in index])
                return f"the derivative of `{self.own(name).split(':')[-1]}`", _element(element)
            place -= count
        return "a pivot", ""


class _Inside(Mapping[str, Array]):
    """The values of a program under the names of a form."""

    def __init__(self, component: BoundComponent, values: Arrays) -> None:
        self.component, self.values_of = component, values

    def __getitem__(self, name: str) -> Array:
        return self.values_of[self.component.own(name)]

    def __iter__(self) -> Any:
        return iter(self.component.planned.names)

    def __len__(self) -> int:
        return len(self.component.planned.names)


def _base(kind: Class) -> Class:
    """The class in whose order vectors are."""
    return kind.base if isinstance(kind, LowRank) else kind


def _element(index: Sequence[Any]) -> str:
    return f"[{', '.join(str(int(i)) for i in index)}]" if len(index) else ""
