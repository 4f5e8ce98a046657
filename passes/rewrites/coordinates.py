"""Values that depend on their indices through no more forms than there are indices.

sum{j} (w[j] * x[i + j]**2)    needs x[s]**2 for each s = i + j, not for each i and j
sin(x[i]) + sin(x[i + 1])      has one tensor of sines: their coordinate is what x is read at
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

from tadc.frontend.extents import Shape, as_form
from tadc.frontend.terms import Guard, Read, Reduce, Term, Terms, bottom_up, index_forms
from tadc.lattice.affine import Affine
from tadc.lattice.late_dataclasses import dataclass, field


@dataclass(frozen=True)
class Coordinate:
    """A form of indices at which tensors are read, plus constants from 0 on.

    It is at least 0 and below `extent` wherever these reads are in range; `index` is one of its indices.
    """

    form: Affine
    extent: Affine
    index: str


#: What is read at forms, with the extents of what they index, by the part that indices change.
Forms = Mapping[Affine, Mapping[tuple[Affine, Affine | None], None]]


@dataclass
class Coordinates:
    """The coordinates of terms of one table; what is known of a term serves all that it stands in."""

    terms: Terms
    shapes: Mapping[str, Shape]
    sizes: frozenset[str]
    forms: dict[int, Forms | None] = field(default_factory=dict[int, Forms | None])
    plain: dict[tuple[tuple[Affine, Affine], ...], dict[int, Term]] = field(
        default_factory=dict[tuple[tuple[Affine, Affine], ...], dict[int, Term]]
    )

    def of(self, term: Term, fewer: bool = True) -> list[Coordinate] | None:
        """The coordinates of a term, if they are fewer than its indices; without `fewer`, if no more.

        None if they are more, if a sum or a guard is in the term, or if no tensor bounds one of them. None
        too for elements of index arrays: a tensor may have many more elements than are read at these.
        """
        names = term.free - self.sizes
        most = len(names) - 1 if fewer else len(names)
        if most < 1:
            return None
        found = bottom_up(term, self.forms, self._forms)
        if found is None or len(found) > most:
            return None
        made = [_coordinate(list(reads), names) for reads in found.values()]
        known = [one for one in made if one is not None]
        return known if len(known) == len(made) else None

    def over(self, term: Term, at: Mapping[Affine, Affine]) -> Term:
        """The term with other forms in the place of its coordinates."""
        moved = {_without_constants(form, self.sizes): new - form for form, new in at.items()}
        nothing = Affine.const(0)
        return self.terms.rewrite_forms(
            term, term.free - self.sizes,
            lambda form: form + moved.get(_without_constants(form, self.sizes), nothing),
            self.plain.setdefault(tuple(moved.items()), {}),
        )  # fmt: skip

    def _forms(self, node: Term, below: list[Forms | None]) -> Forms | None:
        """The forms at and below a node; None for those that have no coordinates."""
        if isinstance(node, Guard | Reduce):
            return None
        own: dict[Affine, dict[tuple[Affine, Affine | None], None]] = {}
        shape = self.shapes[node.tensor] if isinstance(node, Read) else (None,)
        for form, size in zip(index_forms(node), shape, strict=False):
            if form.has_lookups:
                return None
            if not form.variables <= self.sizes:
                extent = None if size is None else as_form(size)
                own.setdefault(_without_constants(form, self.sizes), {})[form, extent] = None
        parts = [own] if own else []
        for found in reversed(below):
            if found is None:
                return None
            parts += [found] if found and found not in parts else []
        if len(parts) < 2:
            return parts[0] if parts else {}
        together = dict.fromkeys(chain(*parts))
        return {form: dict.fromkeys(chain(*(p.get(form, ()) for p in parts))) for form in together}


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


def _without_constants(form: Affine, sizes: frozenset[str]) -> Affine:
    """The part of a form that indices change."""
    return Affine(
        tuple(
            (atom, k)
            for atom, k in form.terms
            if not ({atom} if isinstance(atom, str) else atom.variables) <= sizes
        ),
        0,
    )
