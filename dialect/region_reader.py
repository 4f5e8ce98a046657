"""Bodies of `tad` regions back to terms."""

from __future__ import annotations

from typing import Any

from tadc.dialect import scalar_ops
from tadc.dialect.index_reader import IndexReader, exponent_of, kind_of, maker
from tadc.dialect.locations import UnsupportedIR, name_of, place_of
from tadc.dialect.ops import MAPS
from tadc.frontend.dtypes import FLOATS, types_listed
from tadc.frontend.literals import literal
from tadc.frontend.source import Place
from tadc.frontend.terms import Const, Term, Terms

CONVERSIONS = ("arith.extf", "arith.truncf")

#: Functions of scalars, by operations.
_SCALAR = {*CONVERSIONS, scalar_ops.ONE_ROUNDING, "tad.apply", *scalar_ops.FUNCTION_OF}


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
        if operation.name == "arith.cmpf" or self.makes_index(operation):
            return  # read where it is used: by a select, by an integer power
        if operation.name in ("tad.sum", "tad.reduce"):
            made = self.reductions(operation)
            if len(made) > 1:
                self.together.append(frozenset(term.number for term in made))
        else:
            made = [self.made(operation, place_of(operation.location))]
        self.values |= zip(operation.results, made, strict=True)

    def made(self, operation: Any, place: Place | None) -> Term:
        """Read an operation that gives a scalar."""
        name, operands, terms = operation.name, list(operation.operands), self.terms
        type = str(operation.results[0].type)
        match name:
            case "tad.read":
                tensor, *indices = operands
                if tensor not in self.names:
                    raise UnsupportedIR("the tensor read is no argument and no 'tad.map'", operation.location)
                return terms.read(self.names[tensor], self.at(operation, indices), type, place)
            case "tad.value_of":
                return terms.index(self.over(operation, operands)[0], place)
            case "tad.guard":
                rows = self.conditions(operation)
                then, otherwise = (self.all_yielded(region.blocks[0])[0] for region in operation.regions)
                return terms.guard(rows, then, otherwise, place)
            case "arith.constant":
                return terms.const(literal(operation.attributes["value"].value, type), place)
            case "arith.select":
                return self.select(operation, place)
            case scalar_ops.INTEGER_POWER:
                return terms.apply(
                    "pow", [self.term(operands[0]), terms.const(exponent_of(operation))], place
                )
            case _ if name in MAPS:
                raise UnsupportedIR(f"'{name}' cannot stand inside another op", operation.location)
            case _ if name not in _SCALAR:
                raise UnsupportedIR(f"'{name}' has no place in a tensor program", operation.location)
            case _:
                pass
        below = list(map(self.term, operands))
        if type not in FLOATS:
            what = f"'{name}' of type {type}: only {types_listed('and', '')} are read"
            raise UnsupportedIR(what, operation.location)
        if name in CONVERSIONS:
            self.check_rounding(operation)
            return below[0]
        if name == scalar_ops.ONE_ROUNDING:
            return terms.apply("add", [below[2], terms.apply("mul", below[:2], place)], place)
        if name == "math.powf" and isinstance(below[1], Const):
            # `x**2.0` is a power, `x**2` a product.
            below[1] = terms.const(float(below[1].value), place)
        applied = name == "tad.apply"
        function = operation.attributes["fn"].value if applied else scalar_ops.FUNCTION_OF[name]
        return terms.apply(function, below, place)

    def check_rounding(self, operation: Any) -> None:
        """Conversions are implied by types: up anywhere, down only where a tensor is stored, or was."""
        if operation.name == "arith.truncf" and not self.is_fused:
            for use in operation.results[0].uses:
                user = use.owner.operation
                if user.name != "tad.yield" or user.parent.name not in MAPS:
                    what = "a value is rounded to f32 only where it is stored"
                    raise UnsupportedIR(what, operation.location)

    def reductions(self, operation: Any) -> list[Term]:
        """Read sums over one domain, or another reduction."""
        block, place = operation.regions[0].blocks[0], place_of(operation.location)
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
