"""Additions that are done only where something is added.

(if A then a else 0) + (if B then b else 0)
    is  if B then ((if A then a else 0) + b) else 0     where A implies B
    is  if A then a else (if B then b else 0)           where never both hold
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

from tadc.frontend.terms import Domain, Guard, Term
from tadc.lattice.polyhedron import implied, is_empty
from tadc.passes.algebra import Algebra, is_const
from tadc.passes.collect import addends

#: More guards are added as they are: each is compared with all others.
MOST_GUARDS = 8


@dataclass(frozen=True)
class _Part:
    """What is added, or taken away, where the rows hold."""

    rows: Domain
    negative: bool
    term: Term


def regrouped(algebra: Algebra, term: Term, facts: Domain) -> Term:
    """The term with fewer additions where the facts hold; itself if it adds up no guards."""
    plain: list[tuple[bool, Term]] = []
    guards: list[_Part] = []
    for negative, part in addends(term):
        if isinstance(part, Guard) and is_const(part.otherwise, 0):
            guards.append(_Part(part.conditions, negative, part.then))
        else:
            plain.append((negative, part))
    if not 1 < len(guards) <= MOST_GUARDS:
        return term
    made = _total(algebra, guards, facts)
    return _added(algebra, plain, made) if plain else made


def _total(algebra: Algebra, parts: Sequence[_Part], facts: Domain) -> Term:
    """The sum of the parts."""
    if not parts:
        return algebra.zero
    below = [[_implies(one.rows, other.rows, facts) for other in parts] for one in parts]
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
        known = (*facts, *part.rows)
        inside = [_without(p, known) for m, p in enumerate(parts) if _root(m, within) == n and m != n]
        own = [(p.negative, p.term) for p in inside if not p.rows]
        body = _added(algebra, own, algebra.neg(part.term) if part.negative else part.term)
        rest = _total(algebra, [p for p in inside if p.rows], known)
        made.append((part.rows, algebra.add(body, rest)))
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
        one: Term = algebra.zero
        for rows, term in reversed(chain):
            one = algebra.guard(rows, term, one)
        total = algebra.add(total, one)
    return total


def _root(n: int, within: dict[int, int]) -> int:
    while n in within:
        n = within[n]
    return n


def _implies(rows: Domain, others: Domain, facts: Domain) -> bool:
    known = (*facts, *rows)
    return all(implied(form, known) for row in others for form in row.inequalities)


def _without(part: _Part, known: Domain) -> _Part:
    """The part with the conditions that are not known."""
    rows = (row for row in part.rows if not all(implied(form, known) for form in row.inequalities))
    return replace(part, rows=tuple(rows))


def _added(algebra: Algebra, parts: Sequence[tuple[bool, Term]], start: Term) -> Term:
    def step(total: Term, part: tuple[bool, Term]) -> Term:
        return algebra.sub(total, part[1]) if part[0] else algebra.add(total, part[1])

    return reduce(step, parts, start)
