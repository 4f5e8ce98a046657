"""Makes operations of the dialect from forms, rows and names: what writers of programs and of maps share.

An element of an index array is looked up once in a region, and where one further out has it, not again.
"""

from __future__ import annotations

import math
from collections import ChainMap
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal

from tadc.dialect import scalar_ops
from tadc.dialect.element_types import conversion, types_in
from tadc.dialect.index_maps import Name, in_order, index_attribute
from tadc.dialect.locations import ProgramLocations, labelled
from tadc.dialect.lookups import own_lookups
from tadc.dialect.mlir import ir
from tadc.dialect.ops import SCALAR_FUNCTIONS
from tadc.frontend.extents import Extent, as_form
from tadc.frontend.limits import too_large
from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine, Constraint, box


class OpWriter:
    """Makes operations at a point and a location, of the values that tensors and indices have by name."""

    def __init__(self, context: Any, most: float = math.inf) -> None:
        self.context, self.most, self.count = context, most, 0
        self.types = types_in(context)
        self.whole = ir.IntegerType.get_signless(64, context)
        self.index_type = ir.IndexType.get(context)
        self.places = ProgramLocations(context)
        self.location = self.unknown = self.places[None]
        self.point: Any = None
        self.tensors: dict[str, Any] = {}
        self.indices: ChainMap[Name, Any] = ChainMap()
        """Indices, and the lookups of the region that is written and of those around it."""
        self.exponents: dict[int, Any] = {}
        self.attributes: dict[object, Any] = {}

    def create(
        self,
        name: str,
        results: Sequence[Any],
        operands: Sequence[Any] = (),
        attributes: Mapping[str, Any] | None = None,
        regions: int = 0,
        location: Any = None,
    ) -> Any:
        """An operation at the point, and at the location if it has none of its own.

        Raises CompileError (TAD0113) where there are too many.
        """
        self.count += 1
        if self.count > self.most:
            raise too_large(f"more than {self.most} operations")
        return ir.Operation.create(
            name, results=results, operands=operands, attributes=attributes, regions=regions,
            loc=location or self.location, ip=self.point,
        )  # fmt: skip

    @contextmanager
    def region(
        self, op: Any, number: int = 0, indices: Sequence[str] = (), places: Sequence[Any] = ()
    ) -> Generator[Any]:
        """Write into a region from its beginning on; its block binds indices."""
        block = ir.Block.create_at_start(op.regions[number], [self.index_type] * len(indices), places)
        before, self.point = self.point, ir.InsertionPoint(block)
        self.indices = self.indices.new_child(dict(zip(indices, block.arguments, strict=True)))
        yield block
        self.point, self.indices = before, self.indices.parents

    # -- operations ----------------------------------------------------------------------------

    def index(self, name: Name) -> Any:
        """The value of an index, or of a lookup, which is written if it is not there."""
        found = self.indices.get(name)
        if found is None:
            if isinstance(name, str):
                raise KeyError(name)
            place = labelled("t", self.location)
            made = self.element("tad.lookup", self.index_type, name.array, name.at, place)
            found = self.indices[name] = made.results[0]
        return found

    def element(self, op: str, type: Any, tensor: str, at: Sequence[Affine], location: Any = None) -> Any:
        """A read of a tensor, or a lookup."""
        names = in_order(at)
        operands = [self.tensors[tensor], *map(self.index, names)]
        return self.create(op, [type], operands, {"at": self.listed("map", at, names)}, location=location)

    def number(self, form: Affine, type: Any) -> Any:
        """An index form as a number."""
        names = in_order([form])
        attributes = {"at": self.listed("map", [form], names)}
        index = self.create("tad.index", [self.index_type], [*map(self.index, names)], attributes)
        return self.create("tad.value_of", [type], index.results)

    def constant(self, value: float, type: Any) -> Any:
        """A literal."""
        return self.create("arith.constant", [type], [], {"value": ir.FloatAttr.get(type, value)})

    def guard(self, rows: Domain, type: Any) -> Any:
        """A choice by rows, both regions of which are to be filled."""
        names = in_order(row.form for row in rows)
        return self.create(
            "tad.guard",
            [type],
            [*map(self.index, names)],
            {"where": self.listed("set", rows, names)},
            regions=2,
        )

    @contextmanager
    def reduction(
        self, kind: str, rows: Domain, binders: Sequence[str], places: Sequence[Any], types: Sequence[Any]
    ) -> Generator[Any]:
        """A reduction; write into its region, behind the lookups that this begins with."""
        own, outer, needed = own_lookups(rows, binders)
        attributes = {"domain": self.listed("set", rows, [*binders, *own], outer)}
        name = "tad.sum"
        if kind != "sum":
            name, attributes = "tad.reduce", {"kind": ir.StringAttr.get(kind), **attributes}
        operands = [self.index(each) for each in (*outer, *needed)][: len(outer)]
        made = self.create(name, types, operands, attributes, regions=1)
        with self.region(made, 0, binders, places):
            for lookup in own:
                self.index(lookup)
            yield made

    def apply(self, function: str, operands: Sequence[Any], type: Any, exponent: int = 0) -> Any:
        """A scalar function; `powi` is an integer power, `choose` by a relation; others are upstream's."""
        if function == "powi":
            if (power := self.exponents.get(exponent)) is None:
                whole = self.whole
                value = {"value": ir.IntegerAttr.get(whole, exponent)}
                power = self.create("arith.constant", [whole], [], value).results[0]
            return self.create(scalar_ops.INTEGER_POWER, [type], [*operands, power])
        if function in SCALAR_FUNCTIONS:
            return self.create("tad.apply", [type], operands, {"fn": ir.StringAttr.get(function)})
        if function in scalar_ops.PREDICATES or function.startswith("cmpf "):
            number = scalar_ops.PREDICATES.get(function)
            number = int(function.removeprefix("cmpf ")) if number is None else number
            predicate = ir.IntegerAttr.get(self.whole, number)
            return self.create("arith.cmpf", [self.types["i1"]], operands, {"predicate": predicate})
        if function == "convert":
            return self.create(conversion(operands[0].type, type), [type], operands)
        name = "arith.select" if function == "choose" else scalar_ops.UPSTREAM.get(function, function)
        return self.create(name, [type], operands)

    def map(
        self,
        types: Sequence[Any],
        indices: Sequence[str],
        extents: Sequence[Extent],
        order: Affine | None,
        location: Any,
        attributes: Mapping[str, Any],
    ) -> Any:
        """The operation of tensors, a `tad.scan` where they have an order."""
        rows = box(indices, extents)
        sizes = [name for name in in_order(row.form for row in rows) if name not in indices]
        name, own = "tad.map", {"domain": self.listed("set", rows, indices, sizes), **attributes}
        if order is not None:
            name, own["order"] = "tad.scan", self.listed("map", [order], indices)
        return self.create(name, types, [*map(self.index, sizes)], own, 1, location)

    # -- types, attributes and places ----------------------------------------------------------

    def tensor_type(self, type: str, shape: Iterable[Extent]) -> Any:
        """A tensor with size symbols has dynamic extents."""
        dynamic = ir.ShapedType.get_dynamic_size()
        forms = [as_form(size) for size in shape]
        dims = [form.constant if form.is_constant else dynamic for form in forms]
        return ir.RankedTensorType.get(dims, self.types[type])

    def listed(
        self,
        kind: Literal["map", "set"],
        listed: Iterable[Affine | Constraint],
        names: Sequence[Name],
        outer: Sequence[Name] = (),
    ) -> Any:
        """The affine map of forms or integer set of rows over named indices; the same one is read once."""
        key = (kind, tuple(listed), tuple(names), tuple(outer))
        if key not in self.attributes:
            self.attributes[key] = index_attribute(kind, key[1], names, self.context, outer)
        return self.attributes[key]
