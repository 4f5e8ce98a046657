"""About how many operations a map takes: what threads are worth it for.

An operation is an addition, a load or a store, in the weights of `costs`. A reduction counts its body
once for each of its elements, where the indices around it are in the middle of their ranges.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from tadc.dialect.index_maps import parse_map, parse_set
from tadc.dialect.mlir import ir
from tadc.dialect.ops import indices_of
from tadc.dialect.scalar_ops import FUNCTION_OF
from tadc.lattice.affine import ZERO, Affine
from tadc.passes.maps.lower_body import BodyLowering
from tadc.passes.maps.tile_values import is_reduction
from tadc.passes.terms.costs import ACCESS, LARGE, WEIGHTS

FREE = ("tad.yield", "tad.yields", "arith.constant")
_POWER = 4

LEAST = 1 << 15
"""A map of fewer operations is not worth a dispatch to threads, as in `backend/pool.ll`."""

#: A number, or an index value.
Count = int | Any


def weight_of(op: Any) -> int:
    """The weight of a read or of arithmetic."""
    if op.name == "tad.read":
        return ACCESS
    if op.name == "math.fpowi":
        return _POWER
    function = (
        ir.StringAttr(op.attributes["fn"]).value if op.name == "tad.apply" else FUNCTION_OF.get(op.name)
    )
    if function is None:
        return 1
    return WEIGHTS[function]


def operations_of(op: Any, sizes: Sequence[Affine], lowering: BodyLowering, point: Any) -> Count:
    """The operations of a map of these sizes: a number if that is known, else an index value.

    Too large a product wraps around: then it is wrong what is worth it, and nothing else.
    """
    work = _Work(lowering, point)
    block = op.regions[0].blocks[0]
    for argument, size in zip(indices_of(op), sizes, strict=True):
        work.middles[argument] = work.middle(ZERO, size - 1)
    each = work.region(block)
    stored = ACCESS * len(op.results)
    return work.product([*(work.number(size) for size in sizes), work.sum([each, stored])])


class _Work:
    """Counts, made at a point; what is known is counted here and now."""

    def __init__(self, lowering: BodyLowering, point: Any) -> None:
        self.lowering, self.point = lowering, point
        self.middles = dict(lowering.forms)

    def region(self, block: Any) -> Count:
        """The operations of a region where all indices are in the middle."""
        return self.sum([self.operation(op.operation) for op in block.operations])

    def operation(self, op: Any) -> Count:
        name = op.name
        if name in FREE:
            return 0
        if name == "tad.index":
            at = {f"d{i}": self.middles[v] for i, v in enumerate(op.operands)}
            self.middles[op.results[0]] = parse_map(str(op.attributes["at"])).forms[0].substitute(at)
            return 0
        if is_reduction(op):
            return self.reduction(op)
        if name == "tad.guard":
            # One of the two is evaluated, but it is not known which.
            return self.sum([1, *(self.region(region.blocks[0]) for region in op.regions)])
        return weight_of(op)

    def reduction(self, op: Any) -> Count:
        """The operations of all elements of a reduction."""
        found = parse_set(str(op.attributes["domain"]))
        block = op.regions[0].blocks[0]
        known = {f"s{i}": self.middles[v] for i, v in enumerate(op.operands)}
        forms = [form for row in found.constraints for form in row.inequalities]
        counts: list[Count] = []
        names = [f"d{i}" for i in range(found.dims)]
        # An index may be bounded by one that comes later.
        for _ in names:
            for name in [name for name in names if name not in known]:
                below, above = sides(name, forms, known)
                if below and above:
                    lower = [-rest.substitute(known).floordiv(k) for k, rest in below]
                    upper = [rest.substitute(known).floordiv(k) for k, rest in above]
                    low, high = self.extreme("affine.max", lower), self.extreme("affine.min", upper)
                    known[name] = self.middle(low, high)
                    counts.append(self.number(high - low + 1))
        middle = Affine.const(LARGE // 2)
        counts += [LARGE] * (len(names) - len(counts))
        self.middles |= {a: known.get(n, middle) for a, n in zip(block.arguments, names, strict=True)}
        return self.product([*counts, self.sum([len(op.results), self.region(block)])])

    # -- numbers and index values --------------------------------------------------------------

    def extreme(self, operation: str, forms: Sequence[Affine]) -> Affine:
        """The least or the greatest of forms."""
        return self.lowering.extreme(operation, forms, self.point)

    def middle(self, low: Affine, high: Affine) -> Affine:
        """What is half way."""
        return (low + high).floordiv(2)

    def number(self, form: Affine) -> Count:
        """The value of a form, 0 if it is less."""
        at_least = self.extreme("affine.max", [ZERO, form])
        return at_least.constant if at_least.is_constant else self.lowering.affine([at_least], self.point)

    def sum(self, counts: Sequence[Count]) -> Count:
        return self.fold("arith.addi", counts, sum(c for c in counts if isinstance(c, int)), 0)

    def product(self, counts: Sequence[Count]) -> Count:
        known = 1
        for count in counts:
            known *= count if isinstance(count, int) else 1
        return self.fold("arith.muli", counts, known, 1) if known else 0

    def fold(self, operation: str, counts: Sequence[Count], known: int, neutral: int) -> Count:
        lowering = self.lowering
        values = [count for count in counts if not isinstance(count, int)]
        if not values:
            return known
        if known != neutral:
            values.append(lowering.constant(lowering.index_type, min(known, 2**62), self.point))
        result = values[0]
        for value in values[1:]:
            made = lowering.create(operation, [lowering.index_type], [result, value], self.point)
            result = made.results[0]
        return result


#: Multiples k of an index and forms: `k * index + form >= 0`, or `form - k * index >= 0`.
Sides = tuple[list[tuple[int, Affine]], list[tuple[int, Affine]]]


def sides(name: str, forms: Sequence[Affine], known: Collection[str]) -> Sides:
    """What bounds an index below, and above, by the forms at least 0 that have no unknown index besides."""
    lower: list[tuple[int, Affine]] = []
    upper: list[tuple[int, Affine]] = []
    for form in forms:
        k = form.coefficient(name)
        rest = form - Affine.var(name) * k
        if k and all(variable in known for variable in rest.variables):
            (lower if k > 0 else upper).append((abs(k), rest))
    return lower, upper
