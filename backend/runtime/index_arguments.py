"""The index arrays of a call: their elements checked, and what kernels take besides made of them.

TAD0506  too little memory for what is made of them
TAD0511  an element that is no index, or less than the one before where they increase
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tadc.backend.runtime.call_messages import declared
from tadc.backend.runtime.cut_kernels import LONG
from tadc.backend.runtime.free_memory import format_bytes, free_for
from tadc.backend.runtime.host_arrays import Array
from tadc.backend.runtime.inspector import (
    INDEX,
    INDEX_LIMIT,
    joint_starts,
    owners,
    parts,
    ranks,
    rests,
    sorted_places,
    spread,
    subscripts,
    taken,
    wholes,
)
from tadc.backend.runtime.kept_indices import KeptIndexArray, Relation
from tadc.backend.runtime.known_arrays import index_array_of, known
from tadc.backend.runtime.parameters import Parameter
from tadc.frontend.diagnostics import ArgumentError, Diagnostic
from tadc.frontend.extents import as_form, extent_text
from tadc.lattice.affine import Affine, Floor

if TYPE_CHECKING:
    from tadc.frontend.program import Inspected

#: Below this many bytes memory is not asked for.
_SMALL = 1 << 24


Looked: TypeAlias = tuple[Sequence[KeptIndexArray], list[Array], bool]
"""The index arrays of a call as kernels take them, what is made of them, and whether a range has so many
elements that a kernel which cuts ranges is for the call."""


class IndexArguments:
    """The index arrays that a kernel takes in calls with certain sizes, and those that are made of them."""

    def __init__(
        self, inputs: Sequence[Parameter], made: Sequence[Parameter], sizes: Mapping[str, int]
    ) -> None:
        """`inputs` is what a call passes; extents may be forms of the sizes."""
        self.places = tuple(n for n, p in enumerate(inputs) if p.below is not None)
        self._given = tuple(inputs[n] for n in self.places)
        self._made = tuple(p.at(sizes) for p in made)
        bounded = (*self._given, *made)
        self._below = {p.name: as_form(p.below).evaluate(sizes) for p in bounded if p.below is not None}
        #: What may have long ranges, and what says where these end if they do not where the next begins.
        self._long = tuple(ranges([p for p in bounded if self._below[p.name] > LONG], made))

    def complete(self, inputs: Sequence[Any]) -> list[Array]:
        """What a kernel reads: the inputs with index arrays as it takes them, then what is made of them.

        Raises ArgumentError (TAD0511 and TAD0506), all that is wrong.
        """
        given, made, _ = self.anew(inputs)
        return self.placed(inputs, given, made)

    def anew(self, inputs: Sequence[Any]) -> Looked:
        """What there is in a call, all of it looked at. Raises ArgumentError as `complete`."""
        found = self.found(inputs)
        first, *others = given = [found[p.name] for p in self._given]
        arrays = [found[p.name].array for p in self._made]
        is_long = any(found[name].is_long(LONG, found[ends] if ends else None) for name, ends in self._long)
        first.keep_call(self, (others, arrays, is_long))
        return given, arrays, is_long

    def placed(
        self, inputs: Sequence[Any], given: Sequence[KeptIndexArray], made: list[Array]
    ) -> list[Array]:
        """What a kernel reads, where this is what there is in a call."""
        arrays = list(inputs)
        for n, index_array in zip(self.places, given, strict=True):
            arrays[n] = index_array.array
        return arrays + made

    def related(self, inputs: Sequence[Any], given: Sequence[KeptIndexArray]) -> list[Any]:
        """The inputs for another kernel, which looks at no index array again."""
        relations = list(inputs)
        for n, p, known_array in zip(self.places, self._given, given, strict=True):
            relations[n] = Relation.of(known_array, self._below[p.name])
        return relations

    def found(self, inputs: Sequence[Any]) -> dict[str, KeptIndexArray]:
        """The index arrays of a call and those that are made of them, by name, in the order of arguments.

        Raises ArgumentError, all that is wrong.
        """
        found = {p.name: index_array_of(inputs[n]) for n, p in zip(self.places, self._given, strict=True)}
        problems = [
            problem
            for n, p in zip(self.places, self._given, strict=True)
            if (problem := self._problem(p, inputs[n], found[p.name])) is not None
        ]
        if problems:
            raise ArgumentError(problems)
        for parameter in self._made:
            assert parameter.inspected is not None
            of = [found[name] for name in parameter.inspected.of]
            below = [self._below[name] for name in parameter.inspected.of]
            found[parameter.name] = Inspection(parameter, tuple(of), tuple(below)).made()
        return found

    def again(self, inputs: Sequence[Any]) -> Looked | None:
        """What there is in a call whose index arrays were seen before and stay as they are; else None."""
        found = [known(inputs[n]) for n in self.places]
        first, *others = found
        if first is None:
            return None
        seen = first.calls.get(self)
        return (found, seen[1], seen[2]) if seen is not None and seen[0] == others else None

    def _problem(
        self, parameter: Parameter, value: Relation | Array, found: KeptIndexArray
    ) -> Diagnostic | None:
        """What is wrong with the elements of an index array."""
        given = found.array if isinstance(value, Relation) else value
        if given.size >= INDEX_LIMIT:
            message = f"`{parameter.name}` has {given.size} elements, which must be fewer than 2**31"
            return Diagnostic("TAD0511", message, notes=[declared(parameter)])
        below = self._below[parameter.name]
        if given.size and found.largest >= min(below, INDEX_LIMIT):
            return out_of_range(parameter, given, below)
        if parameter.increasing and found.falls:
            return _falling(parameter, given)
        return None


def ranges(long: Sequence[Parameter], made: Sequence[Parameter]) -> Iterator[tuple[str, str | None]]:
    """Arrays between whose neighbours there may be a long range, and pairs of arrays between which there may.

    Ranges of blocks of values are as long as asked.
    """
    blocks = {p.name for p in made if p.inspected and _is_of_blocks(p.inspected)}
    ends = {p.inspected.of: p.name for p in made if p.inspected and p.inspected.kind == "until"}
    for p in long:
        about = p.inspected
        if about is not None and about.kind == "before":
            yield p.name, ends.get(about.of)
        elif p.increasing or (about is not None and about.kind == "ptr"):
            if about is None or blocks.isdisjoint(about.of):
                yield p.name, None


def _is_of_blocks(about: Inspected) -> bool:
    """Whether values are numbers of blocks, `src[e] // 1024`."""
    terms = about.form.terms if about.form is not None else ()
    return len(terms) == 1 and isinstance(terms[0][0], Floor)


@dataclass(frozen=True)
class Inspection:
    """A static parameter that is made of some index arrays, whose elements are below some bounds."""

    parameter: Parameter
    of: tuple[KeptIndexArray, ...]
    below: tuple[int, ...]

    def made(self) -> KeptIndexArray:
        """The index array: that of the first of these is kept, and so is it with that."""
        about = self.about
        key = about.kind, about.axis, about.form, self.parameter.shape, self._key
        found = self.of[0].made.get(key)
        if found is None:
            self._ask_for(prod(self._shape))
            array = getattr(self, f"_{about.kind}")()
            assert array.shape == self.parameter.shape, (array.shape, self.parameter.shape)
            below = self.parameter.below
            assert isinstance(below, int)
            found = self.of[0].keep_with(self.of[1:], key, KeptIndexArray(array, largest=below - 1))
        return found

    @property
    def about(self) -> Inspected:
        """What is asked for."""
        assert self.parameter.inspected is not None
        return self.parameter.inspected

    @property
    def _key(self) -> Hashable:
        return self.below, self.of[1:]

    @property
    def arrays(self) -> list[Array]:
        """The elements, of each array in the order of places."""
        return [index_array.array.reshape(-1) for index_array in self.of]

    def _sorted(self, skipped: int = 0) -> tuple[Array, Array]:
        """Where values start, and the places in their order; some of the arrays do not count."""
        first = self.of[skipped]
        key = "sorted", self.below[skipped:], self.of[skipped + 1 :]
        found = first.made.get(key)
        if found is None:
            made = sorted_places(self.arrays[skipped:], self.below[skipped:])
            found = first.keep_with(self.of[skipped + 1 :], key, made)
        return found

    def _ptr(self) -> Array:
        return self._sorted()[0] if len(self.of) == 1 else joint_starts(self.arrays, self.below)

    def _perm(self) -> Array:
        return subscripts(self._sorted()[1], self.of[0].array.shape, self.about.axis)

    def _taken(self) -> Array:
        return taken(self.arrays[0], self._sorted(skipped=1)[1])

    def _values(self) -> Array:
        assert self.about.form is not None
        shape = self._shape
        places = {f"#{n}": place for n, place in enumerate(np.ogrid[tuple(map(slice, shape))])}
        arrays = {name: index_array.array for name, index_array in zip(self.about.of, self.of, strict=True)}
        values = np.broadcast_to(values_of(self.about.form, places, arrays), shape)
        return np.ascontiguousarray(values, INDEX)

    def _owner(self) -> Array:
        found = owners(self.arrays[0], self.below[0] - 1)
        return subscripts(found, self.of[0].array.shape, self.about.axis)

    def _whole(self) -> Array:
        begins, *ends = self.arrays
        most = (self.below[-1] - 1) // self._length
        return wholes(begins, ends[0] if ends else None, self._length, most).reshape(self._shape)

    def _rest(self) -> Array:
        begins, whole = self.arrays
        return rests(begins, whole, self._length).reshape(self._shape)

    def _start(self) -> Array:
        begins, whole = self.arrays
        return parts(begins, whole, self._length, prod(self._shape))

    @property
    def _shape(self) -> list[int]:
        return [size for size in self.parameter.shape if isinstance(size, int)]

    @property
    def _length(self) -> int:
        assert self.about.form is not None
        return self.about.form.constant

    def _before(self) -> Array:
        half = len(self.of) // 2
        found = ranks(
            self.arrays[:half],
            self.arrays[half:],
            self.below[:half],
            after_equal=self.about.kind == "until",
        )
        return found.reshape(self.of[half].array.shape)

    _until = _before

    def _spread(self) -> Array:
        return spread(self.below[0], self.about.axis, self._sorted(skipped=1)[0])

    def _ask_for(self, elements: int) -> None:
        """Raise ArgumentError (TAD0506) where there is too little memory for so many."""
        needed = elements * self.parameter.dtype.itemsize
        free = free_for(needed) if needed > _SMALL else None
        if free is not None:
            names = " and ".join(f"`{name}`" for name in self.about.of)
            message = f"to look at {names} takes {format_bytes(needed)}, {format_bytes(free)} are available"
            raise ArgumentError([Diagnostic("TAD0506", message)])


def values_of(form: Affine, places: Mapping[str, Array], arrays: Mapping[str, Array]) -> Array:
    """The values of a form of places and lookups; a lookup that is out of range counts as 0."""
    total = np.array(form.constant, np.int64)
    for atom, k in form.terms:
        if isinstance(atom, str):
            total = total + places[atom].astype(np.int64) * k
        elif isinstance(atom, Floor):
            total = total + values_of(atom.numerator, places, arrays) // atom.denominator * k
        else:
            array = arrays[atom.array]
            at = [values_of(part, places, arrays) for part in atom.at]
            within = [(0 <= n) & (n < size) for n, size in zip(at, array.shape, strict=True)]
            inside = np.logical_and.reduce(np.broadcast_arrays(*within))
            if array.size:
                # Of a type that the caller chose, too narrow for a multiple, or without a sign.
                found = array[tuple(np.where(inside, n, 0) for n in at)].astype(np.int64)
                total = total + np.where(inside, found, 0) * k
            else:
                total = np.broadcast_to(total, np.broadcast_shapes(total.shape, inside.shape))
    return total


def out_of_range(parameter: Parameter, given: Array, below: int) -> Diagnostic:
    """The error (TAD0511) for the first element that is negative, or not below the bound."""
    wrong = (given < 0) | (given >= min(below, INDEX_LIMIT))
    place = _first(wrong)
    value, bound = int(given[place]), as_form(0 if parameter.below is None else parameter.below)
    text = extent_text(bound if not bound.is_constant else below)
    must = f"below {text}" if bound.is_constant else f"below {text} = {below}"
    if value < 0:
        must = "at least 0"
    elif below > INDEX_LIMIT <= value:
        must = "below 2**31"
    notes = [declared(parameter)]
    others = int(np.count_nonzero(wrong)) - 1
    if others:
        notes.insert(0, f"so {'is' if others == 1 else 'are'} {others} more of its {given.size} elements")
    return Diagnostic("TAD0511", f"{_element(parameter, place)} is {value}, but must be {must}", notes=notes)


def _falling(parameter: Parameter, given: Array) -> Diagnostic:
    place = 1 + int(np.argmax(given[1:] < given[:-1]))
    before, here = _element(parameter, (place - 1,)), _element(parameter, (place,))
    message = f"{here} is {given[place]}, less than {before}, which is {given[place - 1]}"
    return Diagnostic("TAD0511", message, notes=[declared(parameter)])


def _first(wrong: Array) -> tuple[int, ...]:
    return tuple(int(n) for n in np.unravel_index(int(np.argmax(wrong)), wrong.shape))


def _element(parameter: Parameter, place: tuple[int, ...]) -> str:
    return f"`{parameter.name}[{', '.join(map(str, place))}]`" if place else f"`{parameter.name}`"
