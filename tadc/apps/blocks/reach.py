"""Which places of a dimension are read: images of access maps, in forms of sizes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tadc.toolkit.language import (
    NEVER,
    Affine,
    Constraint,
    Domain,
    EliminationLimit,
    atom_facts,
    equals_zero,
    implied,
    level_of,
    project,
    shadow,
)

#: A place in a tensor: no name of a program.
_PLACE = "?place"


@dataclass(frozen=True)
class Reach:
    """Places from the greatest of `first` to the least of `last`, where the conditions hold; else none."""

    conditions: Domain
    first: tuple[Affine, ...]
    last: tuple[Affine, ...]

    def at(self, sizes: Mapping[str, int]) -> range:
        """The places at values of all sizes."""
        if not all(row.holds(sizes) for row in self.conditions):
            return range(0)
        first = max(form.evaluate(sizes) for form in self.first)
        return range(first, max(first, min(form.evaluate(sizes) for form in self.last) + 1))

    @property
    def forms(self) -> Iterator[Affine]:
        """All that it is told by."""
        yield from (row.form for row in self.conditions)
        yield from self.first
        yield from self.last


@dataclass(frozen=True)
class Hull:
    """The places from the first that is in one of the images to the last."""

    images: tuple[Reach, ...]

    def at(self, sizes: Mapping[str, int]) -> range:
        """The places at values of all sizes."""
        found = [places for image in self.images if (places := image.at(sizes))]
        if not found:
            return range(0)
        return range(min(places.start for places in found), max(places.stop for places in found))

    def depends_on(self, names: Collection[str]) -> bool:
        """Whether a value of one of the sizes changes it."""
        return any(not form.variables.isdisjoint(names) for image in self.images for form in image.forms)

    def moves_with(self, names: Collection[str]) -> bool:
        """Whether a value of one of the sizes changes its first or its last place, where there is one."""
        sides = (form for image in self.images for form in (*image.first, *image.last))
        return any(not form.variables.isdisjoint(names) for form in sides)

    def interval(self, extent: Affine, known: Domain) -> tuple[Affine, Affine] | None:
        """The first place and the number of places, where the same forms tell them whatever the sizes are.

        They lie among `extent` places; where nothing is read, some may be told.
        """
        sides = [
            (im.first[0], im.last[0])
            for im in self.images
            if len(im.first) == 1 and len(im.last) == 1 and implied(im.last[0] - im.first[0] + 1, known)
        ]
        first = _extreme([im.first for im in self.images], [low for low, _ in sides], 1, known)
        last = _extreme([im.last for im in self.images], [high for _, high in sides], -1, known)
        if first is None or last is None:
            return None
        inside = first, last - first + 1, extent - 1 - last
        return (first, inside[1]) if all(implied(form, known) for form in inside) else None

    def lies_in(self, first: Affine, size: Affine, known: Domain) -> bool:
        """Whether all places are among `size` from `first` on."""
        last = first + size - 1
        return all(
            any(implied(form - first, (*known, *image.conditions)) for form in image.first)
            and any(implied(last - form, (*known, *image.conditions)) for form in image.last)
            for image in self.images
        )

    def is_all(self, extent: Affine) -> bool:
        """Whether one of the images is all of a dimension, wherever it is not empty."""
        whole = (Affine.const(0),), (extent - 1,)
        return any((image.first, image.last) == whole for image in self.images)

    def __str__(self) -> str:
        return " | ".join(
            f"{_text('max', image.first)} .. {_text('min', image.last)}" for image in self.images
        )


def _extreme(
    sides: Sequence[Sequence[Affine]], candidates: Sequence[Affine], sign: int, known: Domain
) -> Affine | None:
    """The candidate that no image goes beyond."""
    for candidate in dict.fromkeys(candidates):
        if all(any(implied((form - candidate) * sign, known) for form in side) for side in sides):
            return candidate
    return None


def _text(function: str, forms: Sequence[Affine]) -> str:
    return str(forms[0]) if len(forms) == 1 else f"{function}({', '.join(map(str, forms))})"


def image(form: Affine, facts: Domain, sizes: Collection[str], known: Domain) -> Reach | None:
    """The places that an index form takes where the facts hold; None where there are none.

    It is exact over the rationals: every place that is read lies in it, and none lies beyond the first and
    the last for which there is a rational point. What is known holds of the sizes. Of an element of an index
    array it is all that the array's range allows. Raises EliminationLimit.
    """
    rows = list(facts)
    rows.append(equals_zero(Affine.var(_PLACE) - form))
    rows = _without_lookups(rows, known)
    left = shadow(rows, {_PLACE, *sizes}, known)
    if NEVER in left:
        return None
    own = [row for row in left if row.form.coefficient(_PLACE)]
    level = level_of(_PLACE, own)
    if (
        not level.lower
        or not level.upper
        or any(_PLACE in row.form.variables for row in left if row not in own)
    ):
        raise EliminationLimit(f"{form} has no bounds in sizes")
    return Reach(
        tuple(row for row in left if row not in own),
        tuple(bound.ceil() for bound in level.lower),
        tuple(bound.floor() for bound in level.upper),
    )


def _without_lookups(rows: list[Constraint], known: Domain) -> list[Constraint]:
    """What follows where elements of index arrays are any in their ranges."""
    while True:
        atoms = [atom for row in rows for atom, _ in row.form.terms if not isinstance(atom, str)]
        found = [atom for atom in atoms if Affine.atom(atom).has_lookups]
        if not found:
            return rows
        # An element inside of another one's subscript, or of a quotient, goes after it.
        atom = max(found, key=lambda a: len(list(Affine.atom(a).inner_atoms())))
        rows = project(atom, [*rows, *atom_facts([Affine.atom(atom)])], known)
