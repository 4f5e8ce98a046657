"""The modes of inverse accumulation over a plan: lump by lump, forwards or backwards.

Reverse-inverse mode gives J^-1 v: values are computed and taped, then lumps are undone, last first.
Forward-inverse mode gives J^-T w together with the values, lump after lump, and keeps no tape
(Pearlmutter and Siskind, eqs. 2.4).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from tadc.backend.runtime.memory import available_memory
from tadc.frontend.diagnostics import CompileWarning
from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import tensors_read
from tadc.inverse.classes import Blocks, Class, Dense, LowRank, Permutation, Triangular
from tadc.inverse.factors import Array, Factored
from tadc.inverse.kernels import Kernel, Kernels, compiled, joined, parted
from tadc.inverse.plan import Plan, Planned
from tadc.inverse.pool import Pool, Store
from tadc.inverse.problems import near_singular, singular_step, too_large
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
        self.store = Store()
        self._parameters: Kernel | None = None

    # -- modes -------------------------------------------------------------------------------------

    def inverse(self, arguments: Arrays, tangents: Arrays) -> Arrays:
        """J^-1 v: the tangents of the inputs from those of the outputs, by the names of values."""
        pool = Pool(self.store)
        values, state = self.forwards(arguments, pool, dropping=True), dict(tangents)
        for lump, ends in zip(reversed(self.lumps), reversed(self._ends), strict=True):
            lump.undo(values, state, pool)
            drop(values, ends, pool)
        return self._kept(state, pool)

    def transposed(self, arguments: Arrays, cotangents: Arrays) -> Arrays:
        """J^-T w: the cotangents of the outputs from those of the inputs."""
        pool = Pool(self.store)
        values, state = self.start(arguments), dict(cotangents)
        for lump in self.lumps:
            lump.advance(values, state, pool)
            drop(values, lump.planned.lump.dying, pool)
        return self._kept(state, pool)

    def _kept(self, state: Arrays, pool: Pool) -> Arrays:
        """Results, and the memory of all else given back."""
        found = {name: pool.keep(array) for name, array in state.items()}
        pool.close()
        return found

    def logabsdet(self, arguments: Arrays) -> float:
        """log |det J|, the sum over lumps."""
        values, total, pool = self.start(arguments), 0.0, Pool(self.store)
        for lump in self.lumps:
            lump.compute(values, pool)
            total += lump.logabsdet(values)
        return total

    def jvp(self, arguments: Arrays, tangents: Arrays) -> Arrays:
        """J v."""
        values, state, pool = self.start(arguments), dict(tangents), Pool(self.store)
        for lump in self.lumps:
            found = lump.run(lump.kernels.jvp, values, state, pool)
            lump.replace(state, lump.planned.lump.dying, {n[2:]: a for n, a in found.items()}, pool)
            lump.compute(values, pool)
        return state

    def vjp(self, arguments: Arrays, cotangents: Arrays) -> Arrays:
        """J^T w."""
        pool = Pool(self.store)
        values, state = self.forwards(arguments, pool, dropping=False), dict(cotangents)
        for lump in reversed(self.lumps):
            found = lump.run(lump.kernels.vjp, values, state, pool)
            lump.replace(state, lump.planned.lump.new, {n[2:]: a for n, a in found.items()}, pool)
        return state

    # -- values ------------------------------------------------------------------------------------

    def start(self, arguments: Arrays) -> Arrays:
        """The arguments, and the parameters computed from them."""
        if not self.plan.graph.parameters:
            return dict(arguments)
        if self._parameters is None:
            self._parameters = compiled(_parameter_program(self.plan))
        return arguments | dict(self._parameters(arguments))

    def forwards(self, arguments: Arrays, pool: Pool, *, dropping: bool) -> Arrays:
        """All values with what is taped between them; `dropping` what the way back does not need."""
        values = self.start(arguments)
        if not dropping:
            for lump in self.lumps:
                lump.compute(values, pool)
            return values
        for lump, (is_needed, last) in zip(self.lumps, self._needed, strict=True):
            if is_needed:
                lump.compute(values, pool)
            drop(values, last, pool)
        return values

    @cached_property
    def _needed(self) -> list[tuple[bool, tuple[str, ...]]]:
        """For each lump whether the way back needs its values, and which values nothing reads after it."""
        taped = {name for lump in self.lumps for name in lump.read(lump.kernels.way_back)}
        wanted, seen = set(taped), set(taped)
        found: list[tuple[bool, tuple[str, ...]]] = []
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

    @cached_property
    def _ends(self) -> list[list[str]]:
        """For each lump the values that no lump before it reads on the way back."""
        seen: set[str] = set()
        found: list[list[str]] = []
        for lump in self.lumps:
            reads = list(dict.fromkeys(lump.read(lump.kernels.way_back)))
            found.append([name for name in reads if name not in seen])
            seen.update(reads)
        return found


def drop(values: Arrays, names: Iterable[str], pool: Pool) -> None:
    """Forget values."""
    for name in names:
        array = values.pop(name, None)
        if array is not None:
            pool.give(array)


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
        """The tangents of what died from those of what is new."""
        kernels = self.kernels
        if kernels.is_closed:
            found = self.run(kernels.inverse, values, state, pool)
            self._check_extremes(found, values)
            solved = {name[2:]: array for name, array in found.items() if name[1:2] == "_"}
        else:
            factors = self._factors(values)
            right = {n[2:]: a for n, a in self.run(kernels.right_side, values, state, pool).items()}
            vector = factors.solve(joined(self.form, _base(self.kind), self.form.new, right))
            solved = parted(self.form, _base(self.kind), self.form.dying, vector)
        self.replace(state, self.planned.lump.new, solved, pool)

    # -- forwards ----------------------------------------------------------------------------------

    def advance(self, values: Arrays, state: Arrays, pool: Pool) -> None:
        """The new values, and the cotangents after the lump from those before it."""
        kernels, lump = self.kernels, self.planned.lump
        if kernels.is_closed:
            found = self.run(kernels.transposed, values, state, pool)
            self._check_extremes(found, values)
            for name, array in found.items():
                if name in self.form.new:
                    values[self.own(name)] = array
            solved = {name[2:]: array for name, array in found.items() if name[1:2] == "_"}
            self.replace(state, lump.dying, solved, pool)
            return
        self.compute(values, pool)
        factors = self._factors(values)
        given = {name: state[self.own(name)] for name in self.form.dying}
        vector = factors.solve_transposed(joined(self.form, _base(self.kind), self.form.dying, given))
        solved = parted(self.form, _base(self.kind), self.form.new, vector)
        self.replace(state, lump.dying, solved, pool)
        left = self.run(kernels.back, values, state, pool)
        self.replace(state, (), {name[2:]: array for name, array in left.items()}, pool)
        drop(values, [self.own(name) for name in kernels.taped], pool)

    def logabsdet(self, values: Arrays) -> float:
        """log |det A|."""
        self._check_memory()
        return self.kernels.factored(self.inside(values)).logabsdet

    # -- pivots ------------------------------------------------------------------------------------

    def _check_extremes(self, found: Arrays, values: Arrays) -> None:
        """Look at the least pivot that a kernel reports."""
        least = found.get("least")
        if least is None:
            return
        size, most = float(least), float(found["most"])
        if not size > self._near(most, least.dtype):
            # What a kernel in one piece does not tape is needed to say which pivot it is.
            values = dict(values)
            self.compute(values, Pool(self.modes.store))
            self._factors(values)

    def _factors(self, values: Arrays) -> Factored:
        """The factored matrix; raises for a pivot that is 0 or no number, warns of one near 0."""
        self._check_memory()
        factors = self.kernels.factored(self.inside(values))
        pivots = np.abs(factors.pivots)
        least = pivots.min(initial=np.inf)
        if not least > self._near(float(pivots.max(initial=0)), pivots.dtype):
            self._report(factors.pivots, pivots)
        return factors

    def _check_memory(self) -> None:
        """Refuse a matrix that does not fit. Raises ArgumentError (TAD0914)."""
        if not isinstance(self.kind, Dense | Triangular):
            return
        item = 4 if all(self.form.types[name] == "f32" for name in self.form.dying) else 8
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
        names = set(self.planned.lump.new)
        return [s for s in self.plan.graph.statements if s.name in names]

    def _near(self, most: float, dtype: Any) -> float:
        return _NEAR * float(np.finfo(dtype).eps) * max(1.0, most)

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


def _base(kind: Class) -> Class:
    """The class in whose order vectors are."""
    return kind.base if isinstance(kind, LowRank) else kind


def _element(index: Sequence[Any]) -> str:
    return f"[{', '.join(str(int(i)) for i in index)}]" if len(index) else ""


def _parameter_program(plan: Plan) -> Program:
    """What the statements read that depends on no input."""
    graph = plan.graph
    wanted = {graph.names.get(n, n) for s in graph.statements for n in tensors_read([s.body])}
    made = [replace(d, is_output=d.name in wanted) for d in graph.parameters]
    kept = needed(made)
    read = {name for d in kept for name in tensors_read([d.body])}
    arguments = tuple(a for a in graph.program.arguments if a.name in read)
    return Program(arguments, kept, graph.program.terms, graph.program.source)


__all__ = ["Modes"]
