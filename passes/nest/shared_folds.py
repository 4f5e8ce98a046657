"""Which reductions of a nest several threads of a GPU share."""

from __future__ import annotations

from collections.abc import Iterator

from tadc.passes.maps.map import Block, Fold, Takes
from tadc.passes.nest.nest import Body, Compute, For, If


def shared_takes(body: Body) -> Iterator[Takes]:
    """How the reductions that threads share are shared, in the order of the nest."""
    for statement in body:
        match statement:
            case For():
                yield from shared_takes(statement.body)
            case If(then=then, otherwise=otherwise):
                yield from shared_takes((*then, *otherwise))
            case Compute():
                yield from shared_in(statement.block)
            case _:
                pass


def shared_in(block: Block) -> Iterator[Takes]:
    """The same of a block."""
    for let in block.all_lets():
        if isinstance(let.value, Fold) and let.value.takes.threads:
            yield let.value.takes
