"""What evaluating a term costs, from its domains, in one unit: an addition, a product, a load or a store."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

from tadc.frontend.dtypes import DEFAULT, DTYPES
from tadc.frontend.extents import Shape, is_static
from tadc.frontend.functions import APPLIED, REDUCTIONS, TRANSCENDENTAL, OfFunctions
from tadc.frontend.terms import (
    Apply,
    Const,
    IndexValue,
    Read,
    Reduce,
    Select,
    Term,
    integer_exponent,
    operands,
    outside_reductions,
    reachable,
)
from tadc.lattice.affine import Affine
from tadc.passes.terms.index_ranges import Range, ranges_within

#: A load or a store.
ACCESS = 1
#: An element that is anywhere in memory costs so much.
SCATTERED = 4
WEIGHTS: Mapping[str, int] = OfFunctions({name: f.cost for name, f in APPLIED.items()}, lambda f: f.cost)
#: An operation with this weight or more is worth a tensor, where it would be done again.
EXPENSIVE = WEIGHTS["div"]
#: Bytes of an element.
ELEMENT = {name: record.bytes for name, record in DTYPES.items()}
#: The weight of a power with an integer exponent, where this is not known.
POWER = EXPENSIVE
#: The bytes of a line of the cache.
LINE = 64
#: The bytes of the first and the second cache: a tensor of more is in none near when it is read again.
FIRST, SECOND = 32 << 10, 2 << 20
#: Pairs of elements are many that have a place, if there are but so many times more.
SPARSE = 8
#: The most bytes of a buffer for a row of a sparse product, which is on the stack and in a cache near.
BUFFER = SECOND // 8
#: The most bytes of the buffers of a nest on the stack: half of what threads of Linux have.
STACK = 2 * SECOND
#: The most columns of a row that is spread, each with a number and the row that it is of.
SPREAD = BUFFER // 8
#: Tables of so many bytes are read from caches in every call: what is expensive to compute may be one.
CACHED_BYTES = 2 * SECOND
#: Of more guards, cases or summands none is compared with all others: there may be one for each element.
COMPARED = 8
#: So many points are taken for an index whose bounds are not numbers: sizes are large, and alike.
LARGE = 64
#: So many values are taken for an index or a size of which nothing is known, beside those that are.
UNKNOWN = 1 << 10
#: Of fewer elements, one more loop takes longer than what it saves.
FEW_ELEMENTS = 1 << 12
#: What saves less than this part of all operations is not worth more code.
WORTH_CODE = 32
#: So many terms, factors or tensors may be written out in the place of one.
WRITTEN_OUT = 4
#: So many elements that do not depend on each other fill a vector.
LANES = 8
#: So many elements are taken for a fibre of an index array, where its sizes are not known.
FIBRE = 8
#: So many operations are much code for the body of a loop.
MUCH_CODE = 256
#: The most operations that all copies of a body in a tile have, of vectors or of a thread of a GPU.
TILE_CODE = 600
#: So many operations are worth compiling so much code.
WORTH_COMPILING = MUCH_CODE * FEW_ELEMENTS
#: A tensor is large that has so many times the elements of what it is made of, or is to stand for.
LARGER = 4
#: So many nodes of a program are looked at by what may look at each of them often.
NODES = 4000
#: Of more indices not all orders are tried.
ORDERED = 5
#: Sums, products and cases that are longer stay as they are: what is done with each part would take long.
LONGEST = 24


def bytes_of(shape: Shape, type: str | None) -> int:
    """The bytes of a tensor as far as extents are numbers, of a type or the widest one."""
    return math.prod(size for size in shape if isinstance(size, int)) * ELEMENT[type or DEFAULT]


def has_room(shape: Shape, type: str, limit: int | None) -> bool:
    """Whether a tensor takes no more bytes than a limit; whether there is none, or its size has symbols."""
    return limit is None or not is_static(shape) or bytes_of(shape, type) <= limit


def weight(term: Term) -> int:
    """The cost of one node, without what is below it; a reduction's is that of a step."""
    match term:
        case Apply(function=function):
            n = integer_exponent(term)
            if n is not None:
                # Squaring and multiplying, and a quotient where the exponent is negative.
                return max(0, abs(n).bit_length() + abs(n).bit_count() - 2) + (4 if n < 0 else 0)
            return WEIGHTS[function]
        case Reduce(kind=kind):
            return 1 + TRANSCENDENTAL * REDUCTIONS[kind].exponentials
        case Select() | IndexValue():
            return 1
        case Read():
            return ACCESS
        case _:
            return 0


def points(ranges: Mapping[str, Range | None]) -> int:
    """About how many points a box has: all fibres of an index array have as many as it has places."""
    shared = math.prod(_about(r.shared) for r in ranges.values() if r is not None and r.shared is not None)
    total = math.prod(map(width, ranges.values()))
    return max(total // max(shared, 1), min(total, 1))


def extent(found: Range | None) -> int:
    """About how many values an index takes, of the fibres of an index array on average."""
    if found is None or found.shared is None:
        return width(found)
    return max(width(found) // max(_about(found.shared), 1), 1)


def together(ranges: Mapping[str, Range | None]) -> Mapping[str, Range | None]:
    """The ranges of some indices: an index of fibres has all of its values without those of the fibres."""
    alone = {name: found for name, found in ranges.items() if found and not found.by <= ranges.keys()}
    return {**ranges, **{name: replace(found, shared=None, by=frozenset()) for name, found in alone.items()}}


def width(found: Range | None) -> int:
    """About how many values an index may have."""
    return LARGE if found is None else _about(found.extent)


def _about(size: Affine) -> int:
    return max(size.constant, 0) if size.is_constant else LARGE


Key = tuple[int, frozenset[tuple[str, Range | None]]]
"""A term and the ranges of the indices that it depends on: another definition may call others the same."""


def is_candidate(term: Term) -> bool:
    """Whether a term may become a tensor of its own: a reduction, or an expensive operation."""
    if not isinstance(term, Apply) or weight(term) < EXPENSIVE or not (term.type or term.free):
        return isinstance(term, Reduce)
    return not (term.function == "div" and isinstance(term.operands[1], Const))


def about(shape: Shape) -> int:
    """About how many elements a tensor has; sizes are large, and alike."""
    return math.prod(size if isinstance(size, int) else max(0, size.evaluate(_EachSize())) for size in shape)


def elements(shape: Shape) -> int:
    """How many elements a tensor has, to compare with `points`: what is no number is large."""
    return math.prod(size if isinstance(size, int) else LARGE for size in shape)


class _EachSize(dict[str, int]):
    """Each size."""

    def __missing__(self, name: str) -> int:
        return LARGE


class Costs:
    """Costs of terms that stand under indices of known ranges; each reduction's is found once for these."""

    def __init__(self, sizes: frozenset[str]) -> None:
        self.sizes = sizes
        self.once: dict[Key, int] = {}
        self.totals: dict[Key, int] = {}

    def term(self, root: Term, ranges: Mapping[str, Range | None]) -> int:
        """The cost of evaluating a term once, what is equal in it once a scope."""
        nodes = reachable([root], outside_reductions)
        return sum(self.reduction(n, ranges) if isinstance(n, Reduce) else weight(n) for n in nodes)

    def reduction(self, node: Reduce, ranges: Mapping[str, Range | None]) -> int:
        """The cost of a reduction."""
        key = node.number, frozenset((name, ranges[name]) for name in node.free & ranges.keys())
        if key not in self.once:
            own = ranges_within(node.binders, node.domain, ranges, self.sizes)
            self.once[key] = points(own) * (self.term(node.body, {**ranges, **own}) + weight(node))
        return self.once[key]

    def total(self, root: Term, around: Mapping[str, Range | None]) -> int:
        """The cost of a term for all values of the indices around it.

        A reduction that does not depend on all of them is a tensor; what the steps of one share is computed
        once.
        """
        times = points(around)
        total = 0
        for node in reachable([root], outside_reductions):
            if not isinstance(node, Reduce):
                total += 0 if isinstance(node, Const | Read) else weight(node) * times
                continue
            free = together({name: found for name, found in around.items() if name in node.free})
            key = node.number, frozenset(free.items())
            if key not in self.totals:
                own = ranges_within(node.binders, node.domain, around, self.sizes)
                steps = points(free) * points(own)
                self.totals[key] = self._steps(node, free, {**free, **own}) + weight(node) * steps
            total += self.totals[key]
            if points(free) < times:
                total += ACCESS * (points(free) + times)
        return total

    def _steps(
        self, node: Reduce, free: Mapping[str, Range | None], within: Mapping[str, Range | None]
    ) -> int:
        """The cost of the body of a reduction for all its steps."""
        total = 0
        for term in reachable([node.body], outside_reductions):
            if isinstance(term, Reduce):
                total += self.total(term, within)
            elif not isinstance(term, Const | Read):
                shared = term.free.isdisjoint(node.binders)
                total += weight(term) * points(free if shared else within)
        return total

    def evaluations(
        self, root: Term, ranges: Mapping[str, Range | None], counted: Callable[[Term], bool]
    ) -> int:
        """How often the counted terms below a reduction are evaluated for one value of it."""
        total = 0
        seen: set[int] = set()
        stack: list[tuple[Term, int, Mapping[str, Range | None]]] = [(root, 1, ranges)]
        while stack:
            node, times, around = stack.pop()
            if node.number in seen:
                continue
            seen.add(node.number)
            if counted(node):
                total += times
            if isinstance(node, Reduce):
                own = ranges_within(node.binders, node.domain, around, self.sizes)
                times, around = times * points(own), {**around, **own}
            stack += [(below, times, around) for below in operands(node)]
        return total
