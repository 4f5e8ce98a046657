"""Powers whose exponents are indices with small known ranges become products.

    sum{k: 4} (c[k] * x[i]**k)    becomes    c[0] + c[1]*x[i] + c[2]*x[i]**2 + c[3]*x[i]**3

If the exponent is not an index of a short sum, x**k with k up to 7 is a product of squares, by the bits of k:

    (if {k % 2 = 1} then (x) else (1)) * (if {k // 2 % 2 = 1} then (x**2) else (1)) * (if {k // 4 = 1} …)

A product of n factors errs by less than n units in the last place, as `x**n` with a literal does.
"""

from __future__ import annotations

from functools import reduce

from tadc.frontend.program import Program
from tadc.frontend.terms import Apply, Const, IndexValue, Reduce, Term, holds, reachable
from tadc.lattice.affine import Affine, Constraint, equals_zero
from tadc.lattice.late_dataclasses import dataclass
from tadc.passes.rewrites.places import Places, PlaceWalk, TermPlace
from tadc.passes.rewrites.short_sums import terms_of_sum
from tadc.passes.terms.algebra import Algebra
from tadc.passes.terms.costs import MUCH_CODE, weight
from tadc.passes.terms.index_ranges import span_of
from tadc.passes.terms.powers import GREATEST


def powers_as_products(program: Program) -> Program:
    """The program with products for powers with indices in their exponents."""
    known: dict[int, bool] = {}
    bodies: list[Term] = []
    for definition in program.definitions:
        is_found = holds(definition.body, known, lambda node: _form(node) is not None)
        walk = _PowerWalk(Places(program, definition), program)
        bodies.append(walk.visit(0, definition.body) if is_found else definition.body)
    return program.with_bodies(bodies)


def _form(term: Term) -> Affine | None:
    """The exponent of a power, if it is a form of indices."""
    return _integer(term.operands[1]) if isinstance(term, Apply) and term.function == "pow" else None


def _integer(term: Term) -> Affine | None:
    """A term with an index in it as a form: `k`, `k - 1`."""
    match term:
        case IndexValue(form=form):
            return form
        case Apply(
            function="add" | "sub" as function, operands=(IndexValue(form=form), Const(value=int() as n))
        ):
            return form + n if function == "add" else form - n
        case _:
            return None


@dataclass
class _PowerWalk(PlaceWalk):
    """One walk over a definition."""

    program: Program

    def __post_init__(self) -> None:
        self.algebra = Algebra(self.program.terms)

    def moved(self, at: int, term: Term) -> Term | None:
        """The terms of a short sum with such powers, added up."""
        if not isinstance(term, Reduce):
            return None
        powers = [form for node in reachable([term.body]) if (form := _form(node)) is not None]
        if not any(name in form.variables for form in powers for name in term.binders):
            return None
        operations = sum(map(weight, reachable([term.body])))
        summands = terms_of_sum(self.algebra, term, min(GREATEST + 1, MUCH_CODE // operations))
        if summands is None:
            return None
        made = [self.visit(at, summand) for summand in summands]
        return reduce(lambda x, y: self.algebra.apply("add", x, y), made)

    def rebuilt(self, at: int, term: Term) -> Term:
        """A term over operands without such powers."""
        form = _form(term)
        if form is None:
            return super().rebuilt(at, term)
        product = self.product(self.visit(at, term.below[0]), form, self.places.places[at])
        return product or super().rebuilt(at, term)

    def product(self, base: Term, form: Affine, place: TermPlace) -> Term | None:
        """A power as a product; None where the exponent may be too great."""
        span = span_of(form, place.ranges, frozenset())
        if span is None or not (span.low.is_constant and span.high.is_constant):
            return None
        least, greatest = span.low.constant, span.high.constant
        if least < -1 or greatest > GREATEST:
            return None
        algebra = self.algebra
        if least == greatest:
            return algebra.power(base, least)
        if base.type is None:
            return None
        one, result = algebra.one, None
        for bit in range(max(greatest, 1).bit_length()):
            digit = form.floordiv(1 << bit).mod(2)
            factor = algebra.guard([equals_zero(digit - 1)], algebra.power(base, 1 << bit), one)
            result = factor if result is None else algebra.apply("mul", result, factor)
        if least < 0 and result is not None:
            return algebra.guard([Constraint(form)], result, algebra.apply("div", one, base))
        return result
