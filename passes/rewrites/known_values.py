"""Values that a tensor holds already, read instead of computed again.

With `f[i] = if {i >= 2} then (max{k}_0^(i - 2) (x[k])) else (0)` the term `max{k}_0^j (x[k])` is `f[j + 2]`,
where the facts say that `j + 2` is an index of f and at least 2. With `z[n] = sum{e: dst[e] = n} (w[e])` the
term `sum{e: dst[e] = dst[k]} (w[e])` is `z[dst[k]]`: it depends on k by way of an element of an index array.
"""

from __future__ import annotations

from collections.abc import Sequence

from tadc.frontend.program import Definition
from tadc.frontend.terms import Domain, Guard, Term, Terms
from tadc.lattice.affine import Affine, box
from tadc.lattice.late_dataclasses import dataclass, field
from tadc.lattice.polyhedron import hold, negation
from tadc.passes.rewrites.places import TermPlace
from tadc.passes.terms.costs import is_candidate
from tadc.passes.terms.element_terms import forms_of, over_elements


@dataclass(frozen=True)
class _Held:
    """What a tensor holds where the conditions hold; `at` are the dimensions that `?0`, `?1`, … stand for,
    each with what is added to its index."""

    definition: Definition
    conditions: Domain
    at: tuple[tuple[str, int], ...]


@dataclass
class KnownValues:
    """The reductions and expensive values that tensors hold, up to names and shifts of their indices."""

    terms: Terms
    sizes: frozenset[str]
    size_facts: Domain
    has_lookups: bool = False
    """Whether the program has index arrays."""
    held: dict[int, list[_Held]] = field(default_factory=dict[int, "list[_Held]"])
    forms: dict[int, tuple[int, tuple[tuple[str, int], ...]]] = field(
        default_factory=dict[int, "tuple[int, tuple[tuple[str, int], ...]]"]
    )

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
                number, at = self.numbered(term)
                if len(at) == len(definition.indices):
                    self.held.setdefault(number, []).append(_Held(definition, conditions, at))

    def find(self, term: Term, place: TermPlace) -> Term | None:
        """The element that holds a term's value at a place; None if none is known to."""
        if not self.held or term.type is None:
            return None
        type, elements = term.type, dict[str, Affine]()
        while True:
            number, at = self.numbered(term)
            forms = [elements.get(name, Affine.var(name)) + shift for name, shift in at]
            found = self.held.get(number, ())
            facts = (*self.size_facts, *place.in_ranges, *place.rows)
            reads = (self.read(h, forms, facts) for h in found if h.definition.type == type)
            read = next((read for read in reads if read is not None), None)
            inside = None
            if read is None and self.has_lookups:
                inside = over_elements(self.terms, term, self.sizes, elements)
            if inside is None:
                return read
            term = inside

    def read(self, held: _Held, forms: Sequence[Affine], facts: Domain) -> Term | None:
        """The element of one tensor, if it is proven to be in range and to hold this."""
        d = held.definition
        pairs = zip(held.at, forms, strict=True)
        index = {dimension: form - own for (dimension, own), form in pairs}
        rows = (*box(d.indices, d.shape), *held.conditions)
        if not hold((row.substitute(index) for row in rows), facts):
            return None
        return self.terms.read(d.name, [index[i] for i in d.indices], d.type)

    def numbered(self, term: Term) -> tuple[int, tuple[tuple[str, int], ...]]:
        """A number that is equal for terms that are equal up to names and shifts of their indices.

        With it, in the order in which a walk meets them, the indices and what is added to them.
        """
        if term.number not in self.forms:
            shifts = _shifts(list(dict.fromkeys(forms_of(term))), term.free - self.sizes)
            mapping = {name: Affine.var(f"?{n}") - shift for n, (name, shift) in enumerate(shifts.items())}
            self.forms[term.number] = self.terms.substitute(term, mapping).number, tuple(shifts.items())
        return self.forms[term.number]


def _shifts(forms: Sequence[Affine], names: frozenset[str]) -> dict[str, int]:
    """What to add to each index so that the first form that tells it from those before has no constant."""
    found: dict[str, int] = {}
    while len(found) < len(names):
        before = len(found)
        for form in forms:
            unknown = (form.variables & names) - found.keys()
            if len(unknown) == 1:
                (name,) = unknown
                k = form.coefficient(name)
                others = sum(form.coefficient(other) * shift for other, shift in found.items())
                rest = form.constant - others
                found[name] = rest * k if k in (1, -1) else 0
        if len(found) == before:
            left = ((form.variables & names) - found.keys() for form in forms)
            found[min(next(filter(None, left)))] = 0
    return found
