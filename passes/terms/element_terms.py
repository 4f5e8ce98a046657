"""Terms that depend on indices by way of elements of index arrays alone, as a reduction over a fibre does.

`max{z: d[z] = d[e]} (x[z])` is a value of `d[e]`, and takes as many steps as its fibre has elements. Computed
for each e it takes the sum of the squares of these, which may be all pairs where many elements are equal;
computed for each value, one step an element.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from tadc.frontend.terms import Guard, Reduce, Term, Terms, in_text_order, index_forms, reachable
from tadc.lattice.affine import Affine, Floor, Lookup
from tadc.lattice.fibre import fibre_of
from tadc.lattice.late_dataclasses import dataclass


def over_elements(
    terms: Terms, term: Term, sizes: frozenset[str], elements: dict[str, Affine]
) -> Term | None:
    """A term over elements of index arrays in the place of the indices that it depends on by way of these
    alone, which are added to `elements` by their new names; None where there are none."""
    names = term.free - sizes
    lookups = dict.fromkeys(
        lookup
        for form in forms_of(term)
        for lookup in form.lookups()
        if lookup.variables <= term.free and not lookup.variables.isdisjoint(names)
        if not any(part.has_lookups for part in lookup.at)
    )
    new = {lookup: f"?e{len(elements) + n}" for n, lookup in enumerate(lookups)}

    def element(atom: str | Floor | Lookup) -> Affine | None:
        return Affine.var(new[atom]) if isinstance(atom, Lookup) and atom in new else None

    made = terms.rewrite_forms(term, names, lambda form: form.replace(element))
    inside = frozenset[str]().union(*(lookup.variables for lookup in lookups)) & names
    if not inside or not made.free.isdisjoint(inside):
        return None
    elements |= {name: Affine.atom(lookup).substitute(elements) for lookup, name in new.items()}
    return made


@dataclass(frozen=True)
class OfElement:
    """A term over `name`, which stands for an element, and other indices."""

    term: Term
    name: str
    element: Lookup


def of_fibre(terms: Terms, term: Term, sizes: frozenset[str]) -> OfElement | None:
    """The term over the one element by way of which it has a reduction over a fibre, if it has such."""
    if not any(isinstance(node, Reduce) and has_fibre(node) for node in reachable([term])):
        return None
    found, elements = None, dict[str, Affine]()
    while (made := over_elements(terms, term, sizes, elements)) is not None:
        term, own = made, made.free & elements.keys()
        if len(own) == 1 and has_fibres(term, own):
            (name,) = own
            (element, _), *_ = elements[name].terms
            assert isinstance(element, Lookup)
            found = OfElement(term, name, element)
    return found


def has_fibres(root: Term, names: Collection[str] | None = None) -> bool:
    """Whether a reduction over a fibre, which some indices say, stands at or below a term."""
    return any(isinstance(node, Reduce) and has_fibre(node, names) for node in reachable([root]))


def has_fibre(node: Reduce, names: Collection[str] | None = None) -> bool:
    """Whether a reduction is over the places where an index array has a value, or one of a few, or between
    neighbours in one; over a fibre that some indices say, if these are given."""
    own = frozenset(node.binders)
    rows = [row for row in node.domain if row.form.has_lookups]
    told = [row for row in rows if names is None or not row.form.variables.isdisjoint(names)]
    for row in told:
        inside = any(not lookup.variables.isdisjoint(own) for lookup in row.form.lookups())
        if inside and (row.equality or any((row.form + other.form).is_constant for other in told)):
            return True
    fibres = filter(None, (fibre_of(name, rows) for name in own))
    return any(names is None or not fibre.start.variables.isdisjoint(names) for fibre in fibres)


def arrays_at_once(root: Term) -> frozenset[str]:
    """The index arrays of which several say at once what a reduction at or below a term is over, as for an
    element of a sparse matrix: for most values of these there is nothing."""
    found = frozenset[str]()
    for node in (node for node in reachable([root]) if isinstance(node, Reduce)):
        own, rows = frozenset(node.binders), [row for row in node.domain if row.equality]
        told = [
            {a.array for a, _ in row.form.terms if isinstance(a, Lookup) and not a.variables.isdisjoint(own)}
            for row in rows
        ]
        told = [names for names in told if names]
        told += [{fibre.array} for fibre in (fibre_of(name, node.domain) for name in own) if fibre]
        if len(told) > 1:
            found = found.union(*told)
    return found


def leaves_out_several(term: Term) -> bool:
    """Whether a reduction over a fibre leaves out two elements or more, as a second derivative of a product
    does: there is one for each two elements of a fibre."""
    if not isinstance(term, Reduce) or not has_fibre(term):
        return False
    own, body, count = frozenset(term.binders), term.body, 0
    while isinstance(body, Guard) and all(row.equality for row in body.conditions):
        count += any(not row.form.variables.isdisjoint(own) for row in body.conditions)
        body = body.otherwise
    return count > 1


def forms_of(root: Term) -> Iterable[Affine]:
    """All index forms of a term, in an order that does not depend on names."""
    return (form for term in in_text_order(root) for form in index_forms(term))
