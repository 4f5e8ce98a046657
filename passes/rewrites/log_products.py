"""Exponentials of sums become products of fewer exponentials.

    logsumexp{r} (u[i, r] + v[r, j])
    is  log(sum{r} (exp(u[i, r] - m[i]) * exp(v[r, j] - n[j]))) + (m[i] + n[j])

where m and n are maxima over r. Summands are grouped so that each group has fewer indices than the whole sum.
Each group gets a tensor of exponentials, unless it reads its own recurrence. Similarly,

    sum{j} (c[i, j] * exp(u[i, r] + v[r, j] - l[i, j]))

uses `exp(u[i, r] - m[i]) * exp(v[r, j] - n[j]) * exp(m[i] + n[j] - l[i, j])`, with m and n over the r of the
tensor itself. The reduction as written remains as a fallback if the sum or the last of these exponentials is
outside a safe range, or if a result is infinite or NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from tadc.frontend.functions import TRANSCENDENTAL
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
    holds,
    operands,
    reachable,
)
from tadc.passes.rewrites.move_walks import MoveWalk
from tadc.passes.rewrites.moves import MANY, Mover, in_order
from tadc.passes.rewrites.places import Places, TermPlace
from tadc.passes.terms.algebra import is_const
from tadc.passes.terms.collect import Signed, addends
from tadc.passes.terms.costs import FEW_ELEMENTS, LANES, LONGEST, WEIGHTS, Costs, points
from tadc.passes.terms.fallbacks import HUGE, LOGS, POWERS, is_fallback, unless_huge, with_fallback
from tadc.passes.terms.names import Names


def with_log_products(program: Program, limit: int | None, *, sums: bool = True) -> Program:
    """The program with products of exponentials, where no derivative follows: in `sums` too, or in logsumexps
    alone."""
    mover = Mover(program, Names(program), limit=limit, strict=False)
    costs = Costs(frozenset(program.sizes))
    for walk in (_LogWalk, _SumWalk) if sums else (_LogWalk,):
        known: dict[int, bool] = {}
        if not any(holds(d.body, known, walk.is_candidate) for d in program.definitions):
            continue
        made, waiting = list[Definition](), list(reversed(program.definitions))
        while waiting:
            definition = waiting.pop()
            here = walk(Places(program, definition), mover, definition, costs)
            made.append(here.run())
            waiting += here.new
        if len(made) > len(program.definitions):
            changed = program.with_definitions(in_order(made))
            # Callers know outputs by their order.
            if [d.name for d in changed.outputs] != [d.name for d in program.outputs]:
                return program
            program = changed
    return program


def _is_exp(term: Term) -> bool:
    return isinstance(term, Apply) and term.function == "exp"


def _factor_path(root: Term, factor: Term) -> list[Term] | None:
    """The terms from a root to what it is linear in, that left out; None where it is not so."""
    path, node = list[Term](), root
    while node is not factor:
        known: dict[int, bool] = {}
        places = [n for n, t in enumerate(operands(node)) if holds(t, known, lambda each: each is factor)]
        match node, places:
            case (Apply(function="mul" | "neg"), [place]) | (Apply(function="div"), [0 as place]):
                pass
            case ((Guard(then=x, otherwise=y) | Select(then=x, otherwise=y)), [place]) if operands(node)[
                place
            ] in (x, y) and is_const(y if operands(node)[place] is x else x, 0):
                pass
            case _:
                return None
        path.append(node)
        node = operands(node)[place]
    return path


@dataclass(frozen=True)
class _Group:
    """A sum of what has indices among `names`."""

    names: frozenset[str]
    term: Term
    is_own: bool
    """Whether it reads the recurrence that it is in."""


@dataclass
class _Walk(MoveWalk):
    """One walk over a definition, for one kind of reductions."""

    costs: Costs

    def groups(self, at: int, term: Term, domain: Domain, binders: Sequence[str]) -> list[_Group]:
        """What is added up by indices, each group with fewer than all; none where that saves little, or what
        the reduction is over is no box."""
        place = self.places.places[at]
        indices, summands = frozenset(place.indices), addends(term, signs=True)
        is_box = all(len(row.form.variables & indices) == 1 and not row.equality for row in domain)
        if not is_box or len(summands) > LONGEST:
            return []
        sets = [each.free & indices for _, each in summands]
        found = dict[frozenset[str], list[Signed]]()
        for number, own in enumerate(sets):
            # What has the indices of several groups stays beside what it stands beside.
            above = [k for k, names in enumerate(sets) if own <= names]
            widest = max(above, key=lambda k: (len(sets[k]), -abs(k - number), -k))
            found.setdefault(sets[widest], []).append(summands[number])
        groups = [self.group(names, each) for names, each in found.items()]
        count = points({name: place.ranges[name] for name in frozenset[str]().union(*found)})
        spent = count * (WEIGHTS["mul"] + WEIGHTS["add"]) + sum(self.cost(place, group) for group in groups)
        is_worth = len(groups) > 1 and count > FEW_ELEMENTS and spent <= count * TRANSCENDENTAL
        return groups if is_worth else []

    def group(self, names: frozenset[str], summands: Sequence[Signed]) -> _Group:
        """The sum of a group, in the order in which it is written."""
        terms = self.places.terms
        (negative, total), *others = summands
        total = terms.apply("neg", [total]) if negative else total
        for less, each in others:
            total = terms.apply("sub" if less else "add", [total, each])
        return _Group(names, total, self.reads_itself(total))

    def cost(self, place: TermPlace, group: _Group) -> int:
        """What the exponentials of a group take; steps of a recurrence make them again for each vector."""
        count = points({name: place.ranges[name] for name in group.names})
        if not group.is_own:
            # Loops of their own for the greatest ones and the exponentials take a multiple of these.
            return 4 * count * TRANSCENDENTAL
        return LANES * count * (TRANSCENDENTAL + self.costs.term(group.term, place.ranges))

    def largest(self, at: int, group: _Group, over: Sequence[str], domain: Domain) -> Term | None:
        """The greatest value of a group over indices, a number."""
        rows = tuple(row for row in domain if row.form.variables & set(over))
        most = self.reduced("max", over, rows, group.term)
        shift = self.places.terms.apply("max", [most, self.least(most)])
        return shift if group.is_own else self.kept(at, shift)

    def power(self, at: int, group: _Group, shift: Term) -> Term | None:
        """The exponential of a group over its greatest one."""
        terms = self.places.terms
        made = terms.apply("exp", [terms.apply("sub", [group.term, shift])])
        return made if group.is_own else self.kept(at, made)

    def least(self, term: Term) -> Term:
        """What stands in the place of a maximum of minus infinities."""
        return self.places.terms.const(-HUGE[term.type or "f64"])

    def reduced(self, kind: str, over: Sequence[str], rows: Domain, body: Term) -> Term:
        """A reduction over indices, which become its own; the body itself where there are none."""
        return self.places.terms.reduce(over, rows, body, kind=kind, hints=list(over)) if over else body

    def product(self, factors: Sequence[Term]) -> Term:
        """The product of some factors."""
        return reduce(lambda x, y: self.places.terms.apply("mul", [x, y]), factors)

    def sum(self, summands: Sequence[Term]) -> Term:
        """The sum of some summands, in order."""
        return reduce(lambda x, y: self.places.terms.apply("add", [x, y]), summands)

    def kept(self, at: int, term: Term) -> Term | None:
        """A read of a tensor of a term; a term that is one already, or a number, stays."""
        if isinstance(term, Read) or not term.free:
            return term
        place, name = self.places.places[at], self.definition.name
        return self.mover.move(term, place, name, self.new, MANY, anywhere=True)


@dataclass
class _LogWalk(_Walk):
    """Sums of products in the place of the sums in logsumexps."""

    @staticmethod
    def is_candidate(term: Term) -> bool:
        """Whether a term is one of these."""
        return isinstance(term, Reduce) and term.type in LOGS and term.kind == "logsumexp"

    def moved(self, at: int, term: Term) -> Term | None:
        """A logsumexp as the log of a sum of products, a tensor in another reduction; None where it stays."""
        if is_fallback(term):
            return term
        if not isinstance(term, Reduce) or not self.is_candidate(term):
            return None
        is_inside = len(self.places.places[at].indices) > len(self.definition.indices)
        if is_inside and self.reads_itself(term):
            return None
        made = self.log_of_product(at, term)
        return made and ((is_inside and self.kept(at, made)) or made)

    def log_of_product(self, at: int, term: Reduce) -> Term | None:
        """A logsumexp as the log of a sum of products."""
        inside, binders, domain, body = self.places.open(at, term)
        terms, shifts, factors = self.places.terms, list[Term](), list[Term]()
        for group in self.groups(inside, body, domain, binders):
            over = [name for name in binders if name in group.names]
            shift = self.largest(at, group, over, domain) if over else group.term
            if shift is None:
                return None
            shifts.append(shift)
            if over and (power := self.power(inside, group, shift)):
                factors.append(power)
            elif over:
                return None
        if not factors:
            return None
        total = terms.reduce(binders, domain, self.product(factors), hints=term.hints, span=term.span)
        log = terms.apply("log", [total])
        value = terms.apply("add", [log, self.sum(shifts)])
        size = terms.apply("abs", [log])
        size = size if len(factors) == len(shifts) else unless_huge(terms, size, value)
        return with_fallback(terms, size, LOGS[term.type or ""], value, term)


@dataclass
class _SumWalk(_Walk):
    """Products in the place of the exponentials in sums."""

    @staticmethod
    def is_candidate(term: Term) -> bool:
        """Whether a term is such a sum."""
        if not isinstance(term, Reduce) or term.type not in LOGS or term.kind != "sum":
            return False
        return any(map(_is_exp, reachable([term.body])))

    def moved(self, at: int, term: Term) -> Term | None:
        """A sum of products of exponentials; None where it stays."""
        if is_fallback(term):
            return term
        if not isinstance(term, Reduce) or not self.is_candidate(term):
            return None
        return self.sum_of_products(at, term)

    def sum_of_products(self, at: int, term: Reduce) -> Term | None:
        """A sum with the exponential of groups of which one, the last, is bounded."""
        inside, binders, domain, body = self.places.open(at, term)
        powers = [each for each in reachable([body]) if _is_exp(each)]
        if len(powers) != 1 or powers[0].free.isdisjoint(binders):
            return None
        (power,) = powers
        path = _factor_path(body, power)
        groups = self.groups(inside, power.below[0], domain, binders)
        if path is None or not groups or any(group.is_own for group in groups):
            return None
        place, last = self.places.places[inside], groups[-1]
        shifts, factors = list[Term](), list[Term]()
        for group in groups[:-1]:
            over = [name for name in place.indices if name in group.names - last.names]
            rows = tuple(row for name in over if (r := place.ranges[name]) for row in r.rows(name))
            shift = self.largest(inside, group, over, rows)
            made = shift and self.power(inside, group, shift)
            if shift is None or made is None:
                return None
            shifts.append(shift)
            factors.append(made)
        shift = self.sum([*shifts, last.term])
        return self.with_bound(at, term, path, power, shift, factors)

    def with_bound(
        self, at: int, term: Reduce, path: list[Term], power: Term, shift: Term, factors: list[Term]
    ) -> Term | None:
        """A sum with `exp(shift)` and factors in the place of the exponential at the end of a path."""
        terms = self.places.terms
        inside, binders, domain, body = self.places.open(at, term)
        made, bound = self.kept(inside, terms.apply("exp", [shift])), shift
        for node in reversed(path):
            if isinstance(node, Guard | Select):
                sides = [
                    bound if holds(side, {}, lambda each: each is power) else self.least(shift)
                    for side in operands(node)[-2:]
                ]
                bound = terms.rebuild(node, [*operands(node)[:-2], *sides])
        over = [name for name in binders if name in bound.free]
        rows = tuple(row for row in domain if row.form.variables & set(over))
        bound = self.kept(at, self.reduced("max", over, rows, bound))
        if made is None or bound is None:
            return None
        outside = [factor for factor in (made, *factors) if factor.free.isdisjoint(binders)]
        inner = [factor for factor in factors if factor not in outside]
        factor = terms.const(1) if made in outside else made
        scaled = bottom_up(body, {power.number: factor}, self.mover.algebra.rebuild)
        fast = self.product([*outside, self.places.rebuilt(at, term, [self.product([scaled, *inner])])])
        size = unless_huge(terms, bound, fast)
        return with_fallback(terms, size, POWERS[term.type or ""], fast, term)
