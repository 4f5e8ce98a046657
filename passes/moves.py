"""Reductions that become tensors of their own: where they are computed, and why nothing is read there
that is not in range.

A reduction R under indices i, some of an enclosing sum, becomes `let h[i] = if {C(i)} then (R) else (0)`
over a box around those indices. C are the conditions around R that concern these indices alone: where they
do not hold R was not evaluated, and may be infinite.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from tadc.frontend.extents import Shape, as_form, extent, is_static
from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import Domain, ElementType, Reduce, Select, Term, index_forms, operands
from tadc.lattice.affine import Affine, box
from tadc.lattice.polyhedron import implied
from tadc.passes.algebra import Algebra
from tadc.passes.index_ranges import Ranges
from tadc.passes.names import Names
from tadc.passes.ranges import all_proven

#: Bytes of an element.
ELEMENT = {"f32": 4, "f64": 8}


@dataclass(frozen=True)
class Rows:
    """All rows hold here, or, where `holds` is False, not all."""

    rows: Domain
    holds: bool


@dataclass(frozen=True)
class Test:
    """The comparison of this select holds here, or does not."""

    select: Select
    holds: bool


@dataclass(frozen=True)
class Place:
    """Where a term is evaluated: under indices, outermost first, with their ranges and user's names."""

    indices: tuple[str, ...]
    hints: tuple[str, ...]
    ranges: Ranges
    around: tuple[Rows | Test, ...] = ()

    def under(self, choice: Rows | Test) -> Place:
        """The same where a choice has been made."""
        return replace(self, around=(*self.around, choice))


@dataclass(frozen=True)
class Moved:
    """A tensor that holds a reduction; `order` lists its dimensions as they first appear in the term."""

    definition: Definition
    order: tuple[int, ...]


@dataclass
class Mover:
    """Makes the tensors, each once for all reductions that are equal up to the names of their indices.

    `strict`: nothing is evaluated where it was not before because of a comparison of values, for a
    derivative would multiply a cotangent of 0 with what is infinite there.
    """

    program: Program
    names: Names
    limit: int
    strict: bool
    made: dict[tuple[int, Shape], Moved] = field(default_factory=dict[tuple[int, Shape], Moved])
    refused: set[tuple[int, Shape]] = field(default_factory=set[tuple[int, Shape]])

    def __post_init__(self) -> None:
        self.algebra = Algebra(self.program.terms)
        self.size_facts = self.program.size_facts()
        self.shapes = self.program.shapes()

    def move(
        self, term: Reduce, place: Place, owner: str, type: ElementType, new: list[Definition]
    ) -> Term | None:
        """A read of the tensor that holds a reduction; what is defined for it is added to `new`.

        A reduction of literals alone has the `type`. None where a read is not proven in range, or the
        tensor would be too large.
        """
        type = term.type or type
        own = [(i, h) for i, h in zip(place.indices, place.hints, strict=True) if i in term.free]
        ranges = [place.ranges[i] for i, _ in own]
        if None in ranges:
            return None
        lows = [r.low for r in ranges if r]
        shape = tuple(extent(r.extent) for r in ranges if r)
        if not self._fits(shape, type):
            return None
        # Dimensions start at 0, and have names that every reduction of this kind has.
        start = [Affine.var(f"?{n}") + low for n, low in enumerate(lows)]
        shift = {i: form for (i, _), form in zip(own, start, strict=True)}
        terms = self.program.terms
        plain = terms.substitute(term, shift)
        body = self._guarded(plain, place, shift, shape)
        if body is None:
            return None
        indices = [i for i, _ in own]
        for wanted in dict.fromkeys((plain, body)):
            order = _appearing(wanted, len(own))
            found = self.made.get(self._key(wanted, order, shape))
            if found is not None and len(order) == len(own):
                return self._read(found, indices, lows, order)
        order = _appearing(body, len(own))
        if len(order) < len(own):
            return None  # it is never evaluated, or an index has but one value
        key = self._key(body, order, shape)
        if key in self.refused:
            return None
        definition = self._define(body, shape, [h for _, h in own], owner, type)
        if not all_proven(self.program, self.shapes, definition):
            self.refused.add(key)
            return None
        name = next(n for k in count() if (n := f"{owner}_{k}") not in self.names.taken)
        definition = replace(definition, name=self.names.free(name))
        self.shapes[definition.name] = shape
        self.made[key] = Moved(definition, order)
        new.append(definition)
        return self._read(self.made[key], indices, lows, order)

    def holds(self, definition: Definition) -> None:
        """Note that a definition is the tensor of a reduction, if that is all it is."""
        body, shape = definition.body, definition.shape
        if not isinstance(body, Reduce) or body.type != definition.type:
            return
        numbered = {i: Affine.var(f"?{n}") for n, i in enumerate(definition.indices)}
        body = self.program.terms.substitute(body, numbered)
        order = _appearing(body, len(shape))
        if len(order) == len(shape):
            self.made.setdefault(self._key(body, order, shape), Moved(definition, order))

    def _fits(self, shape: Shape, type: str) -> bool:
        """Whether the extents are none below 0, and the bytes within the limit."""
        if not all(implied(as_form(size), self.size_facts) for size in shape):
            return False
        elements = math.prod(size for size in shape if isinstance(size, int))
        return not is_static(shape) or elements * ELEMENT[type] <= self.limit

    def _guarded(self, term: Term, place: Place, shift: dict[str, Affine], shape: Shape) -> Term | None:
        """The reduction, 0 where a choice around it, of its indices alone, is another."""
        known = frozenset(shift) | frozenset(self.program.sizes)
        facts = box([f"?{n}" for n in range(len(shape))], shape) + self.size_facts
        terms, zero = self.program.terms, self.algebra.zero
        for choice in reversed(place.around):
            if isinstance(choice, Rows):
                rows = [row.substitute(shift) for row in choice.rows if row.form.variables <= known]
                if choice.holds:
                    rows = [c for c in rows if not all(implied(form, facts) for form in c.inequalities)]
                    term = self.algebra.guard(rows, term, zero)
                elif len(rows) == len(choice.rows):
                    term = self.algebra.guard(rows, zero, term)
                continue
            select = choice.select
            if select.lhs.free | select.rhs.free <= known:
                lhs, rhs = (terms.substitute(t, shift) for t in (select.lhs, select.rhs))
                then, otherwise = (term, zero) if choice.holds else (zero, term)
                term = terms.select(select.relation, lhs, rhs, then, otherwise, select.span)
            elif self.strict:
                return None
        return term

    def _key(self, term: Term, order: tuple[int, ...], shape: Shape) -> tuple[int, Shape]:
        """Equal for terms that are equal up to the order of their indices."""
        renamed = {f"?{n}": Affine.var(f"?{place}_") for place, n in enumerate(order)}
        return self.program.terms.substitute(term, renamed).number, tuple(shape[n] for n in order)

    def _define(
        self, body: Term, shape: Shape, hints: Sequence[str], owner: str, type: ElementType
    ) -> Definition:
        chosen: list[str] = []
        for dimension, hint in enumerate(hints):
            chosen.append(self.names.index(hint or f"{owner}_{dimension}", chosen))
        named = {f"?{n}": Affine.var(name) for n, name in enumerate(chosen)}
        body = self.program.terms.substitute(body, named)
        return Definition(owner, type, shape, tuple(chosen), body, is_output=False)

    def _read(
        self, moved: Moved, indices: Sequence[str], lows: Sequence[Affine], order: tuple[int, ...]
    ) -> Term:
        """The element of a tensor, whose dimensions may stand in another order."""
        at = dict(zip(moved.order, order, strict=True))
        forms = [Affine.var(indices[at[d]]) - lows[at[d]] for d in range(len(indices))]
        return self.program.terms.read(moved.definition.name, forms, moved.definition.type)


def _appearing(root: Term, count: int) -> tuple[int, ...]:
    """The indices `?0`, `?1`, … by number, in the order in which a walk over the term meets them."""
    names = {f"?{n}": n for n in range(count)}
    found: dict[int, None] = {}
    seen: set[int] = set()
    stack = [root]
    while stack and len(found) < count:
        term = stack.pop()
        if term.number in seen or term.free.isdisjoint(names):
            continue
        seen.add(term.number)
        for form in index_forms(term):
            found.update(dict.fromkeys(names[v] for v in sorted(form.variables) if v in names))
        stack += reversed(operands(term))
    return tuple(found)
