"""Reverse-mode differentiation of typed programs in gather form.

For a read `x[M a]` under indices a in a domain D with cotangent g(a), the cotangent of x
gathers (Urban and van der Smagt 2017, eq. 14):

    dx[b] = sum{a in D, M a = b} g(a)

The equality is the Kronecker delta; `tad-cancel-deltas` solves it. Every term's cotangent is
accumulated once per scope, so that the cost is linear in the program, and every definition's
cotangent is a tensor of its own.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from functools import reduce

from tadc.frontend.dtypes import DEFAULT
from tadc.frontend.extents import Extent
from tadc.frontend.program import Argument, Definition, Program
from tadc.frontend.terms import (
    Apply,
    Domain,
    Guard,
    Read,
    Reduce,
    Select,
    Term,
    bottom_up,
    join_types,
    reachable,
)
from tadc.lattice.affine import Affine, box, equals_zero
from tadc.lattice.late_dataclasses import dataclass, field, replace
from tadc.lattice.polyhedron import negation
from tadc.passes.derivatives.activity import Activity, active_tensors
from tadc.passes.derivatives.carried_cotangents import Carried
from tadc.passes.derivatives.derivative_table import STEEP, cotangents
from tadc.passes.derivatives.formula_slopes import is_short
from tadc.passes.derivatives.kept_values import KeptProgram, Values, reductions_of_steps, with_kept_values
from tadc.passes.derivatives.open_roots import OpenRoots, with_open_roots
from tadc.passes.derivatives.reduction_rules import RULES
from tadc.passes.derivatives.slopes import CotangentAlgebra
from tadc.passes.derivatives.together import groups
from tadc.passes.terms.algebra import is_const
from tadc.passes.terms.collect import collected
from tadc.passes.terms.liveness import needed
from tadc.passes.terms.names import Names, gradient_indices


def reverse_program(
    program: Program,
    wrt: Sequence[str],
    *,
    keep_values: bool = False,
    unit_cotangent: bool = False,
    separate: bool = False,
) -> Program:
    """Gradients with respect to the arguments `wrt`, in that order.

    The result takes the program's arguments and, unless `unit_cotangent`, a cotangent for
    each output (`Argument.cotangent_of` says whose it is, `Definition.gradient_of` the same of a
    gradient); `keep_values` returns the outputs as well, first. `separate` keeps what different reads
    contribute in sums of their own, and reads where they are written.
    """
    opened = OpenRoots(program) if separate else with_open_roots(program, wrt)
    kept = KeptProgram(program) if separate else with_kept_values(opened.program, wrt)
    mode = (keep_values, unit_cotangent, separate)
    return ReverseMode(kept.program, tuple(wrt), *mode, opened.seen, kept.values).run()


@dataclass(frozen=True)
class TermScope:
    """Where a term is evaluated: indices, a domain, and guards not taken."""

    indices: tuple[str, ...]
    hints: tuple[str, ...]
    domain: Domain
    outside: tuple[Domain, ...] = ()

    def under(self, rows: Domain) -> TermScope:
        """The part of the scope where all rows hold."""
        return replace(self, domain=self.domain + rows)


@dataclass
class ReverseMode:
    """One differentiation; the options are those of `reverse_program`."""

    program: Program
    wrt: tuple[str, ...]
    keep_values: bool = False
    unit_cotangent: bool = False
    separate: bool = False
    seen_roots: frozenset[str] = frozenset()
    values: Values = field(default_factory=dict[str, dict[str, Sequence[Term]]])
    contributions: dict[str, list[Term]] = field(default_factory=dict[str, list[Term]])
    adjoints: list[Definition] = field(default_factory=list[Definition])

    def run(self) -> Program:
        """The program's gradients."""
        program = self.program
        self.start(Names(program))
        outputs = [d.name for d in program.outputs]
        self.cotangent_of = {} if self.unit_cotangent else {o: self.names.free("d" + o) for o in outputs}
        gradients = self.derived({a: self.names.free("d" + a) for a in self.wrt})
        arguments = [replace(a, cotangent_of="", tangent_of="") for a in program.arguments] + [
            Argument(self.cotangent_of[d.name], d.type, d.shape, cotangent_of=d.name, pattern=d.pattern)
            for d in program.outputs
            if self.cotangent_of
        ]
        own = [
            replace(d, is_output=d.is_output and self.keep_values, gradient_of="", tangent_of="")
            for d in program.definitions
        ]
        definitions = needed([*own, *gradients])
        return replace(
            program,
            arguments=tuple(arguments),
            definitions=definitions,
            doubts=self.algebra.doubts(program.source),
        )

    def start(self, names: Names) -> None:
        """Look at the program; new tensors get names that are free in `names`."""
        program = self.program
        self.names = names
        self.algebra = CotangentAlgebra(program, self.wrt)
        self.sharing = self.algebra.shares
        self.types, self.shapes = program.types(), program.shapes()
        self.patterns = {a.name: a.pattern for a in program.arguments}
        self.activity = Activity(active_tensors(program, self.wrt))
        self.sizes = program.size_facts()

    def derived(self, gradient_of: Mapping[str, str]) -> list[Definition]:
        """The gradients, by these names, after the cotangents of definitions that they read."""
        self.indices = gradient_indices(self.program, self.names)
        active = [d for d in self.program.definitions if d.name in self.activity.active]
        for first, *others in groups(active, self.joins):
            if first.order is None:
                self.definitions([first, *others])
            else:
                self.recurrence(first, first.order)
        gradients = [self.gradient(name, gradient_of[name]) for name in self.wrt]
        return [*self.adjoints, *gradients]

    def front(self) -> dict[str, Extent]:
        """Indices with their extents that all cotangents have in front of their own."""
        return {}

    def seed(self, definition: Definition) -> Term:
        """The cotangent of an output's element, from outside."""
        if self.unit_cotangent:
            return self.algebra.one
        forms = list(map(Affine.var, self.indices[definition.name]))
        return self.program.terms.read(self.cotangent_of[definition.name], forms, definition.type)

    # -- one tensor ----------------------------------------------------------------------------

    def total(self, name: str, incoming: Term) -> Term:
        """The cotangent of an element of a tensor: what comes in, and what its reads contribute."""
        found = self.contributions.pop(name, [])
        if self.separate:
            return reduce(self.algebra.add, found, incoming)
        return collected(self.program.terms, [(False, term) for term in (incoming, *found)])

    def gradient(self, name: str, gradient: str) -> Definition:
        """The definition of a gradient by this name."""
        body = self.total(name, self.algebra.zero)
        front, shape = self.front(), self.shapes[name]
        return Definition(
            gradient,
            self.types[name],
            (*front.values(), *shape),
            (*front, *self.indices[name]),
            body,
            gradient_of=name,
            pattern=None if front else self.patterns.get(name),
        )

    def joins(self, definition: Definition) -> bool:
        """Whether a definition may share its cotangents with others of its shape.

        What slopes that may be infinite pass on depends on the factors of a cotangent, which a sum would not
        show.
        """
        return definition.order is None and not self.separate and not self.is_steep(definition)

    def definitions(self, group: Sequence[Definition]) -> None:
        """Push the cotangents of definitions of one shape into what their bodies read."""
        terms, first = self.program.terms, group[0]
        fresh = [terms.fresh("i") for _ in first.indices]
        at = list(map(Affine.var, fresh))
        found = [(d, cotangent) for d in group if (cotangent := self.cotangent(d, at)) is not None]
        if not found:
            return
        self.begin(TermScope(tuple(fresh), found[0][0].indices, box(fresh, first.shape)))
        for definition, cotangent in found:
            self.kept |= self.reads(definition, at)
            body = terms.substitute(definition.body, definition.at(at))
            self.push(0, body, cotangent)
        self.drain()

    def cotangent(self, definition: Definition, at: Sequence[Affine]) -> Term | None:
        """The cotangent of a definition at some indices, a tensor of its own or not; None where it is 0."""
        algebra, terms, name = self.algebra, self.program.terms, definition.name
        incoming = self.seed(definition) if definition.is_output else algebra.zero
        total = self.total(name, incoming)
        if is_const(total, 0):
            return None
        if total is incoming or self.is_open(definition, total):
            return terms.substitute(total, dict(zip(self.indices[name], at, strict=True)))
        adjoint = self.names.free("d" + name)
        # A cotangent on its way stays as wide as what it is made of.
        kind = join_types((total.type, definition.type)) or DEFAULT
        front = self.front()
        shape, indices = (*front.values(), *definition.shape), (*front, *self.indices[name])
        made = Definition(
            adjoint, kind, shape, indices, total, False, definition.span, cotangent_of=definition.name
        )
        self.adjoints.append(made)
        self.sharing.define(adjoint, total)
        self.algebra.define(adjoint, total)
        if name in self.seen_roots:
            self.sharing.sources[adjoint] = frozenset()
        return terms.read(adjoint, [*map(Affine.var, front), *at], kind)

    def is_open(self, definition: Definition, cotangent: Term) -> bool:
        """Whether a cotangent is a short formula, and goes on through slopes that may be infinite.

        What these pass on depends on its factors, which a tensor would not show.
        """
        return is_short(cotangent) and self.is_steep(definition)

    def is_steep(self, definition: Definition) -> bool:
        """Whether a slope may be infinite in the body of a definition."""
        return any(
            isinstance(t, Apply) and t.function in STEEP and self.algebra.is_steep(t)
            for t in reachable([definition.body])
        )

    def recurrence(self, definition: Definition, order: Affine) -> None:
        """The adjoint of a definition that reads itself: its cotangent is a recurrence the other way round.

        For h[i] = F(…, h[r(i)], …) with the cotangent c[i] from outside,

            dh[b] = c[b] + sum{i in D, r(i) = b} dh[i] * dF/dh[r(i)]

        where order(i) > order(b), since order(r(i)) < order(i); or the same of what `Carried` says.
        """
        algebra, terms, name = self.algebra, self.program.terms, definition.name
        if not definition.is_output and name not in self.contributions:
            return
        indices = self.indices[name]
        fresh = [terms.fresh("i") for _ in indices]
        here, there = (list(map(Affine.var, names)) for names in (fresh, indices))
        types = (definition.type, definition.body.type, *(t.type for t in self.contributions.get(name, ())))
        kind = join_types(types) or DEFAULT
        adjoint, front = self.names.free("d" + name), self.front()
        place = len(self.adjoints)
        cotangent = terms.read(adjoint, [*map(Affine.var, front), *here], kind)
        scope = TermScope(tuple(fresh), definition.indices, box(fresh, definition.shape))
        carried = Carried(algebra, self.activity.is_active)
        before = {tensor: list(parts) for tensor, parts in self.contributions.items()}
        self.sharing.sources[adjoint] = frozenset()
        while True:
            body, own = self.with_own(definition, here)
            self.begin(scope)
            self.kept = self.reads(definition, here)
            self.hand_on(carried, 0, body, own, cotangent)
            self.drain()
            total = self.total(name, self.seed(definition) if definition.is_output else algebra.zero)
            body, own = self.with_own(definition, there)
            total = self.with_kept(carried.inward(body, own, total), self.reads(definition, there))
            # What slopes pass on may depend on what the cotangent depends on, which is known only now.
            taken = self.sharing.sources[adjoint]
            if self.sharing.define(adjoint, total) <= taken or not algebra.asked:
                break
            self.contributions = {tensor: list(parts) for tensor, parts in before.items()}
        back = -order.substitute(definition.at(there))
        shape, names = (*front.values(), *definition.shape), (*front, *indices)
        made = Definition(
            adjoint, kind, shape, names, total, False, definition.span, cotangent_of=name, order=back
        )
        self.adjoints.insert(place, made.in_order())

    def with_own(self, definition: Definition, at: Sequence[Affine]) -> tuple[Term, Term | None]:
        """The body of a definition at some indices, and a read of that element, if that has its value."""
        terms = self.program.terms
        body = terms.substitute(definition.body, definition.at(at))
        same = definition.type == definition.body.type
        return body, terms.read(definition.name, at, definition.type) if same else None

    def reads(self, definition: Definition, at: Sequence[Affine]) -> dict[int, Term]:
        """Reads of tensors by the terms whose values they hold, of a definition at some indices."""
        terms, mapping = self.program.terms, definition.at(at)
        held = {**self.values.get(definition.name, {}), definition.name: reductions_of_steps(definition)}
        return {
            terms.substitute(value, mapping).number: terms.read(name, at, self.types[name])
            for name, values in held.items()
            for value in values
        }

    def with_kept(self, term: Term, kept: Mapping[int, Term]) -> Term:
        """A term that reads what is kept."""
        return bottom_up(term, dict(kept), self.program.terms.rebuild) if kept else term

    def hand_on(self, carried: Carried, place: int, term: Term, own: Term | None, cotangent: Term) -> None:
        """Begin with what a recurrence carries at the terms that it goes to."""
        inner = carried.through(term)
        if isinstance(term, Guard):
            for inside, branch in self.branches(place, term):
                self.hand_on(carried, inside, branch, own, cotangent)
        elif inner is not None:
            self.hand_on(carried, place, *inner, cotangent)
        else:
            for operand, part in carried.onward(term, own, cotangent):
                self.push(place, operand, part)

    # -- one body --------------------------------------------------------------------------------

    def begin(self, scope: TermScope) -> None:
        """Look at a body, in whose scope nothing has a cotangent.

        Cotangents are accumulated from the root down, each term once per scope. Terms are visited by
        decreasing height and scopes inward, so all that flows into a term has arrived when it is passed on.
        """
        self.scopes: list[TermScope] = [scope]
        self.opened: dict[tuple[object, ...], int] = {}
        self.pending: dict[tuple[int, int], Term] = {}
        self.queue: list[tuple[int, int, int]] = []
        self.nodes: dict[int, Term] = {}
        self.heights: dict[int, int] = {}
        self.kept: dict[int, Term] = {}

    def drain(self) -> None:
        """Pass on all that waits."""
        while self.queue:
            _, number, place = heapq.heappop(self.queue)
            cotangent = self.pending.pop((place, number))
            self.visit(place, self.nodes[number], cotangent)

    def push(self, place: int, term: Term, cotangent: Term) -> None:
        """Add to the cotangent of a term in a scope."""
        if is_const(cotangent, 0) or not self.activity.is_active(term):
            return
        key = (place, term.number)
        if key in self.pending:
            self.pending[key] = self.algebra.add(self.pending[key], cotangent)
            return
        self.pending[key] = cotangent
        self.nodes[term.number] = term
        heapq.heappush(self.queue, (-self.height(term), term.number, place))

    def height(self, term: Term) -> int:
        """The longest way down from a term: what is higher is never below it, opened or not."""
        return bottom_up(term, self.heights, lambda _, below: 1 + max(below, default=0))

    def inner(self, key: tuple[object, ...], make: TermScope) -> int:
        """The number of a scope, the same for the same key."""
        if key not in self.opened:
            self.opened[key] = len(self.scopes)
            self.scopes.append(make)
        return self.opened[key]

    def visit(self, place: int, term: Term, cotangent: Term) -> None:
        """Pass the whole cotangent of a term on to its operands."""
        match term:
            case Read():
                self.contribute(term, self.scopes[place], cotangent)
            case Apply():
                for operand, part in zip(
                    term.operands, cotangents(self.algebra, cotangent, term), strict=True
                ):
                    self.push(place, operand, part)
            case Select():
                algebra, zero = self.algebra, self.algebra.zero
                chosen = algebra.select(term.relation, term.lhs, term.rhs, cotangent, zero)
                other = algebra.select(term.relation, term.lhs, term.rhs, zero, cotangent)
                then, otherwise = algebra.branches(term)
                self.push(place, then, chosen)
                self.push(place, otherwise, other)
            case Guard():
                self.guard(place, term, cotangent)
            case Reduce():
                self.reduce(place, term, cotangent)
            case _:
                pass

    def reduce(self, place: int, term: Reduce, cotangent: Term) -> None:
        """The body of a reduction gets its part of the cotangent, in a scope with the reduction's indices."""
        key = (place, "reduce", term.binders, term.domain)
        scope = self.scopes[place]
        if key not in self.opened:
            fresh, rows, _ = self.program.terms.open(term)
            inner = TermScope(
                scope.indices + fresh, scope.hints + term.hints, scope.domain + rows, scope.outside
            )
            self.inner(key, inner)
        inside = self.opened[key]
        fresh = self.scopes[inside].indices[len(scope.indices) :]
        _, _, element = self.program.terms.open(term, fresh)
        self.push(inside, element, RULES[term.kind](self.algebra, cotangent, term, element, fresh))

    def guard(self, place: int, term: Guard, cotangent: Term) -> None:
        """Both branches get the cotangent, where they are taken."""
        for inside, branch in self.branches(place, term):
            self.push(inside, branch, cotangent)

    def branches(self, place: int, term: Guard) -> tuple[tuple[int, Term], ...]:
        """Conditions join the domain; so does the negation of a single inequality."""
        scope, rows = self.scopes[place], term.conditions
        then = self.inner((place, "then", rows), scope.under(rows))
        negated = negation(rows, scope.domain + self.sizes)
        if negated:
            inside = self.inner((place, "else", rows), scope.under(negated))
        else:
            inside = self.inner((place, "else", rows), replace(scope, outside=(*scope.outside, rows)))
        return ((then, term.then), (inside, term.otherwise))

    def contribute(self, read: Read, scope: TermScope, cotangent: Term) -> None:
        """Gather the cotangent of a read: the sum over all indices that read the element."""
        algebra = self.algebra
        target = [Affine.var(i) for i in self.indices[read.tensor]]
        delta = tuple(equals_zero(form - b) for form, b in zip(read.indices, target, strict=True))
        domain, cotangent = self.narrowed(scope.domain, self.with_kept(cotangent, self.kept))
        for rows in scope.outside:
            cotangent = algebra.guard(rows, algebra.zero, cotangent)
        # Where the read stands, the certificate looks for its sum.
        term = algebra.sum(scope.indices, delta + domain, cotangent, scope.hints, read.span)
        self.contributions.setdefault(read.tensor, []).append(term)

    def narrowed(self, domain: Domain, cotangent: Term) -> tuple[Domain, Term]:
        """The domain of a sum of a cotangent over it, and the cotangent there."""
        return domain, cotangent
