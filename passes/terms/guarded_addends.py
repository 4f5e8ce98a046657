"""Additions that are done only where something is added.

(if A then a else 0) + (if B then b else 0)
    is  if B then ((if A then a else 0) + b) else 0     where A implies B
    is  if A then a else (if B then b else 0)           where never both hold
(if A then 0 else a) + (if A then 0 else b)
    is  if A then 0 else (a + b)
(if A then a else 0) + (if A then 0 else b)
    is  if A then a else b
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tadc.frontend.terms import Domain, Guard, Reduce, Term
from tadc.lattice.affine import Constraint
from tadc.lattice.polyhedron import hold, is_empty, not_implied
from tadc.passes.terms.algebra import Algebra, chooses_zero, is_const, left_out
from tadc.passes.terms.collect import Addend, Signed, added, addends
from tadc.passes.terms.costs import COMPARED


def regrouped(algebra: Algebra, term: Term, facts: Domain) -> Term:
    """The term with fewer additions where the facts hold; itself if it adds up no guards."""
    if isinstance(term, Guard):
        then = regrouped(algebra, term.then, (*facts, *term.conditions))
        otherwise = regrouped(algebra, term.otherwise, facts)
        if then is term.then and otherwise is term.otherwise:
            return term
        return algebra.guard(term.conditions, then, otherwise, term.span)
    parts = addends(term)
    choices = [part for _, part in parts if isinstance(part, Guard)]
    if len(choices) < 2 or not any(map(chooses_zero, choices)):
        return term
    plain: list[Signed] = []
    guards: list[Addend] = []
    for negative, part in merged_elses(algebra, parts):
        if isinstance(part, Guard) and is_const(part.otherwise, 0):
            guards.append(Addend(part.conditions, negative, part.then))
        else:
            plain.append((negative, part))
    plain, guards = _chosen(algebra, plain, _merged(algebra, guards), facts)
    if len(guards) > COMPARED:
        plain += [_signed(algebra, part) for part in guards]
        guards = []
    return added(algebra, plain, _total(algebra, guards, facts))


def _signed(algebra: Algebra, part: Addend) -> Signed:
    return part.negative, algebra.guard(part.conditions, part.term, algebra.zero)


def _merged(algebra: Algebra, guards: Sequence[Addend]) -> list[Addend]:
    """A total in which what is added under the same rows stands together."""
    groups: dict[Domain, list[Addend]] = {}
    for part in guards:
        groups.setdefault(_canonical(part.conditions), []).append(part)
    found: list[Addend] = []
    for same in groups.values():
        first = same[0]
        if len(same) > 1:
            parts = [(part.negative, part.term) for part in same]
            first = Addend(first.conditions, False, added(algebra, parts, algebra.zero))
        found.append(first)
    return found


def is_idle(rows: Domain, then: Term, otherwise: Term, facts: Domain) -> bool:
    """Whether a guard says nothing: where its row does not hold, another guard in it gives the same, or a sum
    in it adds up nothing."""
    if len(rows) != 1 or rows[0].equality:
        return False
    known = (*facts, Constraint(-rows[0].form - 1))
    match then:
        case Guard() if then.then is otherwise:
            return hold(then.conditions, known)
        case Reduce(kind="sum") if is_const(otherwise, 0):
            return is_empty((*known, *then.domain))
        case _:
            return False


def merged_elses(algebra: Algebra, parts: Sequence[Signed]) -> list[Signed]:
    """A total in which what the same conditions leave out stands together."""
    found: list[Signed] = []
    groups: dict[frozenset[Domain], list[tuple[list[Domain], Signed]]] = {}
    for negative, part in parts:
        gone, body = left_out(part)
        if gone:
            key = frozenset(map(_canonical, gone))
            groups.setdefault(key, []).append((gone, (negative, body)))
        else:
            found.append((negative, part))
    for group in groups.values():
        gone, (negative, body) = group[0]
        if len(group) > 1:
            negative, body = False, added(algebra, [signed for _, signed in group], algebra.zero)
        found.append((negative, algebra.first([(rows, algebra.zero) for rows in gone], body)))
    return found


def _canonical(rows: Domain) -> Domain:
    """Equal for the same rows, whatever their order and the sides of their equalities."""
    same = (
        Constraint(-row.form, True) if row.equality and row.form.terms and row.form.terms[0][1] < 0 else row
        for row in rows
    )
    return tuple(sorted(same, key=str))


def _chosen(
    algebra: Algebra, plain: Sequence[Signed], guards: Sequence[Addend], facts: Domain
) -> tuple[list[Signed], list[Addend]]:
    """Guards joined with a part that is left out where they hold."""
    rest, made = list(guards), list[Signed]()
    for negative, part in plain:
        gone, body = left_out(part)
        taken: list[Addend] = []
        for rows in gone:
            same = [g for g in rest if _canonical(g.conditions) == _canonical(rows)]
            apart = all(is_empty((*facts, *rows, *other.conditions)) for other in taken)
            if len(same) == 1 and apart and rows:
                rest.remove(same[0])
                taken.append(same[0])
        if taken and negative:
            negative, body = False, algebra.neg(body)
        chosen = {_canonical(g.conditions) for g in taken}
        for rows in gone:
            if _canonical(rows) not in chosen:
                body = algebra.guard(rows, algebra.zero, body)
        for g in taken:
            body = algebra.guard(g.conditions, algebra.neg(g.term) if g.negative else g.term, body)
        made.append((negative, body))
    return made, rest


def _total(algebra: Algebra, parts: Sequence[Addend], facts: Domain) -> Term:
    """The sum of the parts."""
    if not parts:
        return algebra.zero
    below = [[hold(other.conditions, (*facts, *one.conditions)) for other in parts] for one in parts]
    within: dict[int, int] = {}
    for n in range(len(parts)):
        # Of those that imply each other the first holds the others.
        outer = (m for m in range(len(parts)) if below[n][m] and (m < n or not below[m][n]))
        place = next((m for m in outer if m != n), None)
        if place is not None:
            within[n] = place
    made: list[tuple[Domain, Term]] = []
    for n, part in enumerate(parts):
        if n in within:
            continue
        known = (*facts, *part.conditions)
        inside = [
            replace(p, conditions=not_implied(p.conditions, known))
            for m, p in enumerate(parts)
            if _root(m, within) == n and m != n
        ]
        own = [(p.negative, p.term) for p in inside if not p.conditions]
        body = added(algebra, own, algebra.neg(part.term) if part.negative else part.term)
        rest = [_signed(algebra, p) for p in inside if p.conditions]
        made.append((part.conditions, regrouped(algebra, added(algebra, rest, body), known)))
    return _side_by_side(algebra, made, facts)


def _side_by_side(algebra: Algebra, parts: Sequence[tuple[Domain, Term]], facts: Domain) -> Term:
    """The sum of guards; of those of which never two hold, the one that holds."""
    chains: list[list[tuple[Domain, Term]]] = []
    for rows, term in parts:
        apart = (c for c in chains if all(is_empty((*facts, *rows, *other)) for other, _ in c))
        chain = next(apart, None)
        if chain is None:
            chains.append([(rows, term)])
        else:
            chain.append((rows, term))
    total: Term = algebra.zero
    for chain in chains:
        total = algebra.add(total, algebra.first(chain, algebra.zero))
    return total


def _root(n: int, within: dict[int, int]) -> int:
    while n in within:
        n = within[n]
    return n
