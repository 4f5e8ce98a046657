"""A part of a tensor's elements, its equalities solved for indices of the tensor: places of entries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from functools import cached_property

from tadc.frontend.extents import Extent
from tadc.lattice.affine import Affine, Constraint, Lookup, box
from tadc.lattice.polyhedron import hold
from tadc.passes.supports.entry_unknowns import Unknowns
from tadc.passes.supports.joined_places import PairedIndices, halves, join_of, pair_arrays
from tadc.passes.terms.occupied import occupied

#: An index of so many values is one of elements, not one inside of them.
MANY = 256


class Point(Unknowns):
    """A part of a tensor's elements, its equalities solved for indices of the tensor."""

    def solved(self) -> Point:
        """The point, whose indices are those of the tensor that are left, and those that its place needs."""
        self.tell()
        self.need_fewer()
        for name in self.indices_in(self.at).intersection(self.binders):
            self.from_zero(name)
        used = self.indices_in(self.at).union(self.own)
        used |= self.pairing(used)
        inner = [name for name in self.binders if name not in used]
        dims = {n: self.extents[n] for n in self.own}
        dims |= {n: self.extent(n) for n in self.binders if n in used}
        facts = (*self.lists.program.size_facts(), *box(dims, dims.values()))
        self.rows = tuple(
            row
            for row in dict.fromkeys(self.rows)
            if not (row.form.variables.isdisjoint(inner) and hold((row,), facts))
        )
        summed = tuple(row for row in self.rows if not row.form.variables.isdisjoint(inner))
        self.value = self.lists.algebra.sum(inner, summed, self.value)
        self.rows = tuple(row for row in self.rows if row not in summed)
        # A sum over no point is no entry.
        self.rows += occupied(inner, summed, (*facts, *self.rows)) or ()
        # A box of all pairs has many more points than there are entries.
        while (join := join_of(self.rows, dims)) is not None:
            dims = self.joined(join, dims)
        self.value = self.lists.algebra.guard(self.rows, self.value, self.lists.algebra.zero)
        # What belongs to an element then is together, and all of it is computed while it is near.
        dims = dict(sorted(dims.items(), key=lambda dim: isinstance(dim[1], int) and dim[1] < MANY))
        self.name(tuple(dims))
        self.shape = tuple(dims.values())
        return self

    def need_fewer(self) -> None:
        """Say the place by fewer indices, where what is looked up by some is looked up by others too."""
        for row in self.rows:
            for atom, _ in row.form.terms if row.equality else ():
                told = row.form.solved(atom) if isinstance(atom, Lookup) else None
                if told is None:
                    continue
                at = tuple(form.replace(lambda other: told if other == atom else None) for form in self.at)
                used, needed = map(self.indices_in, (self.at, at))
                if needed < used:
                    self.at = at

    def pairing(self, dims: set[str]) -> set[str]:
        """The bound indices by which some of these indices are paired off: a sum over them would be one for
        each point of a box of all pairs."""
        found = set[str]()
        for row in self.rows:
            pair = halves(row, {*self.own, *self.binders})
            if pair is not None and not any(form.variables.isdisjoint(dims) for form in pair):
                found |= row.form.variables.intersection(self.binders)
        return found

    def joined(self, join: PairedIndices, dims: Mapping[str, Extent]) -> dict[str, Extent]:
        """The extents of the indices, one of which is a pair's in the place of those that are paired off."""
        pairs, index = self.lists.paired(join.sides), self.lists.terms.fresh("s")
        mapping = {
            name: array.lookup([Affine.var(index)])
            for name, array in zip(join.indices, pair_arrays(pairs), strict=True)
        }
        self.own = [name for name in self.own if name not in mapping]
        self.at = tuple(form.substitute(mapping) for form in self.at)
        self.rows = tuple(row.substitute(mapping) for row in self.rows if row not in join.rows)
        self.value = self.lists.terms.substitute(self.value, mapping)
        return {name: size for name, size in dims.items() if name not in mapping} | {
            index: Affine.var(pairs.count)
        }

    def within(self, other: Point) -> Point | None:
        """The point as one of those of another where some indices are others or numbers, if it is one."""
        found = self.match(other.at, dict(zip(other.indices, other.shape, strict=True)))
        if found is None:
            return None
        rows = tuple(Constraint(Affine.var(name) - told, equality=True) for name, told in found.items())
        made = copy(self)
        made.rows = (*self.rows, *rows)
        made.value = self.lists.algebra.guard(rows, self.value, self.lists.algebra.zero)
        made.indices, made.shape, made.at = other.indices, other.shape, other.at
        return made

    def match(self, at: tuple[Affine, ...], extents: Mapping[str, Extent]) -> dict[str, Affine] | None:
        """What some of these indices are where their place is that of the point; None where it never is."""
        mine = dict(zip(self.indices, self.shape, strict=True))
        if len(extents) == len(mine):
            return {} if at == self.at and extents == mine else None
        for name, size in extents.items() if len(extents) > len(mine) else ():
            left = {n: s for n, s in extents.items() if n != name}
            told = [Affine.var(n) for n, s in left.items() if s == size]
            for form in (
                *told,
                *(form for form in self.numbers if isinstance(size, int) and form.constant < size),
            ):
                found = self.match(tuple(f.substitute({name: form}) for f in at), left)
                if found is not None:
                    return {name: form, **found}
        return None

    @cached_property
    def numbers(self) -> list[Affine]:
        """The numbers at which its place looks something up."""
        forms = (form for place in self.at for lookup in place.lookups() for form in lookup.at)
        return [form for form in dict.fromkeys((*self.at, *forms)) if form.is_constant]

    def name(self, dims: Sequence[str]) -> None:
        """Give bound indices names that can be read, the same ones in points that are alike."""
        names: list[str] = []
        for name in dims:
            taken = [*self.definition.indices, *names]
            names.append(name if name in self.own else self.lists.names.index("p", taken))
        mapping = {old: Affine.var(new) for old, new in zip(dims, names, strict=True) if old != new}
        self.at = tuple(form.substitute(mapping) for form in self.at)
        self.rows = tuple(row.substitute(mapping) for row in self.rows)
        self.value = self.lists.terms.substitute(self.value, mapping)
        self.indices = tuple(names)
