"""Components with their kernels, between the values and tangents of a program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from tadc.apps.inversion.compiled_forms import FormKernel, FormKernels
from tadc.apps.undoing.factors import Array, Factored
from tadc.apps.undoing.forms import positions
from tadc.apps.undoing.inversion_errors import near_singular, singular_step, too_large
from tadc.apps.undoing.kinds import MatrixClass, Steps
from tadc.apps.undoing.matrices import joined, parted
from tadc.apps.undoing.planned import Plan, Step
from tadc.apps.undoing.roles import COTANGENT, LEAST, TANGENT, TOTAL, Role, RoleKind, value_of
from tadc.apps.undoing.step_programs import StepPrograms
from tadc.apps.undoing.step_systems import StepSystems
from tadc.apps.undoing.undone import naming
from tadc.toolkit.language import Definition, bytes_of_type, shape_at
from tadc.toolkit.reporting import warn_of
from tadc.toolkit.running import available_memory

#: Values, tangents and cotangents.
Arrays = dict[Role, Array]

#: Pivots are near 0 below this many units in the last place of the greatest, or of 1.
_NEAR = 64


def is_good(least: Any, most: float = 1.0) -> bool:
    """Whether pivots between these magnitudes are far from 0; not so if one is no number."""
    return float(least) > _NEAR * float(np.finfo(least.dtype).eps) * max(1.0, most)


def drop(arrays: Arrays, kind: RoleKind, names: Iterable[str]) -> None:
    """Forget what belongs to values."""
    for name in names:
        arrays.pop(Role(kind, name), None)


class BoundComponent:
    """A component with its kernels, between what belongs to the values of a program."""

    def __init__(self, plan: Plan, planned: Step, kernels: FormKernels) -> None:
        self.plan, self.planned, self.kernels = plan, planned, kernels
        self.form, self.kind = planned.form, planned.matrix
        self.role = naming(planned.names, planned.component.statements[0])
        self._bound: dict[int, tuple[Role, ...]] = {}

    def own(self, name: str) -> str:
        """The name in the program of a tensor of the form; what is only in between has none."""
        return self.planned.names.get(name, name)

    def run(self, kernel: FormKernel, arrays: Arrays, given: Mapping[Role, Array] | None = None) -> Arrays:
        """What a kernel makes, as it is there; arrays that are given stand before those of the program."""
        if given:
            return kernel(
                {role: given[role] if role in given else arrays[self.role(role)] for role in kernel.inputs}
            )
        bound = self._bound.get(id(kernel))
        if bound is None:
            bound = self._bound[id(kernel)] = tuple(map(self.role, kernel.inputs))
        return dict(zip(kernel.outputs, kernel.call([arrays[role] for role in bound]), strict=True))

    def put(self, arrays: Arrays, found: Arrays) -> None:
        """Take what a kernel made for the program."""
        arrays.update({self.role(role): array for role, array in found.items()})

    def compute(self, arrays: Arrays) -> None:
        """Compute the new values, and what is taped."""
        self.put(arrays, self.run(self.kernels["value"], arrays))

    def push(self, arrays: Arrays) -> None:
        """The tangents of what is new from those of what dies, then the new values."""
        found = self.run(self.kernels["jvp"], arrays)
        drop(arrays, TANGENT, self.planned.dying)
        self.put(arrays, found)
        self.compute(arrays)

    def pull(self, arrays: Arrays) -> None:
        """The cotangents of what died from those of what is new."""
        found = self.run(self.kernels["vjp"], arrays)
        drop(arrays, COTANGENT, self.planned.new)
        self.put(arrays, found)

    # -- backwards ---------------------------------------------------------------------------------

    def undo(self, arrays: Arrays) -> None:
        """The tangents of what died from those of what is new, of a component that is solved as a system."""
        form, base = self.form, self.kind.base
        factors = self.factors(arrays)
        right = {role.name: array for role, array in self.run(self.kernels["right_side"], arrays).items()}
        vector = factors.solve(joined(base, form.new, right)[0], False)
        drop(arrays, TANGENT, self.planned.new)
        solved = parted(form, base, form.dying, vector)
        self.put(arrays, {Role(TANGENT, name): array for name, array in solved.items()})

    # -- forwards ----------------------------------------------------------------------------------

    def advance(self, arrays: Arrays) -> bool:
        """The new values, and cotangents after the component from those before; whether pivots are good."""
        kernels, form, dying = self.kernels, self.form, self.planned.dying
        if kernels.is_closed:
            found = self.run(kernels["transposed"], arrays)
            least = found.pop(Role(LEAST), None)
            drop(arrays, COTANGENT, dying)
            self.put(arrays, found)
            return least is None or is_good(least)
        self.compute(arrays)
        factors, base = self.factors(arrays), self.kind.base
        given = {name: arrays[Role(COTANGENT, self.own(name))] for name in form.dying}
        vector = factors.solve(joined(base, form.dying, given)[0], True)
        drop(arrays, COTANGENT, dying)
        solved = parted(form, base, form.new, vector)
        self.put(arrays, {Role(COTANGENT, name): array for name, array in solved.items()})
        self.put(arrays, self.run(kernels["back"], arrays))
        for name in kernels.taped:
            arrays.pop(self.role(value_of(name)), None)
        return True

    def logabsdet(self, arrays: Arrays) -> float:
        """log |det A|."""
        if self.kernels.is_closed:
            return float(self.run(self.kernels["pivots"], arrays)[Role(TOTAL)])
        return self._factored(arrays).logabsdet()

    # -- pivots ------------------------------------------------------------------------------------

    def factors(self, arrays: Arrays) -> Factored:
        """The factored matrix; raises for a pivot that is 0 or no number, warns of one near 0."""
        factors = self._factored(arrays)
        pivots = np.abs(factors.pivots)
        least = pivots.min(initial=np.inf)
        if not is_good(least, float(pivots.max(initial=0))):
            self._report(factors.pivots, pivots)
        return factors

    def _factored(self, arrays: Arrays) -> Factored:
        self._check_memory()
        return self.kernels.factored(lambda kernel, given: self.run(kernel, arrays, given))

    def _check_memory(self) -> None:
        """Refuse a matrix that does not fit. Raises ArgumentError (TAD0914)."""
        kind, graph = self.kind, self.plan.graph
        if not isinstance(kind, MatrixClass) or kind.method != "lapack" or kind.is_band or kind.cyclic:
            return
        item = max(bytes_of_type(self.form.types[name]) for name in self.form.dying)
        needed, free = 2 * item * kind.size**2, available_memory()
        if free is not None and needed > free:
            raise too_large(graph.program.source, self._statements(), kind.name, kind.size, needed, free)

    def _statements(self) -> list[Definition]:
        names = set(self.planned.new)
        return [s for s in self.plan.graph.statements if s.name in names]

    def _report(self, pivots: Array, sizes: Array) -> None:
        bad = ~(sizes > 0)
        place = int(np.argmax(bad)) if bad.any() else int(np.argmin(sizes))
        value, source = float(pivots.reshape(-1)[place]), self.plan.graph.program.source
        found = source, self._statements(), *self._where(place), value
        if bad.any():
            raise singular_step(*found)
        warn_of([near_singular(*found)])

    def _where(self, place: int) -> tuple[str, str]:
        """What a pivot is, and of which element."""
        kind, form = self.kind, self.form
        if isinstance(kind, MatrixClass) and kind.method in ("formula", "blocks"):
            shape = form.shapes[form.new[0]][: kind.batch]
            names = ", ".join(f"`{self.own(name)}`" for name in form.dying)
            what = f"the derivative by {names}" if kind.size == 1 else f"the determinant by {names}"
            return what, _element(np.unravel_index(place, shape) if shape else ())
        if isinstance(kind, Steps):
            return self._where_in_steps(place)
        names, title = (form.new, "derivative") if kind.base.is_scaled else (form.dying, "pivot")
        for name, (start, step, count) in positions(form, names, kind.base.interleaved).items():
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
            return f"the pivot of `{self.own(name)}`", _element(element)
        assert isinstance(programs, StepPrograms)
        kernel = self.kernels["columns"]
        for pivot, parameter in zip(kernel.outputs, kernel.parameters, strict=True):
            shape = shape_at(parameter.shape, {})
            count = prod(shape)
            if place < count:
                index: Sequence[Any] = np.unravel_index(place, shape) if shape else ()
                name, element = programs.element(pivot.name, [int(n) for n in index])
                return f"the derivative of `{self.own(name)}`", _element(element)
            place -= count
        return "a pivot", ""


def _element(index: Sequence[Any]) -> str:
    return f"[{', '.join(str(int(i)) for i in index)}]" if len(index) else ""
