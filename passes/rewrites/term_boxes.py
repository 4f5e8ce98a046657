"""The tensors that terms may be elements of: over which boxes, and which element a term is where it stands.

A term under indices i is an element of a tensor over those that it depends on. It has fewer elements where
other indices tell some of these (`told_indices`), where the term is one of the coordinates `i + k`
(`coordinates`) or a sum that depends on one (`merged_indices`), or of an element of an index array whose
fibre it adds up (`element_terms`).
"""

from __future__ import annotations

import math

from tadc.frontend.extents import Shape, as_form, extent
from tadc.frontend.functions import TRANSCENDENTAL
from tadc.frontend.program import Program
from tadc.frontend.terms import Apply, Term, holds, index_forms
from tadc.lattice.affine import Affine
from tadc.lattice.late_dataclasses import dataclass, field, replace
from tadc.lattice.polyhedron import implied
from tadc.passes.rewrites.coordinates import Coordinates
from tadc.passes.rewrites.everywhere import is_everywhere
from tadc.passes.rewrites.merged_indices import merged_indices
from tadc.passes.rewrites.places import RowsHold, TermPlace
from tadc.passes.rewrites.told_indices import TermAt, ToldIndices, put_told
from tadc.passes.terms.algebra import Algebra
from tadc.passes.terms.costs import SPARSE, about, elements, is_candidate, points, weight, width
from tadc.passes.terms.element_terms import OfElement, arrays_at_once, of_fibre
from tadc.passes.terms.inspected_arrays import Arrays, lookups_of


@dataclass(frozen=True)
class TermBox:
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
    place: TermPlace | None = None


@dataclass
class Boxes:
    """Looks for the boxes around terms of a program.

    `strict`: a derivative follows. Without `inspected`, tensors look up nothing that an inspector makes.
    """

    program: Program
    strict: bool = field(kw_only=True)
    inspected: Arrays | None = field(default=None, kw_only=True)
    inside: str = field(default="", kw_only=True)  # the definition that is looked at

    def __post_init__(self) -> None:
        self.algebra = Algebra(self.program.terms)
        self.size_facts = self.program.size_facts()
        self.shapes = self.program.shapes()
        self.sizes = frozenset(self.program.sizes)
        self.arrays = self.program.index_arrays()
        self.fibres: dict[int, OfElement | None] = {}
        self.boxes: dict[tuple[int, str, tuple[str, ...]], TermBox | None] = {}
        self.mixing: dict[int, bool] = {}
        self.coordinates = Coordinates(self.program.terms, self.shapes, self.sizes)

    def box(self, term: Term, place: TermPlace, anywhere: bool = False) -> TermBox | None:
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
            return (
                self._coordinates(term, place)
                or self._merged(term, place, anywhere)
                or self._indices(term, place, anywhere)
            )
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

    def _fibre(self, found: OfElement, place: TermPlace) -> TermBox | None:
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
        return TermBox(at, hints, shape, {}, plain, anywhere=True)

    def _is_sparse(self, term: Term, shape: Shape, most: int) -> bool:
        """Whether a shape has more elements, more than `most` times, than there are places where a term is
        something, as several index arrays say at once; sizes that are no numbers are alike."""
        stored = [elements(self.arrays[name].shape) for name in arrays_at_once(term)]
        return bool(stored) and elements(shape) > most * max(stored)

    def _coordinates(self, term: Term, place: TermPlace) -> TermBox | None:
        """The box around the coordinates of a term that has them, where no derivative follows.

        It has no more elements than the indices have values, as far as is known; of a function that other
        places read at other elements, up to twice as many. What is cheap gets one of fewer dimensions alone.
        """
        rows = (row for choice in place.around if isinstance(choice, RowsHold) for row in choice.rows)
        if self.strict or any(row.equality and row.form.is_linear for row in rows):
            return None
        # Indices have their ranges, whatever is chosen around the term.
        key = term.number, self.inside, place.indices
        if key not in self.boxes:
            self.boxes[key] = self._of_coordinates(term, place)
        return self.boxes[key]

    def _merged(self, term: Term, place: TermPlace, anywhere: bool) -> TermBox | None:
        """The box around forms of several indices through which a term depends on these, if it has no more
        elements than the indices have values, of what is expensive."""
        if not is_candidate(term) or not holds(term, self.mixing, self._mixes):
            return None
        if self.wanted(term, place) != term.free:
            return None
        anywhere = anywhere or not self.strict
        found = merged_indices(term, place, self.sizes, self.size_facts, anywhere)
        if found is None:
            return None
        dimensions, place = found
        shape = tuple(extent(one.within.extent) for one in dimensions)
        if elements(shape) > points(place.ranges_of(self.wanted(term, place))):
            return None
        shift = dict[str, Affine]()
        for n, one in enumerate(dimensions):
            shift |= one.shift(Affine.var(f"?{n}") + one.within.low)
        at = [one.form - one.within.low for one in dimensions]
        hint = dict(zip(place.indices, place.hints, strict=True))
        hints = [hint[one.indices[0]] for one in dimensions]
        return TermBox(at, hints, shape, shift, self.program.terms.substitute(term, shift), place=place)

    def _mixes(self, node: Term) -> bool:
        """Whether a node has a form of several indices, or a quotient."""
        return any(len(f.variables - self.sizes) > 1 or not f.is_linear for f in index_forms(node))

    def is_shape(self, shape: Shape) -> bool:
        """Whether the extents are none below 0."""
        return all(implied(as_form(size), self.size_facts) for size in shape)

    def _of_coordinates(self, term: Term, place: TermPlace) -> TermBox | None:
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
        return TermBox(list(at), hints, shape, {}, plain, anywhere=True)

    def wanted(self, term: Term, place: TermPlace) -> frozenset[str]:
        """The indices that tell the elements of a tensor for a term."""
        return term.free

    def _indices(self, term: Term, place: TermPlace, anywhere: bool) -> TermBox | None:
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
        return TermBox(at, [h for _, h in own], shape, shift, plain, told=known, place=place)

    def over_elements(self, over: TermBox, term: Term) -> tuple[TermBox, Term]:
        """A term over places in the order of an index array's values as one over the array's own places.

        If all that it reads there is at `perm[q]`, it is an element of a tensor over e, the one at `perm[q]`.
        """
        at, terms = list(over.at), self.program.terms
        found = dict.fromkeys(lookups_of([term]))
        for n, size in enumerate(over.shape):
            name = f"?{n}"
            element = next(
                (a for a in found if a.at == (Affine.var(name),) and self._is_order(a.array)), None
            )
            if element is None or extent(element.below) != size:
                continue
            made = terms.rewrite_forms(
                term,
                frozenset({name}),
                lambda form, e=element: form.replace(lambda atom: Affine.var("?") if atom == e else None),
            )
            if name not in made.free:
                term = terms.substitute(made, {"?": Affine.var(name)})
                at[n] = Affine.atom(replace(element, at=(at[n],)))
        return replace(over, at=at), term

    def _is_order(self, name: str) -> bool:
        """Whether an array has each place of one of a single dimension once."""
        of = () if self.inspected is None else self.inspected.made_of("perm", name)
        return bool(of) and len(self.arrays[of[0]].shape) == 1

    def _with_teller(self, names: frozenset[str], place: TermPlace) -> frozenset[str]:
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


def _in_lookups(term: Term, place: TermPlace) -> frozenset[str]:
    """The indices by way of which a term, or a set around it, has elements of index arrays."""
    rows = (row for choice in place.around if isinstance(choice, RowsHold) for row in choice.rows)
    found = (*(lookup for row in rows for lookup in row.form.lookups()), *lookups_of([term]))
    return frozenset[str]().union(*(lookup.variables for lookup in found))
