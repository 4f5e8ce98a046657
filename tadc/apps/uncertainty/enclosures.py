"""Bounds of every output of a program over boxes of inputs, on its typed terms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce
from typing import Any

import numpy as np

from tadc.apps.uncertainty.interval_rules import bounds_of, decided
from tadc.toolkit.language import (
    REDUCTIONS,
    Affine,
    Apply,
    Bounds,
    Const,
    Constraint,
    Floor,
    Guard,
    IndexValue,
    Lookup,
    LoopNest,
    Program,
    Read,
    Reduce,
    Select,
    Term,
    deep_recursion,
    loop_nest,
    shape_at,
    size_sources,
)


def enclose(program: Program, low: Mapping[str, Any], high: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Bounds of each output where every argument lies between `low` and `high`, arrays of its shape.

    They hold what the formula is in exact arithmetic, with constants and arguments as the floats that they
    are. Raises ArgumentError (TAD0908) where something has no bounds.
    """
    with deep_recursion():
        return _Enclosure(program, low, high).outputs()


class _Enclosure:
    """One evaluation: bounds of all tensors so far."""

    def __init__(self, program: Program, low: Mapping[str, Any], high: Mapping[str, Any]) -> None:
        self.program = program
        self.tensors = {n: (np.asarray(low[n], float), np.asarray(high[n], float)) for n in low}
        shapes = [self.tensors[a.name][0].shape for a in program.arguments]
        self.sizes: dict[str, int] = {}
        for source in size_sources([a.shape for a in program.arguments]):
            length = shapes[source.argument][source.dimension]
            self.sizes[source.symbol] = (length - source.rest.evaluate(self.sizes)) // source.factor
        self.nests: dict[int, LoopNest] = {}
        self.known: dict[Any, Bounds] = {}

    def outputs(self) -> dict[str, tuple[Any, Any]]:
        for d in self.program.definitions:
            shape = shape_at(d.shape, self.sizes)
            low, high = np.empty(shape), np.empty(shape)
            self.tensors[d.name] = low, high
            places = (dict(zip(d.indices, point, strict=True)) for point in np.ndindex(shape))
            if d.order is not None:
                places = iter(sorted(places, key=d.order.evaluate))
            for place in places:
                self.known = {}
                point = tuple(place.values())
                low[point], high[point] = self.value(d.body, {**self.sizes, **place})
        return {d.name: self.tensors[d.name] for d in self.program.outputs}

    def value(self, term: Term, env: dict[str, int]) -> Bounds:
        """The bounds of a term where its indices have these values."""
        key = (term.number, *[env[name] for name in sorted(term.free)])
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = self._value(term, env)
        return found

    def _value(self, term: Term, env: dict[str, int]) -> Bounds:
        match term:
            case Const():
                return float(term.value), float(term.value)
            case IndexValue():
                number = float(self.known_form(term.form, env).evaluate(env))
                return number, number
            case Read():
                at = tuple(self.known_form(form, env).evaluate(env) for form in term.indices)
                low, high = self.tensors[term.tensor]
                return float(low[at]), float(high[at])
            case Apply():
                return bounds_of(term.function, *[self.value(x, env) for x in term.operands])
            case Guard():
                holds = all(self.known_row(row, env).holds(env) for row in term.conditions)
                return self.value(term.then if holds else term.otherwise, env)
            case Select():
                return self._select(term, env)
            case Reduce():
                return self._reduce(term, env)
            case _:
                raise TypeError(term)

    def _select(self, term: Select, env: dict[str, int]) -> Bounds:
        holds = decided(term.relation, self.value(term.lhs, env), self.value(term.rhs, env))
        taken = [term.then] * (holds is not False) + [term.otherwise] * (holds is not True)
        found = [self.value(branch, env) for branch in taken]
        return min(lo for lo, _ in found), max(hi for _, hi in found)

    def known_form(self, form: Affine, env: Mapping[str, int]) -> Affine:
        """The form with numbers for elements of index arrays at subscripts that are known; 0 out of range."""

        def value(atom: str | Floor | Lookup) -> Affine | None:
            if not isinstance(atom, Lookup):
                return None
            at = [self.known_form(part, env) for part in atom.at]
            if any(part.has_lookups or not part.variables <= env.keys() for part in at):
                return Affine.atom(Lookup(atom.array, tuple(at), atom.below))
            array, _ = self.tensors[atom.array]
            place = tuple(part.evaluate(env) for part in at)
            inside = all(0 <= one < size for one, size in zip(place, array.shape, strict=True))
            return Affine.const(int(array[place]) if inside else 0)

        return form.replace(value) if form.has_lookups else form

    def known_row(self, row: Constraint, env: Mapping[str, int]) -> Constraint:
        return Constraint(self.known_form(row.form, env), row.equality)

    def _points(self, term: Reduce, env: Mapping[str, int]) -> Iterator[Mapping[str, int]]:
        """The points of the set of a reduction."""
        own = {name: env[name] for name in term.free}
        tested = [row for row in term.domain if row.form.has_lookups]
        if not tested:
            nest = self.nests.get(term.number)
            if nest is None:
                nest = self.nests[term.number] = loop_nest(term.binders, term.domain, ())
            yield from nest.points(own)
            return
        rows = [self.known_row(row, own) for row in term.domain]
        plain = [row for row in rows if not row.form.has_lookups]
        for point in loop_nest(term.binders, plain, ()).points(own):
            if all(self.known_row(row, point).holds(point) for row in rows if row not in plain):
                yield point

    def _reduce(self, term: Reduce, env: dict[str, int]) -> Bounds:
        record = REDUCTIONS[term.kind]
        elements = [self.value(term.body, {**env, **point}) for point in self._points(term, env)]
        if not elements:
            return float(record.nothing), float(record.nothing)
        return reduce(lambda x, y: bounds_of(record.join, x, y), elements)
