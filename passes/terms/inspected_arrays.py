"""The index arrays that an inspector makes of those of a program, for loops over fibres."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeGuard

from tadc.frontend.dtypes import INDEX_TYPE
from tadc.frontend.extents import Extent, as_form, count_of, extent
from tadc.frontend.program import Argument, Inspected, Program
from tadc.frontend.terms import Term, Terms, index_forms, reachable
from tadc.lattice.affine import ZERO, Affine, Floor, Lookup
from tadc.lattice.late_dataclasses import dataclass, field, replace


@dataclass
class Arrays:
    """The index arrays of a program, and those that the inspector makes of them."""

    program: Program
    made: dict[str, Argument] = field(default_factory=dict[str, Argument])
    counts: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        self.given = self.program.index_arrays()

    def __getitem__(self, name: str) -> Argument:
        return self.given.get(name) or self.made[name]

    def in_program(self, program: Program) -> Program:
        """A program with the arrays that it looks up, and the sizes that these need."""
        sizes = tuple(dict.fromkeys((*program.sizes, *self.counts)))
        return replace(program, arguments=self.used_by(program), sizes=sizes)

    def used_by(self, program: Program) -> tuple[Argument, ...]:
        """The arguments of a program, of those that the inspector makes the ones that are looked up, and what
        these are made of."""
        every = (*self.program.arguments, *self.made.values())
        names = {lookup.array for lookup in lookups_of(d.body for d in program.definitions)}
        for argument in reversed(every):
            if argument.name in names and argument.inspected is not None:
                names.update(argument.inspected.of)
        return tuple(a for a in every if a.inspected is None or a.name in names)

    def made_of(self, kind: str, name: str) -> tuple[str, ...]:
        """The arrays that one of a kind of the inspector's is made of; none of another array."""
        about = self[name].inspected
        return about.of if about is not None and about.kind == kind else ()

    def ptr(self, of: Sequence[str]) -> Argument:
        """Where the values of an array begin in `perm`, or the pairs of two."""
        below = [as_form(self.below(name)) for name in of]
        shape = (*below[:-1], below[-1] + 1)
        return self.make("ptr", tuple(of), 0, shape, as_form(self.count(of[0])) + 1, increasing=len(of) == 1)

    def perm(self, of: Sequence[str], axis: int) -> Argument:
        """The subscripts of the elements in the order of their values."""
        below = as_form(self[of[0]].shape[axis])
        return self.make("perm", tuple(of), axis, (as_form(self.count(of[0])),), below)

    def owner(self, of: str, axis: int = 0) -> Argument:
        """Which of the ranges between neighbours in an increasing array a number is in, or one subscript of
        that where the array has several dimensions."""
        argument = self[of]
        count = as_form(self.below(of)) - 1
        return self.make("owner", (of,), axis, (count,), as_form(argument.shape[axis]))

    def ranges_of(self, name: str) -> str | None:
        """The array between whose neighbours the places are that an array says the owners of; None for
        another.
        """
        of = self.made_of("owner", name)
        return of[0] if of and len(self[name].shape) == 1 else None

    def starts(self, of: Sequence[str]) -> Argument:
        """Where the fibres of the values of an array begin, or of the pairs of two, in the order of these."""
        ranges = self.ranges_of(of[0]) if len(of) == 1 else None
        return self.ptr(of) if ranges is None else self[ranges]

    def is_in_order(self, name: str) -> bool:
        """Whether each fibre of an array is one place after the other."""
        return self[name].increasing or self.ranges_of(name) is not None

    def fibres(self, name: str) -> Affine:
        """How many values of an array have a fibre: all but the owner of what is in no range."""
        return as_form(self.below(name)) - (self.ranges_of(name) is not None)

    def between(self, ptr: str, place: Affine) -> Affine:
        """Between which neighbours of an increasing array a place is."""
        of = self.made_of("ptr", ptr)
        if not of:
            return self.owner(ptr).lookup([place])
        (name,), array = of, self[of[0]]
        if array.increasing:
            return array.lookup([place])
        return array.lookup([self.perm((name,), axis).lookup([place]) for axis in range(len(array.shape))])

    def taken(self, array: str, by: str) -> Argument:
        """The elements of an array in the order of another's."""
        argument = self[array]
        shape, below = tuple(map(as_form, argument.shape)), as_form(self.below(array))
        return self.make("taken", (array, by), 0, shape, below, increasing=array == by and len(shape) == 1)

    def sorted_by(self, atom: str | Floor | Lookup, of: str) -> TypeGuard[Lookup]:
        """Whether an element is of an array in the order of another's, as loops over the fibres of that pass
        it: at a place of its `perm`, or `taken` in its order."""
        if not isinstance(atom, Lookup):
            return False
        return self.made_of("perm", atom.array) == (of,) or self.made_of("taken", atom.array)[1:] == (of,)

    def resorted(self, terms: Terms, term: Term, place: str, old: str, new: str) -> Term:
        """A term over places in the order of one array, over those in the order of another."""

        def moved(form: Affine) -> Affine:
            return form.replace(lambda atom: self._resorted(atom, old, new))

        return terms.rewrite_forms(term, frozenset((place,)), moved)

    def _resorted(self, atom: str | Floor | Lookup, old: str, new: str) -> Affine | None:
        """An element in the order of one array in that of another; None for any other."""
        about = self[atom.array].inspected if self.sorted_by(atom, old) else None
        if about is None or not isinstance(atom, Lookup):
            return None
        made = self.perm([new], about.axis) if about.kind == "perm" else self.taken(about.of[0], new)
        return made.lookup(atom.at)

    def is_place(self, name: str, of: str, root: Term) -> bool:
        """Whether an index is nothing in a term but a place in the order of an array."""
        at = (Affine.var(name),)

        def fixed(atom: str | Floor | Lookup) -> Affine | None:
            return ZERO if self.sorted_by(atom, of) and atom.at == at else None

        forms = (form for term in reachable([root]) for form in index_forms(term))
        return all(name not in form.replace(fixed).variables for form in forms)

    def whole(self, ptr: str, length: int) -> Argument:
        """How many parts of a length are in the ranges between neighbours before one, row by row."""
        return self._whole((ptr,), map(as_form, self[ptr].shape), length)

    def whole_of(self, ends: Sequence[str], length: int) -> Argument:
        """How many parts of a length are in the ranges from elements of one array up to those of another, of
        one dimension, before one; of all there are at most as many as of one range of all places."""
        (extent,) = self[ends[0]].shape
        return self._whole(tuple(ends), [as_form(extent) + 1], length)

    def _whole(self, ends: tuple[str, ...], shape: Iterable[Affine], length: int) -> Argument:
        count, shape = (as_form(self.below(ends[-1])) - 1).floordiv(length), tuple(shape)
        increasing = len(shape) == 1
        return self.make("whole", ends, 0, shape, count + 1, increasing=increasing, form=Affine.const(length))

    def rest(self, begin: str, whole: str) -> Argument:
        """Where what is left of these ranges after their parts begins; `begin` says where they do."""
        shape, below = map(as_form, self[whole].shape), as_form(self.below(self._ends(whole)))
        name, length = f"{whole}.rest", self._length(whole)
        return self.make("rest", (begin, whole), 0, shape, below, form=length, name=name)

    def start(self, begin: str, whole: str) -> Argument:
        """Where these parts begin."""
        count, length = as_form(self.below(whole)) - 1, self._length(whole)
        below = as_form(self.below(self._ends(whole))) - length
        name = f"{whole}.start"
        return self.make("start", (begin, whole), 0, (count,), below, form=length, name=name)

    def _ends(self, whole: str) -> str:
        """The array which says where the ranges end whose parts are counted."""
        inspected = self[whole].inspected
        assert inspected is not None
        return inspected.of[-1]

    def _length(self, whole: str) -> Affine:
        inspected = self[whole].inspected
        assert inspected is not None
        assert inspected.form is not None
        return inspected.form

    def values(self, of: Sequence[str], form: Affine, shape: Sequence[Affine], below: Affine) -> Argument:
        """The values of a form of lookups."""
        return self.make("values", tuple(of), 0, shape, below, form=form)

    def range(self, of: Sequence[str], like: Sequence[str]) -> tuple[Argument, Argument]:
        """Where in `perm` of some arrays the elements begin, and end, that are as those of others are."""
        below, shape = as_form(self.count(of[0])) + 1, tuple(map(as_form, self[like[0]].shape))
        self.count(like[0])  # the inspector asks for it
        begin, end = (self.make(kind, (*of, *like), 0, shape, below) for kind in ("before", "until"))
        return begin, end

    def key(self, of: Sequence[str]) -> tuple[Argument, list[Argument]]:
        """A number of each tuple of elements that few others have, and its summands by their values.

        Where few tuples have the same first element, their numbers are near, and so are places in memory.
        """
        first, *others = of
        below = as_form(self.count(first)) + 1
        parts = [self.ptr([first])]
        for n, name in enumerate(others):
            parts.append(self.make("spread", (name, first), n, (as_form(self.below(name)),), below))
        shape = tuple(map(as_form, self[first].shape))
        place = [Affine.var(f"#{n}") for n in range(len(shape))]
        summands = (part.lookup([self[name].lookup(place)]) for part, name in zip(parts, of, strict=True))
        made = (*of, *(part.name for part in parts))
        most, form = (below - 1) * len(of) + 1, sum(summands, ZERO)
        return self.make("values", made, 0, shape, most, form=form, name=".".join((*of, "key"))), parts

    def below(self, name: str) -> Extent:
        """The number that elements are less than."""
        below = self[name].below
        assert below is not None
        return below

    def make(
        self, kind: str, of: tuple[str, ...], axis: int, shape: Iterable[Affine], below: Affine,
        increasing: bool = False, form: Affine | None = None, name: str = "",
    ) -> Argument:  # fmt: skip
        """An array of the inspector's, which has a name of what it is made of where none is given."""
        is_subscript = kind in ("perm", "owner") and len(self[of[0]].shape) > 1
        number = str(axis) if kind == "spread" or is_subscript else ""
        if kind == "values":
            same = (a.inspected for a in self.made.values() if a.inspected and a.inspected.of == of)
            others = [i.form for i in same if i.form is not None]
            number = str(others.index(form) if form is not None and form in others else len(others))
        name = name or ".".join((*of, kind + number))
        if name in self.given:
            return self.given[name]
        if name not in self.made:
            self.made[name] = Argument(
                name,
                INDEX_TYPE,
                tuple(map(extent, shape)),
                below=extent(below),
                increasing=increasing,
                inspected=Inspected(kind, of, axis, form),  # type: ignore[arg-type]
            )
        return self.made[name]

    def count(self, name: str) -> Extent:
        """The number of elements of an array, which is a further size of the program where it has to be."""
        found = count_of(name, self[name].shape)
        if found == Affine.var(f"{name}.count") and f"{name}.count" not in self.counts:
            self.counts.append(f"{name}.count")
        return found


def ends_match(name: str) -> bool:
    """Whether an array says where a range of `Arrays.range` ends, which mostly has one element."""
    return ".until" in name


def lookups_of(roots: Iterable[Term]) -> Iterator[Lookup]:
    """All lookups in the forms at and below terms."""
    for term in reachable(roots):
        for form in index_forms(term):
            yield from form.lookups()
