"""The sets outside of which tensors are 0, as unions of integer sets, of a program of counts.

Each set is the shadow of rows along indices of sums: `{(i, j) : exists k, 0 <= k <= 2 and j = i + k}`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations

from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import Apply, Const, Domain, Guard, Read, Reduce, Term, Terms
from tadc.lattice.affine import Affine, Constraint
from tadc.lattice.effort import EliminationLimit, limited
from tadc.lattice.late_dataclasses import dataclass, field
from tadc.lattice.polyhedron import implied, irredundant, is_empty
from tadc.lattice.residues import Residue, residue_of
from tadc.lattice.solve import solve
from tadc.passes.terms.algebra import is_const
from tadc.passes.terms.costs import LONGEST
from tadc.passes.terms.occupied import occupied
from tadc.passes.terms.operation_counts import COUNTED

#: A tensor with more sets is taken to be full.
MOST = 2 * LONGEST
#: Entries of tableaus that may change for the sets of a tensor, or for the boxes around them: some seconds.
EFFORT = COUNTED // 2


@dataclass(frozen=True)
class Piece:
    """The points for which some values of the binders satisfy all rows."""

    binders: tuple[str, ...] = ()
    rows: Domain = ()

    def under(self, rows: Domain) -> Piece:
        """The part where these rows hold as well."""
        return Piece(self.binders, (*self.rows, *rows))


class _TooMany(Exception):
    pass


@dataclass
class Supports:
    """The sets of the definitions of a program as `passes.pattern` makes it, over their own indices."""

    program: Program
    found: dict[str, list[Piece]] = field(default_factory=dict[str, list[Piece]])

    def __post_init__(self) -> None:
        self.definitions = {d.name: d for d in self.program.definitions}

    def of(self, name: str) -> list[Piece]:
        """The sets of a definition, none of them known to be empty; that of all elements if they are many."""
        if name not in self.found:
            self.found[name] = self._of(self.definitions[name])
        return self.found[name]

    def _of(self, definition: Definition) -> list[Piece]:
        try:
            with limited(EFFORT):
                return self._pieces(definition, self.program.facts(definition))
        except (_TooMany, EliminationLimit):
            return [Piece()]

    def _pieces(self, definition: Definition, facts: Domain) -> list[Piece]:
        if definition.in_order().order is not None:
            return self._recurrence(definition, facts)
        found = self.term(definition.body, facts)
        pieces = [_solved(self.program.terms, piece, facts) for piece in found]
        return list(dict.fromkeys(piece for piece in pieces if piece is not None))

    def _recurrence(self, definition: Definition, facts: Domain) -> list[Piece]:
        """A set that holds what a recurrence starts from and, with its elements, those that read them.

        Its rows compare two indices: of all such, the ones that hold at the start and again after a step.
        """
        name = definition.name
        self.found[name] = []
        start = self.term(definition.body, facts)
        if not start:
            return []
        pairs = permutations(definition.own, 2)
        rows = [Constraint(one - other - by) for one, other in pairs for by in (1, 0, -1)]
        pieces = start
        while True:
            kept = [row for row in rows if all(implied(row.form, (*facts, *p.rows)) for p in pieces)]
            if kept == rows and pieces is not start:
                return [Piece((), tuple(irredundant(rows, facts)))]
            rows = kept
            self.found[name] = [Piece((), tuple(rows))]
            pieces = self.term(definition.body, facts)

    def term(self, term: Term, facts: Domain) -> list[Piece]:
        """The sets where a count is not 0, as far as the facts allow."""
        match term:
            case Const():
                return [Piece()] if term.value else []
            case Read():
                found = [self._read(term, piece) for piece in self.of(term.tensor)]
            case Apply(function="min"):
                found = self.term(term.operands[0], facts)
            case Apply(function="add"):
                found = [piece for below in term.operands for piece in self.term(below, facts)]
            case Apply(function="mul"):
                first, second = (self.term(below, facts) for below in term.operands)
                found = [Piece(x.binders + y.binders, x.rows + y.rows) for x in first for y in second]
            case Guard():
                found = [piece.under(term.conditions) for piece in self.term(term.then, facts)]
                rest = [] if is_const(term.otherwise, 0) else self.term(term.otherwise, facts)
                found += [piece.under(rows) for piece in rest for rows in elsewhere(term.conditions)]
            case Reduce():
                names, domain, body = self.program.terms.open(term)
                inside = self.term(body, (*facts, *domain))
                found = [Piece(names + piece.binders, domain + piece.rows) for piece in inside]
            case _:
                found = [Piece()]
        found = [piece for piece in dict.fromkeys(found) if not is_empty((*facts, *piece.rows))]
        if len(found) > MOST:
            raise _TooMany
        return found

    def _read(self, read: Read, piece: Piece) -> Piece:
        """A set of the tensor that is read, at the place of the read."""
        names = tuple(self.program.terms.fresh("e") for _ in piece.binders)
        mapping = self.definitions[read.tensor].at(read.indices)
        mapping |= {old: Affine.var(new) for old, new in zip(piece.binders, names, strict=True)}
        return Piece(names, tuple(row.substitute(mapping) for row in piece.rows))


def _solved(terms: Terms, piece: Piece, facts: Domain) -> Piece | None:
    """The set without indices of sums that equalities or bounds settle; None if it is empty."""
    if not piece.binders:
        return piece
    try:
        solution = solve(piece.binders, piece.rows, facts, terms.fresh)
    except EliminationLimit:
        return piece
    if solution is None:
        return None
    kernel, domain = solution.kernel, solution.domain
    rows = occupied(kernel, domain, (*facts, *solution.guards)) if kernel else domain
    if rows is not None:
        kernel, domain = (), rows
    return Piece(kernel, (*solution.guards, *domain))


def elsewhere(conditions: Domain) -> Iterator[Domain]:
    """Domains that do not overlap, whose union is where not all conditions hold."""
    before: Domain = ()
    for row in conditions:
        for other in _others(row):
            yield (*before, other)
        before += (row,)


def _others(row: Constraint) -> Sequence[Constraint]:
    """Where a row does not hold."""
    residue = residue_of(row)
    if residue is not None:
        rests = (rest for rest in range(residue.divisor) if rest != residue.rest)
        return [Residue(residue.form, residue.divisor, rest).row for rest in rests]
    forms: tuple[Affine, ...] = (-row.form - 1, row.form - 1) if row.equality else (-row.form - 1,)
    return [Constraint(form) for form in forms]
