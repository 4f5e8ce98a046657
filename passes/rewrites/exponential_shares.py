"""Exponentials divided by their sum share each exponential, if no derivative follows.

    exp(x[i, j] - logsumexp{k} (x[i, k]))    is  exp(x[i, j] - m[i]) / s[i]
    logsumexp{k} (x[i, k])                   is  m[i] + log(s[i])
    select(l[i] != -inf, y * e / s[i], 0)    is  e * pinv(s[i]) * select(l[i] != -inf, y, 0)
    with m[i] = max{k} (x[i, k]), 0 where that is infinite, s[i] = sum{k} (exp(x[i, k] - m[i])),
    l[i] = logsumexp{k} (x[i, k])

Each exponential is computed once. This is done if a tensor of them is no larger than an argument or stays in
a near cache. For infinite elements both sides are equal; if the sum is not near 1, the right side has a
smaller rounding error.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tadc.frontend.extents import is_static
from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import Apply, Const, Read, Reduce, Select, Term, index_forms, reachable, tensors_read
from tadc.lattice.affine import Affine
from tadc.lattice.late_dataclasses import dataclass, field, replace
from tadc.passes.terms.algebra import Algebra
from tadc.passes.terms.alike import number_of
from tadc.passes.terms.collect import Signed, added, addends
from tadc.passes.terms.costs import CACHED_BYTES, bytes_of
from tadc.passes.terms.products import product_of
from tadc.passes.terms.term_rewriter import with_sums_open


def with_exponential_shares(program: Program) -> Program:
    """The program with quotients of exponentials; it itself where none are such shares."""
    shares = _Shares(program)
    if not shares.held and not any(map(_is_logsumexp, reachable([d.body for d in program.definitions]))):
        return program
    terms = program.terms
    bodies = [with_sums_open(terms, d.body, shares.known, shares.share) for d in program.definitions]
    if not shares.opened:
        return program
    known: dict[int, Term] = {}
    return program.with_bodies(with_sums_open(terms, body, known, shares.whole) for body in bodies)


@dataclass
class _Shares:
    """A walk over definitions; `opened` are the sums of exponentials that have shares, by `number_of`."""

    program: Program
    known: dict[int, Term] = field(default_factory=dict[int, Term])
    numbers: dict[int, int] = field(default_factory=dict[int, int])
    opened: set[int] = field(default_factory=set[int])

    def __post_init__(self) -> None:
        self.terms = self.program.terms
        self.algebra = Algebra(self.terms)
        self.computed = {d.name: d for d in self.program.definitions}
        self.held: Mapping[str, Definition] = {
            d.name: d for d in self.program.definitions if d.order is None and _is_logsumexp(d.body)
        }
        self.differences: Mapping[str, Definition] = {
            d.name: d
            for d in self.program.definitions
            if d.order is None
            and d.body.type == d.type
            and any(map(self.is_total, addends(d.body, signs=True)))
        }

    def share(self, node: Term, below: Sequence[Term]) -> Term:
        """A term with a quotient in the place of a share."""
        node = self.terms.rebuild(node, below)
        if isinstance(node, Select):
            return self.chosen(node) or node
        if not isinstance(node, Apply) or node.function != "exp":
            return node
        parts = self.parts_of(node.operands[0])
        for place, (is_negative, part) in enumerate(parts):
            total = self.total(part)
            if not is_negative or total is None:
                continue
            x = added(self.algebra, [*parts[:place], *parts[place + 1 :]])
            if x.free >= total.free and self.is_element(x, total) and self.is_near(x):
                self.opened.add(number_of(self.terms, total, self.numbers))
                shift, exponentials = self.parts(total)
                return self.algebra.div(self.exponential(x, shift), exponentials)
        return node

    def parts_of(self, exponent: Term) -> list[Signed]:
        """What is added up to an exponent, which may be an element of a tensor of such differences."""
        held = self.differences.get(exponent.tensor) if isinstance(exponent, Read) else None
        if isinstance(exponent, Read) and held is not None:
            exponent = self.terms.substitute(held.body, held.at(exponent.indices))
        return addends(exponent, signs=True)

    def chosen(self, node: Select) -> Term | None:
        """The slope of a sum of exponentials, which is 0 where this has no element that is not 0."""
        total = self.total(node.lhs)
        if total is None or (node.relation, node.otherwise) != ("!=", self.algebra.zero):
            return None
        if not isinstance(node.rhs, Const) or node.rhs.value != -math.inf:
            return None
        exponentials, product = self.parts(total)[1], product_of(node.then)
        shares = [t for t in product.over if isinstance(t, Apply) and t.function == "exp"]
        if product.under != (exponentials,) or not shares:
            return None
        # Of what has no element that is not 0 the share is 0 here, and nothing else is.
        share = self.terms.apply("pinv", (exponentials,))
        rest = replace(product.without(shares[:1]), under=()).term(self.algebra)
        kept = self.terms.select(node.relation, node.lhs, node.rhs, rest, self.algebra.zero)
        return self.terms.apply("mul", (shares[0], self.terms.apply("mul", (share, kept))))

    def whole(self, node: Term, below: Sequence[Term]) -> Term:
        """A term in which sums of exponentials that have shares are made of the same maxima and sums."""
        node = self.terms.rebuild(node, below)
        if not isinstance(node, Reduce) or not _is_logsumexp(node):
            return node
        if number_of(self.terms, node, self.numbers) not in self.opened:
            return node
        shift, exponentials = self.parts(node)
        return self.terms.apply("add", (shift, self.terms.apply("log", (exponentials,))))

    def total(self, term: Term) -> Reduce | None:
        """The sum of exponentials that a term is the logarithm of, or an element of a tensor of such."""
        if isinstance(term, Read) and term.tensor in self.held:
            held = self.held[term.tensor]
            term = self.terms.substitute(held.body, held.at(term.indices))
        return term if isinstance(term, Reduce) and _is_logsumexp(term) else None

    def is_total(self, part: Signed) -> bool:
        """Whether what is added up is less the logarithm of a sum of exponentials."""
        is_negative, term = part
        return is_negative and self.total(term) is not None

    def is_element(self, x: Term, total: Reduce) -> bool:
        """Whether a term is an element of what a reduction is over, for some values of its indices."""
        names, _, body = self.terms.open(total)
        found: dict[str, Affine] = {}
        stack = [(body, x)]
        while stack:
            one, other = stack.pop()
            if type(one) is not type(other):
                return False
            for form, here in zip(index_forms(one), index_forms(other), strict=False):
                found.update({name: here for name in names if form == Affine.var(name)})
            stack += zip(one.below, other.below, strict=False)
        return found.keys() == {*names} and self.terms.substitute(body, found) is x

    def is_near(self, x: Term) -> bool:
        """Whether a tensor of exponentials would be as large as an argument, or stay in the caches."""
        computed = [self.computed[name] for name in tensors_read([x]) if name in self.computed]
        return all(is_static(d.shape) and bytes_of(d.shape, d.type) < CACHED_BYTES for d in computed)

    def parts(self, total: Reduce) -> tuple[Term, Term]:
        """What the exponents of a sum of exponentials are made smaller by, and the sum of these."""
        names, domain, body = self.terms.open(total)
        most = self.algebra.reduction("max", names, domain, body, total.hints)
        size, far = self.terms.apply("abs", (most,)), self.algebra.const(math.inf)
        shift = self.terms.select("<", size, far, most, self.algebra.zero)
        again, rows, element = self.terms.open(total)
        each = self.exponential(element, shift)
        return shift, self.algebra.sum(again, rows, each, total.hints)

    def exponential(self, x: Term, shift: Term) -> Term:
        """The exponential of a difference."""
        return self.terms.apply("exp", (self.terms.apply("sub", (x, shift)),))


def _is_logsumexp(term: Term) -> bool:
    return isinstance(term, Reduce) and term.kind == "logsumexp"
