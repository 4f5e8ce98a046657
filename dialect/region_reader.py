"""Bodies of `tad` regions back to terms."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tadc.dialect import scalar_ops
from tadc.dialect.index_maps import forms_over, rows_over
from tadc.dialect.locations import UnsupportedIR, name_of, place_of
from tadc.dialect.lookups import lookups_of
from tadc.dialect.mlir import ir
from tadc.dialect.ops import MAPS
from tadc.frontend.literals import literal
from tadc.frontend.source import Place
from tadc.frontend.terms import Const, Term, Terms
from tadc.lattice.affine import Affine, Lookup


@dataclass
class RegionReader:
    """What values stand for: tensors for names, indices for forms, scalars for terms."""

    terms: Terms = field(default_factory=Terms)
    names: dict[Any, str] = field(default_factory=dict[Any, str])
    indices: dict[Any, Affine] = field(default_factory=dict[Any, Affine])
    values: dict[Any, Term] = field(default_factory=dict[Any, Term])
    #: What the elements of index arrays are less than.
    below: dict[Any, Affine] = field(default_factory=dict[Any, Affine])
    #: The numbers of sums that one operation computes.
    together: list[frozenset[int]] = field(default_factory=list[frozenset[int]])
    #: Whether the region computes several tensors: one that only others of them read is a value, and rounded.
    is_fused: bool = False

    def region(self, block: Any) -> Term:
        """What a region yields, first of all."""
        return self.all_yielded(block)[0]

    def all_yielded(self, block: Any) -> list[Term]:
        """All that a region yields."""
        operations = [op.operation for op in block.operations]
        for operation in operations[:-1]:
            self.scalar(operation)
        return [self.term(value) for value in operations[-1].operands]

    def term(self, value: Any) -> Term:
        """What a scalar stands for."""
        found = self.values.get(value)
        if found is None:
            raise UnsupportedIR("a region may use indices and scalars only", value.location)
        return found

    def scalar(self, operation: Any) -> None:
        """Read one operation of a region."""
        name, place = operation.name, place_of(operation.location)
        if name == "tad.index":
            self.indices[operation.results[0]] = self.forms(operation, operation.operands)[0]
            return
        if name == "tad.lookup":
            self.indices[operation.results[0]] = self.lookup(operation)
            return
        if name == "arith.cmpf" or (name == "arith.constant" and not _is_float(operation)):
            return  # read where they are used: by a select, by an integer power
        result = operation.results[0]
        if name in ("tad.map", "tad.scan"):
            raise UnsupportedIR(f"'{name}' cannot stand inside another op", operation.location)
        if name == "tad.sums":
            made = self.reductions(operation, place)
            self.values |= zip(operation.results, made, strict=True)
            self.together.append(frozenset(term.number for term in made))
        elif name.startswith("tad."):
            self.values[result] = self.indexed(operation, place)
        elif name in ("arith.extf", "arith.truncf"):
            self.values[result] = self.converted(operation)
        elif name == "arith.constant":
            self.values[result] = self.terms.const(
                literal(operation.attributes["value"].value, str(result.type)), place
            )
        elif name == "arith.select":
            self.values[result] = self.select(operation, place)
        elif name == scalar_ops.INTEGER_POWER:
            self.values[result] = self.power(operation, place)
        elif name == scalar_ops.ONE_ROUNDING:
            x, y, z = (self.term(v) for v in operation.operands)
            self.values[result] = self.terms.apply("add", [z, self.terms.apply("mul", [x, y], place)], place)
        elif name in scalar_ops.FUNCTION_OF:
            below = [self.term(v) for v in operation.operands]
            if name == "math.powf" and isinstance(below[1], Const):
                # `x**2.0` is a power, `x**2` a product.
                below[1] = self.terms.const(float(below[1].value), place)
            self.values[result] = self.terms.apply(scalar_ops.FUNCTION_OF[name], below, place)
            _require_float(operation)
        else:
            raise UnsupportedIR(f"'{name}' has no place in a tensor program", operation.location)

    def converted(self, operation: Any) -> Term:
        """Conversions are implied by types: up anywhere, down only where a tensor is stored, or was."""
        _require_float(operation)
        if operation.name == "arith.truncf" and not self.is_fused:
            for use in operation.results[0].uses:
                user = use.owner.operation
                if user.name not in ("tad.yield", "tad.yields") or user.parent.name not in MAPS:
                    raise UnsupportedIR(
                        "a value is rounded to f32 only where it is stored", operation.location
                    )
        return self.term(operation.operands[0])

    def forms(self, operation: Any, indices: Any) -> tuple[Affine, ...]:
        """The forms of an op's map over its index operands."""
        return forms_over(str(operation.attributes["at"]), self.over(operation, indices))

    def over(self, operation: Any, indices: Any) -> tuple[Affine, ...]:
        """What index operands of an operation stand for."""
        return tuple([self.index(value, operation) for value in indices])

    def index(self, value: Any, operation: Any) -> Affine:
        """What an index stands for."""
        found = self.indices.get(value)
        if found is None:
            raise UnsupportedIR(
                "an index must be bound by a region or made by 'tad.index'", operation.location
            )
        return found

    def lookup(self, operation: Any) -> Affine:
        """What an element of an index array stands for."""
        array, *indices = operation.operands
        if array not in self.below:
            raise UnsupportedIR("an index array must be an argument with 'tad.below'", operation.location)
        at = self.forms(operation, indices)
        return Affine.atom(Lookup(self.names[array], at, self.below[array]))

    def indexed(self, operation: Any, place: Place | None) -> Term:
        """Read an operation of ours that gives a scalar."""
        match operation.name:
            case "tad.read":
                tensor = operation.operands[0]
                if tensor not in self.names:
                    raise UnsupportedIR("the tensor read is no argument and no 'tad.map'", operation.location)
                forms = self.forms(operation, list(operation.operands)[1:])
                kind = str(operation.results[0].type)
                return self.terms.read(self.names[tensor], forms, kind, place)
            case "tad.value_of":
                return self.terms.index(self.index(operation.operands[0], operation), place)
            case "tad.apply":
                below = [self.term(v) for v in operation.operands]
                return self.terms.apply(ir.StringAttr(operation.attributes["fn"]).value, below, place)
            case "tad.sum" | "tad.reduce":
                return self.reductions(operation, place)[0]
            case "tad.guard":
                where = str(operation.attributes["where"])
                rows = rows_over(where, self.over(operation, operation.operands))
                then, otherwise = (self.region(r.blocks[0]) for r in operation.regions)
                return self.terms.guard(rows, then, otherwise, place)
            case _:
                raise UnsupportedIR(f"'{operation.name}' cannot stand here", operation.location)

    def reductions(self, operation: Any, place: Place | None) -> list[Term]:
        """Read a sum or another reduction, or sums over one domain."""
        block = operation.regions[0].blocks[0]
        binders = [self.terms.fresh("s") for _ in block.arguments]
        bound = list(block.arguments)
        self.indices |= zip(bound, map(Affine.var, binders), strict=True)
        for lookup in lookups_of(operation):
            self.scalar(lookup)
            bound.append(lookup.results[0])
        dims, symbols = self.over(operation, bound), self.over(operation, operation.operands)
        rows = rows_over(str(operation.attributes["domain"]), dims, symbols)
        hints = [name_of(a.location) for a in block.arguments]
        kind = "sum" if operation.name != "tad.reduce" else ir.StringAttr(operation.attributes["kind"]).value
        return [
            self.terms.reduce(binders, rows, body, kind=kind, hints=hints, span=place)
            for body in self.all_yielded(block)
        ]

    def select(self, operation: Any, place: Place | None) -> Term:
        """Read a choice by value."""
        compare = _maker(operation.operands[0], "arith.cmpf")
        predicate = compare.attributes["predicate"].value if compare else None
        if compare is None or predicate not in scalar_ops.RELATION_OF:
            raise UnsupportedIR("a select must choose by an ordered 'arith.cmpf'", operation.location)
        lhs, rhs = (self.term(v) for v in compare.operands)
        then, otherwise = (self.term(v) for v in list(operation.operands)[1:])
        return self.terms.select(scalar_ops.RELATION_OF[predicate], lhs, rhs, then, otherwise, place)

    def power(self, operation: Any, place: Place | None) -> Term:
        """Read an integer power."""
        exponent = _maker(operation.operands[1], "arith.constant")
        if exponent is None:
            raise UnsupportedIR("the exponent of an integer power must be a constant", operation.location)
        power = self.terms.const(ir.IntegerAttr(exponent.attributes["value"]).value)
        return self.terms.apply("pow", [self.term(operation.operands[0]), power], place)


def _is_float(operation: Any) -> bool:
    return str(operation.results[0].type) in ("f32", "f64")


def _require_float(operation: Any) -> None:
    if not _is_float(operation):
        kind = operation.results[0].type
        raise UnsupportedIR(
            f"'{operation.name}' of type {kind}: only f32 and f64 are read", operation.location
        )


def _maker(value: Any, name: str) -> Any | None:
    """The operation of this name that makes a value, if one does."""
    owner = getattr(value.owner, "operation", None) or value.owner
    return owner if isinstance(owner, ir.Operation) and owner.name == name else None
