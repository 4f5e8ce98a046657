"""A part of a tensor's elements, its equalities solved for indices of the tensor: places of entries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property

from tadc.frontend.extents import Extent, Shape, as_form, extent
from tadc.frontend.program import Definition
from tadc.frontend.terms import Domain, Term
from tadc.lattice.affine import ZERO, Affine, Constraint, Lookup, box
from tadc.lattice.polyhedron import implied
from tadc.passes.supports.compress import box_rows
from tadc.passes.supports.joined_places import Join, halves, join_of, pair_arrays
from tadc.passes.supports.listed_program import Listed, NotListed

#: An index of so many values is one of elements, not one inside of them.
MANY = 256


@dataclass(frozen=True)
class Part:
    """A sum of values over the points of some indices: an addend of a term."""

    binders: tuple[str, ...]
    rows: Domain
    value: Term

    def over(self, binders: Sequence[str], rows: Domain) -> Part:
        """The sum over more indices."""
        return Part((*binders, *self.binders), (*rows, *self.rows), self.value)


class Point:
    """A part of a tensor's elements, its equalities solved for indices of the tensor."""

    def __init__(self, lists: Listed, definition: Definition, part: Part) -> None:
        self.lists, self.definition = lists, definition
        self.extents = dict(zip(definition.indices, definition.shape, strict=True))
        self.own = list(definition.indices)
        self.binders = list(part.binders)
        self.rows: Domain = part.rows
        self.at: tuple[Affine, ...] = tuple(map(Affine.var, definition.indices))
        self.value = part.value
        self.indices: tuple[str, ...] = ()
        self.shape: Shape = ()

    def settled(self) -> tuple[Domain, Term]:
        """The rows and the value, where bound indices that are told are what tells them."""
        while self.solve(self.binders):
            pass
        return self.rows, self.value

    def solved(self) -> Point:
        """The point, whose indices are those of the tensor that are left, and those that its place needs."""
        while self.step():
            pass
        self.need_fewer()
        used = self.indices_in(self.at).union(self.own)
        used |= self.pairing(used)
        inner = [name for name in self.binders if name not in used]
        dims = {n: self.extents[n] for n in self.own}
        dims |= {n: self.extent(n) for n in self.binders if n in used}
        facts = (*self.lists.program.size_facts(), *box(dims, dims.values()))
        self.rows = tuple(
            row
            for row in dict.fromkeys(self.rows)
            if not (row.form.variables.isdisjoint(inner) and always(row, facts))
        )
        summed = tuple(row for row in self.rows if not row.form.variables.isdisjoint(inner))
        self.value = self.lists.algebra.sum(inner, summed, self.value)
        self.rows = tuple(row for row in self.rows if row not in summed)
        # A box of all pairs has many more points than there are entries.
        while (join := join_of(self.rows, dims)) is not None:
            dims = self.joined(join, dims)
        self.value = self.lists.algebra.guard(self.rows, self.value, self.lists.algebra.zero)
        # What belongs to an element then is together, and all of it is computed while it is near.
        dims = dict(sorted(dims.items(), key=lambda dim: isinstance(dim[1], int) and dim[1] < MANY))
        self.name(tuple(dims))
        self.shape = tuple(dims.values())
        return self

    def indices_in(self, forms: Sequence[Affine]) -> set[str]:
        """The indices that forms have, sizes left out."""
        return {name for form in forms for name in form.variables if name in self.own or name in self.binders}

    def need_fewer(self) -> None:
        """Say the place by fewer indices, where what is looked up by some is looked up by others too."""
        for row in self.rows:
            for atom, k in row.form.terms if row.equality else ():
                if not isinstance(atom, Lookup) or abs(k) != 1:
                    continue
                told = (row.form - Affine.atom(atom) * k) * -k
                at = tuple(form.replace(lambda other: told if other == atom else None) for form in self.at)
                used, needed = map(self.indices_in, (self.at, at))
                if needed < used and not any(atom == inner for inner in told.inner_atoms()):
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

    def joined(self, join: Join, dims: Mapping[str, Extent]) -> dict[str, Extent]:
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

    # -- solving -----------------------------------------------------------------------------------

    def step(self) -> bool:
        """Solve one equality, for a bound index where one can be told, or a range of rows."""
        return self.solve(self.binders) or self.solve(self.own) or self.range_of_owner()

    def solve(self, names: Sequence[str]) -> bool:
        """Solve one equality for one of some indices."""
        equalities = [row for row in self.rows if row.equality]
        between = not self.definition.is_output
        # Those with lookups first: a diagonal then is one of what is looked up. In between it is one of
        # elements, as these are fewer, and each of them is then a factor of others.
        for row in sorted(equalities, key=lambda row: row.form.has_lookups == between):
            for name in names:
                told = _told(row.form, name)
                if told is not None and not (between and names is self.own and self.is_lone(row)):
                    self.substitute(name, told, row)
                    return True
        return False

    def is_lone(self, row: Constraint) -> bool:
        """Whether the bound indices that a row has to do with tell one index of the tensor and no other: sums
        over them, of one element, are fewer than their values."""
        bound, before = row.form.variables.intersection(self.binders), frozenset[str]()
        met = row.form.variables
        while bound != before:
            before = bound
            met = met.union(*(r.form.variables for r in self.rows if not bound.isdisjoint(r.form.variables)))
            bound = met.intersection(self.binders)
        placed = any(not bound.isdisjoint(form.variables) for form in self.at)
        return bool(bound) and not placed and len(met.intersection(self.own)) == 1

    def substitute(self, name: str, told: Affine, *rows: Constraint) -> None:
        """Put a form in the place of an index; these rows say it."""
        mapping = {name: told}
        left = [row.substitute(mapping) for row in self.rows if row not in rows]
        if name in self.own:
            self.own.remove(name)
            left += box_rows([told], [self.extents[name]])
        else:
            self.binders.remove(name)
        self.rows = tuple(left)
        self.at = tuple(form.substitute(mapping) for form in self.at)
        self.value = self.lists.terms.substitute(self.value, mapping)

    def range_of_owner(self) -> bool:
        """`ptr[i] <= e <= ptr[i + 1] - 1` says that i is the owner of e, and tells it."""
        between = not self.definition.is_output
        for row in self.rows:
            if between and self.is_lone(row):
                continue
            for atom, k in row.form.terms if not row.equality else ():
                if not isinstance(atom, Lookup) or k != -1 or len(atom.at) != 1:
                    continue
                place, (index,) = row.form + Affine.atom(atom), atom.at
                end = Affine.atom(Lookup(atom.array, (index + 1,), atom.below)) - 1 - place
                other = Constraint(end)
                owner = self.lists.owner(atom.array) if other in self.rows else None
                if owner is None:
                    continue
                told = owner.lookup([place])
                name = next((n for n in (*self.binders, *self.own) if index == Affine.var(n)), None)
                if name is not None and name not in place.variables:
                    self.substitute(name, told, row, other)
                    self.rows = (*self.rows, *box_rows([place], owner.shape))
                    return True
                if not index.variables.isdisjoint((*self.own, *self.binders)) and any(
                    True for _ in index.lookups()
                ):
                    left = tuple(r for r in self.rows if r not in (row, other))
                    same = Constraint(told - index, equality=True)
                    self.rows = (*left, same, *box_rows([place], owner.shape))
                    return True
        return False

    def extent(self, name: str, asked: tuple[str, ...] = ()) -> Extent:
        """How many values a bound index may have, from 0 on; `asked` depend on it. Raises NotListed."""
        variable, facts = Affine.var(name), self.lists.program.size_facts()
        own = box(self.own, [self.extents[n] for n in self.own])
        if implied(variable, (*self.rows, *own, *facts)):
            for row in self.rows:
                if (
                    row.equality
                    or row.form.coefficient(name) != -1
                    or name in (row.form + variable).variables
                ):
                    continue
                most = self.most(row.form + variable, (*asked, name))
                if most is not None:
                    return extent(most + 1)
        raise NotListed(f"nothing bounds an index of `{self.definition.name}` by sizes")

    def most(self, form: Affine, asked: tuple[str, ...]) -> Affine | None:
        """A form of sizes that one is never more than; None where that is not seen."""
        total = Affine.const(form.constant)
        for atom, k in form.terms:
            match atom:
                case str() if atom in self.extents:
                    total += (as_form(self.extents[atom]) - 1) * k if k > 0 else ZERO
                case str() if atom in self.lists.program.sizes:
                    total += Affine.var(atom) * k
                case str() if atom not in asked and k > 0:
                    total += (as_form(self.extent(atom, asked)) - 1) * k
                case Lookup():
                    total += (atom.below - 1) * k if k > 0 else ZERO
                case _:
                    return None
        return total


def _told(form: Affine, name: str) -> Affine | None:
    """The value of an index that an equality tells; None where it stands inside of atoms, or has a factor."""
    k = form.coefficient(name)
    if abs(k) != 1:
        return None
    rest = form - Affine.var(name) * k
    return None if name in rest.variables else rest * -k


def always(row: Constraint, facts: Sequence[Constraint]) -> bool:
    """Whether a row holds wherever some others do."""
    return all(implied(form, facts) for form in ((row.form, -row.form) if row.equality else (row.form,)))
