"""How many steps the reductions of a compiled program take where index arrays are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tadc.backend.runtime.index_arguments import IndexArguments
from tadc.backend.runtime.parameters import Parameter
from tadc.frontend.extents import shape_at
from tadc.frontend.program import Program
from tadc.frontend.terms import Guard, Reduce, Term
from tadc.lattice.affine import Affine, Floor, Lookup

Arrays = dict[str, NDArray[Any]]


@dataclass
class Steps:
    """How many steps the reductions of a program take, element by element, where index arrays are known."""

    arrays: Arrays
    steps: int = 0
    memo: dict[int, Term] = field(default_factory=dict[int, Term])

    def form(self, form: Affine, at: Mapping[str, int]) -> int:
        """The value of an index form."""
        return form.constant + sum(k * self.atom(atom, at) for atom, k in form.terms)

    def atom(self, atom: str | Floor | Lookup, at: Mapping[str, int]) -> int:
        if isinstance(atom, str):
            return at[atom]
        if isinstance(atom, Floor):
            return self.form(atom.numerator, at) // atom.denominator
        return int(self.arrays[atom.array][tuple(self.form(form, at) for form in atom.at)])

    def count(self, term: Term, at: dict[str, int], seen: set[int] | None = None) -> None:
        """Count the steps of a term at a point, and not of what was `seen` there: it has its value."""
        seen = set[int]() if seen is None else seen
        if term.number in seen:
            return None
        seen.add(term.number)
        if isinstance(term, Guard):
            holds = all(
                (self.form(r.form, at) == 0) if r.equality else self.form(r.form, at) >= 0
                for r in term.conditions
            )
            return self.count(term.then if holds else term.otherwise, at, seen)
        if not isinstance(term, Reduce):
            for below in term.below:
                self.count(below, at, seen)
            return None
        return self.walk(term, term.binders, at)

    def walk(self, term: Reduce, binders: Sequence[str], at: dict[str, int]) -> None:
        """Count the steps of a reduction, of whose indices some are left."""
        if not binders:
            if all(self.form(r.form, at) == 0 for r in term.domain if r.equality):
                self.count(term.body, at)
            return
        name, *others = binders
        rows = [r for r in term.domain if not r.equality and r.form.variables.isdisjoint(others)]
        sides = [(row.form.coefficient(name), row.form) for row in rows if name in row.form.variables]
        assert all(k for k, _ in sides)
        assert {k > 0 for k, _ in sides} == {True, False}
        bounds = [(k, self.form(form, {**at, name: 0})) for k, form in sides]
        low, high = (
            max(-(rest // k) for k, rest in bounds if k > 0),
            min(rest // -k for k, rest in bounds if k < 0),
        )
        for value in range(low, high + 1):
            self.steps += 1
            self.walk(term, others, {**at, name: value})


def count(form: Program, arrays: Arrays, most: int) -> int:
    """The steps of all reductions of a program, whose tensors have `most` elements at most."""
    walk = Steps(inspected(form, arrays))
    for definition in form.definitions:
        shape = shape_at(definition.shape, {})
        assert np.prod(shape) <= most
        for place in np.ndindex(*shape):
            walk.count(definition.body, dict(zip(definition.indices, map(int, place), strict=True)))
    return walk.steps


def inspected(program: Program, arrays: Arrays) -> Arrays:
    """With the index arrays that the inspector makes."""
    indices = [
        Parameter(a.name, a.type, a.shape, a.below, a.increasing, a.inspected)
        for a in program.arguments
        if a.below is not None
    ]
    given = [p for p in indices if p.name in arrays]
    made = [p for p in indices if p.inspected is not None and p.name not in arrays]
    found = IndexArguments(given, made, {}).found([np.ascontiguousarray(arrays[p.name]) for p in given])
    return {**arrays, **{name: array.array for name, array in found.items()}}
