"""Components with their kernels, between the values and tangents of a program."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from tadc.apps.inversion.factors import Array
from tadc.apps.inversion.form_kernels import FormKernels, RoledKernel, What
from tadc.apps.undoing.plans.inversion_errors import bad_pivot
from tadc.apps.undoing.plans.kinds import Steps
from tadc.apps.undoing.plans.planned import Plan, Step
from tadc.apps.undoing.solutions.roles import COTANGENT, LEAST, TANGENT, TOTAL, Role, RoleKind
from tadc.apps.undoing.solutions.undone import naming
from tadc.toolkit.language import Definition
from tadc.toolkit.reporting import ArgumentError, warn_of

#: Values, tangents and cotangents.
Arrays = dict[Role, Array]

#: What an element of one of several pivots is, and of which element of that.
Where = Callable[[int, list[int]], tuple[str, list[int]]]

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
    """A component with its kernels, between what belongs to the values of a program; formulas undo it."""

    def __init__(self, plan: Plan, planned: Step, kernels: FormKernels) -> None:
        self.plan, self.planned, self.kernels = plan, planned, kernels
        self.form, self.kind = planned.form, planned.matrix
        self.role = naming(planned.names, planned.component.statements[0])
        self._bound: dict[What, RoledKernel] = {}

    @property
    def statements(self) -> list[Definition]:
        """The definitions of what is new."""
        return [s for s in self.plan.graph.statements if s.name in self.planned.new]

    def own(self, name: str) -> str:
        """The name in the program of a tensor of the form; what is only in between has none."""
        return self.planned.names.get(name, name)

    def kernel(self, what: What) -> RoledKernel:
        """A kernel of the form, for the tensors of the program."""
        if what not in self._bound:
            self._bound[what] = self.kernels[what].named(self.role)
        return self._bound[what]

    def compute(self, arrays: Arrays) -> None:
        """Compute the new values, and what is taped."""
        arrays.update(self.kernel("value")(arrays))

    def push(self, arrays: Arrays) -> None:
        """The tangents of what is new from those of what dies, then the new values."""
        arrays.update(self.kernel("jvp")(arrays))
        drop(arrays, TANGENT, self.planned.dying)
        self.compute(arrays)

    def pull(self, arrays: Arrays) -> None:
        """The cotangents of what died from those of what is new."""
        arrays.update(self.kernel("vjp")(arrays))
        drop(arrays, COTANGENT, self.planned.new)

    def advance(self, arrays: Arrays) -> bool:
        """The new values, and cotangents after the component from those before; whether pivots are good."""
        arrays.update(self.kernel("transposed")(arrays))
        drop(arrays, COTANGENT, self.planned.dying)
        least = arrays.pop(self.role(Role(LEAST)), None)
        return least is None or is_good(least)

    def logabsdet(self, arrays: Arrays) -> float:
        """log |det A|."""
        return float(self.kernel("logabsdet")(arrays)[self.role(Role(TOTAL))])

    def check(self, arrays: Arrays) -> None:
        """Raise for a pivot that is 0 or no number (TAD0912), warn of one near 0 (TAD0913)."""
        names = [role.name for role in self.kernels["pivots"].outputs]
        self.judge(self.kernel("pivots").results(arrays), lambda n, index: self._pivot(names[n], index))

    def judge(self, pivots: Sequence[Array], where: Where) -> None:
        """Look at pivots as `check` does."""
        sizes = [np.abs(array) for array in pivots]
        most = max((size.max(initial=0) for size in sizes), default=0)
        least = [size.min(initial=np.inf) for size in sizes]
        if all(is_good(each, float(most)) for each in least):
            return
        bad = [~(size > 0) for size in sizes]
        is_zero = any(map(np.any, bad))
        n = next(n for n, each in enumerate(bad) if each.any()) if is_zero else int(np.argmin(least))
        place = int(np.argmax(bad[n]) if is_zero else np.argmin(sizes[n]))
        what, index = where(n, element_at(place, pivots[n].shape))
        what += f" at element [{', '.join(map(str, index))}]" if index else ""
        value, source = float(pivots[n].reshape(-1)[place]), self.plan.graph.program.source
        found = bad_pivot(source, self.statements, what, value, is_zero=is_zero)
        if is_zero:
            raise ArgumentError([found])
        warn_of([found])

    @property
    def by_dying(self) -> str:
        """What a pivot of a block is."""
        names = ", ".join(f"`{self.own(name)}`" for name in self.form.dying)
        return f"the {'derivative' if self.kind.base.size == 1 else 'determinant'} by {names}"

    def _pivot(self, name: str, index: list[int]) -> tuple[str, list[int]]:
        """What an element of a pivot is."""
        kind = self.kind
        if isinstance(kind, Steps):
            name, index = self.kernels.programs.element(name, index)
        elif kind.base.method == "formula":
            return self.by_dying, index
        return f"the derivative of `{self.own(name)}`", index


def element_at(place: int, shape: Sequence[int]) -> list[int]:
    """The indices of an element, of its place in row-major order."""
    return [int(k) for k in np.unravel_index(place, tuple(shape))] if shape else []
