"""Kronecker deltas out of sums: equalities in a domain become guards, forms and loop bounds.

    sum{a in D, M a = b} g(a)   becomes   if {guards(b)} then (sum{z in D'(b)} g(I b + K z)) else (0)

with I, K and the guards from the Smith normal form of M, and D' from D by substitution
(Urban and van der Smagt 2017, section 4). Guards inside a sum's body join its domain first, so
all equalities are solved as one system:

    sum{D} if B then f else 0                               is  sum{D, B} f
    sum{D} if C then 0 else (if B then f else 0)            is  sum{D, B} if C then 0 else f
    sum{D} select(u < v, if B then f else 0, 0)             is  sum{D, B} select(u < v, f, 0)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tadc.frontend.extents import Shape
from tadc.frontend.index_sets import limit
from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import Domain, Guard, Reduce, Select, Term, Terms, holds_reduction, operands
from tadc.lattice.affine import Affine, Floor, Lookup
from tadc.lattice.effort import EliminationLimit
from tadc.lattice.late_dataclasses import dataclass
from tadc.lattice.polyhedron import in_place
from tadc.lattice.solve import Solution, solve
from tadc.passes.derivatives.gathers import Gather, Solved, gathers
from tadc.passes.terms.algebra import is_const, left_out
from tadc.passes.terms.alike import RewrittenOnce
from tadc.passes.terms.collect import addends, collected, has_delta
from tadc.passes.terms.facts_walk import FactsWalk


def cancel_program(program: Program, found: list[Gather] | None = None) -> Program:
    """The program with no equality left in the domain of a sum or another reduction.

    The sums that gather for reads, and how they were solved, are added to `found`.
    """

    shapes = program.shapes()

    def cancelled(definition: Definition) -> Term:
        facts = program.facts(definition)
        canceller = Canceller(program.terms, shapes.__getitem__)
        body = canceller.total(definition.body, facts)
        if found is not None:
            found.extend(gathers(definition, facts, canceller.solved))
        return body

    # How a sum was solved is told for each definition.
    return program.with_bodies(
        map(cancelled if found is not None else RewrittenOnce(program, cancelled).body, program.definitions)
    )


@dataclass
class Canceller(FactsWalk):
    """One walk over a body; `facts` are the rows known to hold where a term is evaluated.

    `shape_of` gives that of an index array.
    """

    shape_of: Callable[[str], Shape]

    def __post_init__(self) -> None:
        super().__post_init__()
        self.holds: dict[int, bool] = {}
        self.solved: dict[tuple[int, Domain], Solved] = {}

    def has_work(self, term: Term) -> bool:
        """Whether a sum stands at or below a term: nothing else changes."""
        return holds_reduction(term, self.holds)

    def total(self, term: Term, facts: Domain) -> Term:
        """The term as of `visit`, the parts collected where it adds up what reverse mode gathers."""
        parts = addends(term)
        if sum(has_delta(part) for _, part in parts) < 2:
            return self.visit(term, facts)
        return collected(self.terms, [(negative, self.visit(part, facts)) for negative, part in parts])

    def visit(self, term: Term, facts: Domain) -> Term:
        """The term without deltas, where the facts hold."""
        return super().visit(term, facts) if self.has_work(term) else term

    def reduce(self, term: Reduce, facts: Domain) -> Term:
        """Solve the equalities of a reduction and, for a sum, of the guards that are its body.

        The solutions are the points of the domain, each once, so that this holds for every kind.
        """
        binders, domain, body = self.terms.open(term)
        body = self.visit(body, facts + domain)
        rows = list(domain)
        if term.kind == "sum":
            found, body = self.without_guards(body, facts + domain)
            rows += found
        outside = tuple(left_out(body)[0])
        if len(rows) == len(domain) and not any(c.equality for c in rows):
            self.solved[term.number, facts] = Solved(binders, domain, None, outside=outside)
            return self.terms.reduce_like(term, binders, rows, body)
        try:
            solution = solve(binders, rows, facts, self.terms.fresh)
        except EliminationLimit:
            raise limit(term, binders, rows) from None
        self.solved[term.number, facts] = Solved(
            binders, tuple(rows), solution, solution is None, outside, len(rows) - len(domain)
        )
        neutral = self.algebra.neutral(term.kind)
        if solution is None:
            return neutral
        spoken = dict(zip(binders, term.hints, strict=True))
        hints = [spoken.get(z) or f"z{n}" for n, z in enumerate(reversed(solution.kernel))][::-1]
        body = substitute_solution(self.terms, body, solution)
        if term.kind == "sum":
            inner = self.algebra.sum(solution.kernel, solution.domain, body, hints, term.span)
        else:
            inner = self.algebra.reduction(
                term.kind, solution.kernel, solution.domain, body, hints, term.span
            )
        return self.algebra.guard(in_place(solution.guards, self.shape_of, facts), inner, neutral)

    def without_guards(self, body: Term, facts: Domain) -> tuple[Domain, Term]:
        """Conditions without which a body is 0 where the facts hold, and what it is where they hold.

        One inside a guard that stays may have elements of index arrays that are in range there alone.
        """
        rows: Domain = ()
        around: list[tuple[Guard | Select, int]] = []
        inner = body
        while isinstance(inner, Guard | Select):
            then, otherwise = operands(inner)[-2:]
            if isinstance(inner, Guard) and is_const(otherwise, 0):
                found = inner.conditions
                rows += in_place(found, self.shape_of, facts + rows) if around else found
                inner = then
            elif is_const(otherwise, 0) or is_const(then, 0):
                around.append((inner, -2 if is_const(otherwise, 0) else -1))
                inner = operands(inner)[around[-1][1]]
            else:
                break
        if not rows:
            return (), body
        for outer, place in reversed(around):
            below = list(operands(outer))
            below[place] = inner
            inner = self.terms.rebuild(outer, below)
        return rows, inner


def substitute_solution(terms: Terms, body: Term, solution: Solution) -> Term:
    """The body over kernel variables: unknowns, and floors and lookups of unknowns, replaced.

    Then, where the guards say that c divides e, multiples of `c * (e // c)` read as e.
    """
    names = frozenset(solution.substitution)

    def solved(atom: str | Floor | Lookup) -> Affine | None:
        return solution.substitution.get(atom) if isinstance(atom, str) else solution.atoms.get(atom)

    body = terms.rewrite_forms(body, names, lambda form: form.replace(solved))
    exact = exact_quotients(solution)
    if not exact:
        return body
    variables = frozenset(name for floor in exact for name in floor.variables)
    return terms.rewrite_forms(body, variables, lambda form: exact_form(form, exact))


def exact_quotients(solution: Solution) -> dict[Floor, int]:
    """The floors `e // c` that are exact under the guards."""
    found: dict[Floor, int] = {}
    for form, divisor in solution.exact:
        quotient = form.floordiv(divisor)
        if len(quotient.terms) == 1 and not quotient.constant:
            atom, k = quotient.terms[0]
            if isinstance(atom, Floor) and k == 1:
                found[atom] = divisor
    return found


def exact_form(form: Affine, exact: Mapping[Floor, int]) -> Affine:
    """`k * (e // c)` as `(k / c) * e` where c divides both."""
    for atom, k in form.terms:
        if isinstance(atom, Floor) and atom in exact and k % exact[atom] == 0:
            rest = form - Affine.atom(atom) * k
            return exact_form(rest + atom.numerator * (k // exact[atom]), exact)
    return form
