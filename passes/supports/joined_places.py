"""Index arrays of the pairs of places at which forms of lookups are equal.

`d[e] = d[f]` holds at few of the points (e, f): for each value, at the pairs of its places. So two index
arrays list these, the e and the f of each pair, in the order of e, then of f. How many there are is a size of
its own: the sum, over all values, of how often it is found on one side times how often on the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tadc.frontend.dtypes import INDEX_TYPE
from tadc.frontend.extents import Extent
from tadc.frontend.program import Argument
from tadc.lattice.affine import Affine, Constraint
from tadc.lattice.late_dataclasses import dataclass
from tadc.passes.supports.entry_listing import ListedSide, Pairs


def pair_arrays(pairs: Pairs) -> list[Argument]:
    """The index arrays of pairs, as arguments."""
    extents, shape = [size for side in pairs.sides for size in side.shape], (Affine.var(pairs.count),)
    named = zip(pairs.names, extents, strict=True)
    return [Argument(name, INDEX_TYPE, shape, below=size) for name, size in named]


@dataclass(frozen=True)
class PairedIndices:
    """Indices that some equalities pair off, those of the first side first."""

    indices: tuple[str, ...]
    sides: tuple[ListedSide, ListedSide]
    rows: tuple[Constraint, ...]


def _parts(form: Affine, indices: Iterable[str]) -> list[Affine]:
    """Parts of a form that share no index, what has none left out; those with lookups first."""
    known, parts = frozenset(indices), dict[frozenset[str], Affine]()
    for atom, k in form.terms:
        term = Affine.atom(atom) * k
        met = known & term.variables
        for other in [names for names in parts if names & met]:
            term, met = term + parts.pop(other), met | other
        if met:
            parts[met] = term
    return sorted(parts.values(), key=lambda part: not part.has_lookups)


def are_joined(form: Affine, indices: Iterable[str]) -> bool:
    """Whether a form is that of two lookups of different indices, and of what has none."""
    return sum(part.has_lookups for part in _parts(form, indices)) == 2


def halves(row: Constraint, indices: Iterable[str]) -> tuple[Affine, Affine] | None:
    """The forms that an equality says to be equal, which share no index; None where there are no such two.

    Indices that stand in no lookup belong to the second.
    """
    parts = _parts(row.form, indices)
    looked_up = sum(part.has_lookups for part in parts)
    if not row.equality or ((looked_up, len(parts)) != (1, 2) and looked_up != 2):
        return None
    first = parts[0]
    return (first, first - row.form) if first.terms[0][1] > 0 else (-first, row.form - first)


def join_of(rows: Sequence[Constraint], extents: Mapping[str, Extent]) -> PairedIndices | None:
    """The first two sets of indices that equalities pair off, by all equalities of both; None of none."""
    pairs = {row: found for row in rows if (found := halves(row, extents)) is not None}
    if not pairs:
        return None
    own = [[n for n in extents if n in half.variables] for half in next(iter(pairs.values()))]
    used: list[Constraint] = []
    keys: list[tuple[Affine, Affine]] = []
    for row, (one, other) in pairs.items():
        for pair in ((one, other), (other, one)):
            if all(form.variables & extents.keys() <= set(n) for form, n in zip(pair, own, strict=True)):
                used.append(row)
                keys.append(pair)
    sides: list[ListedSide] = []
    for names, forms in zip(own, zip(*keys, strict=True), strict=True):
        places = {name: Affine.var(f"#{n}") for n, name in enumerate(names)}
        sides.append(ListedSide(tuple(extents[n] for n in names), tuple(f.substitute(places) for f in forms)))
    return PairedIndices((*own[0], *own[1]), (sides[0], sides[1]), tuple(used))
