"""How many operations a map of known sizes takes, from random descents into its reductions.

A descent picks one element of the map, and in each reduction on its way one index after the other, from the
bounds that the indices before leave. The number of choices, multiplied, times the operations met is an
unbiased estimate of all operations (D. E. Knuth, Estimating the efficiency of backtrack programs, 1975).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from tadc.dialect.index_maps import parse_map, parse_set
from tadc.lattice.affine import ZERO, Affine
from tadc.passes.maps.tile_values import is_reduction
from tadc.passes.maps.work import FREE, Sides, sides, weight_of
from tadc.passes.terms.costs import ACCESS, LARGE

DESCENTS = 32

#: The value of each index, by the value in the IR.
Point = dict[Any, int]
#: The operations that a point takes.
Count = Callable[[Point], int]


def probed_operations(op: Any, sizes: Sequence[int]) -> int:
    """About how many operations a map takes, in the weights of `costs`; the same number at each call.

    Nothing in it may depend on a size whose value is not known.
    """
    elements, random = 1, Random(0)
    for size in sizes:
        elements *= size
    block = op.regions[0].blocks[0]
    count = _Descent(random).region(block)
    if not elements:
        return 0
    total = 0
    for _ in range(DESCENTS):
        point = {index: random.randrange(size) for index, size in zip(block.arguments, sizes, strict=True)}
        total += count(point) + ACCESS
    return elements * total // DESCENTS


class _Descent:
    """Makes of operations the functions that count them along a path."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def region(self, block: Any) -> Count:
        """The operations of a block."""
        fixed = 0
        steps: list[Count] = []
        for operation in block.operations:
            op = operation.operation
            if op.name == "tad.index":
                steps.append(_index(op))
            elif is_reduction(op):
                steps.append(self.reduction(op))
            elif op.name == "tad.guard":
                steps.append(self.guard(op))
            elif op.name not in FREE:
                fixed += weight_of(op)

        return lambda point: fixed + sum(step(point) for step in steps)

    def guard(self, op: Any) -> Count:
        """The test and the branch taken."""
        rows = parse_set(str(op.attributes["where"])).constraints
        names = [(f"d{i}", v) for i, v in enumerate(op.operands)]
        branches = [self.region(region.blocks[0]) for region in op.regions]

        def count(point: Point) -> int:
            at = {name: point[v] for name, v in names}
            return 1 + branches[0 if all(row.holds(at) for row in rows) else 1](point)

        return count

    def reduction(self, op: Any) -> Count:
        """One path into a reduction, times the number of paths like it."""
        found = parse_set(str(op.attributes["domain"]))
        block = op.regions[0].blocks[0]
        forms = [form for row in found.constraints for form in row.inequalities]
        outer = [(f"s{i}", v) for i, v in enumerate(op.operands)]
        order = _order([f"d{i}" for i in range(found.dims)], forms, {name for name, _ in outer})
        binders = [(f"d{i}", v) for i, v in enumerate(block.arguments)]
        body, results = self.region(block), len(op.results)

        def count(point: Point) -> int:
            at, paths = {name: point[v] for name, v in outer}, 1
            for name, lower, upper in order:
                low = max(-(form.evaluate(at) // k) for k, form in lower)
                high = min(form.evaluate(at) // k for k, form in upper)
                if high < low:
                    return 0
                at[name] = self.random.randint(low, high)
                paths *= high - low + 1
            point.update((v, at[name]) for name, v in binders)
            return paths * (results + body(point))

        return count


def _index(op: Any) -> Count:
    """Notes the value of an index form."""
    form, result = parse_map(str(op.attributes["at"])).forms[0], op.results[0]
    names = [(f"d{i}", v) for i, v in enumerate(op.operands)]

    def count(point: Point) -> int:
        point[result] = form.evaluate({name: point[v] for name, v in names})
        return 0

    return count


#: An index and its bounds below and above.
_Bounded = tuple[str, list[tuple[int, Affine]], list[tuple[int, Affine]]]

#: For an index without bounds, which cannot be lowered.
_UNKNOWN: Sides = [(1, ZERO)], [(1, Affine.const(LARGE))]


def _order(names: Sequence[str], forms: Sequence[Affine], known: set[str]) -> list[_Bounded]:
    """Indices in an order in which each has bounds by those before it."""
    known, waiting, result = set(known), list(names), list[_Bounded]()
    while waiting:
        bounded = [(name, *sides(name, forms, known)) for name in waiting]
        found = next((b for b in bounded if b[1] and b[2]), (waiting[0], *_UNKNOWN))
        result.append(found)
        known.add(found[0])
        waiting.remove(found[0])
    return result
