"""One sign for each difference: `x - y` and `y - x` in one definition are the same value, negated.

    (x - y)**2 + (y - x)**2                      is  2 * (x - y)**2
    exp(-(x - y)**2) * (x - y) - exp(-(y - x)**2) * (y - x)
                                                 is  2 * exp(-(x - y)**2) * (x - y)

A minus leaves even functions, passes odd ones, products and sums, and ends in an addition: all of it exact,
up to the sign of a zero.
"""

from __future__ import annotations

from tadc.frontend.functions import having
from tadc.frontend.terms import Apply, Reduce, Term, Terms, integer_exponent, is_bound, reachable
from tadc.lattice.affine import Affine
from tadc.lattice.late_dataclasses import dataclass
from tadc.passes.terms.algebra import Algebra
from tadc.passes.terms.term_rewriter import TermRewriter

EVEN, ODD = having("even"), having("odd")


def with_one_sign(terms: Terms, body: Term) -> Term:
    """The body where no difference stands besides its negative; itself where none does.

    What sums of their own bind counts as one index: these may become one sum.
    """
    first: dict[tuple[int, int], int] = {}
    found: list[tuple[int, tuple[int, int]]] = []
    for term in reachable([body]):
        if isinstance(term, Apply) and term.function == "sub" and term.type is not None:
            x, y = (_anonymous(terms, each).number for each in term.operands)
            if x == y:
                x, y = (each.number for each in term.operands)
            first[x, y] = min(first.get((x, y), term.number), term.number)
            found.append((term.number, (x, y)))
    flipped = {number for number, (x, y) in found if (y, x) in first and first[y, x] < first[x, y]}
    return _Signs(Algebra(terms), flipped).rewritten(body) if flipped else body


def _anonymous(terms: Terms, term: Term) -> Term:
    """A term where all indices that are bound around it have one name."""
    bound = [name for name in term.free if is_bound(name)]
    return terms.substitute(term, dict.fromkeys(bound, Affine.var("?"))) if bound else term


@dataclass
class _Signs(TermRewriter):
    """Turns round the differences with the numbers in `flipped`."""

    flipped: set[int]

    def node(self, node: Term, below: list[Term]) -> Term:
        """A term with its minus in front, over operands that are done."""
        algebra = self.algebra
        if isinstance(node, Apply):
            return self.apply(node, below)
        if isinstance(node, Reduce) and node.kind == "sum" and algebra.is_negative(below[0]):
            return algebra.neg(self.terms.rebuild(node, [algebra.neg(below[0])]))
        return self.terms.rebuild(node, below)

    def apply(self, node: Apply, below: list[Term]) -> Term:
        """A function with its minus in front, of operands that are done."""
        algebra = self.algebra
        if all(new is old for new, old in zip(below, node.operands, strict=True)):
            if node.number in self.flipped:
                return algebra.neg(algebra.apply("sub", below[1], below[0]))
            return node
        x, *rest = below
        if node.number in self.flipped:
            return algebra.neg(algebra.sub(below[1], below[0]))
        exponent = integer_exponent(node)
        match node.function:
            case "div" if algebra.is_negative(rest[0]):
                return algebra.neg(algebra.div(x, algebra.neg(rest[0])))
            case "add" | "sub" | "mul" | "safe" | "neg":
                return algebra.rebuild(node, below)
            case "pow" if exponent is not None and algebra.is_negative(x):
                made = self.terms.rebuild(node, [algebra.neg(x), *rest])
                return algebra.neg(made) if exponent % 2 else made
            case function if function in EVEN and algebra.is_negative(x):
                return self.terms.rebuild(node, [algebra.neg(x)])
            case function if function in ODD and algebra.is_negative(x):
                return algebra.neg(self.terms.rebuild(node, [algebra.neg(x)]))
            case _:
                return self.terms.rebuild(node, below)
