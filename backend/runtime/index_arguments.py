"""The index arrays of a call: their elements checked, and what kernels take besides made of them.

TAD0506  too little memory for what is made of them
TAD0511  an element that is no index, or less than the one before where they increase
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tadc.backend.runtime.call_messages import element, said
from tadc.backend.runtime.cut_kernels import LONG
from tadc.backend.runtime.free_memory import format_bytes, free_for
from tadc.backend.runtime.inspector import INDEX, INDEX_LIMIT, Array, inspector_function
from tadc.backend.runtime.inspector_calls import InspectorCalls, Rooms, run
from tadc.backend.runtime.kept_indices import KeptIndexArray, Relation
from tadc.backend.runtime.known_arrays import index_array_of, known
from tadc.backend.runtime.parameters import Parameter
from tadc.frontend.diagnostics import ArgumentError, Diagnostic
from tadc.frontend.extents import as_form, extent_text

if TYPE_CHECKING:
    from tadc.backend.runtime.call_sizes import SizeSymbols
    from tadc.backend.runtime.read_calls import ReadCall

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
        self.inspection = InspectorCalls([p.at(sizes) for p in self._given], [p.at(sizes) for p in made])
        #: What elements are less than.
        self.below = {p.name: p.below for p in self.inspection.given if isinstance(p.below, int)}
        #: What may have long ranges, and what says where these end if they do not where the next begins.
        self._long = self.inspection.ranges(LONG)
        arrays = self.inspection.arrays
        #: With the bytes of what they make.
        self._steps = [(step, sum(arrays[n].bytes for n in step.made)) for step in self.inspection.steps]

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
        arrays = [found[p.name].array for p in self.inspection.made]
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
            relations[n] = Relation.of(known_array, self.below[p.name])
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
        self._make(found)
        return found

    def _make(self, found: dict[str, KeptIndexArray]) -> None:
        """Add what is made of index arrays; what a step has made of the same ones is kept with the first."""
        about, elements = self.inspection.arrays, {name: _flat(kept) for name, kept in found.items()}
        for step, needed in self._steps:
            first, *others = [found[name] for name in step.of]
            key = step.facts, *others
            made = first.made.get(key)
            if made is None:
                _ask_for(needed, step.of)
                arrays = Rooms(about, elements, _room)
                run(step.calls, arrays, inspector_function)
                made = [KeptIndexArray(arrays[n].reshape(about[n].shape), largest=0) for n in step.made]
                first.keep(key, made, others)
            for name, kept in zip(step.made, made, strict=True):
                found[name], elements[name] = kept, _flat(kept)

    def again(self, inputs: Sequence[Any]) -> Looked | None:
        """What there is in a call whose index arrays were seen before and stay as they are; else None."""
        found: list[Any] = [known(inputs[n]) for n in self.places]
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
            return said("many indices", parameter, count=given.size)
        below = self.below[parameter.name]
        if given.size and found.largest >= min(below, INDEX_LIMIT):
            return out_of_range(parameter, given, below)
        if parameter.increasing and found.falls:
            return _falling(parameter, given)
        return None


def _room(shape: Sequence[int]) -> Array:
    return np.empty(prod(shape), INDEX)


def _flat(kept: KeptIndexArray) -> Array:
    """The elements in one dimension, as functions of NumPy have them."""
    return kept.array if kept.array.ndim == 1 else kept.array.reshape(-1)


def _ask_for(needed: int, of: Sequence[str]) -> None:
    """Raise ArgumentError (TAD0506) where there is no memory of so many bytes."""
    free = free_for(needed)
    if free is not None:
        names = " and ".join(f"`{name}`" for name in of)
        sizes = {"needed": format_bytes(needed), "free": format_bytes(free)}
        raise ArgumentError([said("inspection", None, names=names, **sizes)])


def require_indices(symbols: SizeSymbols, call: ReadCall) -> None:
    """Raise ArgumentError (TAD0511) where the elements of an index array of a call are no indices."""
    if any(p.below is not None for p in symbols.inputs):
        arrays = [
            value if p.below is None or isinstance(value, Relation) else np.require(value, None, "C")
            for p, value in zip(symbols.inputs, call.values, strict=True)
        ]
        IndexArguments(symbols.inputs, (), symbols.values(call.shapes, call.sizes)).complete(arrays)


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
    others = int(np.count_nonzero(wrong)) - 1
    more = f"so {'is' if others == 1 else 'are'} {others} more of its {given.size} elements"
    at = element(parameter, place)
    return said("index", parameter, place=at, value=value, must=must, notes=[more] if others else [])


def _falling(parameter: Parameter, given: Array) -> Diagnostic:
    here = 1 + int(np.argmax(given[1:] < given[:-1]))
    place, before = element(parameter, (here,)), element(parameter, (here - 1,))
    return said("falling", parameter, place=place, before=before, value=given[here], other=given[here - 1])


def _first(wrong: Array) -> tuple[int, ...]:
    return tuple(int(n) for n in np.unravel_index(int(np.argmax(wrong)), wrong.shape))
