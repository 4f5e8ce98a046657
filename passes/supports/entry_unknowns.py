"""Indices of a tensor told by equalities and windows: where a part of its elements is other than 0."""

from __future__ import annotations

from collections.abc import Sequence

from tadc.frontend.extents import Extent, Shape, as_form, extent
from tadc.frontend.program import Definition
from tadc.frontend.terms import Domain, Term
from tadc.lattice.affine import ZERO, Affine, Constraint, Floor, Lookup, box
from tadc.lattice.fibre import fibres_in
from tadc.lattice.late_dataclasses import dataclass
from tadc.lattice.polyhedron import hold, implied
from tadc.passes.supports.compress import box_rows
from tadc.passes.supports.entry_windows import EntryWindow, floors_of, outside_lookups, windows, with_quotient
from tadc.passes.supports.joined_places import are_joined
from tadc.passes.supports.listed_program import Listed, NotListed
from tadc.passes.terms.costs import NODES

#: So many steps tell all indices of any program that a person writes.
STEPS = NODES // 4


@dataclass(frozen=True)
class EntryPart:
    """A sum of values over the points of some indices: an addend of a term."""

    binders: tuple[str, ...]
    rows: Domain
    value: Term

    def over(self, binders: Sequence[str], rows: Domain) -> EntryPart:
        """The sum over more indices."""
        return EntryPart((*binders, *self.binders), (*rows, *self.rows), self.value)


class Unknowns:
    """A part of a tensor's elements, and what its rows tell of the indices."""

    def __init__(self, lists: Listed, definition: Definition, part: EntryPart) -> None:
        self.lists, self.definition = lists, definition
        self.extents = dict(zip(definition.indices, definition.shape, strict=True))
        self.own = list(definition.indices)
        self.binders = list(part.binders)
        self.rows: Domain = part.rows
        self.at: tuple[Affine, ...] = definition.own
        self.value = part.value
        #: What says that told indices are in range.
        self.inside: Domain = ()
        #: Indices of windows, which nothing tells.
        self.offsets: list[str] = []
        #: Unknowns for floors, and the floors that stay: those that nothing tells, and those that tell.
        self.quotients: dict[str, Floor] = {}
        self.floors: set[Floor] = set()
        self.indices: tuple[str, ...] = ()
        self.shape: Shape = ()

    def settled(self) -> tuple[Domain, Term]:
        """The rows and the value, where bound indices that are told are what tells them."""
        while self.solve(self.binders):
            pass
        return self.rows, self.value

    def tell(self) -> None:
        """Tell all indices that rows tell."""
        for _ in range(STEPS):
            if not (self.step() or self.without_quotient()):
                break
        else:
            raise NotListed(f"what tells the indices of `{self.definition.name}` is too much to look at")
        self.rows += self.inside

    def step(self) -> bool:
        """Solve one equality, for a bound index where one can be told, or a range of rows, or a window."""
        bound = [name for name in self.binders if name not in self.offsets]
        return (
            self.solve(bound)
            or self.quotient()
            or self.solve(self.own)
            or self.range_of_owner()
            or self.offset()
        )

    def quotient(self) -> bool:
        """Have a floor of indices of the tensor be an unknown."""
        floor = next((f for f in floors_of(self.rows, self.own) if f not in self.floors), None)
        if floor is None:
            return False
        name = self.lists.terms.fresh("s")
        self.binders.append(name)
        self.quotients[name] = floor
        self.rows = with_quotient(self.rows, floor, name)
        return True

    def solve(self, names: Sequence[str]) -> bool:
        """Solve one equality for one of some indices."""
        equalities = [row for row in self.rows if row.equality]
        between = not self.definition.is_output
        # Those with lookups first: a diagonal then is one of what is looked up. In between it is one of
        # elements, as these are fewer, and each of them is then a factor of others.
        for row in sorted(equalities, key=lambda row: row.form.has_lookups == between):
            told = {name: form for name in names if (form := row.form.solved(name)) is not None}
            name = self.longest(list(told))
            if name is not None and not (between and names is self.own and self.is_lone(row)):
                self.drop((row,))
                self.substitute(name, told[name])
                return True
        return False

    def indices_in(self, forms: Sequence[Affine]) -> set[str]:
        """The indices that forms have, sizes left out."""
        return {name for form in forms for name in form.variables if name in self.own or name in self.binders}

    def longest(self, names: Sequence[str]) -> str | None:
        """Of these indices the one of most values, the first of those of which that is not seen."""
        found, facts = next(iter(names), None), self.lists.program.size_facts()
        for name in names[1:]:
            assert found is not None
            more, fewer = self.count(name), self.count(found)
            if more is not None and fewer is not None and not implied(fewer - more, facts):
                number = fewer.is_constant and not more.is_constant
                found = name if number or implied(more - fewer, facts) else found
        return found

    def count(self, name: str, asked: tuple[str, ...] = ()) -> Affine | None:
        """How many values an index may have; None where nothing bounds it. `asked` depend on it."""
        try:
            return as_form(self.extents[name] if name in self.own else self.extent(name, asked))
        except NotListed:
            return None

    def offset(self) -> bool:
        """Tell an index by a window, which has fewer places than there are values of it."""
        sizes = self.lists.program.sizes
        for window in (*windows(self.rows, sizes), *windows(self.inside, sizes)):
            if window.width == ZERO and len(window.rows) > 1:
                self.drop(window.rows)
                self.rows += (Constraint(window.form, equality=True),)
                return True
            if not self.definition.is_output and self.is_lone(next(iter(window.rows))):
                continue
            name = self.told_by(window)
            if name is not None:
                found = window.of(name)
                assert found is not None
                factor, least, width = found
                if factor == 1:
                    self.drop(window.rows)
                self.floors.update(least.floors())
                self.substitute(name, least + (self.below(width + 1) if width != ZERO else 0))
                return True
            if window.width != ZERO and self.joins(window):
                self.drop(window.rows)
                more = self.below(window.width + 1)
                self.rows += (Constraint(window.form - more, equality=True),)
                return True
        return False

    def joins(self, window: EntryWindow) -> bool:
        """Whether a window says which places of two lookups are near."""
        facts = (*self.lists.program.size_facts(), *box(self.own, [self.extents[n] for n in self.own]))
        says = any(row in self.rows and not hold((row,), facts) for row in window.rows)
        return says and are_joined(window.form, (*self.own, *self.binders))

    def below(self, size: Affine) -> Affine:
        """A new bound index of so many values."""
        name = self.lists.terms.fresh("s")
        self.binders.append(name)
        self.offsets.append(name)
        self.rows += box([name], [extent(size)])
        return Affine.var(name)

    def drop(self, rows: Domain) -> None:
        """Leave rows out."""
        self.rows = tuple(row for row in self.rows if row not in rows)
        self.inside = tuple(row for row in self.inside if row not in rows)

    def told_by(self, window: EntryWindow) -> str | None:
        """An index that a window tells, and that has more values than are in it; None where there is none."""
        # A remainder tells nothing of what it is the remainder of.
        if any(window.form == _rest(name, floor) for name, floor in self.quotients.items()):
            return None
        placed = self.indices_in(self.at)
        names: list[str] = []
        for name in (*self.own, *self.binders):
            found = window.of(name)
            if found is None or name in self.offsets:
                continue
            _, least, width = found
            if width != ZERO and name not in placed.union(self.quotients):
                continue
            # Sums over indices that are nowhere else stay sums.
            summed = outside_lookups(least).intersection(self.binders) - placed
            tells = least.has_lookups or (self.indices_in([least]) and not summed)
            seen = all(row in self.inside for row in window.rows)
            if tells and self.is_fewer(width + 1, self.count(name), seen):
                names.append(name)
        least = min((abs(window.form.coefficient(name)) for name in names), default=1)
        return self.longest([name for name in names if abs(window.form.coefficient(name)) == least])

    def is_fewer(self, one: Affine, other: Affine | None, seen: bool) -> bool:
        """Whether one extent is less than another, or not seen to be no less. Numbers are less than sizes."""
        facts = self.lists.program.size_facts()
        if other is None or one.is_constant != other.is_constant:
            return other is None or one.is_constant
        return implied(other - one - 1, facts) if seen else not implied(one - other, facts)

    def without_quotient(self) -> bool:
        """Put a floor back where nothing told its quotient, by which nothing else is told."""
        for name, floor in self.quotients.items():
            if name not in floor.numerator.variables:
                rest = _rest(name, floor)
                self.drop((Constraint(rest), Constraint(floor.denominator - 1 - rest)))
                told = floor.numerator.floordiv(floor.denominator)
                self.floors.update(told.floors())
                self.substitute(name, told)
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
        return not bound <= self.quotients.keys() and not placed and len(met.intersection(self.own)) == 1

    def substitute(self, name: str, told: Affine) -> None:
        """Put a form in the place of an index."""
        mapping = {name: told}
        self.rows = tuple(row.substitute(mapping) for row in self.rows)
        self.inside = tuple(row.substitute(mapping) for row in self.inside)
        if name in self.own:
            self.own.remove(name)
            self.inside += box_rows([told], [self.extents[name]])
        else:
            self.binders.remove(name)
        forms = [Affine.atom(floor).substitute(mapping) for floor in self.floors]
        self.floors = {floor for form in forms for floor in form.floors()}
        self.quotients = {
            q: Floor(floor.numerator.substitute(mapping), floor.denominator)
            for q, floor in self.quotients.items()
            if q != name
        }
        self.at = tuple(form.substitute(mapping) for form in self.at)
        self.value = self.lists.terms.substitute(self.value, mapping)

    def range_of_owner(self) -> bool:
        """`ptr[i] <= e <= ptr[i + 1] - 1` says that i is the owner of e, and tells it."""
        between = not self.definition.is_output
        for fibre in fibres_in(self.rows):
            owner = self.lists.owner(fibre.array) if fibre.exactly else None
            if owner is None or (between and self.is_lone(fibre.rows[0])):
                continue
            place, (index,) = fibre.place, fibre.values
            told, names = owner.lookup([place]), (*self.binders, *self.own)
            name = next((n for n in names if index == Affine.var(n)), None)
            if name is not None and name not in place.variables:
                self.drop(fibre.rows)
                self.substitute(name, told)
            elif index.has_lookups and not index.variables.isdisjoint(names):
                self.drop(fibre.rows)
                self.rows += (Constraint(told - index, equality=True),)
            else:
                continue
            self.inside += box_rows([place], owner.shape)
            return True
        return False

    def extent(self, name: str, asked: tuple[str, ...] = ()) -> Extent:
        """How many values a bound index may have, from 0 on; `asked` depend on it. Raises NotListed."""
        variable, facts = Affine.var(name), self.lists.program.size_facts()
        own = box(self.own, [self.extents[n] for n in self.own])
        rows = (*self.rows, *self.inside)
        found = [most + 1 for most in self.bounds(name, -1, asked)]
        from_zero = any(row.form == variable for row in rows) or implied(variable, (*rows, *own, *facts))
        if found and from_zero:
            most = min(found, key=_reading)
            # One below another has a value less than that, but none fewer than none.
            is_less = most.constant < 0 and not implied(most, facts)
            more = most - most.constant
            return extent(more if is_less and implied(more, facts) else most)
        raise NotListed(f"nothing bounds an index of `{self.definition.name}` by sizes")

    def bounds(self, name: str, sign: int, asked: tuple[str, ...] = ()) -> list[Affine]:
        """What an index is at most, for the sign -1; what it is at least, with the other sign, for 1."""
        found: list[Affine] = []
        for row in (*self.rows, *self.inside):
            k = row.form.coefficient(name) * sign
            rest = row.form - Affine.var(name) * (k * sign)
            if not row.equality and k > 0 and name not in rest.variables:
                most = self.most(rest, (*asked, name))
                found += [] if most is None else [most.floordiv(k)]
        return found

    def from_zero(self, name: str) -> None:
        """Have a bound index count from 0 on, if it is seen how far it goes below."""
        more = self.bounds(name, 1)
        if more and not (self.extents.get(name) or self.count(name)):
            other = self.lists.terms.fresh("s")
            self.binders.append(other)
            self.substitute(name, Affine.var(other) - min(more, key=_reading))

    def most(self, form: Affine, asked: tuple[str, ...]) -> Affine | None:
        """A form of sizes that one is never more than; None where that is not seen."""
        total = Affine.const(form.constant)
        for atom, k in form.terms:
            match atom:
                case str() if atom in self.extents:
                    total += (as_form(self.extents[atom]) - 1) * k if k > 0 else ZERO
                case str() if atom in self.lists.program.sizes:
                    total += Affine.var(atom) * k
                case str() if atom not in asked and k > 0 and (count := self.count(atom, asked)) is not None:
                    total += (count - 1) * k
                case Lookup():
                    total += (atom.below - 1) * k if k > 0 else ZERO
                case _:
                    return None
        return total


def _rest(name: str, floor: Floor) -> Affine:
    return floor.numerator - Affine.var(name) * floor.denominator


def _reading(form: Affine) -> tuple[int, int]:
    return len(form.terms), form.constant
