"""Which elements of arguments one element of a tensor reads: its formula, walked at one point.

Domains and conditions on indices are decided as the program states them. Of a condition between values both
sides are walked, for nothing is computed here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tadc.frontend.deep import deep_recursion
from tadc.frontend.program import Program
from tadc.frontend.terms import Guard, Read, Reduce, Term
from tadc.lattice.affine import Affine, Constraint, Floor, Lookup
from tadc.lattice.bounds import Unbounded
from tadc.lattice.loop_nests import loop_nest

#: So many reads are walked at most.
MOST = 200_000

Element = tuple[str, tuple[int, ...]]


class TooManyReads(Exception):
    """An element that takes more than `MOST` reads."""


class ElementReads:
    """The reads of elements of a program without size symbols; index arrays are given by name."""

    def __init__(self, program: Program, index_arrays: Mapping[str, Any]) -> None:
        self._definitions = {d.name: d for d in program.definitions}
        self._arrays = index_arrays
        self._known: dict[Element, Counter[Element]] = {}
        self._left = MOST

    def of(self, tensor: str, place: tuple[int, ...]) -> Counter[Element]:
        """How many times each element of an argument is read, through all tensors in between.

        Raises TooManyReads, and EliminationLimit of `loop_nest`.
        """
        with deep_recursion():
            return self._total(tensor, place)

    def _total(self, tensor: str, place: tuple[int, ...]) -> Counter[Element]:
        definition = self._definitions.get(tensor)
        if definition is None:
            return Counter([(tensor, place)])
        found = self._known.get((tensor, place))
        if found is None:
            found = Counter[Element]()
            direct = Counter(self._reads(definition.body, dict(zip(definition.indices, place, strict=True))))
            for read, times in direct.items():
                for element, each in self._total(*read).items():
                    found[element] += times * each
            self._known[tensor, place] = found
        return found

    def _reads(self, term: Term, at: Mapping[str, int]) -> Iterator[Element]:
        match term:
            case Read():
                self._left -= 1
                if self._left < 0:
                    raise TooManyReads
                yield term.tensor, tuple(self._form(form, at).constant for form in term.indices)
            case Guard():
                holds = all(self._row(row, at).holds({}) for row in term.conditions)
                yield from self._reads(term.then if holds else term.otherwise, at)
            case Reduce():
                rows = [self._row(row, at) for row in term.domain]
                for point in self._points(term.binders, rows):
                    yield from self._reads(term.body, {**at, **point})
            case _:
                for below in term.below:
                    yield from self._reads(below, at)

    def _points(self, binders: Sequence[str], rows: Sequence[Constraint]) -> Iterator[dict[str, int]]:
        """The points of a domain; rows with elements of index arrays are looked at where these are known."""
        plain = [row for row in rows if not any(row.form.lookups())]
        try:
            nest = loop_nest(binders, plain, ())
        except Unbounded:
            first, *rest = binders
            own = [row for row in plain if row.form.variables <= {first}]
            for point in loop_nest([first], own, ()).points({}):
                for inner in self._points(rest, [self._row(row, point) for row in rows]):
                    yield {**point, **inner}
            return
        looked_up = [row for row in rows if row not in plain]
        for point in nest.points({}):
            if all(self._row(row, point).holds({}) for row in looked_up):
                yield point

    def _row(self, row: Constraint, at: Mapping[str, int]) -> Constraint:
        return Constraint(self._form(row.form, at), row.equality)

    def _form(self, form: Affine, at: Mapping[str, int]) -> Affine:
        """A form where indices have these values, and elements of index arrays theirs."""
        if not form.terms:
            return form
        known = form.substitute({name: Affine.const(value) for name, value in at.items()})

        def rule(atom: str | Floor | Lookup) -> Affine | None:
            if not isinstance(atom, Lookup):
                return None
            subscripts = [part.replace(rule) for part in atom.at]
            if any(part.terms for part in subscripts):
                return None
            return Affine.const(int(self._arrays[atom.array][tuple(part.constant for part in subscripts)]))

        return known.replace(rule)
