"""Tensors that are 0 except on thin sets: zeros are stored first, then the elements of each set.

    j[a, i] = if a = i then p[i] else (if a = i - 1 then q[i] else 0)

the Jacobian of a stencil, becomes

    j_0[a, i] = 0
    j_1[a, i] = if a = i - 1 then q[i] else j_0[a, i]
    j[a, i] = if a = i then p[i] else j_1[a, i]

all in the same memory. No element tests a condition: the first map is a fill, the others store only at the
points of their sets.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine
from tadc.lattice.late_dataclasses import dataclass, replace
from tadc.lattice.polyhedron import implied
from tadc.passes.maps.blocks import BlockNames, numbered
from tadc.passes.maps.map import Applied, Block, Choice, Constant, Let, Map, MapFunction, Marks
from tadc.passes.maps.thin_sets import is_on_thin_set, stored_on_set
from tadc.passes.terms.costs import FEW_ELEMENTS, LONGEST
from tadc.passes.where import Filled, Where

LEAST = FEW_ELEMENTS
"""Of fewer elements, vectors under masks take less time than more loops."""

MOST_SETS = LONGEST
"""More sets are so much code that one loop under masks is compiled sooner."""

Makers = Mapping[str, Let]
"""By name, where the values of a block are made."""


def filled(function: MapFunction, where: Where) -> MapFunction:
    """The function, with such tensors filled first: the large ones, or those that are given.

    Raises CompileError for one that is given and is no such tensor.
    """
    names, maps, steps = BlockNames(set(function.tensors())), list[Map](), where.wanted(Filled)
    for item in function.maps:
        step = Filled(item.name)
        is_wanted = _is_large(item) if steps is None else step in steps
        pieces = _pieces(item) if item.marks == Marks() and is_wanted else ()
        is_filled = 0 < len(pieces) <= MOST_SETS
        maps += _in_steps(item, pieces, names) if is_filled else (item,)
        if is_filled:
            where.note(step)
    where.check_made(Filled, function.tensors(), "is not 0 but on thin sets")
    return replace(function, maps=tuple(maps)) if len(maps) > len(function.maps) else function


def set_in_place(item: Map) -> Domain:
    """The set of a map that completes another tensor in place."""
    (choice,) = (let.value for let in item.body.lets if let.names == item.body.gives)
    assert isinstance(choice, Choice)
    return choice.rows


def _is_large(item: Map) -> bool:
    """Whether a map has many elements, as far as numbers tell."""
    extents = [extent.constant for extent in item.extents if extent.is_constant]
    return len(extents) < len(item.extents) or math.prod(extents) >= LEAST


@dataclass(frozen=True)
class _FilledPiece:
    """What is stored on a set, or added to what is there."""

    choice: Choice
    adds: bool = False


def _pieces(item: Map) -> list[_FilledPiece]:
    """The pieces that a map is, in their order; nothing for a map that is more than 0 elsewhere."""
    if item.order is not None or len(item.tensors) > 1:
        return []
    makers = {name: let for let in item.body.lets for name in let.names}
    first, *others = (_choices(name, item, makers) for name in _addends(item.body.gives[0], makers))
    if not first or not all(others) or not all(map(_are_apart, others)):
        return []
    # Where several hold, the first one has its way, and is stored last.
    return [
        *map(_FilledPiece, reversed(first)),
        *(_FilledPiece(choice, adds=True) for each in others for choice in each),
    ]


def _addends(name: str, makers: Makers) -> Iterator[str]:
    """The values that a value is the sum of, in order."""
    value = makers[name].value
    if isinstance(value, Applied) and value.function == "add":
        for operand in value.operands:
            yield from _addends(operand, makers)
    else:
        yield name


def _choices(name: str, item: Map, makers: Makers) -> list[Choice]:
    """The choices on thin sets that a value is: where one does not hold the next does, and last there is 0.

    There are none for another value.
    """
    found: list[Choice] = []
    value = makers[name].value
    while isinstance(value, Choice) and is_on_thin_set(value, item):
        found.append(value)
        (given,) = value.otherwise.gives
        inner = {name: let for let in value.otherwise.lets for name in let.names}
        if inner.keys() - {given}:
            return []
        value = (inner.get(given) or makers[given]).value
    return found if isinstance(value, Constant) and value.value == 0 else []


def _are_apart(choices: Sequence[Choice]) -> bool:
    """Whether no two of them hold at one point."""
    pairs = combinations(choices, 2)
    return all(implied(Affine.const(-1), (*one.rows, *other.rows)) for one, other in pairs)


def _in_steps(item: Map, pieces: Sequence[_FilledPiece], names: BlockNames) -> Iterator[Map]:
    """Zeros, then a map for each piece."""
    (tensor,) = item.tensors
    whole = replace(tensor, name=names.like(tensor.name))
    zero = Let(("%0",), Constant(0, tensor.type), item.place)
    yield replace(item, tensors=(whole,), body=Block((zero,), ("%0",)))
    for number, piece in enumerate(pieces, start=1):
        body = stored_on_set([piece.choice], item, whole.name, adds=piece.adds)
        whole = tensor if number == len(pieces) else replace(tensor, name=names.like(tensor.name))
        marks = replace(item.marks, in_place=True)
        yield numbered(replace(item, tensors=(whole,), body=body, marks=marks))
