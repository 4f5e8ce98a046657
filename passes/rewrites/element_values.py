"""Values that depend on an element of an index array, each computed once for all tensors that need it.

    m[n] = sum{e: dst[e] = n} (exp(x[src[e]] - x[n]));  d[e] = exp(x[src[e]] - x[dst[e]])*w[e]

If `dst[e] = n`, the summand depends only on e and equals the value in d. Sums are rewritten to show this:
- `dst[e]` replaces n;
- the sum over e is placed around those over other indices, which then depend only on e: `sum{e} (sum{f} …)`;
- a minus is moved to the front: one tensor may use a value, another its negative.

A value worth storing becomes a tensor with an element for each e. In the loops over fibres, which
`tad-fibres` makes later, n replaces `dst[e]` again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tadc.frontend.program import Program
from tadc.frontend.terms import Domain, Guard, Reduce, Select, Term
from tadc.lattice.affine import Affine, Constraint
from tadc.passes.terms.algebra import Algebra, is_const
from tadc.passes.terms.inspected_arrays import lookups_of
from tadc.passes.terms.term_rewriter import TermRewriter

Opened = tuple[dict[str, str], Domain, Term]
"""The indices of a reduction, each with the name that a person reads, its domain and its body."""


def over_elements(program: Program) -> Program:
    """The program whose sums under equalities with elements of index arrays are sums of values of these."""
    walk = _ElementRewriter(Algebra(program.terms))
    return program.with_bodies(walk.rewritten(d.body) for d in program.definitions)


def is_of_elements(term: Term) -> bool:
    """Whether a term has elements of index arrays at places that indices around it say."""
    return any(lookup.variables <= term.free and lookup.at for lookup in lookups_of([term]))


class _ElementRewriter(TermRewriter):
    """Writes sums as sums of values of elements."""

    def node(self, node: Term, below: Sequence[Term]) -> Term:
        """A term over operands that are done."""
        term = self.terms.rebuild(node, below)
        if isinstance(term, Guard | Select):
            return self.in_front(term)
        return self.reduction(term) if isinstance(term, Reduce) else term

    def in_front(self, term: Guard | Select) -> Term:
        """A choice of a value or 0 with its minus in front."""
        algebra = self.algebra
        if not is_const(term.otherwise, 0) or not algebra.is_negative(term.then):
            return term
        return algebra.apply("neg", algebra.branch(term, algebra.neg(term.then)))

    def reduction(self, term: Reduce) -> Term:
        """A reduction over elements, those over other indices in it; its minus in front if it is a sum."""
        if term.kind == "sum" and self.algebra.is_negative(term.below[0]):
            positive = self.rebuilt(term, self.algebra.neg(term.below[0]))
            return self.algebra.apply("neg", self.reduction(positive))
        inner = term.below[0]
        if not _told(term.binders, term.domain):
            if isinstance(inner, Reduce) and inner.kind == term.kind and _told(inner.binders, inner.domain):
                return self.turned(term)
            return term
        opened = self.opened(term)
        binders, domain, _ = opened
        told = _told(binders, domain)
        places = frozenset[str]().union(
            *(lookup.variables for row in domain for lookup in row.form.lookups())
        )
        outer = tuple(name for name in binders if name in places)
        return self.nested(term, outer, opened, told)

    def opened(self, term: Reduce) -> Opened:
        """A reduction with indices that nothing else has."""
        binders, domain, body = self.terms.open(term)
        return dict(zip(binders, term.hints, strict=True)), domain, body

    def rebuilt(self, term: Reduce, body: Term) -> Reduce:
        """A reduction of something else."""
        made = self.terms.rebuild(term, [body])
        assert isinstance(made, Reduce)
        return made

    def turned(self, term: Reduce) -> Term:
        """`sum{f} (sum{e: dst[e] = n} …)` as `sum{e: dst[e] = n} (sum{f} …)`."""
        binders, domain, inner = self.opened(term)
        assert isinstance(inner, Reduce)
        own, rows, body = self.opened(inner)
        if any(not row.form.variables.isdisjoint(binders) for row in rows):
            return term
        told = _told(own, rows)
        return self.nested(term, tuple(own), (own | binders, (*rows, *domain), body), told)

    def nested(self, term: Reduce, outer: Sequence[str], opened: Opened, told: dict[str, Affine]) -> Term:
        """The reduction over some of the indices, around that over the others, where what is told is put."""
        binders, domain, body = opened
        inside = [name for name in binders if name not in outer]
        apart = [row for row in domain if not row.form.variables.isdisjoint(inside)]
        body = self.terms.substitute(body, {name: form for name, form in told.items() if name in body.free})
        if inside and all(row.form.variables.isdisjoint(outer) for row in apart):
            body = self.over(term, {name: binders[name] for name in inside}, apart, body)
            domain = tuple(row for row in domain if row not in apart)
            binders = {name: binders[name] for name in outer}
        return self.over(term, binders, domain, body)

    def over(self, term: Reduce, binders: dict[str, str], domain: Sequence[Constraint], body: Term) -> Term:
        return self.terms.reduce_like(term, tuple(binders), domain, body, tuple(binders.values()))


def _told(binders: Iterable[str], domain: Domain) -> dict[str, Affine]:
    """The indices around a reduction that an element at a place of its own says, each with the form."""
    own, told = frozenset(binders), dict[str, Affine]()
    for row in domain:
        for name in row.form.variables - own if row.equality else ():
            form = row.form.solved(name)
            lookup = None if form is None else (form - form.constant).lookup
            if form is not None and lookup is not None and own.intersection(lookup.variables):
                told.setdefault(name, form)
    return told
