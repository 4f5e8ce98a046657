"""About how many operations a map takes (`work_counts`), as code where its sizes are not known."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from tadc.dialect.mlir import ir
from tadc.lattice.affine import Affine
from tadc.lattice.amounts import Count, Counted, Product, Sum
from tadc.passes.maps.lower_body import BodyLowering

MOST = 1 << 62
"""A number that an index value holds."""


def counted_value(
    counted: Counted, sizes: Mapping[str, Affine], low: BodyLowering, point: ir.InsertionPoint
) -> ir.Value:
    """The number as an index value; `sizes` are the forms of sizes by name."""
    forms = dict(sizes)
    for name, which, given in counted.names:
        each = [form.substitute(forms) for form in given]
        forms[name] = low.extreme(f"affine.{which}", each, point)

    def made(count: Count) -> ir.Value:
        match count:
            case int():
                return low.constant(low.index_type, min(count, MOST), point)
            case Affine():
                return low.affine([count.substitute(forms)], point)
            case Sum(of=of):
                return joined("arith.addi", of)
            case Product(of=of):
                return joined("arith.muli", of)

    def joined(operation: str, of: tuple[Count, ...]) -> ir.Value:
        return reduce(
            lambda x, y: low.create(operation, [low.index_type], [x, y], point).results[0], map(made, of)
        )

    return made(counted.count)
