"""The compiled programs of a form, each made at its first use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Literal

import numpy as np

from tadc.apps.inversion.wraps import unwrapped
from tadc.apps.undoing.factors import Array, Factored, of_dense, of_diagonal, of_low_rank
from tadc.apps.undoing.forms import ComponentForm, program_of
from tadc.apps.undoing.kinds import Class, LowRank, Steps
from tadc.apps.undoing.matrices import assembled, columns_of, joined, of_diagonals, whole_matrix
from tadc.apps.undoing.pieces import log_sum
from tadc.apps.undoing.programs import one_band
from tadc.apps.undoing.roles import COTANGENT, TOTAL, Role, RoledProgram
from tadc.apps.undoing.step_programs import programs_of
from tadc.apps.undoing.step_systems import StepSystems
from tadc.toolkit.language import Definition, Program
from tadc.toolkit.reporting import new_rlock
from tadc.toolkit.running import Parameter, function_in_memory, numpy_type

LOCK = new_rlock()


@dataclass(frozen=True, eq=False)
class FormKernel:
    """A compiled program: the roles of its arguments and results, in order."""

    inputs: tuple[Role, ...]
    outputs: tuple[Role, ...]
    call: Callable[..., list[Array]]
    parameters: tuple[Parameter, ...]

    def __call__(self, arrays: Mapping[Role, Array]) -> dict[Role, Array]:
        """The results of arrays by role."""
        return dict(zip(self.outputs, self.call([arrays[role] for role in self.inputs]), strict=True))


#: Runs a kernel of a form at a point, with arrays besides.
Runner = Callable[[FormKernel, Mapping[Role, Array]], Mapping[Role, Array]]


def _nothing(_: Sequence[Array]) -> list[Array]:
    return []


def compiled(made: RoledProgram, *, fused: bool = False) -> FormKernel:
    """The kernel of a program, from disk if it was compiled before.

    If `fused`, products and sums may be rounded once: a recurrence waits half as long for each element.
    """
    if not made.program.outputs:
        return FormKernel((), (), _nothing, ())
    f = function_in_memory(unwrapped(made.program), "<inverse>")
    kernel = (f.compiled_fused() if fused else f.compiled()).kernel
    return FormKernel(
        tuple(map(made.role, f.inputs)), tuple(map(made.role, f.outputs)), kernel, kernel.outputs
    )


#: The programs of a form, as methods of `Programs`; what is divided by as `log |det A|`.
What = Literal[
    "value",
    "inverse",
    "transposed",
    "right_side",
    "back",
    "columns",
    "outer",
    "inner",
    "jvp",
    "vjp",
    "pivots",
]


class FormKernels:
    """What a form is computed and inverted with, each made at its first use.

    Tensors go by their names in the form.
    """

    def __init__(self, form: ComponentForm, kind: Class) -> None:
        self.form, self.kind = form, kind
        self.programs = programs_of(form, kind)
        self.is_closed = self.programs.is_closed
        is_low = isinstance(kind, LowRank)
        #: What reads values when the component is undone, and what of it needs values that are taped.
        self.way_back: tuple[What, ...] = ("right_side", "columns", *(("outer", "inner") if is_low else ()))
        self._taping: tuple[What, ...] = ("inverse", "columns") if self.is_closed else self.way_back[:3]
        self._made: dict[What, RoledProgram] = {}
        self._kernels: dict[What, FormKernel] = {}

    @cached_property
    def taped(self) -> tuple[str, ...]:
        """The values in between that are kept for the way back."""
        return self.programs.taped([self.program(what) for what in self._taping])

    def program(self, what: What) -> RoledProgram:
        """A program of the form."""
        if what not in self._made:
            make = getattr(self.programs, what)
            made: RoledProgram = make(self.taped) if what == "value" else make()
            self._made[what] = _log_determinant(made.program) if what == "pivots" else made
        return self._made[what]

    def __getitem__(self, what: What) -> FormKernel:
        """A program, compiled."""
        if what not in self._kernels:
            fused = what == "transposed" and self.kind.base.method == "recurrence"
            self._kernels[what] = self._compiled(self.program(what), fused=fused)
        return self._kernels[what]

    def _compiled(self, made: RoledProgram, *, fused: bool = False) -> FormKernel:
        with LOCK:
            return compiled(made, fused=fused)

    # -- matrices ----------------------------------------------------------------------------------

    def factored(self, run: Runner) -> Factored:
        """The matrix of the component at a point, ready to be solved with."""
        kind, form = self.kind, self.form
        found = {(role.name, role.of): array for role, array in run(self["columns"], {}).items()}
        if isinstance(self.programs, StepSystems):
            (columns,) = found.values()
            return self.programs.factored(columns, self._compiled)
        if isinstance(kind, Steps):
            return of_diagonal(np.concatenate([array.ravel() for array in found.values()]))
        band = one_band(form, kind)
        if band is not None:
            return of_diagonals(band, list(found.values()))
        base = kind.base
        columns = columns_of(form, base, {name: array for (name, _), array in found.items()})
        if not isinstance(kind, LowRank):
            return assembled(base, columns)
        factors = assembled(base, columns)
        outer = columns_of(form, base, {role.name: array for role, array in run(self["outer"], {}).items()})
        if _is_far_from_singular(factors):
            return of_low_rank(factors, np.ascontiguousarray(outer.T), self._inner(kind, run))
        # The base alone hardly has an inverse; the sum may have one.
        return of_dense(whole_matrix(base, columns) + outer.T @ self._inner(kind, run))

    def _inner(self, kind: LowRank, run: Runner) -> Array:
        """A row for each number that goes through."""
        form = self.form
        units = {n: np.zeros(form.shapes[n], numpy_type(form.types[n])) for n in kind.through}
        rows: list[Array] = []
        for name in kind.through:
            for place in range(prod(form.shapes[name])):
                unit = np.zeros_like(units[name])
                unit.reshape(-1)[place] = 1
                given = {Role(COTANGENT, n): array for n, array in (units | {name: unit}).items()}
                found = run(self["inner"], given)
                row = {n: found[Role(COTANGENT, n)] for n in form.dying}
                rows.append(joined(kind.base, form.dying, row)[0])
        return np.stack(rows)


def _is_far_from_singular(base: Factored) -> bool:
    """Whether half of the digits are left where a base is divided by."""
    pivots = np.abs(base.pivots)
    limit = np.sqrt(np.finfo(pivots.dtype).eps) * pivots.max(initial=0)
    return bool(np.all(pivots > limit))


def _log_determinant(made: Program) -> RoledProgram:
    """The sum of the logarithms of what is divided by, of its program."""
    result = Definition("logabsdet", made.outputs[0].type, (), (), log_sum(made.terms, made.outputs))
    kept = [replace(d, is_output=False) for d in made.definitions]
    return RoledProgram(program_of([*kept, result], made.arguments, made.terms), {result.name: Role(TOTAL)})
