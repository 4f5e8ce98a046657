"""Reductions that would be computed again and again become tensors of their own.

    f[i, j] = exp(-sum{k} …)    becomes    let f_0[i, j] = sum{k} …,    f[i, j] = exp(-f_0[i, j])

Reverse mode keeps one cotangent a tensor, so the gradient of this costs a small multiple of f, where that
of the first form computes the sum anew for each element that it gathers.

Reasons to move one, with what it costs to compute from `costs`:
- Before differentiation: a derivative needs its value, since something above it is not linear. It is
  computed once for every active read below it (each of them gathers), and once for every other active read
  of the definition. The same of the elements of a maximum, which are compared with it.
- It does not depend on all indices around it, and is computed once for each value of those.
- It has the same value in all calls, and is expensive: a target that keeps such tensors computes it once.
- Several tensors compute it. For this reason and the one before, where no derivative follows, divisions and
  transcendental functions move as well; what is a tensor already is read.
Mode `auto` moves it where `uses * cost > cost + store + uses * load`; `always` wherever that is safe;
`never` moves nothing. What safe is, and how large a tensor may be, `moves` says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

from tadc.frontend.functions import TRANSCENDENTAL
from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import (
    Apply,
    Const,
    Read,
    Reduce,
    Term,
    bottom_up,
    index_forms,
    operands,
    reachable,
    tensors_read,
)
from tadc.passes.derivatives.activity import Activity
from tadc.passes.rewrites.cheap_values import share_cheap_values
from tadc.passes.rewrites.copied_tensors import (
    has_own_order,
    is_copy,
    without_copied_results,
    without_copies,
)
from tadc.passes.rewrites.grouped_factors import group_factors
from tadc.passes.rewrites.known_values import KnownValues
from tadc.passes.rewrites.moves import MANY, Key, Mover, in_order
from tadc.passes.rewrites.places import Place, Places, Test
from tadc.passes.terms.algebra import is_const
from tadc.passes.terms.costs import (
    ACCESS,
    CACHED_BYTES,
    ELEMENT,
    NODES,
    SCATTERED,
    Costs,
    elements,
    is_candidate,
    points,
    width,
)
from tadc.passes.terms.element_terms import has_fibres, leaves_out_several
from tadc.passes.terms.inspected_arrays import Arrays
from tadc.passes.terms.liveness import of_values
from tadc.passes.terms.names import Names

#: Whether a term may move.
Only = Callable[[Term], bool]

MODES = ("auto", "always", "never")
#: So often what was made for values is looked at again: it may hold more that is shared.
ROUNDS = 4
#: In more definitions, nothing is looked for that several share.
MANY_DEFINITIONS = NODES // 20


def materialise_program(
    program: Program,
    active: Collection[str] | None = None,
    mode: str = "auto",
    limit: int | None = None,
    keeps: bool = False,
    only: Only | None = None,
) -> Program:
    """The program with reductions as tensors of their own.

    `active` are the tensors that depend on what is differentiated by; None where there is no derivative to
    take. `limit` bounds the bytes of each tensor whose shape has no symbol; without one, no tensor is
    larger than the largest that the program has, unless it saves very much. `keeps` says that tensors of no
    argument are kept from call to call. With `only`, terms move for which it holds, and nothing else changes.
    """
    if mode == "never":
        return program
    # What a user copies may be a better order in memory.
    copies = {d.name for d in program.definitions if is_copy(d) and has_own_order(d)}
    if only is not None:
        return _round(program, active, mode, limit, keeps=keeps, only=only)
    for _ in range(1 if active is not None else ROUNDS):
        before, program = program, _round(program, active, mode, limit, keeps=keeps)
        if active is None:
            program = without_copies(program, copies)
        if program is before:
            break
    if active is None:
        program = without_copied_results(program)
    if active is None and mode == "auto" and limit != 0:
        program = group_factors(program)
        for _ in range(ROUNDS):
            before, program = program, share_cheap_values(program, limit)
            if program is before:
                break
    return program


def _round(
    program: Program,
    active: Collection[str] | None,
    mode: str,
    limit: int | None,
    *,
    keeps: bool,
    read_later: bool = True,
    only: Only | None = None,
) -> Program:
    """One look at every definition; before a derivative also at those that are new.

    With `read_later`, an output may be read by definitions before it, which then move behind it.
    """
    names = Names(program)
    if active is not None:
        # What the derivative will call its cotangents and gradients.
        for tensor in (*program.outputs, *program.arguments):
            names.free("d" + tensor.name)
    arrays = None if active is not None else Arrays(program)
    mover = Mover(program, names, limit, strict=active is not None, inspected=arrays)
    costs = Costs(frozenset(program.sizes))
    known = set(active or ())
    shared: dict[Key, int] = {}
    surveyed: dict[str, _Body] = {}
    if active is None and len(program.definitions) <= MANY_DEFINITIONS:
        for definition in program.definitions:
            body = _Body(mover, costs, definition, definition.name, False, known, mode, shared, None, only)
            body.survey()
            surveyed[definition.name] = body
            if definition.order is None and (read_later or not definition.is_output):
                mover.holds(definition)
    sizes, has_lookups = frozenset(program.sizes), bool(program.index_arrays())
    held = KnownValues(program.terms, sizes, mover.size_facts, has_lookups) if active is None else None
    definitions: list[Definition] = []
    written = of_values(program)
    waiting = list(reversed(program.definitions))
    owners = {d.name: d.name for d in waiting}
    while waiting:
        definition = waiting.pop()
        owner = owners[definition.name]
        inverts = held is not None and owner not in written
        body = surveyed.get(definition.name)
        if body is None:
            derivative = active is not None
            body = _Body(mover, costs, definition, owner, derivative, known, mode, shared, None, only)
        body.held, body.inverts, body.keeps = held, inverts, keeps and not program.sizes
        made = body.run()
        if held is not None:
            for found in (*body.new, made):
                held.add(found)
        if not body.new or active is None:
            definitions += [*body.new, made]
            if made.order is None:
                mover.holds(made)
            continue
        # What is new comes first, and may hold more of the kind.
        for new in body.new:
            owners[new.name] = body.owner
            if not known.isdisjoint(tensors_read([new.body])):
                known.add(new.name)
        waiting += [made, *reversed(body.new)]
    if all(new is old for new, old in zip(definitions, program.definitions, strict=False)):
        return program
    result = replace(program, definitions=tuple(in_order(definitions)))
    result = result if arrays is None else arrays.in_program(result)
    if [d.name for d in result.outputs] == [d.name for d in program.outputs]:
        return result
    # Callers know outputs by their order.
    return _round(program, active, mode, limit, keeps=keeps, read_later=False, only=only)


@dataclass
class _Body:
    """One walk over a definition: first what is needed, from the root down, then the moves."""

    mover: Mover
    costs: Costs
    definition: Definition
    owner: str
    derivative: bool
    active: set[str]
    mode: str
    shared: dict[Key, int]
    held: KnownValues | None
    only: Only | None = None
    inverts: bool = False
    keeps: bool = False
    new: list[Definition] = field(default_factory=list[Definition])

    def __post_init__(self) -> None:
        self.terms = self.mover.program.terms
        self.sizes = frozenset(self.mover.program.sizes)
        self.scopes = Places(self.mover.program, self.definition)
        self.places = self.scopes.places
        self.needed: dict[tuple[int, int], bool] = {}
        self.memo: dict[tuple[int, int], Term] = {}
        self.holds: dict[int, bool] = {}
        self.activity = Activity(self.active)
        self.own: dict[int, bool] = {}
        self.given: dict[int, bool] = {}
        self.reads: int | None = None
        self.keys: dict[tuple[int, int], Key | None] = {}
        #: Elements of reductions whose derivative needs their value again, as those of a maximum.
        self.elements: set[tuple[int, int]] = set()

    def run(self) -> Definition:
        """The definition with reads in the place of what is worth a tensor."""
        body = self.definition.body
        if not self.has_candidate(body):
            return self.definition
        self.mover.enter(self.definition)
        self.mark(body)
        made = self.visit(0, body)
        return self.definition if made is body else replace(self.definition, body=made)

    def survey(self) -> None:
        """Add to `shared` how often what could be a tensor is evaluated, wherever it stands."""
        self.mover.enter(self.definition)
        seen: set[tuple[int, int]] = set()
        stack = [(0, self.definition.body)]
        while stack:
            at, term = stack.pop()
            if (at, term.number) in seen or not self.has_candidate(term):
                continue
            seen.add((at, term.number))
            stack += self.below(at, term)
            may_move = is_candidate(term) and not self.reads_itself(term)
            key, place = self.key(at, term) if may_move else None, self.places[at]
            if key is not None:
                self.shared[key] = self.shared.get(key, 0) + points(place.ranges_of(place.indices))

    def key(self, at: int, term: Term) -> Key | None:
        """Equal for terms that one tensor holds."""
        if (at, term.number) not in self.keys:
            never = self.mover.never_fits(term, self.places[at])
            self.keys[at, term.number] = None if never else self.mover.key(term, self.places[at])
        return self.keys[at, term.number]

    def has_candidate(self, term: Term) -> bool:
        """Whether what may become a tensor stands at or below a term: nothing else changes."""
        return bottom_up(term, self.holds, lambda node, below: is_candidate(node) or any(below))

    def reads_itself(self, term: Term) -> bool:
        """Whether a term reads the tensor that is defined: only a recurrence does, step by step."""
        name = self.definition.name

        def reads(node: Term, below: Sequence[bool]) -> bool:
            return any(below) or (isinstance(node, Read) and node.tensor == name)

        return self.definition.order is not None and bottom_up(term, self.own, reads)

    def below(self, at: int, term: Term) -> Iterator[tuple[int, Term]]:
        """The operands of a term, with their places."""
        if isinstance(term, Reduce) and self.derivative and term.kind != "sum":
            inside, _, _, body = self.scopes.open(at, term)
            if not isinstance(body, Read | Const):
                self.elements.add((inside, body.number))
        yield from self.scopes.below(at, term)

    # -- what a derivative needs -----------------------------------------------------------------

    def mark(self, root: Term) -> None:
        """Note for each reduction, place by place, whether a derivative needs its value."""
        stack = [(0, root, False)]
        while stack:
            at, term, needed = stack.pop()
            known = self.needed.get((at, term.number))
            if not self.has_candidate(term) or known or known is needed:
                continue
            self.needed[at, term.number] = needed
            flags = self.activity.needs(term) if self.derivative else [False] * len(operands(term))
            stack += [(p, t, needed or f) for (p, t), f in zip(self.below(at, term), flags, strict=True)]

    # -- moves -----------------------------------------------------------------------------------

    def visit(self, at: int, term: Term) -> Term:
        """The term with reads in the place of what has been moved."""
        if not self.has_candidate(term) and (at, term.number) not in self.elements:
            return term
        key = (at, term.number)
        if key not in self.memo:
            self.memo[key] = self.moved(at, term) or self.rebuilt(at, term)
        return self.memo[key]

    def rebuilt(self, at: int, term: Term) -> Term:
        """The term over operands that have been visited."""
        below = [self.visit(p, t) for p, t in self.below(at, term)]
        if isinstance(term, Apply) and (inverse := self.inverse(at, term)):
            return self.mover.algebra.mul(below[0], inverse)
        return self.scopes.rebuilt(at, term, below)

    def inverse(self, at: int, term: Apply) -> Term | None:
        """The reciprocal of a divisor of fewer indices, if it is worth a tensor; in derivatives alone.

        A product with a reciprocal rounds twice, as no quotient that a user writes may.
        """
        if not self.inverts or term.function != "div" or isinstance(term.operands[1], Const):
            return None
        divisor = term.operands[1]
        if divisor.type is None or is_const(term.operands[0], 1):
            return None
        if divisor.free.issuperset(self.places[at].indices):
            return None
        return self.moved(at, self.terms.apply("div", (self.mover.algebra.one, divisor)))

    def moved(self, at: int, term: Term) -> Term | None:
        """A read in the place of a term that is worth a tensor."""
        is_element = (at, term.number) in self.elements and self.activity.is_active(term)
        if not (is_element or (is_candidate(term) and self.may_move(at, term))):
            return None
        if self.reads_itself(term) or self.is_tensor(at, term):
            return None
        known = self.held and self.held.find(term, self.places[at])
        if known:
            return known
        if self.mover.never_fits(term, self.places[at]):
            return None
        uses = self.worth(at, term)
        if not uses:
            return None
        masked = all(choice.is_mask for choice in self.places[at].around if isinstance(choice, Test))
        anywhere = self.derivative and self.activity.passes_on_zero(term, masked)
        anywhere = anywhere or not self.activity.has_derivative(term)
        if self.derivative and not term.free.isdisjoint(self.places[at].told):
            # What depends on an index that others tell has a tensor over that alone.
            term = self.rebuilt(at, term)
        return self.mover.move(term, self.places[at], self.owner, self.new, uses, anywhere)

    def is_tensor(self, at: int, term: Term) -> bool:
        """Whether a term is what its definition is, element by element. A sum over fibres may be one over
        other elements too."""
        own = self.definition
        return (
            not (self.derivative or own.is_output or has_fibres(term))
            and at == 0
            and term is own.body
            and term.free.issuperset(own.indices)
        )

    def may_move(self, at: int, term: Term) -> bool:
        """Whether a term is of a kind that moves: before a derivative, what has one and does not depend on
        all indices around it, so that its cotangent is summed up before it is passed on."""
        if leaves_out_several(term):
            return False
        if self.only is not None and not (self.only(term) or self.scattered(at, term)):
            return False
        if not self.derivative or isinstance(term, Reduce):
            return True
        return self.activity.is_active(term) and not term.free.issuperset(self.places[at].indices)

    def worth(self, at: int, term: Term) -> int:
        """How often each element of a tensor for this term is used; 0 where the rule here says no."""
        is_element = (at, term.number) in self.elements
        place, needed = self.places[at], is_element or self.needed.get((at, term.number), False)
        ranges = place.ranges_of(place.indices)
        known = term.free | self.sizes
        # An index that others tell is a dimension of its own where the term does not depend on these.
        own = [place.ranges[i] for i in place.indices if i in term.free and not self.is_told(i, place, known)]
        count = (
            math.prod(map(width, ranges.values()))
            if self.mover.arrays and has_fibres(term)
            else points(ranges)
        )
        again = count // max(math.prod(map(width, own)), 1)
        if self.mover.of_fibre(term) and (needed or not self.derivative):
            # Whatever the average says: a fibre may have nearly all of the elements.
            return MANY
        if self.keeps and self.is_kept(at, term):
            return max(again, MANY)
        if self.mode == "always":
            return max(again, MANY) if needed or again > 1 else 0
        uses = again
        if needed and (is_element or isinstance(term, Reduce)):
            uses *= self.uses(term, place)
        if self.shared:
            key = self.key(at, term)
            uses = max(uses, self.shared.get(key, 0) // max(elements(key[1]), 1)) if key else uses
        cost, scattered = self.costs.term(term, place.ranges), self.scattered(at, term)
        if scattered:
            return uses if uses * (cost + SCATTERED * scattered) > cost + ACCESS + uses * SCATTERED else 0
        return uses if uses * cost > cost + ACCESS + uses * ACCESS else 0

    def is_told(self, index: str, place: Place, known: frozenset[str]) -> bool:
        """Whether indices that are known tell another."""
        return index in place.told and place.told[index].by <= known

    def scattered(self, at: int, term: Term) -> int:
        """Of a reduction in a sum over the places of an index array that hold a value, how many elements it
        reads that move with the place: they are anywhere in memory, as an element of a tensor for it is.

        What else it reads is a factor of the whole sum.
        """
        told = {index: told for index, told in self.places[at].told.items() if told.form is not None}
        if not isinstance(term, Reduce) or not told or not term.free.isdisjoint(told):
            return 0
        own = frozenset[str]().union(*(known.by for known in told.values()))
        reads = (node for node in reachable([term]) if isinstance(node, Read) and node.indices)
        if any(node.free.isdisjoint(own) for node in reads):
            return 0
        return self.costs.evaluations(
            term,
            self.places[at].ranges,
            lambda node: isinstance(node, Read) and not node.free.isdisjoint(own),
        )

    def is_kept(self, at: int, term: Term) -> bool:
        """Whether a term is worth a tensor that is kept from call to call, one that stays in the caches."""

        def is_given(node: Term, below: Sequence[bool]) -> bool:
            return any(below) or isinstance(node, Read) or any(form.has_lookups for form in index_forms(node))

        if self.costs.term(term, self.places[at].ranges) < TRANSCENDENTAL or bottom_up(
            term, self.given, is_given
        ):
            return False
        key = self.key(at, term)
        return key is not None and elements(key[1]) * ELEMENT[key[2]] <= CACHED_BYTES

    def uses(self, term: Term, place: Place) -> int:
        """How often the gradients of all active reads need the value of a term, for each element."""

        def counted(node: Term) -> bool:
            return isinstance(node, Read) and node.tensor in self.active

        if not self.active:
            return 1
        if self.reads is None:
            self.reads = sum(map(counted, reachable([self.definition.body])))
        others = self.reads - sum(map(counted, reachable([term])))
        return others + self.costs.evaluations(term, place.ranges, counted)
