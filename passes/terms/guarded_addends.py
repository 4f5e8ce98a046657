"""Additions that are done only where something is added.

(if A then a else 0) + (if B then b else 0)
    is  if A then a else (if B then b else 0)           where never both hold
(if A then 0 else a) + (if A then 0 else b)
    is  if A then 0 else (a + b)                        in sums that are taken apart
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tadc.frontend.terms import Domain, Guard, Reduce, Term
from tadc.lattice.affine import Constraint
from tadc.lattice.polyhedron import hold, is_empty
from tadc.passes.terms.algebra import Algebra, is_const, left_out
from tadc.passes.terms.collect import Signed, added, addends
from tadc.passes.terms.costs import COMPARED


def regrouped(algebra: Algebra, term: Term, facts: Domain) -> Term:
    """The term with fewer additions where the facts hold; itself if it adds up no guards."""
    if isinstance(term, Guard):
        then = regrouped(algebra, term.then, (*facts, *term.conditions))
        otherwise = regrouped(algebra, term.otherwise, facts)
        if then is term.then and otherwise is term.otherwise:
            return term
        return algebra.guard(term.conditions, then, otherwise, term.span)
    plain: list[Signed] = []
    guards: list[tuple[Domain, Term]] = []
    for negative, part in addends(term):
        if isinstance(part, Guard) and is_const(part.otherwise, 0):
            inside = algebra.neg(part.then) if negative else part.then
            known = (*facts, *part.conditions)
            guards.append((part.conditions, regrouped(algebra, inside, known)))
        else:
            plain.append((negative, part))
    if not 1 < len(guards) <= COMPARED:
        return term
    return added(algebra, plain, _side_by_side(algebra, guards, facts))


def _side_by_side(algebra: Algebra, parts: Iterable[tuple[Domain, Term]], facts: Domain) -> Term:
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
