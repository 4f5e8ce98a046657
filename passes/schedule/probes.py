"""How many operations a map of known sizes takes, from random descents into its reductions.

A descent picks one element of the map, and in each reduction on its way one index after the other, from the
bounds that the indices before leave. The number of choices, multiplied, times the operations met is an
unbiased estimate of all operations (D. E. Knuth, Estimating the efficiency of backtrack programs, 1975).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from random import Random

from tadc.lattice.affine import ZERO, Affine, Lookup
from tadc.passes.maps.keyed_sums import KeyedSum, keyed_map
from tadc.passes.maps.map import Block, Choice, Fold, Map, Tensor
from tadc.passes.schedule.fibre_steps import steps_between
from tadc.passes.schedule.work_counts import Sides, sides, weight_of
from tadc.passes.terms.costs import ACCESS, LARGE

DESCENTS = 32

#: The value of each index.
Point = dict[str, int]
#: The operations that a point takes.
Cost = Callable[[Point], int]


def probed_operations(item: Map, tensors: Mapping[str, Tensor]) -> int:
    """About how many operations a map that reads some tensors takes, in the weights of `costs`; the same
    number at each call. Elements of index arrays may be anything: a guard on one holds in half of all cases.

    Nothing in it may depend on a size whose value is not known.
    """
    if (found := keyed_map(item)) is not None and not found.around:
        return _keyed_operations(item, found, tensors)
    random = Random(0)
    sizes = [size.constant for size in item.extents]
    count = _Descent(random, tensors).block(item.body)
    elements = math.prod(sizes)
    if not elements:
        return 0
    total = 0
    for _ in range(DESCENTS):
        point = {name: random.randrange(size) for name, size in zip(item.indices, sizes, strict=True)}
        total += count(point) + ACCESS
    return elements * total // DESCENTS


def _keyed_operations(item: Map, found: KeyedSum, tensors: Mapping[str, Tensor]) -> int:
    """Those of a map that adds each summand once, where it belongs: over all groups the first loop of the sum
    passes all entries once."""
    summands = 1
    for number, (name, rows) in enumerate(found.loops):
        forms = [form for row in rows for form in row.inequalities]
        if number:
            summands *= steps_between(name, forms, tensors) or 1
            continue
        arrays = (tensors[a.array] for form in forms for a, _ in form.terms if isinstance(a, Lookup))
        entries = (array.below.constant - 1 for array in arrays if array.below is not None)
        summands *= min(entries, default=1)
    each = sum(weight_of(let.value) for let in found.block.all_lets())
    passes = 3 if found.has_room else 1
    return summands * (each + 2 * ACCESS) + passes * item.extents[0].constant * ACCESS


class _Descent:
    """Makes of values the functions that count their operations along a path."""

    def __init__(self, random: Random, tensors: Mapping[str, Tensor]) -> None:
        self.random, self.tensors = random, tensors

    def block(self, block: Block) -> Cost:
        """The operations of a block."""
        fixed = 0
        steps: list[Cost] = []
        for let in block.lets:
            match let.value:
                case Fold() as fold:
                    steps.append(self.fold(fold, len(let.names)))
                case Choice() as choice:
                    steps.append(self.choice(choice))
                case value:
                    fixed += weight_of(value)
        return lambda point: fixed + sum(step(point) for step in steps)

    def choice(self, choice: Choice) -> Cost:
        """The test and the branch taken."""
        then, otherwise = self.block(choice.then), self.block(choice.otherwise)

        known = [row for row in choice.rows if not row.form.has_lookups]
        is_open = len(known) < len(choice.rows)

        def count(point: Point) -> int:
            holds = all(row.holds(point) for row in known)
            if is_open:
                holds = holds and self.random.random() < 0.5
            return 1 + (then if holds else otherwise)(point)

        return count

    def fold(self, fold: Fold, results: int) -> Cost:
        """One path into a reduction, times the number of paths like it."""
        forms = [form for row in fold.rows for form in row.inequalities]
        known = [form for form in forms if not form.has_lookups]
        between = {name: steps_between(name, forms, self.tensors) for name in fold.indices}
        order, body = _order(fold.indices, known, between), self.block(fold.body)

        def count(point: Point) -> int:
            paths = 1
            for name, lower, upper in order:
                low = max(-(form.evaluate(point) // k) for k, form in lower)
                high = min(form.evaluate(point) // k for k, form in upper)
                if high < low:
                    return 0
                point[name] = self.random.randint(low, high)
                paths *= high - low + 1
            return paths * (results + body(point))

        return count


#: An index and its bounds below and above.
_Bounded = tuple[str, list[tuple[int, Affine]], list[tuple[int, Affine]]]

#: For an index without bounds, which cannot be lowered.
_UNKNOWN: Sides = [(1, ZERO)], [(1, Affine.const(LARGE))]


def _order(
    names: Sequence[str], forms: Sequence[Affine], between: Mapping[str, int | None]
) -> list[_Bounded]:
    """Indices in an order in which each has bounds by those before it; some have a number of values."""
    waiting, result = list(names), list[_Bounded]()
    while waiting:
        bounded = [(name, *sides(name, forms, set(waiting) - {name})) for name in waiting]
        found = next((b for b in bounded if b[1] and b[2]), (waiting[0], *_UNKNOWN))
        steps = between[found[0]]
        if steps is not None:
            found = (found[0], [(1, ZERO)], [(1, Affine.const(steps - 1))])
        result.append(found)
        waiting.remove(found[0])
    return result
