"""Values that depend on their indices through no more forms than there are indices.

sum{j} (w[j] * x[i + j]**2)    needs x[s]**2 for each s = i + j, not for each i and j
sin(x[i]) + sin(x[i + 1])      has one tensor of sines: their coordinate is what x is read at
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tadc.frontend.extents import Shape, as_form
from tadc.frontend.terms import Guard, Read, Reduce, Term, Terms, index_forms, reachable
from tadc.lattice.affine import Affine


@dataclass(frozen=True)
class Coordinate:
    """A form of indices at which tensors are read, plus constants from 0 on.

    It is at least 0 and below `extent` wherever these reads are in range; `index` is one of its indices.
    """

    form: Affine
    extent: Affine
    index: str


def coordinates_of(
    term: Term, shapes: Mapping[str, Shape], sizes: frozenset[str], fewer: bool = True
) -> list[Coordinate] | None:
    """The coordinates of a term, if they are fewer than its indices; without `fewer`, if they are no more.

    None if they are more, if a sum or a guard is in the term, or if no tensor bounds one of them. None too
    for elements of index arrays: a tensor may have many more elements than are read at these.
    """
    names = term.free - sizes
    most = len(names) - 1 if fewer else len(names)
    if most < 1:
        return None
    found: dict[Affine, list[tuple[Affine, Affine | None]]] = {}
    for node in reachable([term]):
        if isinstance(node, Guard | Reduce):
            return None
        shape = shapes[node.tensor] if isinstance(node, Read) else (None,)
        for form, size in zip(index_forms(node), shape, strict=False):
            if form.has_lookups:
                return None
            if not form.variables.isdisjoint(names):
                extent = None if size is None else as_form(size)
                found.setdefault(_without_constants(form, names), []).append((form, extent))
        if len(found) > most:
            return None
    made = [_coordinate(reads, names) for reads in found.values()]
    known = [one for one in made if one is not None]
    return known if len(known) == len(made) else None


def over_coordinates(terms: Terms, term: Term, at: Mapping[Affine, Affine], sizes: frozenset[str]) -> Term:
    """The term with other forms in the place of its coordinates."""
    names = term.free - sizes
    plain = {_without_constants(form, names): new - form for form, new in at.items()}
    nothing = Affine.const(0)
    return terms.rewrite_forms(
        term, names, lambda form: form + plain.get(_without_constants(form, names), nothing)
    )


def _coordinate(reads: list[tuple[Affine, Affine | None]], names: frozenset[str]) -> Coordinate | None:
    """The coordinate of reads at forms that differ by constants; None where they do not.

    None also where no tensor bounds it.
    """
    first = reads[0][0]
    apart = [form - first for form, _ in reads]
    if not all(difference.is_constant for difference in apart):
        return None
    least = min(difference.constant for difference in apart)
    extents = [
        extent - (difference.constant - least)
        for (_, extent), difference in zip(reads, apart, strict=True)
        if extent is not None
    ]
    for one in extents:
        others = [other - one for other in extents]
        if all(other.is_constant and other.constant >= 0 for other in others):
            return Coordinate(first + least, one, min(first.variables & names))
    return None


def _without_constants(form: Affine, names: frozenset[str]) -> Affine:
    """The part of a form that indices change."""
    return Affine(
        tuple(
            (atom, k)
            for atom, k in form.terms
            if not ({atom} if isinstance(atom, str) else atom.variables).isdisjoint(names)
        ),
        0,
    )
