"""The compiled programs of a form, each made at its first use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import TypeAlias

import numpy as np

from tadc.api.load import function_in_memory
from tadc.backend.runtime.host_arrays import Parameter
from tadc.frontend.forks import new_rlock
from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import tensors_read
from tadc.inversion.array_pool import LARGE, Pool
from tadc.inversion.wraps import unwrapped
from tadc.passes.terms.liveness import needed
from tadc.undoing.factors import Array, DenseFactors, DiagonalFactors, Factored, LowRankFactors
from tadc.undoing.forms import Form
from tadc.undoing.kinds import Class, LowRank, Recurrent, Steps
from tadc.undoing.matrices import assembled, joined, of_diagonals, stacked, type_of, whole_matrix
from tadc.undoing.pieces import log_sum
from tadc.undoing.programs import one_band
from tadc.undoing.step_programs import programs_of
from tadc.undoing.step_systems import StepSystems

Arrays: TypeAlias = Mapping[str, Array]

LOCK = new_rlock()


@dataclass(eq=False)
class Kernel:
    """A compiled program: `inputs` and `outputs` by name, in the order of `run`."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    call: Callable[..., list[Array]]
    parameters: tuple[Parameter, ...]

    @cached_property
    def _is_large(self) -> bool:
        return any(p.bytes >= LARGE for p in self.parameters)

    def run(self, arrays: Sequence[Array], pool: Pool | None = None) -> list[Array]:
        """The outputs in order, of arrays in order."""
        if pool is None or not self._is_large:
            return self.call(arrays)
        return self.call(arrays, None, pool.out(self.parameters))

    def __call__(self, values: Arrays) -> dict[str, Array]:
        """The outputs by name, of arrays by name."""
        return dict(zip(self.outputs, self.run([values[name] for name in self.inputs]), strict=True))


def _nothing(_: Sequence[Array]) -> list[Array]:
    return []


def compiled(program: Program, *, fused: bool = False) -> Kernel:
    """The kernel of a program, from disk if it was compiled before.

    If `fused`, products and sums may be rounded once: a recurrence waits half as long for each element.
    """
    if not program.outputs:
        return Kernel((), (), _nothing, ())
    f = function_in_memory(unwrapped(program), "<inverse>")
    kernel = (f.compiled_fused() if fused else f.compiled()).kernel
    return Kernel(f.inputs, f.outputs, kernel, kernel.outputs)


class Kernels:
    """What a form is computed and inverted with. Tensors go by their names in the form."""

    def __init__(self, form: Form, kind: Class) -> None:
        self.form, self.kind = form, kind
        self.programs = programs_of(form, kind)
        self.is_closed = self.programs.is_closed

    @cached_property
    def _taping(self) -> tuple[Program, ...]:
        programs = self.programs
        if self.is_closed:
            return programs.inverse(), programs.columns()
        if isinstance(self.kind, LowRank):
            return programs.right_side(), programs.columns(), programs.outer()
        return programs.right_side(), programs.columns()

    @cached_property
    def taped(self) -> tuple[str, ...]:
        """The values in between that are kept for the way back."""
        return self.programs.taped(self._taping)

    @cached_property
    def way_back(self) -> tuple[Kernel, ...]:
        """What reads values when the component is undone, as a system."""
        found = (self.right_side, self.columns)
        return (*found, self.outer, self.inner) if isinstance(self.kind, LowRank) else found

    @cached_property
    def value(self) -> Kernel:
        """New values and those to tape."""
        return self._compiled(self.value_program)

    @cached_property
    def value_program(self) -> Program:
        """The program of new values and those to tape."""
        return self.programs.value(self.taped)

    @property
    def inverse_program(self) -> Program:
        """The whole solution, of a form that is closed."""
        return self._taping[0]

    @cached_property
    def transposed(self) -> Kernel:
        """New values and the whole transposed solution, of a form that is closed."""
        return self._compiled(self.programs.transposed(), fused=isinstance(self.kind, Recurrent))

    @cached_property
    def right_side(self) -> Kernel:
        """What the system is solved for."""
        return self._compiled(self._taping[0])

    @cached_property
    def back(self) -> Kernel:
        """What the transposed solution leaves to the values that stay."""
        return self._compiled(self.programs.back())

    @cached_property
    def columns(self) -> Kernel:
        """The elements of the matrix."""
        return self._compiled(self._taping[1])

    @cached_property
    def outer(self) -> Kernel:
        """The first factor of a low rank."""
        return self._compiled(self._taping[2])

    @cached_property
    def inner(self) -> Kernel:
        """The second factor of a low rank, a row a call."""
        return self._compiled(self.programs.inner())

    @cached_property
    def jvp(self) -> Kernel:
        """A product with the Jacobian."""
        return self._compiled(self.programs.jvp())

    @cached_property
    def vjp(self) -> Kernel:
        """A product with the transposed Jacobian."""
        return self._compiled(self.programs.vjp())

    def _compiled(self, program: Program, *, fused: bool = False) -> Kernel:
        with LOCK:
            return compiled(program, fused=fused)

    @cached_property
    def log_determinant(self) -> Kernel:
        """log |det A|, of a form that is closed."""
        made = self.programs.pivots()
        total = log_sum(made.terms, made.outputs)
        kept = tuple(replace(d, is_output=False) for d in made.definitions)
        result = Definition("logabsdet", made.outputs[0].type, (), (), total)
        read = tensors_read([total, *(d.body for d in kept)])
        arguments = tuple(a for a in made.arguments if a.name in read)
        return self._compiled(replace(made, arguments=arguments, definitions=needed([*kept, result])))

    # -- matrices ----------------------------------------------------------------------------------

    def factored(self, values: Arrays) -> Factored:
        """The matrix of the component at a point, ready to be solved with."""
        kind = self.kind
        found = self.columns(values)
        if isinstance(self.programs, StepSystems):
            return self.programs.factored(found, self._compiled)
        if isinstance(kind, Steps):
            return DiagonalFactors(np.concatenate([array.ravel() for array in found.values()]))
        if isinstance(kind, LowRank):
            base = assembled(self.form, kind.base, found)
            outer = stacked(self.form, kind.base, self.outer(values))
            if _is_far_from_singular(base):
                return LowRankFactors(base, np.ascontiguousarray(outer.T), self._inner(kind, values))
            # The base alone hardly has an inverse; the sum may have one.
            whole = whole_matrix(self.form, kind.base, found) + outer.T @ self._inner(kind, values)
            return DenseFactors(whole)
        band = one_band(self.form, kind)
        if band is not None:
            return of_diagonals(band, [found[f"c_{k}"] for k in range(band.lower + band.upper + 1)])
        return assembled(self.form, kind, found)

    def _inner(self, kind: LowRank, values: Arrays) -> Array:
        """A row for each number that goes through."""
        form = self.form
        rows: list[Array] = []
        for name in kind.through:
            for place in range(prod(form.shapes[name])):
                units = {f"w_{n}": np.zeros(form.shapes[n], type_of(form, n)) for n in kind.through}
                units[f"w_{name}"].reshape(-1)[place] = 1
                given = {n: units[n] if n in units else values[n] for n in self.inner.inputs}
                found = self.inner(given)
                rows.append(joined(form, kind.base, form.dying, {n: found[f"g_{n}"] for n in form.dying}))
        return np.stack(rows)


def _is_far_from_singular(base: Factored) -> bool:
    """Whether half of the digits are left where a base is divided by."""
    pivots = np.abs(base.pivots)
    limit = np.sqrt(np.finfo(pivots.dtype).eps) * pivots.max(initial=0)
    return bool(np.all(pivots > limit))
