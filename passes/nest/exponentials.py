"""`log(sum{k} (exp(e)))` as `m + log(sum{k} (exp(e - m)))`: m is the greatest e, 0 where that is not finite.

It neither overflows nor makes a NaN of infinite elements, as `scipy.special.logsumexp`.
"""

from __future__ import annotations

import math
from dataclasses import replace

from tadc.passes.maps.blocks import Renaming, expand_lets, values_of
from tadc.passes.maps.map import Applied, Block, Constant, Fold, Let


def without_exponentials(block: Block) -> Block:
    """A block whose reductions by `logsumexp` are maxima and sums."""

    def rule(let: Let) -> tuple[Let, ...]:
        fold = let.value
        return exponentials(let, fold) if isinstance(fold, Fold) and fold.kind == "logsumexp" else (let,)

    return expand_lets(block, rule)


def exponentials(let: Let, fold: Fold) -> tuple[Let, ...]:
    """A maximum, a sum, and values of these, in the place of a reduction by `logsumexp`."""
    words, type = "most size finite shift total log less exp".split(), fold.type
    named = {word: tuple(f"{name}_{word}" for name in let.names) for word in words}
    far, zero = f"{let.names[0]}_far", f"{let.names[0]}_zero"

    def each(to: str, function: str, *of: str, type: str = type) -> list[Let]:
        """A function of values of these names, or of the same one, for each result."""
        operands = zip(*(named.get(word, (word,) * len(let.names)) for word in of), strict=True)
        return [Let((n,), Applied(function, o, type)) for n, o in zip(named[to], operands, strict=True)]

    again = Renaming({name: f"{name}_again" for name in values_of(fold.body)}).block(fold.body)
    named |= {"again": again.gives, "": let.names}
    inside = Block(
        (*again.lets, *each("less", "sub", "again", "shift"), *each("exp", "exp", "less")), named["exp"]
    )
    made = (
        Let(named["most"], replace(fold, kind="max")),
        Let((far,), Constant(math.inf, type)),
        Let((zero,), Constant(0.0, type)),
        *each("size", "abs", "most"),
        *each("finite", "<", "size", far, type="i1"),
        *each("shift", "choose", "finite", "most", zero),
        Let(named["total"], replace(fold, kind="sum", body=inside)),
        *each("log", "log", "total"),
        *each("", "add", "log", "shift"),
    )
    return tuple(replace(one, place=let.place) for one in made)
