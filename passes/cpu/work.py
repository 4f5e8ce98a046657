"""About how many operations a map takes (`work_counts`), as code where its sizes are not known."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial, reduce

from tadc.dialect.mlir import ir
from tadc.lattice.affine import Affine
from tadc.lattice.amounts import Count, Counted, Together
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
            case Together(kind=kind, of=of):
                name = "arith.addi" if kind == "sum" else "arith.muli"
                operation = partial(low.create, name, [low.index_type])
                return reduce(lambda x, y: operation([x, y], point).results[0], map(made, of))

    return made(counted.count)
