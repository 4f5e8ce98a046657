"""Reductions that become tensors of their own: where they are computed, and why nothing is read there
that is not in range.

A reduction R under indices i, some of an enclosing sum, becomes `let h[i] = if {C(i)} then (R) else (0)`
over a box around those indices. C are the conditions around R that concern these indices alone: where they
do not hold R was not evaluated, and may be infinite.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count as count_from_0

from tadc.frontend import source
from tadc.frontend.dtypes import COMPUTING, DEFAULT
from tadc.frontend.extents import Shape, is_static
from tadc.frontend.program import Definition
from tadc.frontend.source import Span
from tadc.frontend.terms import (
    Const,
    Domain,
    ElementType,
    Guard,
    Select,
    Term,
    in_text_order,
    index_forms,
    join_types,
    operands,
    reachable,
    tensors_read,
)
from tadc.lattice.affine import Affine, box
from tadc.lattice.polyhedron import is_empty, not_implied
from tadc.passes.rewrites.loop_costs import is_plain
from tadc.passes.rewrites.places import RowsHold, TermPlace
from tadc.passes.rewrites.term_boxes import Boxes, TermBox
from tadc.passes.terms.checked_reads import all_proven
from tadc.passes.terms.costs import CACHED_BYTES, ELEMENT, SPARSE, about, elements, is_candidate, points
from tadc.passes.terms.guarded_addends import is_idle
from tadc.passes.terms.names import Names

#: Evaluations of each element that a tensor saves which is larger than all that the program has.
MANY = 32
#: Bytes that such a tensor may take.
LIMIT = 2**30


@dataclass(frozen=True)
class Moved:
    """A tensor that holds a reduction; `order` lists its dimensions as they first appear in the term."""

    definition: Definition
    order: tuple[int, ...]


Key = tuple[int, Shape, ElementType]
"""Equal for terms that one tensor holds: the term over numbered indices, the tensor's shape and its type."""


@dataclass
class Mover(Boxes):
    """Makes the tensors, each once for all reductions that are equal up to the names of their indices.

    `strict`: nothing is evaluated where it was not before because of a comparison of values, for a
    derivative would multiply a cotangent of 0 with what is infinite there. `limit` bounds the bytes of each
    tensor whose shape has no symbol. Without `inspected`, tensors look up nothing that an inspector makes.
    """

    names: Names
    limit: int | None
    made: dict[Key, Moved] = field(default_factory=dict[Key, Moved])
    refused: set[Key] = field(default_factory=set[Key])
    is_recurrence: bool = False  # whether it does
    span: Span | source.Place | None = None  # where it stands
    literal: ElementType = DEFAULT  # the type of what is of literals and indices alone in it

    def __post_init__(self) -> None:
        super().__post_init__()
        self.largest = max(map(about, self.shapes.values()), default=0)
        self.is_plain = is_plain(self.program)
        self.literals: dict[int, ElementType | None] = {}
        # Many terms stand under the same few choices.
        self.shifted: dict[tuple[object, ...], Domain] = {}

    def enter(self, definition: Definition) -> None:
        """Look at a definition.

        What has no type is as wide there as the widest that it may be compared or computed with.
        """
        self.inside, self.is_recurrence = definition.name, definition.order is not None
        self.span = definition.span
        body = definition.body
        if body.number not in self.literals:
            self.literals[body.number] = join_types(t.type for t in reachable([body]))
        self.literal = self.literals[body.number] or COMPUTING[definition.type]

    def move(
        self,
        term: Term,
        place: TermPlace,
        owner: str,
        new: list[Definition],
        uses: int,
        anywhere: bool = False,
        of_elements: bool = False,
    ) -> Term | None:
        """A read of the tensor that holds a term; what is defined for it is added to `new`.

        None where a read is not proven in range, or the tensor would be too large for what is used `uses`
        times an element. `anywhere` is for what may be evaluated, whatever comparisons of values are around
        it; the tensor is `of_elements` as its `key` is.
        """
        type = term.type or self.literal
        if known := self._known_of_fibre(term, place):
            return known
        box = self.box(term, place, anywhere)
        if box is None or not self.fits(box, term, place, uses):
            return None
        body = self._guarded(box, place, anywhere or not self.strict)
        if body is None:
            return None
        count = len(box.shape)
        # What is stored wherever the rows hold may be read where a comparison holds too.
        stored = self._guarded(replace(box, tested=False), place, anywhere=True)
        bodies = (box.term, stored or body, body)
        if of_elements:
            bodies = tuple(self.over_elements(box, wanted)[1] for wanted in bodies)
            box, body = self.over_elements(box, body)
        for wanted in dict.fromkeys(bodies):
            order = _appearing(wanted, count)
            found = self.made.get(self._key(wanted, order, box.shape))
            if found is not None and len(order) == count:
                own = found.definition.name == self.inside
                return None if own else self._read(found, box.at, order)
        order = _appearing(body, count)
        if len(order) < count:
            return None  # it is never evaluated, or an index has but one value
        key = self._key(body, order, box.shape)
        if key in self.refused:
            return None
        definition = self.in_range(self._define(body, box.shape, box.hints, owner, type))
        if definition is None:
            self.refused.add(key)
            return None
        name = next(n for k in count_from_0() if (n := f"{owner}_{k}") not in self.names.taken)
        definition = replace(definition, name=self.names.free(name), span=self.span)
        self.shapes[definition.name] = box.shape
        self.largest = max(self.largest, about(box.shape))
        self.made[key] = Moved(definition, order)
        new.append(definition)
        return self._read(self.made[key], box.at, order)

    def _known_of_fibre(self, term: Term, place: TermPlace) -> Term | None:
        """The element of a tensor that has a value for each of the fibres of an index array."""
        found = self.of_fibre(term)
        box = None if found is None else self._fibre(found, place)
        if box is None:
            return None
        order = _appearing(box.term, len(box.shape))
        known = self.made.get(self._key(box.term, order, box.shape)) if len(order) == len(box.shape) else None
        if known is None or known.definition.name == self.inside:
            return None
        return self._read(known, box.at, order)

    def key(self, term: Term, place: TermPlace, of_elements: bool = False) -> Key | None:
        """Equal for terms whose tensors are one up to the order of their dimensions.

        With `of_elements`, over the places of an index array, not over these in the order of its values.
        """
        box = self.box(term, place)
        body = box and self._guarded(box, place, not self.strict)
        if box is None or body is None:
            return None
        box, body = self.over_elements(box, body) if of_elements else (box, body)
        order = _appearing(body, len(box.shape))
        return self._key(body, order, box.shape) if len(order) == len(box.shape) else None

    def holds(self, definition: Definition, cheap: bool = False) -> None:
        """Note that a definition is the tensor of a reduction or of an expensive value, if that is all it is.

        With `cheap`, of any value.
        """
        body, shape = definition.body, definition.shape
        if body.type != definition.type or not (cheap or is_candidate(_without_choices(body))):
            return
        numbered = {i: Affine.var(f"?{n}") for n, i in enumerate(definition.indices)}
        body = self.program.terms.substitute(body, numbered)
        order = _appearing(body, len(shape))
        if len(order) == len(shape):
            self.made.setdefault(self._key(body, order, shape), Moved(definition, order))

    def fits(self, box: TermBox, term: Term, place: TermPlace, uses: int) -> bool:
        """Whether the extents are none below 0, and the bytes within the limit.

        Without one, and where there are symbols, a tensor larger than all others has to save very much. Where
        index arrays say which points there are it may be a few times larger, as a tensor over edges is than
        all over nodes, and most of its elements are evaluated.
        """
        size, most, type = about(box.shape), self.largest, term.type or self.literal
        if _is_scattered(place) or any(form.has_lookups for form in box.at):
            # Indices around a term may say that few points of its own are met, as a fibre that all are in.
            evaluated = min(
                points(place.narrowed(place.ranges_of(names))) for names in (term.free, place.indices)
            )
            few = elements(box.shape) > SPARSE * evaluated or self._is_sparse(term, box.shape, 1)
            most *= 1 if few else SPARSE
            uses = 0 if few else uses
        if not self.is_shape(box.shape):
            return False
        if self.limit is None or (self.limit and not is_static(box.shape)):
            is_near = self.is_plain and is_static(box.shape) and size * ELEMENT[type] < CACHED_BYTES
            return size <= most or is_near or (uses >= MANY and size * ELEMENT[type] <= LIMIT)
        return size * ELEMENT[type] <= self.limit

    def in_range(self, definition: Definition) -> Definition | None:
        """A new definition, if all its reads are seen to be in range."""
        return definition if all_proven(self.program, self.shapes, definition) else None

    def _guarded(self, over: TermBox, place: TermPlace, anywhere: bool) -> Term | None:
        """The reduction, 0 where a choice around it, of its indices alone, is another.

        None where another choice by values is around it, unless it may be evaluated `anywhere`.
        """
        term, shift, shape = over.term, over.shift, over.shape
        if over.anywhere:
            return term
        known = frozenset(shift) | self.sizes
        around = tuple(shift.items()), shape
        terms, zero = self.program.terms, self.algebra.zero
        inside: Domain = ()
        for choice in reversed((over.place or place).around):
            if isinstance(choice, RowsHold):
                key = choice, *around
                if key not in self.shifted:
                    self.shifted[key] = self._shifted(choice, over)
                rows = self.shifted[key]
                if choice.holds:
                    term = term if is_idle(rows, term, zero, ()) else self.algebra.guard(rows, term, zero)
                    inside += rows
                elif len(rows) == len(choice.rows) and not is_empty((*inside, *rows)):
                    term = self.algebra.guard(rows, zero, term)
                continue
            if not over.tested:
                continue
            select = choice.select
            own = self.is_recurrence and self.inside in tensors_read([select.lhs, select.rhs])
            if select.lhs.free | select.rhs.free <= known and not own:
                lhs, rhs = (terms.substitute(t, shift) for t in (select.lhs, select.rhs))
                then, otherwise = (term, zero) if choice.holds else (zero, term)
                term = terms.select(select.relation, lhs, rhs, then, otherwise, select.span)
            elif not anywhere:
                return None
        return over.told.around(term, self.algebra)

    def _shifted(self, choice: RowsHold, over: TermBox) -> Domain:
        """What a choice says of the indices of a box; where it holds, without what the box implies."""
        known = frozenset(over.shift) | self.sizes
        rows = tuple(row.substitute(over.shift) for row in choice.rows if row.form.variables <= known)
        if not choice.holds:
            return rows
        facts = box([f"?{n}" for n in range(len(over.shape))], over.shape) + self.size_facts
        return not_implied(rows, facts + over.told.facts)

    def _key(self, term: Term, order: tuple[int, ...], shape: Shape) -> Key:
        """Equal for terms of one type that are equal up to the order of their indices."""
        renamed = {f"?{n}": Affine.var(f"?{place}") for place, n in enumerate(order) if n != place}
        number = self.program.terms.substitute(term, renamed).number if renamed else term.number
        return number, tuple(shape[n] for n in order), term.type or self.literal

    def _define(
        self, body: Term, shape: Shape, hints: Sequence[str], owner: str, type: ElementType
    ) -> Definition:
        chosen = self.names.indices([hint or f"{owner}_{n}" for n, hint in enumerate(hints)])
        named = {f"?{n}": Affine.var(name) for n, name in enumerate(chosen)}
        body = self.program.terms.substitute(body, named)
        return Definition(owner, type, shape, tuple(chosen), body, is_output=False)

    def _read(self, moved: Moved, at: Sequence[Affine], order: tuple[int, ...]) -> Term:
        """The element of a tensor, whose dimensions may stand in another order."""
        place = dict(zip(moved.order, order, strict=True))
        forms = [at[place[d]] for d in range(len(at))]
        return self.program.terms.read(moved.definition.name, forms, moved.definition.type)


def in_order(definitions: Sequence[Definition]) -> Iterator[Definition]:
    """Each definition after what it reads: a tensor may be found to read one that was made later."""
    reads = {d.name: tensors_read([d.body]) for d in definitions}
    waiting = {d.name: d for d in definitions}
    stack = [d.name for d in reversed(definitions)]
    while stack:
        name = stack[-1]
        before = sorted((reads[name] - {name}) & waiting.keys())
        if name in waiting and before:
            stack += before
            continue
        stack.pop()
        if name in waiting:
            yield waiting.pop(name)


def _without_choices(term: Term) -> Term:
    """What a tensor holds where the choices around it hold."""
    while isinstance(term, Guard | Select):
        last = term.then
        term = term.otherwise if isinstance(last, Const) else last
    return term


def _is_scattered(place: TermPlace) -> bool:
    """Whether elements of index arrays say which points a place has."""
    around = (row for choice in place.around if isinstance(choice, RowsHold) for row in choice.rows)
    return any(row.form.has_lookups for row in around)


def _appearing(root: Term, count: int) -> tuple[int, ...]:
    """The indices `?0`, `?1`, … by number, in an order that does not depend on their names.

    It is that in which a walk over the term meets them as the one index of a form that is new; those that
    no form tells apart so follow, by coefficients.
    """
    names = {f"?{n}": n for n in range(count)}
    found: dict[str, None] = {}
    waiting: list[Affine] = []
    walk = in_text_order(root, lambda term: [t for t in operands(term) if not t.free.isdisjoint(names)])
    for form in (form for term in walk for form in index_forms(term)):
        unknown = [v for v in form.variables if v in names and v not in found]
        if len(unknown) == 1:
            found[unknown[0]] = None
        elif unknown:
            waiting.append(form)
        if len(found) == count:
            break
    for form in waiting:
        unknown = (v for v in form.variables if v in names and v not in found)
        found.update(dict.fromkeys(sorted(unknown, key=lambda v: (form.coefficient(v), v))))
    return tuple(names[v] for v in found)
