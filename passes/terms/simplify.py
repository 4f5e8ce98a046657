"""Guards that always or never hold, redundant rows of domains, and factors of 1 are removed."""

from __future__ import annotations

from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import (
    Apply,
    Const,
    Domain,
    Guard,
    IndexValue,
    Read,
    Reduce,
    Select,
    Term,
    Terms,
    bottom_up,
    holds,
    outside_regions,
)
from tadc.lattice.affine import Affine, Constraint, Floor, Lookup
from tadc.lattice.late_dataclasses import dataclass, field
from tadc.lattice.polyhedron import cleared, irredundant, is_empty, negation, not_implied, quotient, tightened
from tadc.lattice.residues import residue_of, with_residues
from tadc.passes.terms.algebra import Algebra, is_const, is_safe
from tadc.passes.terms.alike import RewrittenOnce
from tadc.passes.terms.collect import with_guard
from tadc.passes.terms.guarded_addends import is_idle
from tadc.passes.terms.value_ranges import ValueRanges, read_under


def simplify_program(program: Program) -> Program:
    """The program in fewer words; every read stays as guarded as it was."""
    values, seen = ValueRanges(program), read_under(program)

    def simplified(definition: Definition) -> Term:
        simplifier = Simplifier(program.terms, values, seen.get(definition.name, ()))
        return simplifier.visit(definition.body, program.facts(definition))

    once = RewrittenOnce(program, simplified)
    known: dict[int, bool] = {}

    def body(definition: Definition) -> Term:
        # What values of other tensors are, and where this is read, no body tells.
        alone = not seen.get(definition.name) and not holds(definition.body, known, is_safe)
        return once.body(definition) if alone else simplified(definition)

    return program.with_bodies(map(body, program.definitions))


def simplified(program: Program, definition: Definition) -> Definition:
    """A definition of a program with its body in fewer words, whatever other tensors hold."""
    return definition.with_body(Simplifier(program.terms).visit(definition.body, program.facts(definition)))


@dataclass
class Simplifier:
    """One walk over a body; `facts` are the rows known to hold where a term is evaluated.

    `values` of a program tell which products need not be safe, where rows in `seen` hold besides.
    """

    terms: Terms
    values: ValueRanges = field(default_factory=ValueRanges)
    seen: Domain = ()
    memo: dict[Domain, dict[int, Term]] = field(default_factory=dict[Domain, dict[int, Term]])

    def __post_init__(self) -> None:
        self.algebra = Algebra(self.terms)

    def visit(self, term: Term, facts: Domain) -> Term:
        """The simplified term, where the facts hold."""
        known = self.memo.setdefault(facts, {})
        return bottom_up(term, known, lambda t, below: self.rewrite(t, below, facts), outside_regions)

    def rewrite(self, term: Term, below: list[Term], facts: Domain) -> Term:
        """A simpler term for one whose operands are simplified."""
        match term:
            case Apply():
                return self.arithmetic(term, below, facts)
            case Select():
                return self.algebra.select(term.relation, *below, term.span)  # type: ignore[call-arg]
            case Guard():
                return self.guard(term, facts)
            case Reduce():
                return self.reduce(term, facts)
            case IndexValue():
                form = self.form(term.form, facts)
                if form.is_constant:
                    return self.terms.const(form.constant, term.span)
                return self.terms.index(form, term.span)
            case Read():
                return self.terms.rebuild(term, (), lambda form: self.form(form, facts))
            case _:
                return term

    def form(self, form: Affine, facts: Domain) -> Affine:
        """The form without floors that the facts decide."""
        if form.is_linear:
            return form

        def value(atom: str | Floor | Lookup) -> Affine | None:
            if not isinstance(atom, Floor):
                return None
            found = quotient(atom.numerator, atom.denominator, facts)
            return None if found is None else Affine.const(found)

        return form.replace(value)

    def row(self, row: Constraint, facts: Domain) -> Constraint:
        """The row without floors that the facts decide."""
        return Constraint(self.form(row.form, facts), row.equality)

    def arithmetic(self, term: Apply, below: list[Term], facts: Domain) -> Term:
        """Neutral elements and double signs only: nothing that could change a rounding."""
        match term.function, below:
            case "add", [x, zero] if is_const(zero, 0):
                return x
            case "add", [zero, x] if is_const(zero, 0):
                return x
            case "sub", [x, zero] if is_const(zero, 0):
                return x
            case "mul", [one, x] if is_const(one, 1):
                return x
            case (("mul" | "div"), [x, one]) if is_const(one, 1):
                return x
            case "pow", [x, Const(value=int(n))] if n == 1:
                return x
            case "neg", [Apply(function="neg", operands=(x,))]:
                return x
            case (("add" | "sub"), [Guard() as x, Guard() as y]) if self.algebra.are_zero_together(x, y):
                then = self.terms.apply(term.function, [x.then, y.then], term.span)
                return self.algebra.guard(x.conditions, then, self.algebra.zero)
            case "add", [x, Guard() as y] if found := with_guard(self.algebra, x, y, facts):
                return found
            case "safe", [zero, _] if is_const(zero, 0):
                return zero
            case "safe", [x, y] if self.values.of(y, facts + self.seen).finite:
                return self.algebra.product(x, y)
            case "neg", [Const() as c]:
                return self.terms.const(-c.value, term.span)
            case _:
                return self.terms.rebuild(term, below)

    def guard(self, term: Guard, facts: Domain) -> Term:
        """The branch that is always taken, or the conditions that are not known."""
        rows = [cleared(self.row(c, facts)) for c in term.conditions]
        rows = not_implied(rows, facts)
        if not rows:
            return self.visit(term.then, facts)
        if is_empty((*facts, *rows)):
            return self.visit(term.otherwise, facts)
        rows = irredundant(rows, facts)
        residues = [
            (row, residue)
            for row in rows
            if (residue := residue_of(row)) and (residue.rest or residue.row != row)
        ]
        then = term.then
        if residues:
            known = [residue for _, residue in residues]
            spoken = dict(residues)
            rows = [spoken[row].row if row in spoken else row for row in rows]
            names = frozenset(name for residue in known for name in residue.form.variables)
            then = self.terms.rewrite_forms(then, names, lambda form: with_residues(form, known))
        then = self.visit(then, facts + tuple(rows))
        if is_idle(tuple(rows), then, term.otherwise, facts):
            return then
        otherwise = self.visit(term.otherwise, facts + negation(rows, facts))
        return self.algebra.guard(rows, then, otherwise)

    def reduce(self, term: Reduce, facts: Domain) -> Term:
        """The reduction over the rows that matter, which are the same points; a literal over none."""
        binders, domain, body = self.terms.open(term)
        if is_empty((*facts, *domain)):
            return self.algebra.neutral(term.kind)
        rows = [tightened(cleared(self.row(c, facts)), facts) for c in domain]
        rows = tuple(irredundant(rows, facts, binders))
        body = self.visit(body, facts + rows)
        if is_const(body, 0) and term.kind == "sum":
            return self.algebra.zero
        return self.terms.reduce_like(term, binders, rows, body)
