"""Maps to which a thin set adds what is known last, after all else and in the same memory.

    d[i, j] = (if i = j then t[i] else 0) + s[i]*e[i, j]

where t is computed late becomes

    d_all[i, j] = s[i]*e[i, j]
    d[i, j] = if i = j then t[i] + d_all[i, j] else d_all[i, j]

and the second is stored at i = j alone, where the first is. The first waits for nothing: it is part of a
chain of a GPU, where it would read from memory again what the chain has in shared memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from tadc.lattice.affine import Affine
from tadc.passes.maps.blocks import Renaming, numbered, uses, without_unused
from tadc.passes.maps.map import Applied, Block, Choice, Constant, Let, Load, Map, MapFunction
from tadc.passes.terms.costs import LARGE, WORTH_CODE

THIN = WORTH_CODE
"""A set is thin that has one of so many elements, or fewer."""


def late_addends(item: Map, function: MapFunction) -> Sequence[tuple[Let, Choice]]:
    """What a map adds on a thin set, where its elements are all that a caller gets, and no map reads them."""
    guards = thin_addends(item)
    is_read = guards and any(item.name in each.read for each in function.maps)
    return () if is_read else guards


def thin_addends(item: Map) -> list[tuple[Let, Choice]]:
    """The guards on one thin set, 0 elsewhere, that a map adds to something else; empty if there are none."""
    if item.order is not None or len(item.tensors) > 1:
        return []
    makers = {name: let for let in item.body.lets for name in let.names}
    counts = Counter(uses(item.body))
    found: list[tuple[Let, Choice]] = []
    others, waiting = 0, list(item.body.gives)
    while waiting:
        let = makers[waiting.pop()]
        value, is_once = let.value, counts[let.names[0]] == 1
        if isinstance(value, Applied) and value.function == "add" and is_once:
            waiting += value.operands
        elif isinstance(value, Choice) and is_once and _is_thin(value, item):
            found.append((let, value))
        else:
            others += 1
    return found if others and len({choice.rows for _, choice in found}) == 1 else []


def _is_thin(choice: Choice, item: Map) -> bool:
    """Whether a choice is 0 but where an equation gives one of the map's indices."""
    (given,) = choice.otherwise.gives
    lets = (*item.body.lets, *choice.otherwise.lets)
    other = next((let.value for let in lets if given in let.names), None)
    return isinstance(other, Constant) and other.value == 0 and is_on_thin_set(choice, item)


def is_on_thin_set(choice: Choice, item: Map) -> bool:
    """Whether a choice has its first value only where equations give some of the map's indices, for few of
    its elements."""
    used = frozenset[str]().union(*(row.form.variables for row in choice.rows))
    return used <= set(item.indices) and _elements_of_one(choice, item) >= THIN


def _elements_of_one(choice: Choice, item: Map) -> int:
    """So many elements a map has about for each of those where equations of a choice hold."""
    left = dict(zip(item.indices, item.extents, strict=True))
    count = 1
    for row in choice.rows:
        inside = frozenset[str]().union(*(atom.variables for atom in row.form.inner_atoms()))
        given = [n for n in left if row.equality and abs(row.form.coefficient(n)) == 1 and n not in inside]
        sizes = {n: left[n].constant if left[n].is_constant else LARGE for n in given}
        if given:
            name = max(given, key=lambda n: sizes[n])
            count *= sizes[name]
            del left[name]
    return count


def split_thin(item: Map, guards: Sequence[tuple[Let, Choice]], name: str) -> tuple[Map, Map]:
    """What a map computes without these guards, a tensor of this name, and what is left for their set."""
    block = item.body
    for guard, _ in guards:
        block = _without(block, guard.names[0])
    tensor = replace(item.tensors[0], name=name)
    whole = replace(item, tensors=(tensor,), body=without_unused(block))
    last = stored_on_set([choice for _, choice in guards], item, name, adds=True)
    return numbered(whole), numbered(replace(item, body=last, marks=replace(item.marks, in_place=True)))


def _without(block: Block, guard: str) -> Block:
    """A block that does not add what a guard gives."""
    lets = [let for let in block.lets if guard not in let.names]
    (total,) = [let for let in lets if isinstance(let.value, Applied) and guard in let.value.operands]
    assert isinstance(total.value, Applied)
    (rest,) = [name for name in total.value.operands if name != guard]
    left = Block(tuple(let for let in lets if let is not total), block.gives)
    return Renaming({total.names[0]: rest}).block(left)


def stored_on_set(choices: Sequence[Choice], item: Map, whole: str, *, adds: bool) -> Block:
    """The sum of what choices have on their set, or if it `adds` of a tensor's own elements and that; these
    elsewhere."""
    type, place = item.tensors[0].type, item.place
    lets = [let for choice in choices for let in choice.then.lets]
    own = Load(whole, tuple(map(Affine.var, item.indices)), type)
    lets += [Let(("%on",), own, place)] if adds else []
    given = [*(["%on"] if adds else []), *(name for choice in choices for name in choice.then.gives)]
    total = given[0]
    for n, name in enumerate(given[1:]):
        lets.append(Let((f"%sum{n}",), Applied("add", (total, name), type), place))
        total = f"%sum{n}"
    otherwise = Block((Let(("%off",), own, place),), ("%off",))
    last = replace(choices[0], then=Block(tuple(lets), (total,)), otherwise=otherwise)
    return without_unused(Block((*item.body.lets, Let(("%last",), last, place)), ("%last",)))
