"""Index arrays of the pairs of places at which forms of lookups are equal.

`d[e] = d[f]` holds at few of the points (e, f): for each value, at the pairs of its places. So two index
arrays list these, the e and the f of each pair, in the order of e, then of f. How many there are is a size of
its own: the sum, over all values, of how often it is found on one side times how often on the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tadc.frontend.extents import Extent
from tadc.frontend.program import Argument
from tadc.lattice.affine import Affine, Constraint
from tadc.passes.supports.entry_listing import Pairs, Side


def pair_arrays(pairs: Pairs) -> list[Argument]:
    """The index arrays of pairs, as arguments."""
    extents, shape = [size for side in pairs.sides for size in side.shape], (Affine.var(pairs.count),)
    named = zip(pairs.names, extents, strict=True)
    return [Argument(name, "i32", shape, below=size) for name, size in named]


@dataclass(frozen=True)
class Join:
    """Indices that some equalities pair off, those of the first side first."""

    indices: tuple[str, ...]
    sides: tuple[Side, Side]
    rows: tuple[Constraint, ...]


def halves(row: Constraint, indices: Iterable[str]) -> tuple[Affine, Affine] | None:
    """The forms that an equality says to be equal, which share no index; None where there are no such two."""
    known, parts = frozenset(indices), dict[frozenset[str], Affine]()
    rest = Affine.const(row.form.constant)
    for atom, k in row.form.terms:
        term = Affine.atom(atom) * k
        met = known & term.variables
        if not met:
            rest += term
            continue
        for other in [names for names in parts if names & met]:
            term, met = term + parts.pop(other), met | other
        parts[met] = term
    if not row.equality or len(parts) != 2 or not row.form.has_lookups:
        return None
    first, second = parts.values()
    return (first + rest, -second) if first.terms[0][1] > 0 else (-first - rest, second)


def join_of(rows: Sequence[Constraint], extents: Mapping[str, Extent]) -> Join | None:
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
    sides: list[Side] = []
    for names, forms in zip(own, zip(*keys, strict=True), strict=True):
        places = {name: Affine.var(f"#{n}") for n, name in enumerate(names)}
        sides.append(Side(tuple(extents[n] for n in names), tuple(f.substitute(places) for f in forms)))
    return Join((*own[0], *own[1]), (sides[0], sides[1]), tuple(used))
