"""Sums over one set in one loop, where their bodies share something expensive.

    a = sum j in D: e = exp …, e
    b = sum j in D: e = exp …, e * x[j]

become one fold of two values, whose body computes e once for each point of D.

Loops over places of one value of an index array are short, and nothing tells their ends: these are one
whatever they share.

Side conditions: the sums stand in one block, and none needs the result of another.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tadc.lattice.affine import Affine
from tadc.passes.maps.blocks import Renaming, blocks_of, normal, numbered, shared, used_by, with_blocks
from tadc.passes.maps.map import (
    Applied,
    Ask,
    Block,
    Choice,
    Constant,
    Fold,
    IndexNumber,
    Let,
    Load,
    Map,
    Value,
)
from tadc.passes.terms.costs import ACCESS, EXPENSIVE, POWER, SCATTERED, WEIGHTS


def weight_of(value: Value) -> int:
    """The weight of a value that has no blocks, in the unit of `terms/costs.py`."""
    match value:
        case Load():
            return ACCESS
        case Applied(function="powi"):
            return POWER
        case Applied(function=function):
            return WEIGHTS.get(function, 1)
        case IndexNumber():
            return 1
        case Constant() | Ask() | Choice() | Fold():
            return 0


def is_expensive(value: Value) -> bool:
    """Whether a value is a reduction or worth sharing, as what an index array says the place of is."""
    is_far = isinstance(value, Load) and any(form.has_lookups for form in value.at)
    return isinstance(value, Fold) or (SCATTERED if is_far else weight_of(value)) >= EXPENSIVE


def holds_expensive(fold: Fold) -> bool:
    """Whether something expensive is in the body of a reduction."""
    return any(is_expensive(let.value) for let in fold.body.lets)


def sums_of(block: Block) -> Iterator[tuple[Let, Fold]]:
    """The sums that stand in a block, those in its blocks apart."""
    for let in block.lets:
        if isinstance(let.value, Fold) and let.value.kind == "sum":
            yield let, let.value


def simplified(item: Map) -> Map:
    """A map with several sums that computes equal values once, and shares what is expensive in its sums."""
    if item.order is not None or len(list(sums_of(item.body))) < 2:
        return item
    body = merged(shared(item.body))
    return item if body == item.body else numbered(replace(item, body=body))


def merged(block: Block) -> Block:
    """The sums of a block merged, and of its blocks; equal values of the block are shared already."""
    lets = list(block.lets)
    waiting = [let for let, _ in sums_of(block)]
    while waiting:
        first, rest = waiting[0], waiting[1:]
        other = next((let for let in rest if _belong(lets, first, let)), None)
        if other is None:
            waiting = rest
            continue
        made = _both(first, other)
        lets = _arranged(lets, first, other, made)
        waiting = [made, *(let for let in rest if let is not other)]
    for n, let in enumerate(lets):
        if inner := blocks_of(let.value):
            found = [merged(each) for each in inner]
            if any(new is not old for new, old in zip(found, inner, strict=True)):
                lets[n] = Let(let.names, with_blocks(let.value, found), let.place)
    is_same = len(lets) == len(block.lets) and all(x is y for x, y in zip(lets, block.lets, strict=True))
    return block if is_same else Block(tuple(lets), block.gives)


def _fold(let: Let) -> Fold:
    assert isinstance(let.value, Fold)
    return let.value


def _onto(first: Fold, other: Fold) -> Renaming:
    pairs = zip(other.indices, first.indices, strict=True)
    return Renaming(forms={mine: Affine.var(index) for mine, index in pairs})


def _belong(lets: list[Let], first: Let, other: Let) -> bool:
    """Whether two sums of a block are better one."""
    one, two = _fold(first), _fold(other)
    if one.type != two.type or len(one.indices) != len(two.indices):
        return False
    if one.rows != _onto(one, two).rows(two.rows):
        return False
    is_short = any(row.form.has_lookups for row in one.rows)
    return (is_short or share_expensive(one, two)) and first not in _needed(lets, other)


def share_expensive(first: Fold, other: Fold) -> bool:
    """Whether something expensive is in the bodies of both folds, their indices being the same."""
    numbers: dict[Value, str] = {}
    found = [_expensive(fold, renaming, numbers) for fold, renaming in
             ((first, Renaming()), (other, _onto(first, other)))]  # fmt: skip
    return not found[0].isdisjoint(found[1])


def _expensive(fold: Fold, renaming: Renaming, numbers: dict[Value, str]) -> set[str]:
    """What is expensive in the body of a fold, by names that are the same for equal values."""
    known = Renaming(forms=renaming.forms)
    names: dict[str, str] = {}
    known.values = names
    found: set[str] = set()
    for let in fold.body.lets:
        name = numbers.setdefault(normal(let.value, known), f"#{len(numbers)}")
        names.update((own, f"{name}.{n}") for n, own in enumerate(let.names))
        if is_expensive(let.value):
            found.add(name)
    return found


def _needed(lets: list[Let], let: Let) -> list[Let]:
    """The values of a block that one of them needs, directly or not, in order."""
    makers = {name: each for each in lets for name in each.names}
    found: set[str] = set()
    stack = [let]
    while stack:
        for name in used_by(stack.pop().value):
            if name in makers and name not in found:
                found.update(makers[name].names)
                stack.append(makers[name])
    return [each for each in lets if each.names[0] in found]


def _both(first: Let, other: Let) -> Let:
    """One value for both sums."""
    one, two = _fold(first), _fold(other)
    renaming = _onto(one, two)
    second = renaming.block(two.body)
    body = shared(Block((*one.body.lets, *second.lets), (*one.body.gives, *second.gives)))
    fold = Fold("sum", one.indices, one.rows, body, one.type)
    return Let((*first.names, *other.names), fold, first.place)


def _arranged(lets: list[Let], first: Let, other: Let, made: Let) -> list[Let]:
    """The values of a block where one is for two sums, after what the second needs."""
    place = lets.index(first)
    before = lets[:place]
    needed = [let for let in _needed(lets, other) if let not in before]
    rest = [let for let in lets[place + 1 :] if let is not other and let not in needed]
    return [*before, *needed, made, *rest]
