"""The integer points of a certificate, element by element, to draw them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain, islice
from typing import TYPE_CHECKING

from tadc.lattice.bounds import EliminationLimit
from tadc.lattice.late_dataclasses import dataclass
from tadc.lattice.loop_nests import loop_nest

if TYPE_CHECKING:
    from tadc.certificates.certify import ReadCertificate
    from tadc.lattice.affine import Constraint
    from tadc.lattice.certificate import Certificate

LIMIT = 20_000
"""The most elements of a gradient, and points of an iteration domain of up to three indices."""

TERMS = 200_000
"""The most terms of all sums together."""

Point = tuple[int, ...]


class NotDrawn(Exception):
    """Why a read has no picture, in words; `sizes` are symbols that lack a value."""

    def __init__(self, reason: str, sizes: tuple[str, ...] = ()) -> None:
        super().__init__(reason)
        self.sizes = sizes


@dataclass(frozen=True)
class Preimage:
    """What an element gathers: points of the iteration domain, and the loop variables that give them."""

    element: Point
    points: tuple[Point, ...]
    loops: tuple[Point, ...]


@dataclass(frozen=True)
class Picture:
    """The points of a read. Raises NotDrawn where there are none or too many."""

    read: ReadCertificate
    proof: Certificate

    @cached_property
    def domain(self) -> tuple[Point, ...]:
        """The iteration domain, from the rows of the program."""
        read = self.read
        return tuple(_points(read.indices, _nest_points(read.indices, read.scope)))

    @cached_property
    def preimages(self) -> tuple[Preimage, ...]:
        """Every element of the gradient with what its loops visit, from the rows of the solution."""
        read, solution = self.read, self.proof.solution
        known = _nest_points(read.element, read.facts)
        found: list[Preimage] = []
        terms = 0
        for b in known:
            points: list[Point] = []
            loops: list[Point] = []
            if all(guard.holds(b) for guard in solution.guards):
                for z in self.proof.nest.points(b):
                    points.append(tuple(solution.substitution[a].evaluate(z) for a in read.indices))
                    loops.append(tuple(z[name] for name in solution.kernel))
                    terms += 1
                    if terms > TERMS:
                        raise NotDrawn(f"its sums have more than {TERMS} terms")
            found.append(Preimage(tuple(b[name] for name in read.element), tuple(points), tuple(loops)))
        return tuple(found)

    def highlighted(self, count: int) -> tuple[Preimage, ...]:
        """Some elements that gather something, from all over the gradient, the largest sum among them."""
        hit = [p for p in self.preimages if p.points]
        largest = max(range(len(hit)), key=lambda i: len(hit[i].points), default=0)
        step = max(1, -(-len(hit) // count))
        return tuple(hit[largest % step :: step])[:count]


def picture(read: ReadCertificate) -> Picture:
    """The picture of a read; raises NotDrawn."""
    if read.proof is None:
        raise NotDrawn("it reads nothing")
    rows = chain(read.scope, read.counted, *read.outside, read.facts)
    forms = (*read.access, *(row.form for row in rows))
    arrays = sorted({found.array for form in forms for found in form.lookups()})
    if arrays:
        raise NotDrawn(f"its points depend on the elements of {', '.join(arrays)}")
    variables = {name for row in (*read.scope, *read.facts) for name in row.form.variables}
    sizes = sorted(variables - {*read.indices, *read.element})
    if sizes:
        raise NotDrawn(f"its domain depends on {', '.join(sizes)}", tuple(sizes))
    made = Picture(read, read.proof)
    try:
        if len(read.indices) <= 3 and len(made.domain) > LIMIT:
            raise NotDrawn(f"its domain has more than {LIMIT} points")
        if len(made.preimages) > LIMIT:
            raise NotDrawn(f"its gradient has more than {LIMIT} elements")
    except EliminationLimit:
        raise NotDrawn("its loops have too many bounds") from None
    return made


def _nest_points(names: Sequence[str], rows: Sequence[Constraint]) -> Iterator[dict[str, int]]:
    return islice(loop_nest(names, rows, ()).points({}), LIMIT + 1)


def _points(names: Sequence[str], places: Iterator[dict[str, int]]) -> Iterator[Point]:
    return (tuple(place[name] for name in names) for place in places)


def hull(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The corners of the convex hull, counter-clockwise (Andrew 1979)."""
    ordered = sorted(set(points))
    if len(ordered) < 3:
        return ordered
    sides: list[list[tuple[float, float]]] = []
    for line in (ordered, ordered[::-1]):
        side: list[tuple[float, float]] = []
        for p in line:
            while len(side) > 1 and _turn(side[-2], side[-1], p) <= 0:
                side.pop()
            side.append(p)
        sides.append(side[:-1])
    return sides[0] + sides[1]


def _turn(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
