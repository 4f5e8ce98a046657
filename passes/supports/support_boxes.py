"""Boxes around the supports of tensors: a few boxes, in coordinates of their own, that hold all non-zeros.

A box takes index p_k of a tensor to `low_k + step_k * w_k` with w_k from 0 to an extent: low_k is a form of
the indices before it, so a band, a block, a diagonal or a strided set is a box. Sets that together fill
a box well share it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from tadc.frontend.extents import Extent, as_form, extent, shape_at
from tadc.frontend.program import Program
from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine, Constraint, box, equals_zero
from tadc.lattice.bounds import Bound, Level, bounds_innermost, open_bounds
from tadc.lattice.effort import EliminationLimit, limited
from tadc.lattice.late_dataclasses import dataclass
from tadc.lattice.polyhedron import implied
from tadc.lattice.residues import residue_of
from tadc.passes.supports.sets import EFFORT, Piece
from tadc.passes.terms.costs import LARGER, UNKNOWN

#: About how large sizes are that are taken from others: windows.
SMALL = 8


@dataclass(frozen=True)
class BoxSide:
    """The values of an index: `low`, `low + step`, …, `extent` of them."""

    low: Affine
    extent: Extent
    step: int = 1

    @property
    def is_plain(self) -> bool:
        """Whether the index is its own coordinate."""
        return self.low == Affine.const(0) and self.step == 1


@dataclass(frozen=True)
class Box:
    """A side for each index of a tensor, outermost first."""

    sides: tuple[BoxSide, ...]

    @property
    def shape(self) -> tuple[Extent, ...]:
        """The extents of its coordinates."""
        return tuple(side.extent for side in self.sides)

    def coordinates(self, indices: Sequence[Affine], names: Sequence[str]) -> tuple[Domain, list[Affine]]:
        """The rows that hold of an element in the box, and its coordinates there."""
        mapping = dict(zip(names, indices, strict=True))
        rows: list[Constraint] = []
        found: list[Affine] = []
        for index, side in zip(indices, self.sides, strict=True):
            offset = index - side.low.substitute(mapping)
            if side.extent == 1:
                rows.append(equals_zero(offset))
                found.append(Affine.const(0))
                continue
            if side.step > 1:
                rows.append(Constraint(offset.mod(side.step), equality=True))
            place = offset.floordiv(side.step)
            rows += [Constraint(place), Constraint(side.extent - 1 - place)]
            found.append(place)
        return tuple(rows), found


@dataclass(frozen=True)
class Sizes:
    """What is known of the sizes, and about how large they are."""

    facts: Domain
    values: Mapping[str, int]

    @staticmethod
    def of(program: Program) -> Sizes:
        """Those of a program; sizes are large, but for those that extents are shorter by."""
        values = dict.fromkeys(program.sizes, UNKNOWN)
        for shape in program.shapes().values():
            for size in shape:
                terms = () if isinstance(size, int) else size.terms
                values |= {name: SMALL for name, k in terms if k < 0 and isinstance(name, str)}
        return Sizes(program.size_facts(), values)

    def about(self, shape: Sequence[Extent]) -> int:
        """About how many elements a tensor has."""
        return math.prod(max(size, 0) for size in shape_at(shape, self.values))


def full_box(shape: Sequence[Extent]) -> Box:
    """The whole tensor."""
    return Box(tuple(BoxSide(Affine.const(0), size) for size in shape))


def boxes_around(
    pieces: Sequence[Piece], names: Sequence[str], shape: Sequence[Extent], sizes: Sizes
) -> list[Box]:
    """Boxes that together hold all pieces, for a program of these sizes.

    They have at most `LARGER` times the elements of the best box of each piece, or are the whole tensor.
    """
    try:
        with limited(EFFORT):
            return _boxes(pieces, names, shape, sizes)
    except EliminationLimit:
        return [full_box(shape)]


def _boxes(pieces: Sequence[Piece], names: Sequence[str], shape: Sequence[Extent], sizes: Sizes) -> list[Box]:
    groups: list[tuple[list[_Set], Box, int]] = []
    for piece in pieces:
        one = _Set.of(piece, names, shape, sizes)
        own = _box([one], names, shape, sizes)
        for n, (members, _, least) in enumerate(groups):
            joined = _box([*members, one], names, shape, sizes)
            if sizes.about(joined.shape) <= LARGER * (least + sizes.about(own.shape)):
                groups[n] = ([*members, one], joined, least + sizes.about(own.shape))
                break
        else:
            groups.append(([one], own, sizes.about(own.shape)))
    if not pieces:
        return [Box(tuple(BoxSide(Affine.const(0), 0) for _ in shape))]
    found = list(dict.fromkeys(box for _, box, _ in groups))
    whole = full_box(shape)
    return found if sum(sizes.about(box.shape) for box in found) < sizes.about(whole.shape) else [whole]


@dataclass(frozen=True)
class _Set:
    """A piece, all that is known at its points, the bounds of each index by those before it, and residues."""

    order: tuple[str, ...]
    known: Domain
    levels: tuple[Level, ...]

    @staticmethod
    def of(piece: Piece, names: Sequence[str], shape: Sequence[Extent], sizes: Sizes) -> _Set:
        order = (*names, *piece.binders)
        within = box(names, shape)
        rows = [
            Constraint(form)
            for row in (*within, *piece.rows)
            for form in row.inequalities
            if form.variables & set(order) and bounds_innermost(form, order)
        ]
        try:
            levels = open_bounds(order, rows, sizes.facts)
        except (EliminationLimit, ValueError):
            levels = open_bounds(names, within, sizes.facts)
        return _Set(order, (*sizes.facts, *within, *piece.rows), levels)

    def holds(self, form: Affine) -> bool:
        """Whether a form is not below 0 at all points."""
        return implied(form, self.known)

    def residues(self, k: int) -> Iterator[tuple[int, Affine]]:
        """Moduli c and forms t of what stands before index k, with index k = t modulo c."""
        name, later = self.order[k], self.order[k:]
        for row in self.known:
            residue = residue_of(row)
            factor = residue.form.coefficient(name) if residue else 0
            if residue is None or math.gcd(factor, residue.divisor) != 1:
                continue
            rest = residue.form - Affine.var(name) * factor
            if rest.variables.isdisjoint(later):
                yield residue.divisor, (residue.rest - rest) * pow(factor, -1, residue.divisor)


def _box(sets: Sequence[_Set], names: Sequence[str], shape: Sequence[Extent], sizes: Sizes) -> Box:
    """The smallest box that holds all sets."""
    return Box(tuple(_side(sets, names, k, size, sizes) for k, size in enumerate(shape)))


def _side(sets: Sequence[_Set], names: Sequence[str], k: int, size: Extent, sizes: Sizes) -> BoxSide:
    """The least range for an index that holds in all sets, from the bounds of each."""
    name = Affine.var(names[k])
    best = BoxSide(Affine.const(0), size)
    lower = [b for b in _bounds(sets, k, below=True) if all(s.holds(name * b.divisor - b.form) for s in sets)]
    upper = [
        b for b in _bounds(sets, k, below=False) if all(s.holds(b.form - name * b.divisor) for s in sets)
    ]
    for low in lower:
        for high in upper:
            room = high.form * low.divisor - low.form * high.divisor
            if not room.variables.isdisjoint(names):
                continue
            wide = room.floordiv(low.divisor * high.divisor) + 1
            if sizes.about([extent(wide)]) < sizes.about([best.extent]) and implied(wide, sizes.facts):
                first = low.ceil()
                # Of one value, either bound is it.
                if wide == Affine.const(1):
                    first = min(first, high.floor(), key=lambda form: len(str(form)))
                best = BoxSide(first, extent(wide))
    return _stepped(best, sets, k)


def _bounds(sets: Sequence[_Set], k: int, *, below: bool) -> list[Bound]:
    """The bounds of an index in each of the sets, plainest first."""
    found = (bound for one in sets for bound in (one.levels[k].lower if below else one.levels[k].upper))
    return list(dict.fromkeys(found))


def _stepped(side: BoxSide, sets: Sequence[_Set], k: int) -> BoxSide:
    """The side of a box without values that no set has, for a residue that all share."""
    first, *others = (set(one.residues(k)) for one in sets)
    shared = first.intersection(*others)
    if not shared:
        return side
    step, target = max(shared, key=lambda found: (found[0], str(found[1])))
    room = as_form(side.extent) + (step - 1)
    low = side.low + (target - side.low).mod(step)
    return BoxSide(low, extent(room.floordiv(step)), step)
