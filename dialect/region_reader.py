"""Bodies of `tad` regions back to terms."""

from __future__ import annotations

from typing import Any

from tadc.dialect import scalar_ops
from tadc.dialect.index_reader import IndexReader, exponent_of, kind_of, maker
from tadc.dialect.locations import UnsupportedIR, name_of, place_of
from tadc.dialect.mlir import ir
from tadc.dialect.ops import MAPS
from tadc.frontend.literals import literal
from tadc.frontend.source import Place
from tadc.frontend.terms import Const, Term, Terms


class RegionReader(IndexReader):
    """What values stand for: tensors for names, indices for forms, scalars for terms."""

    def __init__(self) -> None:
        super().__init__()
        self.terms = Terms()
        self.names: dict[Any, str] = {}
        self.values: dict[Any, Term] = {}
        #: The numbers of sums that one operation computes.
        self.together: list[frozenset[int]] = []
        #: Whether the region computes several tensors: one that only others of them read is a value, and
        #: rounded.
        self.is_fused = False

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
        if name == "arith.cmpf" or self.makes_index(operation):
            return  # read where it is used: by a select, by an integer power
        result = operation.results[0]
        if name in ("tad.map", "tad.scan"):
            raise UnsupportedIR(f"'{name}' cannot stand inside another op", operation.location)
        if name in ("tad.sum", "tad.reduce"):
            made = self.reductions(operation, place)
            self.values |= zip(operation.results, made, strict=True)
            if len(made) > 1:
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
            power = self.terms.const(exponent_of(operation))
            self.values[result] = self.terms.apply("pow", [self.term(operation.operands[0]), power], place)
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
                if user.name != "tad.yield" or user.parent.name not in MAPS:
                    raise UnsupportedIR(
                        "a value is rounded to f32 only where it is stored", operation.location
                    )
        return self.term(operation.operands[0])

    def indexed(self, operation: Any, place: Place | None) -> Term:
        """Read an operation of ours that gives a scalar."""
        match operation.name:
            case "tad.read":
                tensor = operation.operands[0]
                if tensor not in self.names:
                    raise UnsupportedIR("the tensor read is no argument and no 'tad.map'", operation.location)
                forms = self.at(operation, list(operation.operands)[1:])
                kind = str(operation.results[0].type)
                return self.terms.read(self.names[tensor], forms, kind, place)
            case "tad.value_of":
                return self.terms.index(self.over(operation, operation.operands)[0], place)
            case "tad.apply":
                below = [self.term(v) for v in operation.operands]
                return self.terms.apply(ir.StringAttr(operation.attributes["fn"]).value, below, place)
            case "tad.guard":
                rows = self.conditions(operation)
                then, otherwise = (self.region(r.blocks[0]) for r in operation.regions)
                return self.terms.guard(rows, then, otherwise, place)
            case _:
                raise UnsupportedIR(f"'{operation.name}' cannot stand here", operation.location)

    def reductions(self, operation: Any, place: Place | None) -> list[Term]:
        """Read sums over one domain, or another reduction."""
        block = operation.regions[0].blocks[0]
        binders = [self.terms.fresh("s") for _ in block.arguments]
        rows, kind = self.domain(operation, binders), kind_of(operation)
        hints = [name_of(a.location) for a in block.arguments]
        return [
            self.terms.reduce(binders, rows, body, kind=kind, hints=hints, span=place)
            for body in self.all_yielded(block)
        ]

    def select(self, operation: Any, place: Place | None) -> Term:
        """Read a choice by value."""
        compare = maker(operation.operands[0], "arith.cmpf")
        predicate = compare.attributes["predicate"].value if compare else None
        if compare is None or predicate not in scalar_ops.RELATION_OF:
            raise UnsupportedIR("a select must choose by an ordered 'arith.cmpf'", operation.location)
        lhs, rhs = (self.term(v) for v in compare.operands)
        then, otherwise = (self.term(v) for v in list(operation.operands)[1:])
        return self.terms.select(scalar_ops.RELATION_OF[predicate], lhs, rhs, then, otherwise, place)


def _is_float(operation: Any) -> bool:
    return str(operation.results[0].type) in ("f32", "f64")


def _require_float(operation: Any) -> None:
    if not _is_float(operation):
        kind = operation.results[0].type
        raise UnsupportedIR(
            f"'{operation.name}' of type {kind}: only f32 and f64 are read", operation.location
        )
