"""The modes of inverse accumulation over a plan: lump by lump, forwards or backwards.

Reverse-inverse mode gives J^-1 v: values are computed and taped, then lumps are undone, last first.
Forward-inverse mode gives J^-T w together with the values, lump after lump, and keeps no tape
(Pearlmutter and Siskind, eqs. 2.4).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tadc.frontend.diagnostics import CompileWarning
from tadc.frontend.program import Program
from tadc.frontend.terms import tensors_read
from tadc.inverse.classes import Blocks, LowRank, Permutation
from tadc.inverse.factors import Array, Factored
from tadc.inverse.kernels import Kernel, Kernels, compiled, joined, parted
from tadc.inverse.plan import Plan, Planned
from tadc.inverse.problems import near_singular, singular_step
from tadc.passes.liveness import needed

Arrays = dict[str, Array]

#: Pivots are near 0 below this many units in the last place of the greatest, or of 1.
_NEAR = 64


class Modes:
    """The modes of a plan. Values, tangents and cotangents go by the names of the program."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        made: dict[int, Kernels] = {}
        for planned in plan.lumps:
            if id(planned.form) not in made:
                made[id(planned.form)] = Kernels(planned.form, planned.kind)
        self.lumps = [_Lump(self, planned, made[id(planned.form)]) for planned in plan.lumps]
        self._parameters: Kernel | None = None
        self._needed: list[tuple[bool, tuple[str, ...]]] | None = None

    # -- modes -------------------------------------------------------------------------------------

    def inverse(self, arguments: Arrays, tangents: Arrays) -> Arrays:
        """J^-1 v: the tangents of the inputs from those of the outputs, by the names of values."""
        values, state = self.forwards(arguments, dropping=True), dict(tangents)
        for lump in reversed(self.lumps):
            lump.undo(values, state)
        return state

    def transposed(self, arguments: Arrays, cotangents: Arrays) -> Arrays:
        """J^-T w: the cotangents of the outputs from those of the inputs."""
        values, state = self.start(arguments), dict(cotangents)
        for lump in self.lumps:
            lump.advance(values, state)
            for name in lump.planned.lump.dying:
                values.pop(name, None)
        return state

    def logabsdet(self, arguments: Arrays) -> float:
        """log |det J|, the sum over lumps."""
        values, total = self.start(arguments), 0.0
        for lump in self.lumps:
            lump.compute(values)
            total += lump.kernels.factored(lump.inside(values)).logabsdet
        return total

    def jvp(self, arguments: Arrays, tangents: Arrays) -> Arrays:
        """J v."""
        values, state = self.start(arguments), dict(tangents)
        for lump in self.lumps:
            found = lump.run(lump.kernels.jvp, values, state)
            lump.replace(state, lump.planned.lump.dying, {n[2:]: a for n, a in found.items()})
            lump.compute(values)
        return state

    def vjp(self, arguments: Arrays, cotangents: Arrays) -> Arrays:
        """J^T w."""
        values, state = self.forwards(arguments, dropping=False), dict(cotangents)
        for lump in reversed(self.lumps):
            found = lump.run(lump.kernels.vjp, values, state)
            lump.replace(state, lump.planned.lump.new, {n[2:]: a for n, a in found.items()})
        return state

    # -- values ------------------------------------------------------------------------------------

    def start(self, arguments: Arrays) -> Arrays:
        """The arguments, and the parameters computed from them."""
        if not self.plan.graph.parameters:
            return dict(arguments)
        if self._parameters is None:
            self._parameters = compiled(_parameter_program(self.plan))
        return arguments | self._parameters(arguments)

    def forwards(self, arguments: Arrays, *, dropping: bool) -> Arrays:
        """All values with what is taped between them; `dropping` what the way back does not need."""
        values = self.start(arguments)
        if not dropping:
            for lump in self.lumps:
                lump.compute(values)
            return values
        if self._needed is None:
            self._needed = self._liveness()
        for lump, (is_needed, last) in zip(self.lumps, self._needed, strict=True):
            if is_needed:
                lump.compute(values)
            for name in last:
                values.pop(name, None)
        return values

    def _liveness(self) -> list[tuple[bool, tuple[str, ...]]]:
        """For each lump whether its values are needed, and which are not after it."""
        back = [set(lump.read(lump.kernels.way_back)) for lump in self.lumps]
        taped = set[str]().union(*back)
        wanted, found = set(taped), list[tuple[bool, tuple[str, ...]]]()
        seen = set(taped)
        for lump in reversed(self.lumps):
            value = lump.kernels.value
            made = [lump.own(name) for name in value.outputs]
            is_needed = any(name in wanted for name in made)
            last: list[str] = []
            if is_needed:
                reads = lump.read([value])
                last = [name for name in (*reads, *made) if name not in seen]
                wanted.update(reads)
                seen.update(reads)
            found.append((is_needed, tuple(last)))
        return found[::-1]


class _Lump:
    """A lump with its kernels. Values in between go by a name that says of which lump they are."""

    def __init__(self, modes: Modes, planned: Planned, kernels: Kernels) -> None:
        self.modes, self.planned, self.kernels = modes, planned, kernels
        self.form, self.kind = planned.form, planned.kind
        self._bound: dict[int, tuple[tuple[bool, str], ...]] = {}
        first = planned.lump.statements[0]
        self._between = f"{first}:"

    def own(self, name: str) -> str:
        """The name in the program of a tensor of the form."""
        return self.planned.names.get(name) or self._between + name

    def read(self, kernels: Iterable[Kernel]) -> list[str]:
        """The values that kernels read, by their names in the program."""
        return [self.own(name) for kernel in kernels for name in kernel.inputs if name[1:2] != "_"]

    def run(self, kernel: Kernel, values: Arrays, state: Arrays) -> Arrays:
        """Run a kernel on values, and on tangents or cotangents; the outputs by their names there."""
        bound = self._bound.get(id(kernel))
        if bound is None:
            bound = self._bound[id(kernel)] = tuple(
                (name[1:2] == "_", self.own(name[2:] if name[1:2] == "_" else name)) for name in kernel.inputs
            )
        arrays = [state[name] if of_state else values[name] for of_state, name in bound]
        return dict(zip(kernel.outputs, kernel.run(arrays), strict=True))

    def inside(self, values: Arrays) -> _Inside:
        """The values under the names of the form."""
        return _Inside(self, values)

    def compute(self, values: Arrays) -> None:
        """Compute the new values, and what is taped."""
        for name, array in self.run(self.kernels.value, values, {}).items():
            values[self.own(name)] = array

    def replace(self, state: Arrays, gone: Sequence[str], found: Mapping[str, Array]) -> None:
        """Put tangents or cotangents, by the names of the form, in the place of others."""
        for name in gone:
            del state[name]
        for name, array in found.items():
            state[self.own(name)] = array

    # -- backwards ---------------------------------------------------------------------------------

    def undo(self, values: Arrays, state: Arrays) -> None:
        """The tangents of what died from those of what is new."""
        kernels = self.kernels
        if kernels.is_closed:
            found = self.run(kernels.inverse, values, state)
            self._check_extremes(found, values)
            solved = {name[2:]: array for name, array in found.items() if name[1:2] == "_"}
        else:
            factors = self._factors(values)
            right = {n[2:]: a for n, a in self.run(kernels.right_side, values, state).items()}
            vector = factors.solve(joined(self.form, _base(self.kind), self.form.new, right))
            solved = parted(self.form, _base(self.kind), self.form.dying, vector)
        self.replace(state, self.planned.lump.new, solved)

    # -- forwards ----------------------------------------------------------------------------------

    def advance(self, values: Arrays, state: Arrays) -> None:
        """The new values, and the cotangents after the lump from those before it."""
        kernels, lump = self.kernels, self.planned.lump
        if kernels.is_closed:
            found = self.run(kernels.transposed, values, state)
            self._check_extremes(found, values)
            for name, array in found.items():
                if name in self.form.new:
                    values[self.own(name)] = array
            solved = {name[2:]: array for name, array in found.items() if name[1:2] == "_"}
            self.replace(state, lump.dying, solved)
            return
        self.compute(values)
        factors = self._factors(values)
        given = {name: state[self.own(name)] for name in self.form.dying}
        vector = factors.solve_transposed(joined(self.form, _base(self.kind), self.form.dying, given))
        solved = parted(self.form, _base(self.kind), self.form.new, vector)
        self.replace(state, lump.dying, solved)
        for name, array in self.run(kernels.back, values, state).items():
            state[self.own(name[2:])] = array
        for name in kernels.taped:
            values.pop(self.own(name), None)

    # -- pivots ------------------------------------------------------------------------------------

    def _check_extremes(self, found: Arrays, values: Arrays) -> None:
        """Look at the least pivot that a kernel reports."""
        least = found.get("least")
        if least is None:
            return
        size, most = float(least), float(found["most"])
        if not size > self._near(most, least.dtype):
            if any(name in self.form.new for name in found):
                values = values | {self.own(n): a for n, a in found.items() if n in self.form.new}
            self.compute(values := dict(values))
            self._factors(values)

    def _factors(self, values: Arrays) -> Factored:
        """The factored matrix; raises for a pivot that is 0 or no number, warns of one near 0."""
        factors = self.kernels.factored(self.inside(values))
        pivots = np.abs(factors.pivots)
        least = pivots.min(initial=np.inf)
        if not least > self._near(float(pivots.max(initial=0)), pivots.dtype):
            self._report(factors.pivots, pivots)
        return factors

    def _near(self, most: float, dtype: Any) -> float:
        return _NEAR * float(np.finfo(dtype).eps) * max(1.0, most)

    def _report(self, pivots: Array, sizes: Array) -> None:
        bad = ~(sizes > 0)
        place = int(np.argmax(bad)) if bad.any() else int(np.argmin(sizes))
        graph = self.plan.graph
        names = set(self.planned.lump.new)
        statements = [s for s in graph.statements if s.name in names]
        what, element = self._where(place)
        value = float(pivots.reshape(-1)[place])
        source = graph.program.source
        if bad.any():
            raise singular_step(source, statements, what, element, value)
        warning = near_singular(source, statements, what, element, value)
        warnings.warn(CompileWarning(warning), stacklevel=6)

    @property
    def plan(self) -> Plan:
        """The plan that the lump belongs to."""
        return self.modes.plan

    def _where(self, place: int) -> tuple[str, str]:
        """What a pivot is, and of which element."""
        kind, form = self.kind, self.form
        if isinstance(kind, Blocks):
            shape = form.shapes[form.new[0]][: kind.batch]
            names = ", ".join(f"`{self.own(name)}`" for name in form.dying)
            what = f"the derivative by {names}" if kind.size == 1 else f"the determinant by {names}"
            return what, _element(np.unravel_index(place, shape) if shape else ())
        names, title = (form.new, "derivative") if isinstance(kind, Permutation) else (form.dying, "pivot")
        for name in names:
            count = form.elements([name])
            if place < count:
                element = _element(np.unravel_index(place, form.shapes[name]) if form.shapes[name] else ())
                return f"the {title} of `{self.own(name)}`", element
            place -= count
        return "a pivot of the low rank", ""


class _Inside(Mapping[str, Array]):
    """The values of a program under the names of a form."""

    def __init__(self, lump: _Lump, values: Arrays) -> None:
        self.lump, self.values_of = lump, values

    def __getitem__(self, name: str) -> Array:
        return self.values_of[self.lump.own(name)]

    def __iter__(self) -> Any:
        return iter(self.lump.planned.names)

    def __len__(self) -> int:
        return len(self.lump.planned.names)


def _base(kind: Any) -> Any:
    return kind.base if isinstance(kind, LowRank) else kind


def _element(index: Sequence[Any]) -> str:
    return f"[{', '.join(str(int(i)) for i in index)}]" if len(index) else ""


def _parameter_program(plan: Plan) -> Program:
    """What the statements read that depends on no input."""
    graph = plan.graph
    wanted = {graph.names.get(n, n) for s in graph.statements for n in tensors_read([s.body])}
    made = [replace_output(d, d.name in wanted) for d in graph.parameters]
    kept = needed(made)
    read = {name for d in kept for name in tensors_read([d.body])}
    arguments = tuple(a for a in graph.program.arguments if a.name in read)
    return Program(arguments, kept, graph.program.terms, graph.program.source)


def replace_output(definition: Any, is_output: bool) -> Any:
    """The definition as a result, or not."""
    from dataclasses import replace

    return replace(definition, is_output=is_output)


__all__ = ["Callable", "Modes"]
