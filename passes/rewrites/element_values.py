"""Values of the elements of an index array, each computed once for all tensors that need it.

    m[n] = sum{e: dst[e] = n} (exp(x[src[e]] - x[n]));  d[e] = exp(x[src[e]] - x[dst[e]])*w[e]

Where `dst[e] = n`, what the sum adds is a value of e, the one that d has too. Sums are written so here,
with `dst[e]` in the place of n, and what is worth it becomes a tensor with an element for each e. Loops over
fibres, which come later (`tad-fibres`), know n.
"""

from __future__ import annotations

from collections.abc import Sequence

from tadc.frontend.program import Program
from tadc.frontend.terms import Domain, Reduce, Term, Terms, bottom_up, index_forms, reachable
from tadc.lattice.affine import Affine, Lookup


def over_elements(program: Program) -> Program:
    """The program whose sums under equalities with elements of index arrays do not depend on what these
    elements are but by way of them."""
    memo: dict[int, Term] = {}
    return program.with_bodies(_over_elements(program.terms, d.body, memo) for d in program.definitions)


def _over_elements(terms: Terms, root: Term, memo: dict[int, Term]) -> Term:
    def node(term: Term, below: Sequence[Term]) -> Term:
        if any(new is not old for new, old in zip(below, term.below, strict=True)):
            term = terms.rebuild(term, below)
        if not isinstance(term, Reduce) or not any(row.equality for row in term.domain):
            return term
        binders, domain, body = terms.open(term)
        told = {name: form for name, form in _told(binders, domain).items() if name in body.free}
        if not told:
            return term
        made = terms.substitute(body, told)
        return terms.reduce(binders, domain, made, kind=term.kind, hints=term.hints, span=term.span)

    return bottom_up(root, memo, node)


def _told(binders: Sequence[str], domain: Domain) -> dict[str, Affine]:
    """The indices around a reduction that an element at a place of its own says, each with the form."""
    own, told = frozenset(binders), dict[str, Affine]()
    for row in domain:
        lookups = [(atom, k) for atom, k in row.form.terms if isinstance(atom, Lookup)]
        names = [(atom, k) for atom, k in row.form.terms if isinstance(atom, str)]
        if not row.equality or len(row.form.terms) != 2 or len(lookups) != 1 or len(names) != 1:
            continue
        ((lookup, k),), ((name, factor),) = lookups, names
        if k * factor == -1 and name not in own and own.intersection(lookup.variables):
            told.setdefault(name, Affine.var(name) - row.form * factor)
    return told


def is_of_elements(term: Term) -> bool:
    """Whether a term has elements of index arrays at places that indices around it say."""
    forms = (form for node in reachable([term]) for form in index_forms(node))
    lookups = (lookup for form in forms for lookup in form.lookups())
    return any(lookup.variables <= term.free and lookup.at for lookup in lookups)
