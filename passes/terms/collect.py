"""The contributions to one gradient, collected: equal domains and guards once, disjoint guards as a tree.

    sum{D} f + sum{D} g                                     is  sum{D} (f + g)
    sum{D, t = 0} f + sum{D, t >= 1} f                      is  sum{D} f   where t >= 0
    (if t = 0 then f else 0) + (if t >= 1 then f else 0)    is  if t >= 0 then f else 0
    (if C then f else 0) + (if C then g else 0)             is  if C then (f + g) else 0
    (if b = 0 then f else 0) + (if b = 1 then g else 0)     is  if b >= 1 then (if b = 1 …) else (if b = 0 …)

No read leaves its guard. The order of the additions changes, and depends on the program alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

from tadc.frontend.terms import Apply, Domain, Guard, Reduce, Term, Terms
from tadc.lattice.affine import Affine, Constraint
from tadc.lattice.late_dataclasses import dataclass, replace
from tadc.lattice.polyhedron import hold, irredundant
from tadc.passes.terms.algebra import Algebra, is_const
from tadc.passes.terms.costs import COMPARED

Signed = tuple[bool, Term]
"""What is added, or with True taken away."""


@dataclass(frozen=True)
class Addend:
    """A term that is added, or taken away, where the conditions hold."""

    conditions: Domain
    negative: bool
    term: Term


def addends(term: Term, signs: bool = False) -> list[Signed]:
    """What a chain of additions adds up, in order, each with whether it is taken away; without `signs`."""
    found: list[Signed] = []
    stack = [(False, term)]
    while stack:
        negative, node = stack.pop()
        match node:
            case Apply(function="add" | "sub", operands=(x, y)):
                stack += [(negative != (node.function == "sub"), y), (negative, x)]
            case Apply(function="neg", operands=(x,)) if signs:
                stack.append((not negative, x))
            case _:
                found.append((negative, node))
    return found


def added(algebra: Algebra, parts: Iterable[Signed], start: Term | None = None) -> Term:
    """The sum of parts and what it starts with."""

    def step(total: Term, part: Signed) -> Term:
        return algebra.sub(total, part[1]) if part[0] else algebra.add(total, part[1])

    return reduce(step, parts, algebra.zero if start is None else start)


def has_delta(term: Term) -> bool:
    """Whether a term is a sum with an equality in its domain, as reverse mode gathers with."""
    return isinstance(term, Reduce) and term.kind == "sum" and any(row.equality for row in term.domain)


def collected(terms: Terms, addends: Iterable[Signed]) -> Term:
    """The total of what is added and taken away."""
    algebra = Algebra(terms)
    parts: list[Addend] = []
    for negative, term in addends:
        if isinstance(term, Guard) and is_const(term.otherwise, 0):
            parts.append(Addend(term.conditions, negative, term.then))
        else:
            parts.append(Addend((), negative, term))
    return _total(algebra, parts, frozenset())


def _total(algebra: Algebra, parts: Sequence[Addend], known: frozenset[Constraint]) -> Term:
    """The sum of the parts, of which none repeats a condition that is known."""
    form = _cases_of(parts, known)
    if form is None:
        return _sequence(algebra, parts)
    cases: dict[int, list[Addend]] = {}
    others: list[Addend] = []
    for part in parts:
        value = _value(part.conditions, form)
        if value is None:
            others.append(part)
        else:
            cases.setdefault(value, []).append(part)
    equalities = {Constraint(form * sign - value * sign, True) for value in cases for sign in (1, -1)}
    leaves = [(value, _total(algebra, cases[value], known | equalities)) for value in sorted(cases)]
    tree = _tree(algebra, form, leaves)
    return algebra.add(_total(algebra, others, known), tree) if others else tree


def _cases_of(parts: Sequence[Addend], known: frozenset[Constraint]) -> Affine | None:
    """The form whose values tell most of the parts apart, if they are many."""
    values: dict[Affine, set[int]] = {}
    for part in parts:
        for row in part.conditions:
            if row.equality and row not in known:
                form, value = _solved(row)
                values.setdefault(form, set()).add(value)
    best = max(values, key=lambda form: len(values[form]), default=None)
    return best if best is not None and len(values[best]) >= COMPARED else None


def _solved(row: Constraint) -> tuple[Affine, int]:
    """An equality as `form = value`, the form without a constant and led by a positive term."""
    sign = 1 if row.form.terms[0][1] > 0 else -1
    return Affine(row.form.terms, 0) * sign, -row.form.constant * sign


def _value(conditions: Domain, form: Affine) -> int | None:
    found = (_solved(row) for row in conditions if row.equality)
    return next((value for solved, value in found if solved == form), None)


def _tree(algebra: Algebra, form: Affine, leaves: Sequence[tuple[int, Term]]) -> Term:
    """Leaves by the value of a form, found by halving."""
    if len(leaves) == 1:
        return leaves[0][1]
    middle = len(leaves) // 2
    low, high = (_tree(algebra, form, half) for half in (leaves[:middle], leaves[middle:]))
    return algebra.guard([Constraint(form - leaves[middle][0])], high, low)


def _sequence(algebra: Algebra, parts: Sequence[Addend]) -> Term:
    """The parts one after the other, those with equal conditions together."""
    groups: dict[frozenset[Constraint], list[Addend]] = {}
    for part in parts:
        groups.setdefault(frozenset(part.conditions), []).append(part)
    total: Term = algebra.zero
    for group in groups.values():
        inside = _sums(algebra, group)
        conditions = group[0].conditions
        if conditions:
            total = algebra.add(total, algebra.guard(conditions, added(algebra, inside), algebra.zero))
        else:
            total = added(algebra, inside, total)
    return total


def _sums(algebra: Algebra, parts: Sequence[Addend]) -> list[Signed]:
    """The parts, sums over equal domains as one, and sums of one term over sets that make up another."""
    parts = _over_unions(algebra, parts)
    groups: dict[object, list[Addend]] = {}
    for position, part in enumerate(parts):
        groups.setdefault(_domain_key(part.term) or position, []).append(part)
    return [
        (group[0].negative, group[0].term) if len(group) == 1 else (False, _merged(algebra, group))
        for group in groups.values()
    ]


def _over_unions(algebra: Algebra, parts: Sequence[Addend]) -> list[Addend]:
    """The parts, of which none are sums of one term over the two sets that a row divides another in."""
    found: list[Addend] = []
    of_term: dict[object, list[int]] = {}
    for part in parts:
        term, same = part.term, list[int]()
        if isinstance(term, Reduce) and term.kind == "sum":
            body = algebra.terms.substitute(term.body, _by_place(term)).number
            same = of_term.setdefault((part.negative, body, len(term.binders)), [])
        unions = ((n, _union(algebra.terms, found[n].term, term)) for n in same)
        n, union = next((each for each in unions if each[1] is not None), (len(found), term))
        assert union is not None
        same.append(n)
        found[n : n + 1] = [replace(part, term=union)]
    return found if len(found) == len(parts) else _over_unions(algebra, found)


def _union(terms: Terms, x: Term, y: Term) -> Term | None:
    """A sum over what two sums of one term are over; None where no row of each divides that in these two."""
    assert isinstance(x, Reduce)
    assert isinstance(y, Reduce)
    binders, domain, body = terms.open(x)
    _, others, _ = terms.open(y, binders)
    rows = united(domain, others, ())
    return None if rows is None else terms.reduce(binders, rows, body, hints=x.hints, span=x.span)


def with_guard(algebra: Algebra, total: Term, part: Guard, facts: Domain) -> Term | None:
    """A total and a guard that is added, where one of the last guards in it adds the same term, as one guard
    under the conditions of either; None where there is none."""
    above: list[Apply] = []
    while len(above) < COMPARED:
        rest, last = total.operands if isinstance(total, Apply) and total.function == "add" else (None, total)
        rows = _either(last, part, facts) if isinstance(last, Guard) else None
        if rows is not None:
            wide = algebra.guard(irredundant(rows, facts), part.then, part.otherwise)
            made: Term = wide if rest is None else algebra.terms.apply("add", (rest, wide))
            for node in reversed(above):
                made = algebra.terms.rebuild(node, (made, node.operands[1]))
            return made
        if not isinstance(total, Apply) or total.function not in ("add", "sub"):
            return None
        above.append(total)
        total = total.operands[0]
    return None


def _either(x: Guard, y: Guard, facts: Domain) -> Domain | None:
    """The conditions under which one of two guards adds a term, if both add that one, never both."""
    same = x.then is y.then and is_const(x.otherwise, 0) and is_const(y.otherwise, 0)
    return united(x.conditions, y.conditions, facts) if same else None


def united(x: Domain, y: Sequence[Constraint], facts: Domain) -> Domain | None:
    """Rows that hold where those of one set or those of the other do, and never both, where the facts hold.

    One row of each divides `t >= 0` in `t = 0` and `t >= 1`, or all in `t >= 0` and `t <= -1`.
    """
    for own, other in ((a, b) for a in x if a not in y for b in y if b not in x):
        whole = _whole(own, other)
        if whole is not None:
            rest = dict.fromkeys(row for row in (*x, *y) if row not in (own, other))
            if all(hold(rest, (*facts, *rows)) for rows in (x, y)):
                return (*rest, *whole)
    return None


def _whole(x: Constraint, y: Constraint) -> Domain | None:
    """What holds where one of two rows does, if never both do; None where no row says that."""
    if x.equality == y.equality:
        return () if not x.equality and x.form + y.form + 1 == Affine.const(0) else None
    x, y = (x, y) if x.equality else (y, x)
    return next(((Constraint(side),) for side in (x.form, -x.form) if side - 1 == y.form), None)


def _domain_key(term: Term) -> object:
    """Equal for sums over the same points; binders are known by their place."""
    if not isinstance(term, Reduce) or term.kind != "sum":
        return None
    return frozenset(row.substitute(_by_place(term)) for row in term.domain), len(term.binders)


def _by_place(term: Reduce) -> dict[str, Affine]:
    return {name: Affine.var(f"?{place}") for place, name in enumerate(term.binders)}


def _merged(algebra: Algebra, group: Sequence[Addend]) -> Term:
    """One sum of all bodies."""
    terms = algebra.terms
    first = group[0].term
    assert isinstance(first, Reduce)
    binders, domain, _ = terms.open(first)
    bodies: list[Signed] = []
    for part in group:
        assert isinstance(part.term, Reduce)
        bodies.append((part.negative, terms.open(part.term, binders)[-1]))
    return algebra.sum(binders, domain, added(algebra, bodies), first.hints, first.span)
