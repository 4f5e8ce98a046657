"""The memory of tensors that are kept from call to call: globals of a module, which the first call fills.

    if once == 0:
        tad_f.0(%c)
        once = 1

Calls at the same time may all fill them: each writes the same bits, to every element at once (`plan_of`), and
`once` is set after them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tadc.dialect.mlir import ir
from tadc.lattice.late_dataclasses import dataclass, field
from tadc.passes.maps.buffers import buffer_type
from tadc.passes.maps.lower_body import BodyLowering
from tadc.passes.maps.map import TensorDecl
from tadc.passes.terms.costs import LINE

_ASSIGN, _OR = 3, 14
"""Kinds of `memref.atomic_rmw`: `arith::AtomicRMWKind`, whose Python names take 20 ms to import."""


@dataclass(frozen=True)
class KeptMemory:
    """Globals before a function, for tensors that its entry `symbol` keeps."""

    function: ir.Operation
    symbol: str
    filling: list[ir.InsertionPoint] = field(default_factory=list[ir.InsertionPoint])

    def buffers(
        self, tensors: Sequence[TensorDecl], low: BodyLowering, point: ir.InsertionPoint
    ) -> list[ir.Value]:
        """The memory of tensors, in the entry."""
        return [
            self._global(f"{self.symbol}.kept.{n}", buffer_type(tensor), low, point)
            for n, tensor in enumerate(tensors)
        ]

    def fill(
        self, low: BodyLowering, point: ir.InsertionPoint, calls: Callable[[ir.InsertionPoint], None]
    ) -> None:
        """Fill it by `calls`, where no call has before: all of it in one place, since one number says it."""
        if self.filling:
            calls(self.filling[0])
            return
        integer = ir.IntegerType.get_signless(64, low.context)
        once = self._global(f"{self.symbol}.once", ir.MemRefType.get([1], integer), low, point)
        place = low.index(0, point)
        zero, one = (
            low.create("arith.index_cast", [integer], [low.index(n, point)], point).results[0] for n in (0, 1)
        )

        def exchange(kind: int, value: ir.Value, inside: ir.InsertionPoint) -> ir.Operation:
            attributes = {"kind": ir.IntegerAttr.get(integer, kind)}
            return low.create("memref.atomic_rmw", [integer], [value, once, place], inside, attributes)

        def filled(inside: ir.InsertionPoint) -> list[ir.Value]:
            calls(inside)
            self.filling.append(ir.InsertionPoint(exchange(_ASSIGN, one, inside)))
            return []

        before = exchange(_OR, zero, point).results[0]
        low.choose(low.compare("eq", before, zero, point), [], filled, None, point)

    def _global(self, name: str, type: ir.Type, low: BodyLowering, point: ir.InsertionPoint) -> ir.Value:
        """Memory of a type, 0 before the first call."""
        zeros = ir.RankedTensorType.get(type.shape, type.element_type)
        element = type.element_type
        zero = ir.Attribute.parse(
            f"{'0' if str(element).startswith('i') else '0.0'} : {element}", low.context
        )
        attributes = {
            "sym_name": ir.StringAttr.get(name),
            "sym_visibility": ir.StringAttr.get("private"),
            "type": ir.TypeAttr.get(type),
            "initial_value": ir.DenseElementsAttr.get_splat(zeros, zero),
            "alignment": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), LINE),
        }
        ir.Operation.create(
            "memref.global",
            attributes=attributes,
            loc=self.function.location,
            ip=ir.InsertionPoint(self.function),
        )
        found = {"name": ir.FlatSymbolRefAttr.get(name)}
        return low.create("memref.get_global", [type], [], point, found).results[0]
