"""The program of a block over lists: of what is read through index arrays, the places that the block reads.

A dimension of a tensor that is read so is a list of places, in order, and the sums and intermediates that run
along it run over the list. Index arrays say where in a list what they name stands.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from tadc.apps.blocks.listed_places import ListedFibre, ListedPlaces
from tadc.apps.blocks.places_read import PLACE, PlacesRead, of_reach
from tadc.apps.blocks.reach import Reach
from tadc.toolkit.language import (
    Affine,
    Argument,
    Constraint,
    Definition,
    Domain,
    Floor,
    Guard,
    IndexValue,
    Lookup,
    Names,
    Program,
    Read,
    Reduce,
    Term,
    as_form,
    at_least_zero,
    bottom_up,
    box,
    equals_zero,
    extent,
    implied,
    operands,
    print_program,
    tensors_read,
)
from tadc.toolkit.transforms import used_sizes

ZERO = Affine.const(0)

#: Sets of places of which a list is the union.
Listed = frozenset[PlacesRead]

#: What stands where a number is in no list: any place, the end of the list, or the first place behind it.
Missing = Literal["any", "end", "next"]


@dataclass(frozen=True)
class PlaceNumbers:
    """An index array of a block: where in a list the elements of an index array stand, with something added.

    `of` is an index array of the program, or the number of a list; `into` that of a list, None for the places
    themselves. Elements are multiplied by a factor first. So many places behind, as `span` says, are in the
    list too. Of an index array the elements at the places of the lists `at`, None for all; with `rows`, the
    number of a list, these elements, and the one behind the last of them.
    """

    name: str
    of: str | int
    into: int | None
    added: Affine = ZERO
    missing: Missing = "any"
    factor: int = 1
    span: Affine = ZERO
    at: tuple[int | None, ...] = ()
    rows: int | None = None


@dataclass(frozen=True)
class ListedProgram:
    """The program of a block over lists.

    `dims` has of each dimension of a tensor the number of its list, None where it has none. `lengths` are
    the lengths of lists, sizes of their own or forms of others. `skipped` are sizes that say how many places
    before a run of places are not in a list.
    """

    program: Program
    lists: tuple[Listed, ...]
    lengths: tuple[Affine, ...]
    dims: Mapping[str, tuple[int | None, ...]]
    arguments: tuple[str, ...]
    numbers: tuple[PlaceNumbers, ...]
    skipped: Mapping[str, tuple[int, Reach]]

    @property
    def sizes(self) -> tuple[str, ...]:
        """The sizes of the program."""
        return self.program.sizes

    @property
    def text(self) -> str:
        """The program as one writes it."""
        return print_program(self.program)


def listed(program: Program, known: Domain, own: Collection[str]) -> ListedProgram | None:
    """The program over lists; None where nothing is read through index arrays of which a part is enough."""
    if not program.index_arrays():
        return None
    places = ListedPlaces(program, known, own)
    return _Lister(program, known, own, places).made() if places.read else None


class _Lister:
    """Makes forms that are places of lists of forms that are places of tensors."""

    def __init__(self, program: Program, known: Domain, own: Collection[str], places: ListedPlaces) -> None:
        self.program = program
        self.terms = program.terms
        self.known = known
        self.own = own
        self.places = places
        self.names = Names(program)
        self.arrays = program.index_arrays()
        self.shapes = program.shapes()
        self.lists: dict[Listed, int] = {}
        self.lengths: list[Affine] = []
        #: By what they are but for their names.
        self.numbers: dict[PlaceNumbers, PlaceNumbers] = {}
        self.made_arrays: dict[str, Argument] = {}
        self.skipped: dict[tuple[int, Reach], str] = {}
        #: How many places there are, of which a list has some.
        self.extents: dict[int | str, int | Affine] = {}
        self.dims = {
            tensor.name: tuple(self._list_of(tensor.name, d) for d in range(len(tensor.shape)))
            for tensor in (*program.arguments, *program.definitions)
        }
        self.ranges = {name: self._range(name, frozenset(found)) for name, found in places.ranges.items()}
        #: What indices of definitions that run over lists are called in a program.
        self.spoken: dict[str, Affine] = {}

    def made(self) -> ListedProgram:
        """The program, and what its arguments are."""
        definitions = tuple(self._definition(d) for d in self.program.definitions)
        read = tensors_read(d.body for d in definitions)
        kept = [replace(a, shape=self._shape(a.name)) for a in self.program.arguments if a.name in read]
        numbers = [n for n in self.numbers.values() if n.name in read]
        arguments = (*kept, *(self.made_arrays[n.name] for n in numbers))
        lengths = (form.variable for form in self.lengths)
        lists = (name for name in lengths if name and name not in self.program.sizes)
        sizes = (*self.program.sizes, *lists, *self.skipped.values())
        program = replace(
            self.program, arguments=arguments, definitions=definitions, sizes=sizes, excluded=()
        )
        used = used_sizes(program, arguments)
        program = replace(program, sizes=tuple(name for name in sizes if name in used))
        return ListedProgram(
            program,
            tuple(self.lists),
            tuple(self.lengths),
            self.dims,
            tuple(a.name for a in kept),
            tuple(numbers),
            {name: key for key, name in self.skipped.items()},
        )

    def _list_of(self, tensor: str, dimension: int) -> int | None:
        found = self.places.read.get((tensor, dimension))
        if found is None:
            return None
        number = self._number(frozenset(found), tensor)
        self.extents[number] = self.shapes[tensor][dimension]
        return number

    def _range(self, name: str, places: Listed) -> int:
        """The list that an index runs over."""
        tensor, dimension = self.places.users[name][0]
        number = self._number(places, tensor)
        self.extents.setdefault(number, self.shapes[tensor][dimension])
        return number

    def _number(self, places: Listed, wish: str) -> int:
        if places not in self.lists:
            self.lists[places] = len(self.lists)
            self.lengths.append(Affine.var(self.names.free(f"{wish}_size")))
        return self.lists[places]

    def _run(self, reach: Reach) -> int:
        """The list of a run of places."""
        places = frozenset([of_reach(reach)])
        if places not in self.lists:
            self.lists[places] = len(self.lists)
            self.lengths.append(reach.last[0] - reach.first[0] + 1)
        return self.lists[places]

    def _length(self, number: int) -> Affine:
        return self.lengths[number]

    def _shape(self, tensor: str) -> tuple[int | Affine, ...]:
        shape = zip(self.dims[tensor], self.shapes[tensor], strict=True)
        return tuple(size if number is None else self._length(number) for number, size in shape)

    def _definition(self, definition: Definition) -> Definition:
        own = {
            index: f"?{definition.name}_{index}"
            for index, number in zip(definition.indices, self.dims[definition.name], strict=True)
            if number is not None
        }
        self.spoken |= {name: Affine.var(index) for index, name in own.items()}
        body = self.terms.substitute(definition.body, {i: Affine.var(n) for i, n in own.items()})
        return replace(
            definition, shape=self._shape(definition.name), body=bottom_up(body, {}, self._node, self._below)
        )

    def _below(self, node: Term) -> Sequence[Term]:
        return (self.places.opened(node)[2],) if isinstance(node, Reduce) else operands(node)

    def _node(self, node: Term, below: Sequence[Term]) -> Term:
        match node:
            case Reduce():
                binders, rows, _ = self.places.opened(node)
                ranges = {b: self._length(self.ranges[b]) for b in binders if b in self.ranges}
                kept, same = self._rows(rows)
                made = (*box(ranges, ranges.values()), *kept)
                return self.terms.reduce_like(node, binders, made, self._where(below[0], same))
            case Guard():
                kept, same = self._rows(node.conditions)
                return self.terms.guard(kept, self._where(below[0], same), below[1], node.span)
            case Read():
                return self.terms.reread(node, node.tensor, self._at(node.tensor, node.indices))
            case IndexValue():
                return self.terms.index(self._value(node.form), node.span)
            case _:
                return self.terms.rebuild(node, below)

    def _at(self, tensor: str, forms: Sequence[Affine]) -> tuple[Affine, ...]:
        return tuple(self._place(tensor, d, form) for d, form in enumerate(forms))

    def _place(self, tensor: str, dimension: int, form: Affine) -> Affine:
        """Where in what the block has of a dimension a place stands."""
        into = self.dims[tensor][dimension]
        if into is None:
            return self._value(form)
        name = form.variable
        if name is not None and name in self.ranges:
            own, made = self._own(name), PlaceNumbers("", self.ranges[name], into)
            return own if self.ranges[name] == into else self._looked_up(made, (own,))
        for atom, k in form.terms:
            if isinstance(atom, Lookup):
                first, last = self.places.windows[tensor, dimension, form]
                made = PlaceNumbers("", atom.array, into, first, factor=k, span=last - first)
                return self._element(made, atom) + (form - Affine.atom(atom) * k) - first
        key = into, self.places.starts[tensor, dimension, form]
        if key not in self.skipped:
            self.skipped[key] = self.names.free(f"{tensor}_skipped")
        return self._value(form) - Affine.var(self.skipped[key])

    def _own(self, name: str) -> Affine:
        return self.spoken.get(name, Affine.var(name))

    def _value(self, form: Affine) -> Affine:
        """A form whose value is as before."""
        return form.replace(self._atom)

    def _atom(self, atom: str | Floor | Lookup) -> Affine | None:
        if isinstance(atom, Lookup):
            return self._element(PlaceNumbers("", atom.array, None), atom)
        if isinstance(atom, str) and atom in self.ranges:
            return self._looked_up(PlaceNumbers("", self.ranges[atom], None), (self._own(atom),))
        return None

    def _element(self, wanted: PlaceNumbers, lookup: Lookup) -> Affine:
        """What an index array of the block, for those that read it at the same places, has for an element."""
        array = lookup.array
        several = [self._listed_at(array, d, form) for d, form in enumerate(lookup.at)]
        at = tuple(number for number, _ in several)
        forms = [form for _, form in several]
        if wanted.into is None and at == self.dims[array]:
            return Affine.atom(replace(lookup, at=tuple(forms)))
        return self._looked_up(replace(wanted, at=at), forms)

    def _listed_at(self, array: str, dimension: int, form: Affine) -> tuple[int | None, Affine]:
        """A list of places of an index array, and where in it the place stands that a form says."""
        number, name = self.dims[array][dimension], form.variable or ""
        if number is not None and name in self.ranges:
            return self.ranges[name], self._own(name)
        reach = self.places.starts.get((array, dimension, form))
        if number is not None and reach is not None and len(reach.first) == len(reach.last) == 1:
            return self._run(reach), self._value(form) - reach.first[0]
        return number, self._place(array, dimension, form)

    def _where(self, body: Term, same: Mapping[Affine, Affine]) -> Term:
        """A term where elements of index arrays are the same as forms."""
        return self.terms.with_forms(body, lambda form: form.replace(_in(same))) if same else body

    def _rows(self, rows: Domain) -> tuple[Domain, dict[Affine, Affine]]:
        """Conditions on places as those on lists, and what elements of index arrays are where they hold."""
        same: dict[Affine, Affine] = {}
        found = (self._row(row, same) for row in rows)
        return tuple(row for row in found if row is not None), same

    def _row(self, row: Constraint, same: dict[Affine, Affine]) -> Constraint | None:
        """None for a condition that holds of all places of a list."""
        fibre = self.places.fibres.get(row)
        if fibre is not None and fibre.index in self.ranges:
            return self._in_fibre(row, fibre)
        names = [name for name, _ in row.form.terms if isinstance(name, str) and name in self.ranges]
        lookups = [(atom, k) for atom, k in row.form.terms if isinstance(atom, Lookup)]
        if len(names) == 1 and self._holds(row, names[0]):
            return None
        if len(names) == 1 and len(lookups) == 1:
            found = self._compared(row, names[0], *lookups[0])
            if found is not None:
                return found
        reach = self.places.runs.get(row)
        if reach is not None and not names and self._is_cut(reach, lookups[0][0]):
            return self._in_run(row, reach, lookups[0][0], same)
        return Constraint(self._value(row.form), row.equality)

    def _holds(self, row: Constraint, name: str) -> bool:
        """Whether a condition holds of all places that an index takes."""
        if row.equality:
            return False
        own = {PLACE: Affine.var(name)}
        return all(
            implied(row.form, (*self.known, *(r.substitute(own) for r in places.rows)))
            for places in self.places.ranges[name]
        )

    def _in_fibre(self, row: Constraint, listed: ListedFibre) -> Constraint:
        """That a place is in a fibre, by where the fibre begins, or ends, in what the block has of places."""
        fibre, own, rows = listed.fibre, self._own(listed.index), self.ranges[listed.index]
        if listed.run is None:
            name = fibre.place.variable or ""
            place, into = self._own(name), self.ranges[name]
        else:
            place, into = self._value(fibre.place) - listed.run.first[0], self._run(listed.run)
        made = PlaceNumbers("", fibre.array, into, missing="next", rows=rows)
        if row == fibre.rows[0]:
            return at_least_zero(place - self._looked_up(made, (own,)))
        return at_least_zero(self._looked_up(made, (own + 1,)) - 1 - place)

    def _compared(self, row: Constraint, name: str, lookup: Lookup, k: int) -> Constraint | None:
        """A comparison of a place of a list with an element of an index array."""
        sign = row.form.coefficient(name)
        rest = row.form - Affine.var(name) * sign - Affine.atom(lookup) * k
        if abs(sign) != 1 or k != -sign or not rest.is_constant:
            return None
        own, into = self._own(name), self.ranges[name]
        made = PlaceNumbers("", lookup.array, into, rest * -sign, "next")
        if row.equality:  # The place is the element with something added.
            return equals_zero(self._element(replace(made, missing="end"), lookup) - own)
        if sign > 0:  # At least the element: not before the first place that is.
            return at_least_zero(own - self._element(made, lookup))
        behind = self._element(replace(made, added=rest + 1), lookup)
        return at_least_zero(behind - 1 - own)

    def _is_cut(self, reach: Reach, lookup: Lookup) -> bool:
        """Whether a block has some of an index array, and the numbers in a run that are in it."""
        forms = {name for form in reach.forms for name in form.variables}
        is_run = len(reach.first) == len(reach.last) == 1
        is_cut = any(number is not None for number in self.dims[lookup.array])
        return is_run and is_cut and not forms.isdisjoint(self.own)

    def _in_run(
        self, row: Constraint, reach: Reach, lookup: Lookup, same: dict[Affine, Affine]
    ) -> Constraint:
        """That an element of an index array is a number of a run, by where this stands there."""
        other = row.form.solved(lookup)
        assert other is not None
        made = PlaceNumbers("", lookup.array, self._run(reach), missing="end")
        found = self._element(made, lookup)
        same[self._element(PlaceNumbers("", lookup.array, None), lookup)] = found + reach.first[0]
        return equals_zero(found - other + reach.first[0])

    def _looked_up(self, wanted: PlaceNumbers, at: Sequence[Affine]) -> Affine:
        """An element of an index array of the block that says where in a list something stands."""
        if wanted not in self.numbers:
            made = self.numbers[wanted] = replace(wanted, name=self._name(wanted))
            self.made_arrays[made.name] = self._array(made)
        return self.made_arrays[self.numbers[wanted].name].lookup(at)

    def _name(self, numbers: PlaceNumbers) -> str:
        of, into = numbers.of, numbers.into
        wish = self._spoken(of) if isinstance(of, int) else of
        if into is not None:
            return self.names.free(f"{wish}_in_{self._spoken(into)}")
        lists = (self._spoken(n) for n in numbers.at if n is not None)
        return self.names.free("_".join((wish, "of", *lists)) if numbers.at else f"{wish}_places")

    def _spoken(self, number: int) -> str:
        name = self.lengths[number].variable
        return name.removesuffix("_size") if name else "block"

    def _array(self, numbers: PlaceNumbers) -> Argument:
        below = None
        if numbers.into is not None:
            below = self._length(numbers.into) + (numbers.missing != "any") - numbers.span
        if isinstance(numbers.of, int):
            below = as_form(self.extents[numbers.of]) if below is None else below
            return Argument(numbers.name, "i32", (self._length(numbers.of),), below=below, increasing=True)
        source = self.arrays[numbers.of]
        rises = source.increasing and numbers.missing != "end" and numbers.factor > 0
        sizes = zip(numbers.at, source.shape, strict=numbers.rows is None)
        shape = tuple(size if n is None else extent(self._length(n)) for n, size in sizes)
        if numbers.rows is not None:
            shape = (extent(self._length(numbers.rows) + 1),)
        below = source.below if below is None else below
        return replace(source, name=numbers.name, shape=shape, below=below, increasing=rises)


def _in(same: Mapping[Affine, Affine]) -> Callable[[str | Floor | Lookup], Affine | None]:
    return lambda atom: same.get(Affine.atom(atom)) if isinstance(atom, Lookup) else None
