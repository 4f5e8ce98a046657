"""Sums with fewer operations: invariant factors leave a sum, and sums of products are split.

    sum{k} (c[i] * x[k] / n[i])               is  c[i] * sum{k} (x[k]) / n[i]
    sum{j} (t[i, j] * (a[i, k] + b[j, k]))    is  a[i, k] * sum{j} (t[i, j]) + sum{j} (t[i, j] * b[j, k])
    sum{j, k} (x[i, j, k] * b[j] * c[k])      is  sum{j} (b[j] * sum{k} (x[i, j, k] * c[k]))
    sum{i: N} (c[j])                          is  N * c[j]

The first always saves an operation per step. The others are applied if all elements together then cost less
(`Costs.total`), where sums that do not depend on every index around them count as tensors. A difference is
never split: `sum{j} (t[j] * (a - b[j]))` may be exact where the two sums would cancel.

    sum{k} safe(g[i] * x[k], p[i] * y[k])     is  safe(g[i], safe(sum{k} safe(x[k], y[k]), p[i]))

Side conditions: the empty sum is 0 for any factor, so a factor leaves a possibly empty sum only under a
guard. No sum changes its accumulation type.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from itertools import combinations

from tadc.frontend.extents import as_form
from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import (
    Const,
    Domain,
    Guard,
    IndexValue,
    Reduce,
    Select,
    Term,
    Terms,
    holds_reduction,
    operands,
    reachable,
)
from tadc.lattice.affine import Affine
from tadc.lattice.late_dataclasses import dataclass, field, replace
from tadc.lattice.polyhedron import negation
from tadc.passes.rewrites.common_factors import CommonFactors
from tadc.passes.rewrites.left_out import leaves_out, taken_apart
from tadc.passes.rewrites.signs import with_one_sign
from tadc.passes.terms.algebra import Algebra, is_const, is_safe
from tadc.passes.terms.costs import COMPARED, LARGE, ORDERED, WORTH_CODE, Costs
from tadc.passes.terms.guarded_addends import regrouped
from tadc.passes.terms.index_ranges import Range, ranges_of, ranges_within
from tadc.passes.terms.liveness import needed
from tadc.passes.terms.occupied import counted, occupied
from tadc.passes.terms.operation_counts import COUNTED as COUNTED_IN_ALL
from tadc.passes.terms.operation_counts import Counting
from tadc.passes.terms.products import ScaledProduct, added, product_of, summands, without
from tadc.passes.terms.value_ranges import ValueRanges
from tadc.passes.terms.work_regions import Regions, Work

#: So many sums are looked at in the place of one.
MOST_SUMS = 40
#: What counting operations may take for all tensors of a program, as `effort` counts: a tenth of a second.
COUNTED = COUNTED_IN_ALL // 20

Around = Mapping[str, "Range | None"]


def factor_program(program: Program, values: bool = False) -> Program:
    """The program with cheaper sums.

    Where no derivative follows (`values`) all arithmetic is rewritten by `common_factors` first.
    """
    factoring = _Factoring(program, values)
    made = program.with_definitions(map(factoring.definition, program.definitions))
    # A factor of 0 leaves tensors that nothing reads any more.
    return made if made is program else replace(made, definitions=needed(made.definitions))


@dataclass(frozen=True)
class _OpenedSum:
    """An opened sum."""

    binders: tuple[str, ...]
    hints: tuple[str, ...]
    domain: Domain
    body: Term
    origin: Reduce


@dataclass
class _Factoring:
    """One walk over each definition, from the inside out."""

    program: Program
    values: bool
    memo: dict[tuple[int, Domain], Term] = field(default_factory=dict[tuple[int, Domain], Term])
    holds: dict[int, bool] = field(default_factory=dict[int, bool])
    open: dict[int, _OpenedSum] = field(default_factory=dict[int, _OpenedSum])

    def __post_init__(self) -> None:
        self.terms: Terms = self.program.terms
        self.algebra = Algebra(self.terms, ValueRanges(self.program))
        self.common = CommonFactors(self.algebra)
        self.sizes, self.shapes = frozenset(self.program.sizes), self.program.shapes()
        self.costs = Costs(self.sizes)
        self.counting = Counting(COUNTED, Regions(self.terms))
        self.found: dict[_OpenedSum, Term] = {}
        self.left = 0

    def definition(self, definition: Definition) -> Definition:
        """The definition with cheaper sums."""
        definition = definition.with_body(with_one_sign(self.terms, definition.body))
        if self.values:
            definition = definition.with_body(self.common.rewritten(definition.body))
        facts = self.program.facts(definition)
        if not holds_reduction(definition.body, self.holds):
            return self.regrouped(definition, definition.body, facts)
        sides = ranges_of(definition)
        made = self.written(definition, facts, sides, apart=False)
        if not self.values or not any(map(leaves_out, reachable([definition.body]))):
            return made
        other = self.written(definition, facts, sides, apart=True)
        if other.body is made.body:
            return made
        few, many = (self.operations(one) for one in (other, made))
        if not (few.exact and many.exact):
            return made
        return other if few.weighted * WORTH_CODE <= many.weighted * (WORTH_CODE - 1) else made

    def written(self, definition: Definition, facts: Domain, around: Around, apart: bool) -> Definition:
        """The definition with cheaper sums; those that leave points out taken apart into several, or not."""
        self.apart = apart
        self.memo.clear()
        return self.regrouped(definition, self.visit(definition.body, facts, around), facts)

    def regrouped(self, definition: Definition, body: Term, facts: Domain) -> Definition:
        """The definition with another body, where no derivative follows with fewer additions."""
        if self.values:
            body = self.common.rewritten(regrouped(self.algebra, body, facts))
        return definition.with_body(body)

    def operations(self, definition: Definition) -> Work:
        """The operations of a definition, about where sizes are symbols."""
        values = {name: Affine.const(LARGE) for name in self.program.sizes}
        shape = tuple(as_form(n).substitute(values).constant for n in definition.shape)
        body = self.terms.substitute(definition.body, values)
        return self.counting.definition(replace(definition, shape=shape, body=body))

    def visit(self, term: Term, facts: Domain, around: Around) -> Term:
        """The term with cheaper sums, where the facts hold."""
        if not holds_reduction(term, self.holds):
            return term
        key = term.number, facts
        if key not in self.memo:
            self.memo[key] = self.rewritten(term, facts, around)
        return self.memo[key]

    def rewritten(self, term: Term, facts: Domain, around: Around) -> Term:
        """The term with factors before its sums, where it is new here."""
        match term:
            case Guard():
                then = self.visit(term.then, facts + term.conditions, around)
                negated = negation(term.conditions, ())
                return self.terms.rebuild(term, [then, self.visit(term.otherwise, facts + negated, around)])
            case Reduce():
                opened = self.opened(term)
                made = self.reduced(opened, facts, around)
                joined = self.with_inner(opened) if self.values else None
                if joined is None:
                    return made
                other = self.reduced(joined, facts, around)
                return min((made, other), key=lambda candidate: self.costs.total(candidate, around))
            case _:
                return self.terms.rebuild(term, [self.visit(t, facts, around) for t in operands(term)])

    def opened(self, term: Reduce) -> _OpenedSum:
        """A reduction opened, with the same names whenever it is met: so is what is known of its body.

        No term holds itself, so what stands inside of it has other names.
        """
        if term.number not in self.open:
            binders, domain, body = self.terms.open(term)
            self.open[term.number] = _OpenedSum(binders, term.hints, domain, body, term)
        return self.open[term.number]

    def reduced(self, s: _OpenedSum, facts: Domain, around: Around) -> Term:
        """A reduction with cheaper sums in it, and with factors before it."""
        inner = {**around, **ranges_within(s.binders, s.domain, around, self.sizes)}
        body, kind = self.visit(s.body, facts + s.domain, inner), s.origin.kind
        if self.values and kind == "sum":
            body = self.common.rewritten(regrouped(self.algebra, body, facts + s.domain))
        found = replace(s, body=body)
        if self.values and leaves_out(closed := self.closed(found)):
            assert isinstance(closed, Reduce)
            pieces = taken_apart(self.terms, closed, facts, self.shapes.__getitem__)
            # One sum over fewer points is no more code.
            if pieces is not None and (self.apart or isinstance(pieces, Reduce)) and not leaves_out(pieces):
                return self.visit(pieces, facts, around)
        if kind != "sum" or any(row.equality for row in s.domain):
            return self.closed(found)
        self.found.clear()
        self.left = MOST_SUMS
        return self.best(found, facts, around)

    def with_inner(self, s: _OpenedSum) -> _OpenedSum | None:
        """The sum, whose body is nothing but a sum over other indices, as one over all of them: the other may
        be the one around it then, and factors leave it."""
        if s.origin.kind != "sum" or not isinstance(s.body, Reduce) or s.body.kind != "sum":
            return None
        inner = self.opened(s.body)
        if any(not row.form.variables.isdisjoint(s.binders) for row in inner.domain):
            return None
        return _OpenedSum(
            (*s.binders, *inner.binders),
            (*s.hints, *inner.hints),
            s.domain + inner.domain,
            inner.body,
            s.origin,
        )

    def closed(self, s: _OpenedSum) -> Term:
        return self.terms.reduce_like(s.origin, s.binders, s.domain, s.body, s.hints)

    # -- candidates for a sum -------------------------------------------------------------------------

    def best(self, s: _OpenedSum, facts: Domain, around: Around) -> Term:
        """The cheapest way to write a sum; of equally cheap ones the first."""
        if s not in self.found:
            self.left -= 1
            plain = self.without_invariants(s, facts)
            tried = self.candidates(s, facts, around) if self.left > 0 else ()
            candidates = [plain, *(one for one in tried if one.type == s.body.type)]
            self.found[s] = min(candidates, key=lambda candidate: self.costs.total(candidate, around))
        return self.found[s]

    def candidates(self, s: _OpenedSum, facts: Domain, around: Around) -> Iterator[Term]:
        """Sums of parts, and sums in a sum, that may be cheaper."""
        parts = summands(s.body)
        if 1 < len(parts) <= COMPARED:
            yield added(self.algebra, [self.best(replace(s, body=p), facts, around) for p in parts])
            return
        product = product_of(s.body, self.values)
        for position, factor in enumerate(product.over[:COMPARED]):
            parts = summands(factor)
            rest = ScaledProduct(product.scale, without(product.over, position), product.under)
            if 1 < len(parts) <= COMPARED and any(_loses(s, rest, part) for part in parts):
                bodies = [rest.term(self.algebra, part) for part in parts]
                yield added(self.algebra, [self.best(replace(s, body=b), facts, around) for b in bodies])
        if 1 < len(s.binders) <= ORDERED and product.length <= COMPARED:
            for count in range(1, len(s.binders)):
                for inner in combinations(s.binders, count):
                    yield from self.nested(s, product, inner, facts, around)

    def nested(
        self, s: _OpenedSum, product: ScaledProduct, inner: Sequence[str], facts: Domain, around: Around
    ) -> Iterator[Term]:
        """The sum over some indices inside of the sum over the others, which keeps their factors."""
        depends = [not t.free.isdisjoint(inner) for t in (*product.over, *product.under)]
        if all(depends) or not any(depends):
            return
        below = tuple(row for row in s.domain if row.form.variables & set(inner))
        above = tuple(row for row in s.domain if row not in below)
        spoken = dict(zip(s.binders, s.hints, strict=True))
        outer = tuple(b for b in s.binders if b not in inner)
        if any(not any(b in row.form.variables for row in above) for b in outer):
            return  # an index that is bounded by those of the inner sum alone
        left = (t for t, held in zip((*product.over, *product.under), depends, strict=True) if not held)
        moves = any(row.form.variables & set(outer) for row in below)
        if moves and outer + tuple(inner) != s.binders and all(t.free.isdisjoint(outer) for t in left):
            return  # any sum does for what no index changes: what the last ones read is contiguous
        ranges = ranges_within(outer, above, around, self.sizes)
        if None in ranges.values():
            return
        hints = tuple(spoken[b] for b in inner)
        first = _OpenedSum(tuple(inner), hints, below, s.body, s.origin)
        body = self.best(first, facts + above, {**around, **ranges})
        rest = _OpenedSum(outer, tuple(spoken[b] for b in outer), above, body, s.origin)
        yield self.best(rest, facts, around)

    # -- what does not depend on the indices -----------------------------------------------------

    def without_invariants(self, s: _OpenedSum, facts: Domain) -> Term:
        """The sum with all that none of its indices changes outside."""
        zero = self.algebra.zero
        if isinstance(s.body, Guard) and is_const(s.body.otherwise, 0):
            rows = [row for row in s.body.conditions if row.form.variables.isdisjoint(s.binders)]
            if rows:
                kept = [row for row in s.body.conditions if row not in rows]
                body = self.algebra.guard(kept, s.body.then, zero)
                inner = self.without_invariants(replace(s, body=body), (*facts, *rows))
                return self.algebra.guard(rows, inner, zero)
        if isinstance(s.body, Select) and is_const(s.body.otherwise, 0):
            test = s.body
            if (test.lhs.free | test.rhs.free).isdisjoint(s.binders):
                inner = self.without_invariants(replace(s, body=test.then), facts)
                return self.algebra.select(test.relation, test.lhs, test.rhs, inner, zero)
            return self.closed(s)
        if (chosen := self.chosen(s)) is not None:
            return self.without_invariants(replace(s, body=chosen), facts)
        if is_safe(self.algebra.split(s.body)[1]):
            return self.safe(s, facts)
        if (same := self.repeated(s, facts)) is not None:
            return same
        outside, inside = self.parts(s)
        if not outside.length and abs(outside.scale) == 1:
            return self.closed(s)
        made = self.closed(replace(s, body=inside))
        return self.guarded(s, outside, outside.term(self.algebra, made), facts)

    def chosen(self, s: _OpenedSum) -> Term | None:
        """A product with a choice that no index changes between something and 0, as that choice between
        products; None where another factor may be infinite."""
        product = product_of(s.body)
        for factor in product.over:
            if not isinstance(factor, Select) or not is_const(factor.otherwise, 0):
                continue
            if not (factor.lhs.free | factor.rhs.free).isdisjoint(s.binders):
                continue
            rest = product.without([factor])
            known = [self.algebra.values.of(t) for t in (*rest.over, *rest.under)]
            if all(v.finite for v in known) and all(v.is_nonzero for v in known[len(rest.over) :]):
                then = rest.term(self.algebra, factor.then)
                return self.algebra.select(factor.relation, factor.lhs, factor.rhs, then, self.algebra.zero)
        return None

    def repeated(self, s: _OpenedSum, facts: Domain) -> Term | None:
        """The sum of what some indices do not change, as a product with how often it is added: so many times
        wherever it stands."""
        same = [b for b in s.binders if b not in s.body.free]
        if s.body.type is None or not same:
            return None
        below = tuple(row for row in s.domain if not row.form.variables.isdisjoint(same))
        counts, rows = counted(same, below), occupied(same, below, facts)
        if counts is None or rows is None or any(not n.variables <= self.sizes for n in counts):
            return None
        made = s.body
        if others := [pair for pair in zip(s.binders, s.hints, strict=True) if pair[0] not in same]:
            binders, hints = zip(*others, strict=True)
            above = tuple(row for row in s.domain if row not in below)
            made = self.without_invariants(_OpenedSum(binders, hints, above, s.body, s.origin), facts)
        made = reduce(self.algebra.mul, map(self.terms.index, counts), made)
        return self.algebra.guard(rows, made, self.algebra.zero)

    def parts(self, s: _OpenedSum) -> tuple[ScaledProduct, Term]:
        """The invariant factors of a body, and the rest of it."""
        body = s.body
        product = product_of(body, self.values)
        inside, outside = product.split(lambda t: not t.free.isdisjoint(s.binders))
        rest = inside.term(self.algebra)
        unchanged = ScaledProduct(1, (), ()), body
        if rest.type not in (body.type, None) or (body.type and rest.type is None):
            return unchanged
        if not isinstance(outside.scale, int) and not math.isfinite(outside.scale):
            return unchanged
        return outside, rest

    def guarded(self, s: _OpenedSum, outside: ScaledProduct, made: Term, facts: Domain) -> Term:
        """What was made of a sum; 0 where the sum has no point, if its factors may not be finite."""
        if all(_is_finite(t) for t in outside.over) and all(_is_finite_divisor(t) for t in outside.under):
            return made
        rows = occupied(s.binders, s.domain, facts)
        return self.closed(s) if rows is None else self.algebra.guard(rows, made, self.algebra.zero)

    def safe(self, s: _OpenedSum, facts: Domain) -> Term:
        """A sum of safe products with the invariant factors of both sides outside, each on its side."""
        algebra = self.algebra
        scale, node = algebra.split(s.body)
        sides = [
            product_of(side, self.values).split(lambda t: not t.free.isdisjoint(s.binders))
            for side in operands(node)
        ]
        (x, x_outside), (y, y_outside) = sides
        if not x_outside.length and not y_outside.length and abs(scale) == 1:
            return self.closed(s)
        body = algebra.safe(x.term(algebra), y.term(algebra))
        if body.type != s.body.type:
            return self.closed(s)
        # What is left may be a plain product.
        made = self.without_invariants(replace(s, body=body), facts)
        if y_outside.length or y_outside.scale != 1:
            made = algebra.safe(made, y_outside.term(algebra))
        return algebra.mul(algebra.const(scale), algebra.safe(x_outside.term(algebra), made))


def _loses(s: _OpenedSum, rest: ScaledProduct, part: Term) -> bool:
    """Whether a summand of a factor has none of a sum's indices, or with the other factors fewer indices."""
    if part.free.isdisjoint(s.binders):
        return True
    free = part.free.union(*(t.free for t in (*rest.over, *rest.under)))
    return free < s.body.free


def _is_finite(term: Term) -> bool:
    """Whether a factor is finite whatever the tensors hold."""
    return isinstance(term, IndexValue) or (isinstance(term, Const) and math.isfinite(term.value))


def _is_finite_divisor(term: Term) -> bool:
    """Whether a quotient by this is finite where the dividend is."""
    return isinstance(term, Const) and bool(term.value) and math.isfinite(term.value)
