"""Programs in a table of terms of their own, as a pass finds them.

A rewrite leaves behind terms that nothing uses any more, and numbers that depend on what was made before;
but decisions may follow numbers. So each pass begins with a program whose terms are numbered in the order in
which the dialect holds them: the same one, whether it was written and read in between or not, and whatever
else was made of the same program.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tadc.frontend.deep import deep_recursion
from tadc.frontend.evaluation_order import EvaluationWalk, RegionScope
from tadc.frontend.limits import MAX_OPERATIONS, too_large
from tadc.frontend.literals import computed, literal
from tadc.frontend.naming import distinct
from tadc.frontend.program import Definition, Program, called
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
    integer_exponent,
)
from tadc.lattice.affine import Affine
from tadc.passes.terms.liveness import needed

_COMMUTATIVE = frozenset(("add", "mul", "max", "min"))


def renewed(program: Program, folds: bool = False, spans: bool = True) -> Program:
    """The program without what nothing reads, its terms in a new table, and names that can be printed.

    If it `folds`, arithmetic on literals is done, factors of 1 are gone, and `y*x` is `x*y` where both stand.
    Without `spans` it has no places in a source. Raises CompileError (TAD0113) for too many operations.
    """
    with deep_recursion():
        return _Renewal(program, folds, spans).program()


class _Renewal(EvaluationWalk[Term]):
    """Walks a program in the order of the writer of the dialect."""

    def __init__(self, program: Program, folds: bool, spans: bool) -> None:
        self.old, self.folds, self.spans, self.terms = program, folds, spans, Terms()
        self.tensors = {t.name for t in (*program.arguments, *program.definitions)} | set(program.sizes)
        self.renamed: Mapping[str, Affine] = {}
        self.either: dict[tuple[str, frozenset[int]], Term] = {}
        self.count = 0

    def program(self) -> Program:
        kept = needed(self.old.definitions)
        return replace(self.old, definitions=tuple(map(self.definition, kept)), terms=self.terms)

    def definition(self, old: Definition) -> Definition:
        indices = distinct(old.indices, old.name, self.tensors)
        self.current = old
        names = zip(old.indices, indices, strict=True)
        self.renamed = {was: Affine.var(now) for was, now in names if was != now}
        body = self.evaluated(old.body, old.type, None)
        order = old.order and self.form(old.order)
        span = old.span if self.spans else None
        return replace(old, indices=indices, body=body, order=order, span=span).in_order()

    def begin(self, term: Term) -> None:
        self.count += 1
        if self.count > MAX_OPERATIONS:
            raise too_large(f"more than {MAX_OPERATIONS} operations, up to {called(self.current)}")

    def converted(self, value: Term, type: str) -> Term:
        return value

    def made(self, term: Term, type: str, scope: RegionScope[Term]) -> Term:
        terms, span = self.terms, term.span if self.spans else None
        match term:
            case Const():
                return terms.const(literal(term.value, type), span)
            case IndexValue():
                return terms.index(self.form(term.form), span)
            case Read():
                return terms.read(term.tensor, [self.form(form) for form in term.indices], type, span)
            case Apply():
                below = self.below(term, type, scope)
                if term.function == "pow" and isinstance(exponent := term.operands[1], Const):
                    # `x**2.0` is a power, `x**2` a product.
                    value = exponent.value if integer_exponent(term) is not None else float(exponent.value)
                    below[1:] = [terms.const(value, exponent.span if span else None)]
                found = self.folded(term, below, type) if self.folds else None
                return found or terms.apply(term.function, below, span)
            case Reduce():
                body = self.evaluated(term.body, type, scope)
                rows = self.rows(term.domain)
                return terms.reduce(term.binders, rows, body, kind=term.kind, hints=term.hints, span=span)
            case Guard():
                then, otherwise = (self.evaluated(t, type, scope) for t in (term.then, term.otherwise))
                return terms.guard(self.rows(term.conditions), then, otherwise, span)
            case Select():
                below = self.below(term, type, scope)
                return terms.select(term.relation, below[0], below[1], below[2], below[3], span)
            case _:
                raise TypeError(f"no such term: {term}")

    def folded(self, old: Apply, below: list[Term], type: str) -> Term | None:
        """What is less than a function of these operands, but has the same value in this type."""
        values = [t.value for t in below if isinstance(t, Const)]
        if len(values) == len(below):
            value = computed(old.function, values, type)
            return None if value is None else self.terms.const(value, old.span)
        if old.function in ("mul", "div") and values == [1]:
            one, other = below if isinstance(below[0], Const) else below[::-1]
            if other.type == old.type and (old.function == "mul" or one is below[1]):
                return other
        if old.function not in _COMMUTATIVE:
            return None
        key = old.function, frozenset(t.number for t in below)
        if key not in self.either:
            self.either[key] = self.terms.apply(old.function, below, old.span)
        return self.either[key]

    def form(self, form: Affine) -> Affine:
        return form.substitute(self.renamed) if self.renamed else form

    def rows(self, rows: Domain) -> Domain:
        return tuple(row.substitute(self.renamed) for row in rows) if self.renamed else rows
