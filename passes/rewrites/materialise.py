"""Reductions whose values a derivative needs become tensors of their own.

    f[i, j] = exp(-sum{k} …)    becomes    let f_0[i, j] = sum{k} …,    f[i, j] = exp(-f_0[i, j])

Reverse mode keeps one cotangent a tensor, so the gradient of this costs a small multiple of f, where that
of the first form computes the sum anew for each element that it gathers.

Reasons to move one before a derivative, with what it costs to compute from `costs`:
- The derivative needs its value, since something above it is not linear. It is computed once for every
  active read below it (each of them gathers), and once for every other active read of the definition. The
  same of the elements of a maximum, which are compared with it.
- It does not depend on all indices around it, and is computed once for each value of those.
Mode `auto` moves it where `uses * cost > cost + store + uses * load`; `always` wherever that is safe;
`never` moves nothing. What safe is, and how large a tensor may be, `moves` says. Which values are tensors
where no derivative follows, `stored_values` says.
"""

from __future__ import annotations

import math
from collections.abc import Collection

from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import Const, Read, Reduce, Term, holds, reachable
from tadc.lattice.late_dataclasses import dataclass
from tadc.passes.derivatives.activity import Activity
from tadc.passes.rewrites.copied_tensors import has_own_order, is_copy, without_copied_results, without_copies
from tadc.passes.rewrites.grouped_factors import group_factors
from tadc.passes.rewrites.move_walks import MoveWalk, with_moved
from tadc.passes.rewrites.moves import MANY, Mover
from tadc.passes.rewrites.places import Places, TermPlace, Test
from tadc.passes.rewrites.stored_values import store_values
from tadc.passes.terms.costs import ACCESS, Costs, is_candidate, points, width
from tadc.passes.terms.element_terms import has_fibres, leaves_out_several
from tadc.passes.terms.names import Names

MODES = ("auto", "always", "never")
#: So often what was made for values is looked at again: it may hold more that is shared.
ROUNDS = 4


def stored_for_values(
    program: Program, mode: str = "auto", limit: int | None = None, keeps: bool = False
) -> Program:
    """The program with values as tensors of their own, where no derivative follows.

    `limit` bounds the bytes of each tensor whose shape has no symbol; without one, no tensor is larger than
    the largest that the program has, unless it saves very much. `keeps` says that tensors of no argument are
    kept from call to call.
    """
    if mode == "never":
        return program
    # What a user copies may be a better order in memory.
    copies = {d.name for d in program.definitions if is_copy(d) and has_own_order(d)}
    for _ in range(ROUNDS):
        before, program = program, store_values(program, limit, always=mode == "always", keeps=keeps)
        program = without_copies(program, copies)
        if program is before:
            break
    program = without_copied_results(program)
    if mode == "always" or limit == 0:
        return program
    program = group_factors(program)
    for _ in range(ROUNDS):
        before, program = program, store_values(program, limit, cheap=True)
        if program is before:
            break
    return program


def stored_for_derivative(
    program: Program, active: Collection[str], mode: str = "auto", limit: int | None = None
) -> Program:
    """The program with reductions as tensors of their own, before a derivative.

    `active` are the tensors that depend on what is differentiated by.
    """
    if mode == "never":
        return program
    names = Names(program)
    # What the derivative will call its cotangents and gradients.
    for tensor in (*program.outputs, *program.arguments):
        names.free("d" + tensor.name)
    mover, costs = Mover(program, names, limit, strict=True), Costs(frozenset(program.sizes))
    known, owners = set(active), {d.name: d.name for d in program.definitions}

    def walk_over(definition: Definition) -> _NeedWalk:
        places = Places(program, definition)
        return _NeedWalk(places, mover, definition, costs, owners, known, mode == "always")

    return with_moved(program, known, walk_over)


@dataclass
class _NeedWalk(MoveWalk):
    """One walk over a definition: first what is needed, from the root down, then the moves."""

    costs: Costs
    owners: dict[str, str]
    active: set[str]
    always: bool

    def __post_init__(self) -> None:
        self.sizes = frozenset(self.mover.program.sizes)
        self.needed: dict[tuple[int, int], bool] = {}
        self.held: dict[int, bool] = {}
        self.activity = Activity(self.active)
        self.reads = sum(map(self.activity.reads, reachable([self.definition.body])))
        #: Elements of reductions whose derivative needs their value again, as those of a maximum.
        self.elements: set[tuple[int, int]] = set()

    def run(self) -> Definition:
        """The definition with reads in the place of what is worth a tensor."""
        if not self.holds(self.definition.body):
            return self.definition
        self.mark(self.definition.body)
        made = super().run()
        self.owners |= {new.name: self.owners[self.definition.name] for new in self.new}
        return made

    def holds(self, term: Term) -> bool:
        """Whether what may become a tensor stands at or below a term: nothing else changes."""
        return holds(term, self.held, is_candidate)

    # -- what a derivative needs -----------------------------------------------------------------

    def mark(self, root: Term) -> None:
        """Note for each reduction, place by place, whether a derivative needs its value, and which elements
        of reductions."""
        stack = [(0, root, False)]
        while stack:
            at, term, needed = stack.pop()
            known = self.needed.get((at, term.number))
            if not self.holds(term) or known or known is needed:
                continue
            self.needed[at, term.number] = needed
            below = list(self.places.below(at, term))
            if isinstance(term, Reduce) and term.kind != "sum" and not isinstance(below[0][1], Read | Const):
                self.elements.add((below[0][0], below[0][1].number))
            flags = self.activity.needs(term)
            stack += [(p, t, needed or f) for (p, t), f in zip(below, flags, strict=True)]

    # -- moves -----------------------------------------------------------------------------------

    def visit(self, at: int, term: Term) -> Term:
        """The term with reads in the place of what has been moved."""
        return super().visit(at, term) if self.holds(term) or (at, term.number) in self.elements else term

    def moved(self, at: int, term: Term) -> Term | None:
        """A read in the place of a term that is worth a tensor."""
        is_element = (at, term.number) in self.elements and self.activity.is_active(term)
        if not (is_element or self.may_move(at, term)) or self.reads_itself(term):
            return None
        place = self.places.places[at]
        uses = self.worth(at, term)
        if not uses:
            return None
        masked = all(choice.is_mask for choice in place.around if isinstance(choice, Test))
        anywhere = self.activity.passes_on_zero(term, masked) or not self.activity.has_derivative(term)
        if not term.free.isdisjoint(place.told):
            # What depends on an index that others tell has a tensor over that alone.
            term = self.rebuilt(at, term)
        return self.mover.move(term, place, self.owners[self.definition.name], self.new, uses, anywhere)

    def may_move(self, at: int, term: Term) -> bool:
        """Whether a term is of a kind that moves: what has a derivative and does not depend on all indices
        around it, so that its cotangent is summed up before it is passed on, and reductions."""
        if not is_candidate(term) or leaves_out_several(term):
            return False
        if isinstance(term, Reduce):
            return True
        return self.activity.is_active(term) and not term.free.issuperset(self.places.places[at].indices)

    def worth(self, at: int, term: Term) -> int:
        """How often each element of a tensor for this term is used; 0 where the rule here says no."""
        is_element = (at, term.number) in self.elements
        place, needed = self.places.places[at], is_element or self.needed.get((at, term.number), False)
        ranges = place.ranges_of(place.indices)
        known = term.free | self.sizes
        # An index that others tell is a dimension of its own where the term does not depend on these.
        own = [place.ranges[i] for i in place.indices if i in term.free and not is_told(i, place, known)]
        has_own_fibres = self.mover.arrays and has_fibres(term)
        count = math.prod(map(width, ranges.values())) if has_own_fibres else points(ranges)
        again = count // max(math.prod(map(width, own)), 1)
        if self.mover.of_fibre(term) and needed:
            # Whatever the average says: a fibre may have nearly all of the elements.
            return MANY
        if self.always:
            return max(again, MANY) if needed or again > 1 else 0
        uses = again * (self.uses(term, place) if needed and (is_element or isinstance(term, Reduce)) else 1)
        cost = self.costs.term(term, place.ranges)
        return uses if uses * cost > cost + ACCESS + uses * ACCESS else 0

    def uses(self, term: Term, place: TermPlace) -> int:
        """How often the gradients of all active reads need the value of a term, for each element."""
        if not self.active:
            return 1
        others = self.reads - sum(map(self.activity.reads, reachable([term])))
        return others + self.costs.evaluations(term, place.ranges, self.activity.reads)


def is_told(index: str, place: TermPlace, known: frozenset[str]) -> bool:
    """Whether indices that are known tell another."""
    return index in place.told and place.told[index].by <= known
