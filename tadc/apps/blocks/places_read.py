"""Which places of a dimension are read through index arrays: sets that an inspector lists."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tadc.apps.blocks.reach import Reach
from tadc.toolkit.language import (
    NEVER,
    Affine,
    Argument,
    Constraint,
    Domain,
    Fibre,
    Lookup,
    as_form,
    at_least_zero,
    equals_zero,
    shadow,
)

#: The place that is read, and the variables that stand in subscripts beside it: no names of a program.
PLACE = "?place"
_INNER = "?inner"


@dataclass(frozen=True)
class PlacesRead:
    """The places of which rows hold, for some values of `inner`: rows on these, sizes and index arrays.

    Of each form in `among` the value is a place of another such set.
    """

    rows: Domain
    inner: tuple[str, ...] = ()
    among: tuple[tuple[Affine, PlacesRead], ...] = ()

    @property
    def is_through(self) -> bool:
        """Whether elements of index arrays tell it."""
        return bool(self.among) or any(row.form.has_lookups for row in self.rows)

    def depends_on(self, names: Collection[str]) -> bool:
        """Whether a value of one of the sizes changes it."""
        forms = (*(row.form for row in self.rows), *(form for form, _ in self.among))
        return any(not form.variables.isdisjoint(names) for form in forms) or any(
            places.depends_on(names) for _, places in self.among
        )

    def of(self, index: str) -> Domain | None:
        """What holds of an index that takes these places; None where other variables tell it."""
        if self.inner or self.among:
            return None
        return tuple(row.substitute({PLACE: Affine.var(index)}) for row in self.rows)


def of_fibre(array: Argument, below: Affine, among: PlacesRead) -> PlacesRead:
    """The fibres of an index array, by their numbers, that have one of some places."""
    own, place = f"{_INNER}0", Affine.var(PLACE)
    last = as_form(array.shape[0]) - 2
    fibre = Fibre.at(Affine.var(own), Lookup(array.name, (place,), below))
    return PlacesRead(
        (*fibre.rows, at_least_zero(place), at_least_zero(last - place)), (own,), ((Affine.var(own), among),)
    )


def of_reach(reach: Reach) -> PlacesRead:
    """A box that forms of sizes tell."""
    place = Affine.var(PLACE)
    sides = [place - form for form in reach.first] + [form - place for form in reach.last]
    return PlacesRead(tuple(map(at_least_zero, sides)))


@dataclass(frozen=True)
class ReadContext:
    """What holds where something is read: rows; and of some variables the places that they take."""

    rows: Domain
    among: Mapping[str, PlacesRead]
    sizes: Collection[str]
    known: Domain

    def through(self, first: Affine, last: Affine) -> PlacesRead | None:
        """The places from one form over an index array to another one with the same elements of it.

        None if there are none. Raises EliminationLimit.
        """
        inner = _variables([first]) - {*self.sizes}
        place = Affine.var(PLACE)
        if first == last:
            rows = (*self.rows, equals_zero(place - first))
        else:
            rows = (*self.rows, at_least_zero(place - first), at_least_zero(last - place))
        among = [(Affine.var(name), self.among[name]) for name in sorted(inner & self.among.keys())]
        return self._kept(rows, inner, among)

    def of_variable(self, name: str) -> PlacesRead | None:
        """The places that a variable takes where index arrays tell which; None where they do not.

        Raises EliminationLimit.
        """
        rows = [row.substitute({name: Affine.var(PLACE)}) for row in self.rows]
        own = self._elements_at_place(rows)
        if not own:
            return None
        inner = _variables([Affine.atom(lookup) for lookup in own]) - {*self.sizes, PLACE}
        equal = self._equal_elements(own, rows)
        if len(equal) > 1:  # One variable tells all of them.
            inner |= _variables(form for _, form in equal) - {*self.sizes, PLACE}
        among = [(Affine.var(name), self.among[name]) for name in sorted(inner & self.among.keys())]
        if len(equal) == 1:
            (element, other), *_ = equal
            found = self.through(other, other)
            if found is None:
                return None
            among.append((element, found))
        for other in self.among.keys() - inner - {name}:
            for row in rows:
                form = row.form.solved(other) if row.equality else None
                if form is not None and form.has_lookups and form.variables <= {PLACE, *inner, *self.sizes}:
                    among.append((form, self.among[other]))
                    break
        found = self._kept(rows, inner, among)
        return found if found is not None and found.is_through else None

    @staticmethod
    def _elements_at_place(rows: Sequence[Constraint]) -> list[Lookup]:
        """The elements that tell a place: those at it, or from one of which up to another one it goes."""
        lookups = [lookup for row in rows for lookup in row.form.lookups()]
        own = [lookup for lookup in lookups if PLACE in lookup.variables]
        subscripts = [(d, form) for lookup in own for d, form in enumerate(lookup.at)]
        if any(PLACE in form.variables and (d or form.variable != PLACE) for d, form in subscripts):
            return []  # A row of an index array is read whole.
        forms = [form for row in rows for form in row.inequalities if form.coefficient(PLACE)]
        bounds = [(form, atom) for form in forms for atom, _ in form.terms if isinstance(atom, Lookup)]
        is_between = {form.coefficient(PLACE) > 0 for form, _ in bounds} == {True, False}
        return own or ([atom for _, atom in bounds] if is_between else [])

    @staticmethod
    def _equal_elements(own: Sequence[Lookup], rows: Sequence[Constraint]) -> list[tuple[Affine, Affine]]:
        """Elements at the place that have to be forms over other elements, each with the form."""
        found: list[tuple[Affine, Affine]] = []
        for row in rows:
            for lookup in own:
                form = row.form.solved(lookup) if row.equality else None
                if form is not None and form.has_lookups and PLACE not in form.variables:
                    found.append((Affine.atom(lookup), form))
        return list(dict.fromkeys(found))

    def _kept(
        self, rows: Sequence[Constraint], inner: Collection[str], among: Sequence[tuple[Affine, PlacesRead]]
    ) -> PlacesRead | None:
        left = shadow(rows, {PLACE, *inner, *self.sizes}, self.known)
        if NEVER in left:
            return None
        # Sizes at which nothing is read make no difference.
        return _canonical([row for row in left if row.form.variables - {*self.sizes}], inner, among)


def _variables(forms: Iterable[Affine]) -> set[str]:
    """The variables in subscripts of elements of index arrays."""
    lookups = (lookup for form in forms for lookup in form.lookups())
    return {name for lookup in lookups for at in lookup.at for name in at.variables}


def _canonical(
    rows: Sequence[Constraint], inner: Collection[str], among: Sequence[tuple[Affine, PlacesRead]]
) -> PlacesRead:
    """The same set whatever the variables were called."""
    order = dict.fromkeys(name for row in rows for name in _in_order(row.form) if name in inner)
    order |= dict.fromkeys(name for form, _ in among for name in _in_order(form) if name in inner)
    names = {name: f"{_INNER}{n}" for n, name in enumerate(order)}
    mapping = {old: Affine.var(new) for old, new in names.items()}
    renamed = sorted({row.substitute(mapping) for row in rows}, key=str)
    return PlacesRead(
        tuple(renamed),
        tuple(names.values()),
        tuple(dict.fromkeys((form.substitute(mapping), places) for form, places in among)),
    )


def _in_order(form: Affine) -> Iterator[str]:
    for atom, _ in form.terms:
        if isinstance(atom, str):
            yield atom
        else:
            for part in atom.parts:
                yield from _in_order(part)
