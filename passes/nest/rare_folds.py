"""Reductions that one side of a choice by value alone uses, left out where no point of a tile takes it.

    %3 = choose(%1, %2, logsumexp r { … })    becomes    %3 = choose(%1, %2, logsumexp r when %4 { … })

with the opposite of %1 as %4: a branch, where any point of a tile needs the reduction, computes it for all.
Only those with functions in them are worth one.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from tadc.dialect.scalar_ops import PREDICATES, opposite
from tadc.frontend.functions import APPLIED, REDUCTIONS, TRANSCENDENTAL
from tadc.passes.maps.blocks import uses, with_blocks
from tadc.passes.maps.map import Applied, Block, Fold, Let, Map, Value, blocks_of


def with_rare_folds(item: Map) -> Map:
    """The map whose choices by value leave out the reductions that they do not take."""
    body = _block(item.body, Counter(uses(item.body)))
    return item if body == item.body else replace(item, body=body)


def _block(block: Block, used: Counter[str]) -> Block:
    """A block; `used` counts the uses of names everywhere."""
    made = dict[str, Let]()
    for let in block.lets:
        blocks = [_block(inner, used) for inner in blocks_of(let.value)]
        let = replace(let, value=with_blocks(let.value, blocks)) if blocks else let
        if isinstance(let.value, Applied) and let.value.function == "choose":
            condition, *sides = let.value.operands
            for name, holds in zip(sides, (True, False), strict=True):
                fold, relation = made.get(name), made.get(condition)
                if fold is None or relation is None or used[name] > 1 or not _is_long(fold.value):
                    continue
                if (when := relation if holds else _opposite(relation, name)) is not None:
                    del made[name]
                    made[when.names[0]] = when
                    made[name] = replace(fold, value=replace(fold.value, when=when.names[0]))
        made[let.names[0] if let.names else f"{len(made)}"] = let
    return Block(tuple(made.values()), block.gives)


def _is_long(value: Value) -> bool:
    """Whether a value is a plain reduction with functions in it."""
    if not isinstance(value, Fold) or len(value.body.gives) > 1 or value.when:
        return False
    applied = (let.value for let in value.body.all_lets() if isinstance(let.value, Applied))
    costs = [APPLIED[each.function].cost for each in applied if each.function in APPLIED]
    return not REDUCTIONS[value.kind].in_loops or max(costs, default=0) >= TRANSCENDENTAL


def _opposite(relation: Let, name: str) -> Let | None:
    """What holds where a relation does not, named after what needs it; None where that is not known."""
    if not isinstance(relation.value, Applied) or relation.value.function not in PREDICATES:
        return None
    wanted = replace(relation.value, function=opposite(relation.value.function))
    return Let((f"{name}_wanted",), wanted, relation.place)
