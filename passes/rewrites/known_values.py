"""Values that a tensor holds already, read instead of computed again.

With `f[i] = if {i >= 2} then (max{k}_0^(i - 2) (x[k])) else (0)` the term `max{k}_0^j (x[k])` is `f[j + 2]`,
where the facts say that `j + 2` is an index of f and at least 2: the forms of both, one by one, are equations
for the indices of f. So `logsumexp{q: 2} (x[q + 2*(n // 2)])` is an element of `logsumexp{q: 2} (x[2*j + q])`
with `2*j = 2*(n // 2)`, and `sum{e: dst[e] = dst[k]} (w[e])` one of `z[n] = sum{e: dst[e] = n} (w[e])`.
"""

from __future__ import annotations

from collections.abc import Mapping

from tadc.frontend.program import Definition
from tadc.frontend.terms import Domain, Guard, Term, Terms
from tadc.lattice.affine import Affine, box
from tadc.lattice.late_dataclasses import dataclass, field
from tadc.lattice.polyhedron import hold, negation
from tadc.passes.rewrites.places import TermPlace
from tadc.passes.terms.alike import Outlines
from tadc.passes.terms.costs import is_candidate
from tadc.passes.terms.element_terms import forms_of


@dataclass(frozen=True)
class _Held:
    """A term that is what a tensor holds where the conditions hold."""

    definition: Definition
    conditions: Domain
    term: Term


@dataclass
class KnownValues:
    """The reductions and expensive values that tensors hold, at any place."""

    terms: Terms
    size_facts: Domain
    outlines: Outlines
    held: dict[int, list[_Held]] = field(default_factory=dict[int, "list[_Held]"])

    def add(self, definition: Definition) -> None:
        """Note what a definition holds, at its top or in a branch of it."""
        stack: list[tuple[Term, Domain]] = [(definition.body, ())]
        while stack:
            term, conditions = stack.pop()
            if isinstance(term, Guard):
                stack.append((term.then, conditions + term.conditions))
                if negated := negation(term.conditions, ()):
                    stack.append((term.otherwise, conditions + negated))
            elif is_candidate(term) and term.type == definition.type:
                if term.free.issuperset(definition.indices):
                    self.held.setdefault(self.outlines.of(term), []).append(
                        _Held(definition, conditions, term)
                    )

    def find(self, term: Term, place: TermPlace) -> Term | None:
        """The element that holds a term's value at a place; None if none is known to."""
        if not self.held or term.type is None:
            return None
        facts = (*self.size_facts, *place.in_ranges, *place.rows)
        reads = (self.read(held, term, facts) for held in self.held.get(self.outlines.of(term), ()))
        return next((read for read in reads if read is not None), None)

    def read(self, held: _Held, term: Term, facts: Domain) -> Term | None:
        """The element of one tensor, if it is proven to be in range and to hold this."""
        d = held.definition
        at = _solution(held, term)
        if d.type != term.type or at is None or self.terms.substitute(held.term, at) is not term:
            return None
        rows = (*box(d.indices, d.shape), *held.conditions)
        if not hold((row.substitute(at) for row in rows), facts):
            return None
        return self.terms.read(d.name, [at[i] for i in d.indices], d.type)


def _solution(held: _Held, term: Term) -> Mapping[str, Affine] | None:
    """What stands for the indices of a tensor if its forms are those of a term, as far as they tell."""
    pairs = [*zip(forms_of(held.term), forms_of(term), strict=False)]
    unknown, found = {*held.definition.indices}, dict[str, Affine]()
    while unknown:
        before = len(unknown)
        for own, form in pairs:
            left = own.variables & unknown
            if len(left) == 1 and (factor := own.coefficient(name := min(left))):
                others = (own - Affine.var(name) * factor).substitute(found)
                # Of a row that is an equation either side may be the first.
                for rest in (form - others, -form - others):
                    value = (rest if factor > 0 else -rest).floordiv(abs(factor))
                    if value * factor == rest and value.variables <= term.free:
                        found[name] = value
                        unknown.discard(name)
                        break
        if len(unknown) == before:
            return None
    return found
