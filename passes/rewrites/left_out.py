"""Sums over the points that add something, where a guard leaves points out.

    sum{i} (if {i = j} then 0 else e)         is  sum{i < j} e + sum{i > j} e
    sum{i} (if {i % 2 = 0} then 0 else e)     is  sum{k} e[i <- 2*k + 1]
    sum{i} (if {i < j} then a else 0 + b)     is  sum{i < j} a + sum{i} b

What holds where not all conditions hold is taken apart into domains that do not overlap.
"""

from __future__ import annotations

from collections.abc import Callable

from tadc.frontend.diagnostics import CompileError
from tadc.frontend.extents import Shape
from tadc.frontend.terms import Domain, Guard, Reduce, Term, Terms
from tadc.lattice.affine import Constraint
from tadc.lattice.late_dataclasses import dataclass
from tadc.lattice.polyhedron import cleared, is_empty
from tadc.lattice.residues import residue_of
from tadc.passes.derivatives.cancel import Canceller
from tadc.passes.supports.sets import elsewhere
from tadc.passes.terms.algebra import Algebra, is_const
from tadc.passes.terms.collect import Signed, added, addends
from tadc.passes.terms.costs import COMPARED
from tadc.passes.terms.guarded_addends import merged_elses
from tadc.passes.terms.simplify import Simplifier


@dataclass(frozen=True)
class _LeftOutPiece:
    """What is added where the rows hold."""

    rows: Domain
    body: Term


def leaves_out(node: Term) -> bool:
    """Whether a sum adds up what a guard leaves out at some points."""
    if not isinstance(node, Reduce) or node.kind != "sum":
        return False
    return any(_zero_side(part) is not None for _, part in addends(node.body))


def taken_apart(terms: Terms, node: Reduce, facts: Domain, shape_of: Callable[[str], Shape]) -> Term | None:
    """The sum without points that are left out, where the facts hold; None of conditions that are no bounds
    and no residues, or where the pieces are many. `shape_of` gives that of an index array."""
    algebra = Algebra(terms)
    binders, domain, body = terms.open(node)
    plain, made = list[Signed](), list[Signed]()
    canceller = Canceller(terms, shape_of)
    for negative, part in merged_elses(algebra, addends(body)):
        if _zero_side(part) is None:
            plain.append((negative, part))
            continue
        pieces = _pieces(part, (*facts, *domain))
        if pieces is None or len(made) + len(pieces) > COMPARED:
            return None
        sums = (algebra.sum(binders, domain + p.rows, p.body, node.hints, node.span) for p in pieces)
        made += [(negative, one) for one in sums]
    if not is_const(rest := added(algebra, plain), 0):
        made.append((False, algebra.sum(binders, domain, rest, node.hints, node.span)))
    try:
        total = added(algebra, [(negative, _solved(canceller, one, facts)) for negative, one in made])
    except CompileError:
        return None  # too many rows: the guard stays
    return total if total.type == node.type or is_const(total, 0) else None


def _solved(canceller: Canceller, term: Term, facts: Domain) -> Term:
    """A sum over a piece in its simplest form; an index that has one value is that."""
    terms = canceller.terms
    while True:
        term = Simplifier(terms).visit(canceller.visit(term, facts), facts)
        if not isinstance(term, Reduce):
            return term
        rows = [
            Constraint(row.form, row.equality or Constraint(-row.form) in term.domain) for row in term.domain
        ]
        if tuple(rows) == term.domain:
            return term
        term = terms.reduce_like(term, term.binders, rows, term.body)


def _zero_side(term: Term) -> bool | None:
    """Which branch of a guard adds nothing, the first or not; None of what is no such guard."""
    if isinstance(term, Guard):
        if is_const(term.then, 0):
            return True
        if is_const(term.otherwise, 0):
            return False
    return None


def _pieces(term: Term, known: Domain) -> list[_LeftOutPiece] | None:
    """Where a term adds something, and what; None where a condition is neither a bound nor a residue."""
    side = _zero_side(term)
    if side is None or not isinstance(term, Guard):
        return [_LeftOutPiece((), term)]
    found: list[_LeftOutPiece] = []
    for rows in elsewhere(term.conditions) if side else [term.conditions]:
        rows = tuple(row if row.equality else cleared(row) for row in rows)
        if not all(row.form.is_linear or residue_of(row) for row in rows):
            return None
        if is_empty((*known, *rows)):
            continue
        inside = _pieces(term.otherwise if side else term.then, (*known, *rows))
        if inside is None or len(found) + len(inside) > COMPARED:
            return None
        found += [_LeftOutPiece(rows + piece.rows, piece.body) for piece in inside]
    return found
