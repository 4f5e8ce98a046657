"""Tensors and summands that are identically 0 in a derivative are not computed.

    let m[i] = max{k} (x[i, k]),  let e[i, k] = exp(x[i, k] - m[i]),  y[i, k] = e[i, k] / sum{j} (e[i, j])

y does not depend on m: the cotangent of m, `sum{k} (-de[i, k] * e[i, k])`, is 0, so the ties of the maximum
need not be counted. The contribution of a variance to the cotangent of its mean,
`sum{k} (-2 * dv[i] * (x[i, k] - m[i]))`, is 0 too, and so is the cotangent of a minimum subtracted in all
exponents of a step. The proof is over the real numbers (`passes/terms/expansion.py`): in floats such a sum is
a rounding error. Values are computed as written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import (
    Apply,
    Domain,
    Guard,
    Read,
    Reduce,
    Select,
    Term,
    bottom_up,
    holds_reduction,
    operands,
    reachable,
)
from tadc.passes.terms.algebra import ARITHMETIC, Algebra, is_const
from tadc.passes.terms.expansion import Expander
from tadc.passes.terms.liveness import of_values
from tadc.passes.terms.simplify import simplified
from tadc.passes.terms.value_ranges import outside


def without_vanishing(program: Program) -> Program:
    """The program without them; it itself where there are none."""
    return program.with_definitions(map(_Removal(program).definition, program.definitions))


class _Removal:
    """Definitions in order: the names in `zeros` are those of tensors that are 0."""

    def __init__(self, program: Program) -> None:
        self.program, self.terms = program, program.terms
        self.algebra, self.expander = Algebra(program.terms), Expander(program)
        self.values = of_values(program)
        self.zeros: set[str] = set()
        self.holds: dict[int, bool] = {}
        self.known: dict[int, Term] = {}

    def definition(self, definition: Definition) -> Definition:
        """The definition without what is 0."""
        body = bottom_up(definition.body, self.known, self.node)
        is_long = definition.order is not None or holds_reduction(body, self.holds)
        if definition.name not in self.values and is_long:
            self.expander.enter(definition)
            body = self.chosen(body, self.expander.facts)
        if is_const(body, 0):
            self.zeros.add(definition.name)
        if body is definition.body:
            return definition
        return simplified(self.program, replace(definition, body=body))

    def node(self, term: Term, below: Sequence[Term]) -> Term:
        """The term with 0 for tensors that are 0."""
        if isinstance(term, Read) and term.tensor in self.zeros:
            return self.algebra.zero
        if all(new is old for new, old in zip(below, operands(term), strict=True)):
            return term
        return self.algebra.rebuild(term, below)

    def chosen(self, term: Term, facts: Domain) -> Term:
        """A term without what is 0 where the facts hold, in factors and in branches of choices too."""
        self.expander.under(facts)
        zeros: set[int] = set()

        def parts(node: Term) -> Sequence[Term]:
            if isinstance(node, Apply) and node.function in ("add", "sub") and self.is_zero(node):
                zeros.add(node.number)
                return ()
            return _parts(node)

        made: dict[int, Term] = {}
        for node in sorted(reachable([term], parts), key=lambda node: node.number):  # operands come first
            match node:
                case Guard(conditions=rows):
                    branches = ((node.then, facts + rows), (node.otherwise, facts + outside(rows, facts)))
                    found = self.node(node, [self.chosen(*branch) for branch in branches])
                case Reduce():
                    self.expander.under(facts)
                    found = self.kept(node, lambda term: term)
                case _ if node.number in zeros:
                    found = self.algebra.zero
                case _:
                    inside = {part.number for part in _parts(node)}
                    below = [made[t.number] if t.number in inside else t for t in operands(node)]
                    found = self.node(node, below)
            made[node.number] = found
        return made[term.number]

    def kept(self, term: Term, whole: Callable[[Term], Term]) -> Term:
        """A term without summands that are 0 in `whole`, which has the sums around them."""
        if self.is_zero(whole(term)):
            return self.algebra.zero
        match term:
            case Apply(function="add" | "sub" as function, operands=below):
                made = [self.kept(part, whole) for part in below]
                if all(new is old for new, old in zip(made, below, strict=True)):
                    return term
                return self.algebra.add(*made) if function == "add" else self.algebra.sub(*made)
            case Reduce(kind="sum"):
                names, domain, body = self.terms.open(term)

                def added(part: Term) -> Term:
                    return self.algebra.sum(names, domain, part, term.hints, term.span)

                made = self.kept(body, lambda part: whole(added(part)))
                return term if made is body else added(made)
            case _:
                return term

    def is_zero(self, term: Term) -> bool:
        return self.expander.is_zero(term)


def _parts(term: Term) -> Sequence[Term]:
    """The operands that a term is 0 with, or chooses from: what it compares stays as values have it."""
    match term:
        case Select():
            return (term.then, term.otherwise)
        case Apply(function=function) if function in ARITHMETIC:
            return term.operands
        case _:
            return ()
