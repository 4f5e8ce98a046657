"""What is evaluated once, for loops over the same points are one, and what programs cost so.

    f[i] = sum{j} (w[j] * exp(d[i, j])),  g[i] = sum{j} (exp(d[i, j]))
    f[i, c: 3] = sum{j} (exp(d[i, j]) * x[j, c])

evaluate the exponential once for each i and j. What of it is a tensor is decided after that: it spares all
evaluations but one, of which there is one for each loop.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import Apply, Read, Reduce, Term, Terms, bottom_up, outside_regions
from tadc.lattice.affine import Affine
from tadc.passes.rewrites.places import Places, TermPlace
from tadc.passes.terms.costs import COMPARED, points, weight, width
from tadc.passes.terms.index_ranges import ranges_of

Evaluated = tuple[tuple[object, ...], tuple[Affine, ...]]
"""The points of a loop, and an element over its indices `?0`, `?1`, …"""


def is_plain(program: Program) -> bool:
    """Whether loops may be one: no tensor is computed step by step, or over fibres."""
    return not program.index_arrays() and all(d.order is None for d in program.definitions)


@dataclass(frozen=True)
class MergedLoop:
    """The loop that a place is in: its long indices are numbered in order, short ones apart."""

    within: tuple[object, ...]
    numbered: Mapping[str, Affine]

    def at(self, forms: Sequence[Affine]) -> tuple[Affine, ...]:
        """Forms over the indices of the loop."""
        return tuple(form.substitute(self.numbered) for form in forms)


def merged_loop(definition: Definition, place: TermPlace) -> MergedLoop:
    """Equal for places in loops over the same points, whichever tensors these are for."""
    widths = {i: width(place.ranges[i]) for i in place.indices}
    short = [i for i in place.indices if 1 < widths[i] <= COMPARED]
    long = [i for i in place.indices if i not in short]
    within = sum(i in long for i in definition.indices), *(widths[i] for i in long)
    numbered = {i: Affine.var(f"?{n}") for n, i in enumerate(long)}
    return MergedLoop(within, numbered | {i: Affine.var(f"?s{n}") for n, i in enumerate(short)})


def evaluated(definition: Definition, place: TermPlace, at: Sequence[Affine]) -> Evaluated:
    """Equal for elements that are evaluated once."""
    loop = merged_loop(definition, place)
    return loop.within, loop.at(at)


def evaluations(place: TermPlace, known: Collection[str]) -> int:
    """How often a term over indices that are `known` is evaluated in a loop: once for a short row."""
    rows = [i for i in place.indices if i not in known and 1 < width(place.ranges[i]) <= COMPARED]
    return points(place.ranges_of([i for i in place.indices if i not in rows]))


def is_contraction(definition: Definition, place: TermPlace) -> bool:
    """Whether a place is in a long sum in another, which is a loop of its own."""
    inner = place.indices[len(definition.indices) :]
    return sum(width(place.ranges[i]) > COMPARED for i in inner) > 1


@dataclass
class LoopCosts:
    """What programs cost where loops over the same points are one.

    `far` is what it costs to store an element of a large tensor, or to load one.
    """

    program: Program
    far: Mapping[str, int]
    #: Numbers of terms over the indices of their loops.
    numbers: dict[object, int] = field(default_factory=dict[object, int])

    def total(self, definitions: Sequence[Definition]) -> int:
        """The cost of all elements of tensors."""
        seen: set[tuple[object, object]] = set()
        total = 0
        for definition in definitions:
            total += self.far.get(definition.name, 0) * points(ranges_of(definition))
            places, loops = Places(self.program, definition), dict[int, _Numbered]()
            for at, term in places.terms_of(definition.body):
                place = places.places[at]
                if at not in loops:
                    loops[at] = _Numbered(merged_loop(definition, place), self.program.terms, self.numbers)
                within = loops[at].loop.within
                if is_contraction(definition, place):
                    within = definition.name, *within
                cost = self.far.get(term.tensor, 0) if isinstance(term, Read) else weight(term)
                if not cost or (within, key := loops[at].number(term)) in seen:
                    continue
                seen.add((within, key))
                if isinstance(term, Read):
                    # In two orders of its indices one of both does not lie as the loop runs.
                    cost *= 2 if (within, term.tensor) in seen else 1
                    seen.add((within, term.tensor))
                around = places.places[next(places.below(at, term))[0]] if isinstance(term, Reduce) else place
                known = (i for i in around.indices if i in term.free or i not in place.indices)
                total += cost * points({i: around.ranges[i] for i in known})
        return total


@dataclass
class _Numbered:
    """Numbers of the terms of a place: equal for those that are equal in one loop, but for a sign."""

    loop: MergedLoop
    terms: Terms
    numbers: dict[object, int]
    known: dict[int, int] = field(default_factory=dict[int, int])

    def number(self, term: Term) -> int:
        """That of a term."""
        return bottom_up(term, self.known, self.node, outside_regions)

    def node(self, term: Term, below: Sequence[int]) -> int:
        """That of a term whose operands are numbered."""
        match term:
            case Read():
                key: tuple[object, ...] = ("read", term.tensor, *self.loop.at(term.indices))
            case Apply():
                is_signed = term.function in ("sub", "add", "mul")
                key = (term.function, *(sorted(below) if is_signed else below))
            case _:
                own = {i: form for i, form in self.loop.numbered.items() if i in term.free}
                key = ("whole", self.terms.substitute(term, own).number)
        return self.numbers.setdefault(key, len(self.numbers))
