"""What a derivative compares is stored: a value that is computed twice may round in two ways.

    m = max{i} (sum{k} (w[k] * x[i + k]))
    becomes    let m_0[i] = sum{k} (w[k] * x[i + k]),    m = max{i} (m_0[i])

The derivative of a maximum looks for the elements that equal it, and that of a choice between two values
asks in each gradient anew which of them it was. Sums are fused, vectorised and factored as it suits what
they stand in, so an element that is computed again may equal no maximum. Here, before a derivative is taken,
each operand of a comparison whose bits may depend on what it stands in gets a definition, and all that
compare read it. A definition is computed once, and what reads it reads the same bits.

No limit of memory counts here: without room for what it compares there is no right derivative. An operand
that one operation makes of what is stored is computed again, to the same bits, and takes no room.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tadc.frontend.extents import Extent, as_form, extent
from tadc.frontend.functions import REDUCTIONS
from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import (
    Apply,
    Guard,
    Read,
    Reduce,
    Select,
    Term,
    bottom_up,
    index_forms,
    integer_exponent,
    operands,
)
from tadc.lattice.affine import Affine, Constraint
from tadc.lattice.effort import EliminationLimit
from tadc.lattice.late_dataclasses import dataclass, field, replace
from tadc.lattice.points import SearchLimit
from tadc.passes.derivatives.activity import Activity, active_tensors
from tadc.passes.derivatives.derivative_table import WINS
from tadc.passes.rewrites.move_walks import MoveWalk, with_moved
from tadc.passes.rewrites.moves import MANY, Mover
from tadc.passes.rewrites.places import Places, RowsHold, TermPlace, Test
from tadc.passes.rewrites.term_boxes import TermBox
from tadc.passes.terms.checked_reads import out_of_range_in
from tadc.passes.terms.names import Names

#: What rounds nothing.
_EXACT = frozenset({"neg", "abs", "sign", "floor", "ceil", "relu", "max", "min"})
#: What rounds once, whatever stands around it.
_ONCE = frozenset({"add", "sub", "mul"})


def store_compared(program: Program, wrt: Collection[str], *, derived: bool = False) -> Program:
    """The program with definitions for what its derivative by `wrt` compares; it itself without such.

    Of one that is `derived` they are for what it compares itself.
    """
    active = active_tensors(program, wrt)
    mover = _Storing(program, Names(program), limit=None, strict=not derived)

    def walk_over(definition: Definition) -> _ComparedWalk:
        return _ComparedWalk(Places(program, definition), mover, definition, Activity(active), derived)

    return with_moved(program, active, walk_over, cheap=True)


def store_compared_of_recurrences(derived: Program, wrt: Collection[str]) -> Program:
    """A derivative with definitions for what it compares and its program could not store.

    An operand that reads the tensor that it is part of is computed step by step. In the derivative that
    tensor is known, and the operand and the maximum of it are computed once more, both for it alone.
    """
    if all(d.order is None for d in derived.definitions):
        return derived
    return store_compared(derived, wrt, derived=True)


class _Storing(Mover):
    """Moves as `Mover` does, whatever it takes, and under the choices by values around a term."""

    def fits(self, box: TermBox, term: Term, place: TermPlace, uses: int) -> bool:
        """Whether the shape is one: no derivative is wrong for want of memory."""
        return self.is_shape(box.shape)

    def in_range(self, definition: Definition) -> Definition:
        """A new definition; each read has a condition of its own where not all are proven to be in range.

        Where the term was evaluated before, these hold.
        """
        try:
            if not out_of_range_in(self.program, self.shapes, definition):
                return definition
        except (EliminationLimit, SearchLimit):
            pass
        return replace(definition, body=bottom_up(definition.body, {}, self._conditional))

    def _conditional(self, node: Term, below: Sequence[Term]) -> Term:
        """A node over operands that read only what there is, and 0 elsewhere; so do its index forms."""
        terms = self.program.terms
        made = terms.rebuild(node, below)
        rows = self._lookups_in_range(node)
        match made:
            case Guard() if rows:
                return terms.guard((*rows, *made.conditions), made.then, made.otherwise, made.span)
            case Reduce() if rows:
                return terms.reduce_like(made, made.binders, (*rows, *made.domain), made.body)
            case Read():
                rows += self._in_range(made.tensor, made.indices)
            case _:
                pass
        return self.algebra.guard(rows, made, self.algebra.zero) if rows else made

    def _in_range(self, tensor: str, at: Sequence[Affine]) -> list[Constraint]:
        sides = zip(at, self.shapes[tensor], strict=True)
        return [Constraint(side) for form, size in sides for side in (form, size - 1 - form)]

    def _lookups_in_range(self, node: Term) -> list[Constraint]:
        """That the elements of index arrays are there which a node's forms have, inner ones first."""
        found = dict.fromkeys(lookup for form in index_forms(node) for lookup in form.lookups())
        return [row for lookup in reversed(found) for row in self._in_range(lookup.array, lookup.at)]

    def wanted(self, term: Term, place: TermPlace) -> frozenset[str]:
        """With the indices of tests: before a derivative an element is computed only where it was."""
        if not self.strict:
            return term.free
        tests = [choice.select for choice in place.around if isinstance(choice, Test)]
        return term.free.union(*(test.lhs.free | test.rhs.free for test in tests))

    def box(self, term: Term, place: TermPlace, anywhere: bool = False) -> TermBox | None:
        """A range of `N - K` values may be of less than none: its tensor has `N` elements."""
        found = super().box(term, place, anywhere)
        return found and replace(found, shape=tuple(map(self._extent, found.shape)))

    def _extent(self, size: Extent) -> Extent:
        """The size, or where it is not proven to be none below 0, a form that is no less, and is."""
        if self.is_shape((size,)):
            return size
        form = as_form(size)
        return extent(Affine.of({atom: k for atom, k in form.terms if k > 0}, max(form.constant, 0)))


@dataclass
class _ComparedWalk(MoveWalk):
    """One walk over a definition, which stores what its derivative compares."""

    activity: Activity
    derived: bool
    roundings: dict[int, int] = field(default_factory=dict[int, int])

    def moved(self, at: int, term: Term) -> Term | None:
        """Nothing: a term is stored for what compares it."""
        return None

    def rebuilt(self, at: int, term: Term) -> Term:
        """A term whose comparisons compare what is stored."""
        below = [
            (compared and self.stored(place, operand)) or self.visit(place, operand)
            for compared, (place, operand) in zip(
                self.compares(term), self.places.below(at, term), strict=True
            )
        ]
        return self.places.rebuilt(at, term, below)

    def compares(self, term: Term) -> list[bool]:
        """For each operand, whether the derivative compares it with what depends on the inputs, too."""
        below = operands(term)
        match term:
            case Reduce(kind=kind):
                return [REDUCTIONS[kind].ties_share and self.activity.is_active(below[0])]
            case Apply(function=function) if function in WINS:
                return [all(map(self.activity.is_active, below))] * 2
            case Select():
                counts = self.derived or any(map(self.activity.has_derivative, below[2:]))
                return [counts and all(map(self.activity.is_active, below[:2]))] * 2 + [False] * 2
            case _:
                return [False] * len(below)

    def stored(self, at: int, term: Term) -> Term | None:
        """A read of the tensor that holds a term; None where its bits are the same without one."""
        if bottom_up(term, self.roundings, _roundings) <= 1:
            return None
        if self.reads_itself(term):
            return None
        place, d = self.places.places[at], self.definition
        masked = all(choice.is_mask for choice in place.around if isinstance(choice, Test))
        anywhere = self.derived or self.activity.passes_on_zero(term, masked)
        for tried in (place, _where_it_has_points(place, term)):
            found = self.mover.move(term, tried, d.name, self.new, MANY, anywhere)
            if found is not None:
                return found
        return None


def _where_it_has_points(place: TermPlace, term: Term) -> TermPlace:
    """The place where each index that a term does not depend on has a value: reads may rely on that."""
    others = [place.ranges[i] for i in place.indices if i not in term.free]
    return place.under(RowsHold(tuple(Constraint(r.extent - 1) for r in others if r is not None), holds=True))


def _roundings(node: Term, below: Sequence[int]) -> int:
    """How many operations round between what is stored and a term, one on top of the other; 2 for a sum."""
    most = max(below, default=0)
    match node:
        case Apply(function=function) if function in _ONCE:
            return most + 1
        case Apply(function="pow") if integer_exponent(node) == 2:
            return most + 1
        case Apply(function=function) if function not in _EXACT:
            return 2
        case Reduce(kind=kind) if not REDUCTIONS[kind].ties_share:
            return 2
        case _:
            return most
