"""Reductions that become tensors of their own: where they are computed, and why nothing is read there
that is not in range.

A reduction R under indices i, some of an enclosing sum, becomes `let h[i] = if {C(i)} then (R) else (0)`
over a box around those indices. C are the conditions around R that concern these indices alone: where they
do not hold R was not evaluated, and may be infinite.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count as count_from_0

from tadc.frontend import source
from tadc.frontend.extents import Shape, as_form, extent, is_static
from tadc.frontend.functions import TRANSCENDENTAL
from tadc.frontend.program import Definition, Program
from tadc.frontend.source import Span
from tadc.frontend.terms import (
    Apply,
    Const,
    Domain,
    ElementType,
    Guard,
    Reduce,
    Select,
    Term,
    in_text_order,
    index_forms,
    join_types,
    operands,
    reachable,
    tensors_read,
)
from tadc.lattice.affine import Affine, Constraint, box
from tadc.lattice.polyhedron import implied, is_empty
from tadc.passes.rewrites.coordinates import Coordinates
from tadc.passes.rewrites.everywhere import is_everywhere
from tadc.passes.rewrites.places import Place, Rows
from tadc.passes.rewrites.told_indices import TermAt, ToldIndices, put_told
from tadc.passes.terms.algebra import Algebra
from tadc.passes.terms.checked_reads import all_proven
from tadc.passes.terms.costs import ELEMENT, EXPENSIVE, LARGE, points, weight, width
from tadc.passes.terms.element_terms import OfElement, arrays_at_once, of_fibre
from tadc.passes.terms.guarded_addends import is_idle
from tadc.passes.terms.inspected_arrays import Arrays
from tadc.passes.terms.names import Names

#: Evaluations of each element that a tensor saves which is larger than all that the program has.
MANY = 32
#: Bytes that such a tensor may take.
LIMIT = 2**30
#: A tensor of pairs has at most so many times the elements of the index arrays that say which are not 0.
SPARSE = 8


def is_candidate(term: Term) -> bool:
    """Whether a term may become a tensor of its own: a reduction, or an expensive operation."""
    if not isinstance(term, Apply) or weight(term) < EXPENSIVE or not (term.type or term.free):
        return isinstance(term, Reduce)
    return not (term.function == "div" and isinstance(term.operands[1], Const))


def about(shape: Shape) -> int:
    """About how many elements a tensor has; sizes are large, and alike."""
    return math.prod(size if isinstance(size, int) else max(0, size.evaluate(_Sizes())) for size in shape)


def elements(shape: Shape) -> int:
    """How many elements a tensor has, to compare with `points`: what is no number is large."""
    return math.prod(size if isinstance(size, int) else LARGE for size in shape)


class _Sizes(dict[str, int]):
    """Each size."""

    def __missing__(self, name: str) -> int:
        return LARGE


@dataclass(frozen=True)
class Box:
    """A term over a box that starts at 0: the element that is its value, outermost dimension first, and the
    term over `?0`, `?1`, …

    `shift` has the indices that are told by the element, `told` what is known of those that others tell;
    `place` is where the term stands, if that says of other indices what is said where it was found.
    `anywhere` says that each element may be evaluated, whatever holds around the term; without `tested`,
    whatever values compare.
    """

    at: list[Affine]
    hints: list[str]
    shape: Shape
    shift: dict[str, Affine]
    term: Term
    anywhere: bool = False
    tested: bool = True
    told: ToldIndices = field(default_factory=ToldIndices)
    place: Place | None = None


@dataclass(frozen=True)
class Moved:
    """A tensor that holds a reduction; `order` lists its dimensions as they first appear in the term."""

    definition: Definition
    order: tuple[int, ...]


Key = tuple[int, Shape, ElementType]
"""Equal for terms that one tensor holds: the term over numbered indices, the tensor's shape and its type."""


@dataclass
class Mover:
    """Makes the tensors, each once for all reductions that are equal up to the names of their indices.

    `strict`: nothing is evaluated where it was not before because of a comparison of values, for a
    derivative would multiply a cotangent of 0 with what is infinite there. `limit` bounds the bytes of each
    tensor whose shape has no symbol. Without `inspected`, tensors look up nothing that an inspector makes.
    """

    program: Program
    names: Names
    limit: int | None
    strict: bool
    inspected: Arrays | None = None
    made: dict[Key, Moved] = field(default_factory=dict[Key, Moved])
    refused: set[Key] = field(default_factory=set[Key])
    inside: str = ""  # the definition that is looked at, which cannot read itself
    is_recurrence: bool = False  # whether it does
    span: Span | source.Place | None = None  # where it stands
    literal: ElementType = "f64"  # the type of what is of literals and indices alone in it

    def __post_init__(self) -> None:
        self.algebra = Algebra(self.program.terms)
        self.size_facts = self.program.size_facts()
        self.shapes = self.program.shapes()
        self.largest = max(map(about, self.shapes.values()), default=0)
        self.sizes = frozenset(self.program.sizes)
        self.boxes: dict[tuple[int, str, tuple[str, ...]], Box | None] = {}
        self.shaped: dict[Shape, bool] = {}
        self.coordinates = Coordinates(self.program.terms, self.shapes, self.sizes)
        self.arrays = self.program.index_arrays()
        self.literals: dict[int, ElementType | None] = {}
        self.fibres: dict[int, OfElement | None] = {}
        # Many terms stand under the same few choices.
        self.shifted: dict[tuple[object, ...], list[Constraint]] = {}

    def enter(self, definition: Definition) -> None:
        """Look at a definition.

        What has no type is as wide there as the widest that it may be compared or computed with.
        """
        self.inside, self.is_recurrence = definition.name, definition.order is not None
        self.span = definition.span
        body = definition.body
        if body.number not in self.literals:
            self.literals[body.number] = join_types(t.type for t in reachable([body]))
        self.literal = self.literals[body.number] or definition.type

    def move(
        self,
        term: Term,
        place: Place,
        owner: str,
        new: list[Definition],
        uses: int,
        anywhere: bool = False,
    ) -> Term | None:
        """A read of the tensor that holds a term; what is defined for it is added to `new`.

        None where a read is not proven in range, or the tensor would be too large for what is used `uses`
        times an element. `anywhere` is for what may be evaluated, whatever comparisons of values are around
        it.
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
        for wanted in dict.fromkeys((box.term, stored or body, body)):
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

    def box(self, term: Term, place: Place, anywhere: bool = False) -> Box | None:
        """The box around the coordinates of a term, or its indices; None where one of them has no range.

        The values of an element whose fibre it adds up are a coordinate; before a derivative, if it may be
        evaluated `anywhere`, or is for each element there is.
        """
        found = self.of_fibre(term)
        if found is not None and self.strict and not anywhere:
            array = self.arrays[found.element.array]
            found = found if is_everywhere(found, place, array.shape, self.size_facts) else None
        made = None if found is None else self._fibre(found, place)
        if made is None:
            return self._coordinates(term, place) or self._indices(term, place, anywhere)
        # What other indices tell of it may be far more than the elements are.
        own = self._indices(term, place, anywhere)
        return own if own is not None and about(made.shape) > SPARSE * about(own.shape) else made

    def of_fibre(self, term: Term) -> OfElement | None:
        """A term over the element of an index array whose fibre it adds up, if it is one of it."""
        if not self.arrays:
            return None
        if term.number not in self.fibres:
            self.fibres[term.number] = of_fibre(self.program.terms, term, self.sizes)
        return self.fibres[term.number]

    def _known_of_fibre(self, term: Term, place: Place) -> Term | None:
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

    def _fibre(self, found: OfElement, place: Place) -> Box | None:
        """The box of the values of an element whose fibre a term adds up; None where one of its other indices
        has no range, or where it would be that of a sparse matrix with its zeros."""
        rest = found.term.free - self.sizes - {found.name}
        own = [(i, h) for i, h in zip(place.indices, place.hints, strict=True) if i in rest]
        ranges = [r for i, _ in own if (r := place.ranges[i]) is not None]
        if len(ranges) < len(rest):
            return None
        starts = [Affine.var(f"?{n}") + r.low for n, r in enumerate(ranges, 1)]
        shift = {found.name: Affine.var("?0")} | {i: form for (i, _), form in zip(own, starts, strict=True)}
        plain = self.program.terms.substitute(found.term, shift)
        lows = [Affine.var(i) - r.low for (i, _), r in zip(own, ranges, strict=True)]
        at = [Affine.atom(found.element), *lows]
        arrays = self.inspected or Arrays(self.program)
        shape = (extent(arrays.fibres(found.element.array)), *(extent(r.extent) for r in ranges))
        hints = ["", *(h for _, h in own)]
        if self._is_sparse(found.term, shape, SPARSE):
            return None
        return Box(at, hints, shape, {}, plain, anywhere=True)

    def _is_sparse(self, term: Term, shape: Shape, most: int) -> bool:
        """Whether a shape has more elements, more than `most` times, than there are places where a term is
        something, as several index arrays say at once; sizes that are no numbers are alike."""
        stored = [elements(self.arrays[name].shape) for name in arrays_at_once(term)]
        return bool(stored) and elements(shape) > most * max(stored)

    def _coordinates(self, term: Term, place: Place) -> Box | None:
        """The box around the coordinates of a term that has them, where no derivative follows.

        It has no more elements than the indices have values, as far as is known; of a function that other
        places read at other elements, up to twice as many. What is cheap gets one of fewer dimensions alone.
        """
        rows = (row for choice in place.around if isinstance(choice, Rows) for row in choice.rows)
        if self.strict or any(row.equality and row.form.is_linear for row in rows):
            return None
        # Indices have their ranges, whatever is chosen around the term.
        key = term.number, self.inside, place.indices
        if key not in self.boxes:
            self.boxes[key] = self._of_coordinates(term, place)
        return self.boxes[key]

    def never_fits(self, term: Term, place: Place) -> bool:
        """Whether the box around the coordinates of a term may have an extent below 0, as N - 1 may be."""
        box = None if self.of_fibre(term) else self._coordinates(term, place)
        if box is not None and box.shape not in self.shaped:
            self.shaped[box.shape] = self.is_shape(box.shape)
        return box is not None and not self.shaped[box.shape]

    def _of_coordinates(self, term: Term, place: Place) -> Box | None:
        found = self.coordinates.of(term, fewer=not is_candidate(term))
        if found is None:
            return None
        order = {index: n for n, index in enumerate(place.indices)}
        # As in the loops around the term: the innermost one last.
        found.sort(key=lambda c: max(order.get(name, -1) for name in c.form.variables))
        shape = tuple(extent(c.extent) for c in found)
        names = term.free - self.sizes
        is_function = isinstance(term, Apply) and weight(term) >= TRANSCENDENTAL
        more = 2 if is_function and len(found) == len(names) else 1
        most = points(place.ranges_of(names))
        if any(c.form.has_lookups for c in found):
            # An array may say few places of many.
            most //= 2
        if elements(shape) > more * most:
            return None
        at = {c.form: Affine.var(f"?{n}") for n, c in enumerate(found)}
        plain = self.coordinates.over(term, at)
        hints = [place.hints[place.indices.index(c.index)] for c in found]
        return Box(list(at), hints, shape, {}, plain, anywhere=True)

    def wanted(self, term: Term, place: Place) -> frozenset[str]:
        """The indices that tell the elements of a tensor for a term."""
        return term.free

    def _indices(self, term: Term, place: Place, anywhere: bool) -> Box | None:
        """The box around the indices of a term; None where one of them has no range."""
        if self.arrays:
            found = TermAt(term, place, self.program.terms, self.sizes)
            found = found.over_told_elements(self.wanted, anywhere or not self.strict)
            term, place = found.term, found.place
        every = self._with_teller(self.wanted(term, place), place)
        told = {
            i: t
            for i, t in place.told.items()
            if t.by <= every | self.sizes and (i in every or self._is_owner(t.form))
        }
        wanted = every - told.keys()
        own = [(i, h) for i, h in zip(place.indices, place.hints, strict=True) if i in wanted]
        if self.arrays:
            # What an index array says the place of is read from anywhere: in whole rows, if it stands first.
            said = _in_lookups(term, place)
            own.sort(key=lambda pair: pair[0] not in said)
        ranges = [place.ranges[i] for i, _ in own]
        if None in ranges or any(t.form is None and place.ranges[i] is None for i, t in told.items()):
            return None
        lows = [r.low for r in ranges if r]
        shape = tuple(extent(r.extent) for r in ranges if r)
        # Dimensions start at 0, and have names that every term of this kind has.
        start = [Affine.var(f"?{n}") + low for n, low in enumerate(lows)]
        shift = {i: form for (i, _), form in zip(own, start, strict=True)}
        known = put_told(told, place, shift, self.algebra, self.inspected)
        if self.inspected is not None:
            self.shapes |= {name: array.shape for name, array in self.inspected.made.items()}
        plain = self.program.terms.substitute(term, shift)
        at = [Affine.var(i) - low for (i, _), low in zip(own, lows, strict=True)]
        return Box(at, [h for _, h in own], shape, shift, plain, told=known, place=place)

    def _with_teller(self, names: frozenset[str], place: Place) -> frozenset[str]:
        """Indices with one that tells several of them, if it has fewer values than these have together."""
        for name in (name for name in place.ranges if name not in names):
            told = [i for i, known in place.told.items() if i in names and known.by <= self.sizes | {name}]
            several = math.prod(width(place.ranges[i]) for i in told)
            if len(told) > 1 and width(place.ranges[name]) < several:
                return names | {name}
        return names

    def _is_owner(self, form: Affine | None) -> bool:
        """Whether a form is the owner of a place, which may be in no range: then it is one more than any
        other.
        """
        if form is None or form.lookup is None or self.inspected is None:
            return False
        return self.inspected.ranges_of(form.lookup.array) is not None

    def key(self, term: Term, place: Place) -> Key | None:
        """Equal for terms whose tensors are one up to the order of their dimensions."""
        box = self.box(term, place)
        body = box and self._guarded(box, place, not self.strict)
        if box is None or body is None:
            return None
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

    def fits(self, box: Box, term: Term, place: Place, uses: int) -> bool:
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
            return size <= most or (uses >= MANY and size * ELEMENT[type] <= LIMIT)
        return size * ELEMENT[type] <= self.limit

    def in_range(self, definition: Definition) -> Definition | None:
        """A new definition, if all its reads are seen to be in range."""
        return definition if all_proven(self.program, self.shapes, definition) else None

    def is_shape(self, shape: Shape) -> bool:
        """Whether the extents are none below 0."""
        return all(implied(as_form(size), self.size_facts) for size in shape)

    def _guarded(self, over: Box, place: Place, anywhere: bool) -> Term | None:
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
            if isinstance(choice, Rows):
                key = choice, *around
                if key not in self.shifted:
                    self.shifted[key] = self._shifted(choice, over)
                rows = self.shifted[key]
                if choice.holds:
                    idle = is_idle(tuple(rows), term, zero, ())
                    term = term if idle else self.algebra.guard(rows, term, zero)
                    inside += tuple(rows)
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

    def _shifted(self, choice: Rows, over: Box) -> list[Constraint]:
        """What a choice says of the indices of a box; where it holds, without what the box implies."""
        known = frozenset(over.shift) | self.sizes
        rows = [row.substitute(over.shift) for row in choice.rows if row.form.variables <= known]
        if not choice.holds:
            return rows
        facts = box([f"?{n}" for n in range(len(over.shape))], over.shape) + self.size_facts
        facts += over.told.facts
        return [row for row in rows if not all(implied(form, facts) for form in row.inequalities)]

    def _key(self, term: Term, order: tuple[int, ...], shape: Shape) -> Key:
        """Equal for terms of one type that are equal up to the order of their indices."""
        renamed = {f"?{n}": Affine.var(f"?{place}") for place, n in enumerate(order) if n != place}
        number = self.program.terms.substitute(term, renamed).number if renamed else term.number
        return number, tuple(shape[n] for n in order), term.type or self.literal

    def _define(
        self, body: Term, shape: Shape, hints: Sequence[str], owner: str, type: ElementType
    ) -> Definition:
        chosen: list[str] = []
        for dimension, hint in enumerate(hints):
            chosen.append(self.names.index(hint or f"{owner}_{dimension}", chosen))
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


def _in_lookups(term: Term, place: Place) -> frozenset[str]:
    """The indices by way of which a term, or a set around it, has elements of index arrays."""
    around = (row.form for choice in place.around if isinstance(choice, Rows) for row in choice.rows)
    forms = (*around, *(form for node in reachable([term]) for form in index_forms(node)))
    return frozenset[str]().union(*(lookup.variables for form in forms for lookup in form.lookups()))


def _is_scattered(place: Place) -> bool:
    """Whether elements of index arrays say which points a place has."""
    around = (row for choice in place.around if isinstance(choice, Rows) for row in choice.rows)
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
