"""Short sums in the steps of a recurrence, in the order in which their terms are known.

    y[t] = v[t] - sum{k}_1^2 (a[k] * y[t - k])    is    ((v[t] - a[2] * y[t - 2]) - a[1] * y[t - 1])

where a product is rounded once with its addition. The sum begins with what is added to it, and adds last what
the step before has made: that alone waits for a step to end. `docs/exactness.md` says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from tadc.lattice.affine import Affine
from tadc.lattice.late_dataclasses import dataclass, replace
from tadc.passes.maps.blocks import Renaming, uses, with_blocks
from tadc.passes.maps.map import Applied, Block, Choice, Constant, Fold, Let, Map, Value, blocks_of, factors
from tadc.passes.terms.costs import WRITTEN_OUT


def with_late_terms(item: Map) -> Map:
    """A recurrence whose short sums over its own elements begin with what is added to them."""
    if item.order is None:
        return item
    steps = _OwnSums(item.name, item.order, item.indices)
    body = steps.block(item.body)
    return item if body == item.body else replace(item, body=body)


@dataclass(frozen=True)
class _OwnSums:
    """The steps of the recurrence of a tensor."""

    tensor: str
    order: Affine
    indices: tuple[str, ...]

    def block(self, block: Block) -> Block:
        """A block, after those in it."""
        lets, used = dict[str, Let](), Counter(uses(block))
        for let in block.lets:
            if inner := [self.block(each) for each in blocks_of(let.value)]:
                let = replace(let, value=with_blocks(let.value, inner))
            made = self.joined(let, lets, used) or let
            if isinstance(made.value, Fold):
                made = replace(made, value=self.in_order(made.value))
            lets[made.names[0]] = made
        return Block(tuple(lets.values()), block.gives)

    def joined(self, let: Let, lets: dict[str, Let], used: Counter[str]) -> Let | None:
        """A sum that goes on from what is added to it; None for another value."""
        value = let.value
        if not isinstance(value, Applied) or value.function not in ("add", "sub"):
            return None
        is_less = value.function == "sub"
        for name, other in zip(value.operands, reversed(value.operands), strict=True):
            found = lets.get(name)
            if found is None or used[name] > 1 or (is_less and name == value.operands[0]):
                continue
            made = self.going_on(found.value, other, is_less)
            if made is not None and made.type == value.type and not self.waits(other, lets):
                del lets[name]
                return Let(let.names, made, let.place)
        return None

    def going_on(self, value: Value, start: str, is_less: bool) -> Fold | Choice | None:
        """A short sum, or its negative, that goes on from a value, where it is computed at all; None for
        another value."""
        match value:
            case Fold(first=()) if self.is_short(value):
                return replace(_negated(value) if is_less else value, first=(start,))
            case Choice(then=Block(lets=lets, gives=(then,)), otherwise=Block(gives=(none,)) as otherwise):
                zero = next((let.value for let in otherwise.lets if let.names == (none,)), None)
                if lets and lets[-1].names == (then,) and isinstance(zero, Constant) and zero.value == 0:
                    made = self.going_on(lets[-1].value, start, is_less)
                    if made is not None:
                        going = Block((*lets[:-1], replace(lets[-1], value=made)), (then,))
                        return replace(value, then=going, otherwise=Block((), (start,)))
            case _:
                pass
        return None

    def waits(self, name: str, lets: dict[str, Let]) -> bool:
        """Whether a value of a block reads the recurrence."""
        let = lets.get(name)
        if let is None:
            return False
        inner = Block((let,), ())
        return any(load.tensor == self.tensor for load in inner.loads()) or any(
            self.waits(each, lets) for each in uses(inner)
        )

    def is_short(self, fold: Fold) -> bool:
        """Whether a sum has few terms, and reads the recurrence."""
        return self.last_of(fold) is not None and bool(self.back(fold))

    def back(self, fold: Fold) -> Collection[int]:
        """By how many steps more each read of the recurrence is back at the next value of the index."""
        own = [load for load in fold.body.loads() if load.tensor == self.tensor]
        forms = [self.order.substitute(dict(zip(self.indices, load.at, strict=True))) for load in own]
        return [-form.coefficient(fold.indices[0]) for form in forms]

    def last_of(self, fold: Fold) -> int | None:
        """The first and the last value of the index of a sum over few, added; None for another fold."""
        if fold.kind != "sum" or len(fold.indices) != 1 or len(fold.body.gives) != 1 or fold.loop != "seq":
            return None
        (index,) = fold.indices
        own = [
            row.form
            for row in fold.rows
            if row.form.variables == frozenset(fold.indices) and not row.equality
        ]
        low = [-f.constant for f in own if f == Affine.var(index) + f.constant]
        high = [f.constant for f in own if f == f.constant - Affine.var(index)]
        if not low or not high or min(high) - max(low) >= WRITTEN_OUT:
            return None
        return max(low) + min(high)

    def in_order(self, fold: Fold) -> Fold:
        """A short sum from the step that is furthest back on."""
        ends, back = self.last_of(fold), self.back(fold)
        if ends is None or not back or min(back) <= 0:
            return fold
        turned = Renaming(forms={fold.indices[0]: ends - Affine.var(fold.indices[0])})
        return replace(fold, rows=turned.rows(fold.rows), body=turned.block(fold.body))


def _negated(fold: Fold) -> Fold:
    """The sum of the negatives of the terms; of a product one factor is negated."""
    (given,), lets = fold.body.gives, {let.names[0]: let for let in fold.body.lets}
    made = lets.get(given)
    of = factors(made.value) if made is not None else None
    if made is None or of is None:
        last = Let((f"{given}_less",), Applied("neg", (given,), fold.type))
        return replace(fold, body=Block((*fold.body.lets, last), last.names))
    less = Let((f"{of[0]}_less",), Applied("neg", (of[0],), fold.type))
    product = Let((f"{given}_less",), Applied("mul", (less.names[0], of[1]), fold.type))
    return replace(fold, body=Block((*fold.body.lets, less, product), product.names))
