"""Which element loops run in parts: by residue, and a full part apart from its boundary.

With `b = c*q + r` and the body once for each r, every `b % c` is a number and every `b // c`
is q plus a number: guards on residues fold, and reads walk memory with a fixed stride in q.
Where a sum runs from `max(0, b - 4)` to `min(9, b)`, it has the same number of terms for each
b from 4 to 9; there its bounds need no maximum, and LLVM makes vectors of the loop over b.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import product

from tadc.lattice.affine import Affine, Floor
from tadc.lattice.late_dataclasses import dataclass
from tadc.passes.maps.map import Choice, Fold, Load, Map, blocks_of
from tadc.passes.rewrites.split_indices import period_of
from tadc.passes.terms.costs import TILE_CODE, WRITTEN_OUT

MOST_TERMS = 32
"""A loop of more steps whose bounds move with the tile stands twice: with masks, and without."""

LARGEST_FACTOR = 8
"""The largest c; beyond, copies cost more than tests."""

FEW_TILES = 3
"""An index of so few tiles has no full part."""

FEW_COPIES = WRITTEN_OUT
"""So many copies of a body may stand in tiles before and after a full part too."""

BOUNDS = 8
"""As many operations count the bounds of a reduction, for each of its indices."""


@dataclass(frozen=True)
class BoundRow:
    """`slope * b + rest >= 0` of an index b; no index is in `rest`."""

    slope: int
    rest: Affine


@dataclass(frozen=True)
class Parts:
    """The full part of an index holds the groups of `factor` elements that all meet the rows."""

    factor: int = 1
    rows: tuple[BoundRow, ...] = ()


WHOLE = Parts()
"""One loop over all elements."""


def parts_of(item: Map, sizes: Sequence[Affine]) -> list[Parts]:
    """For each index of a map of these extents in which parts its loop runs.

    The factor is the least one that removes the floors and moduli of indices of the map from
    guards and bounds, if it is small; for the innermost index also those from reads, where no
    other read is contiguous along it and would no longer be. The rows make the sums run over a
    fixed number of elements, if they hold for at least half of the elements.
    """
    found = _Collector(item)
    result: list[Parts] = []
    for name, size in zip(item.indices, sizes, strict=True):
        rows = found.rows(name, found.limits)
        factor = _combined(found.periods(name), size)
        result.append(Parts(factor, rows if _most(rows, factor, size) else ()))
    while any(part != WHOLE for part in result):
        if copies(result) * found.operations <= TILE_CODE:
            break
        result = without_outermost(result)
    return result


def without_outermost(parts: Sequence[Parts]) -> list[Parts]:
    """Parts but those of the outermost index that has any: the innermost is worth most, as its loop becomes
    vectors."""
    outermost = next(i for i, part in enumerate(parts) if part != WHOLE)
    return [WHOLE if i == outermost else part for i, part in enumerate(parts)]


def without_guards(
    item: Map, sizes: Sequence[Affine], parts: Sequence[Parts], most: int
) -> tuple[Parts, ...]:
    """These parts, and a full part besides where choices of one index fall one way for most of its elements.

    There vectors are read without masks. They are the same parts where all bodies had more operations.
    """
    found = _Collector(item)
    result = list(parts)
    for number, (name, size) in enumerate(zip(item.indices, sizes, strict=True)):
        rows = found.rows(name, found.guards)
        if rows and parts[number] == WHOLE and _most(rows, 1, size):
            result[number] = Parts(1, rows)
    return tuple(parts if copies(result) * found.operations > most else result)


def copies(found: Sequence[Parts]) -> int:
    """How often the body stands in the loops."""
    count = 1
    for part in reversed(found):
        count = count if part == WHOLE else 2 + part.factor * count
    return count


def _most(rows: Sequence[BoundRow], factor: int, size: Affine) -> bool:
    """Whether at least half of the elements meet all rows, as far as numbers tell."""
    if not size.is_constant:
        return True
    start, stop = limits_of(rows, size.constant)
    return 2 * (stop - start - 2 * (factor - 1)) >= size.constant


def limits_of(rows: Sequence[BoundRow], size: int) -> tuple[int, int]:
    """Where the elements that meet all rows start and stop, of so many, as far as numbers tell."""
    start, stop = 0, size
    for row in rows:
        if not row.rest.is_constant:
            continue
        if row.slope > 0:
            start = max(start, -(row.rest.constant // row.slope))
        else:
            stop = min(stop, row.rest.constant // -row.slope + 1)
    return start, stop


def _combined(periods: set[int], size: Affine) -> int:
    """The least common multiple of as many periods as stay small, small ones first."""
    result, largest = 1, LARGEST_FACTOR
    if size.is_constant:
        largest = min(largest, size.constant // 2)
    for period in sorted(periods):
        together = math.lcm(result, period)
        if together <= largest:
            result = together
    return result


class _Collector:
    """What the index forms of a map's body say about its indices."""

    def __init__(self, item: Map) -> None:
        self.names = item.indices
        self.bound = set(item.indices)
        """All indices, those of reductions so far among them."""
        self.tested: dict[Floor, None] = {}
        """Floors in guards and bounds."""
        self.read: dict[Floor, None] = {}
        """Floors in subscripts."""
        self.contiguous = False
        """Whether a read is contiguous along the innermost index."""
        self.limits: list[Affine] = []
        """Forms in one index of the map that are to be >= 0, for bounds of reductions."""
        self.guards: list[Affine] = []
        """The same for choices."""
        self.operations = 1
        for let in item.body.all_lets():
            self.operations += 1 + len(blocks_of(let.value))
            match let.value:
                case Fold() as fold:
                    self.fold(fold)
                case Choice(rows=rows):
                    self.test(row.form for row in rows)
                    self.guard(side for row in rows for side in row.inequalities)
                case Load(at=at):
                    self.access(at)
                case _:
                    pass

    def periods(self, name: str) -> set[int]:
        """The factors that remove a floor on indices of the map."""
        own = set(self.names)
        found = [*self.tested]
        if name == self.names[-1] and not self.contiguous:
            found += self.read
        return {period_of(atom, name) for atom in found if name in atom.variables and atom.variables <= own}

    def rows(self, name: str, limits: Iterable[Affine]) -> tuple[BoundRow, ...]:
        """The rows for an index."""
        found = (limit for limit in limits if name in limit.variables)
        rows = (
            BoundRow(limit.coefficient(name), limit - Affine.var(name) * limit.coefficient(name))
            for limit in found
        )
        return tuple(dict.fromkeys(rows))

    def test(self, forms: Iterable[Affine]) -> None:
        self.tested |= {atom: None for form in forms for atom in form.floors()}

    def guard(self, sides: Iterable[Affine]) -> None:
        """Take in what a choice asks of one index of the map."""
        alone = (form for form in sides if form.is_linear and len(form.variables & self.bound) == 1)
        self.guards += [form for form in alone if not form.variables.isdisjoint(self.names)]

    def access(self, subscripts: Sequence[Affine]) -> None:
        """Take in a read."""
        self.read |= {atom: None for form in subscripts for atom in form.floors()}
        if self.names and subscripts:
            inner = self.names[-1]
            *others, last = subscripts
            rest = last - Affine.var(inner)
            self.contiguous |= all(inner not in form.variables for form in (*others, rest))

    def fold(self, fold: Fold) -> None:
        """Take in a reduction."""
        # Each copy works out bounds of its own, which costs as much as some operations.
        self.operations += BOUNDS * len(fold.indices)
        self.bound |= set(fold.indices)
        self.test(row.form for row in fold.rows)
        sides = [side for row in fold.rows for side in row.inequalities]
        for name in fold.indices:
            limits, pair = self.limits_of(name, sides)
            self.limits += limits
            # In the full part no other bounds are left.
            for form in pair if limits else sides:
                self.test(_bounds(form, name))

    def limits_of(self, name: str, rows: Sequence[Affine]) -> tuple[list[Affine], Sequence[Affine]]:
        """Where the closest pair of bounds of a sum's index that move together are its bounds, and the pair.

        Each form returned first has one index of the map; none if there is no such pair or no other bound.
        """
        own = set(self.names)
        rows = [form for form in rows if name in form.variables]
        if any(not form.is_linear or form.variables & self.bound - own - {name} for form in rows):
            return [], ()
        sides = [[form for form in rows if form.coefficient(name) * sign > 0] for sign in (1, -1)]
        closest, limits, pair = Fraction(MOST_TERMS), list[Affine](), ()
        for low, high in product(*sides):
            j, k = low.coefficient(name), -high.coefficient(name)
            distance = low * k + high * j
            if not distance.is_constant or Fraction(distance.constant, j * k) >= closest:
                continue
            # A bound is the tighter one where these are not negative.
            found = [f * j - low * f.coefficient(name) for f in sides[0] if f is not low]
            found += [f * k + high * f.coefficient(name) for f in sides[1] if f is not high]
            if all(len(form.variables & own) == 1 for form in found):
                closest, limits, pair = Fraction(distance.constant, j * k), found, (low, high)
        return limits, pair


def _bounds(form: Affine, name: str) -> Iterator[Affine]:
    """The bound that a row gives to the loop of an index, whose rounding is a floor."""
    k = abs(form.coefficient(name))
    if k > 1:
        yield (form - Affine.var(name) * form.coefficient(name)).floordiv(k)
