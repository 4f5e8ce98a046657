"""What indices of operations stand for: what readers of programs and of maps share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tadc.dialect.index_maps import parse_over
from tadc.dialect.locations import UnsupportedIR
from tadc.dialect.lookups import lookups_of
from tadc.dialect.mlir import ir
from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine, Lookup


class IndexReader:
    """Forms of indices, of a function's sizes first of all; index arrays with their names and bounds."""

    def __init__(self) -> None:
        self.indices: dict[Any, Affine] = {}
        self.arrays: dict[Any, tuple[str, Affine]] = {}

    def over(self, operation: Any, values: Iterable[Any]) -> tuple[Affine, ...]:
        """What index operands of an operation stand for."""
        try:
            return tuple([self.indices[value] for value in values])
        except KeyError:
            what = "an index must be bound by a region or made by 'tad.index'"
            raise UnsupportedIR(what, operation.location) from None

    def at(self, operation: Any, values: Iterable[Any]) -> tuple[Affine, ...]:
        """The forms of an operation's map over its index operands."""
        return parse_over(str(operation.attributes["at"]), self.over(operation, values)).forms

    def makes_index(self, operation: Any) -> bool:
        """Whether an operation makes an index, which is read, or a constant that is one."""
        match operation.name:
            case "tad.index":
                (form,) = self.at(operation, operation.operands)
            case "tad.lookup":
                array, *values = operation.operands
                if array not in self.arrays:
                    what = "an index array must be an argument with 'tad.below'"
                    raise UnsupportedIR(what, operation.location)
                name, below = self.arrays[array]
                form = Affine.atom(Lookup(name, self.at(operation, values), below))
            case name:
                return name == "arith.constant" and not isinstance(
                    operation.attributes["value"], ir.FloatAttr
                )
        self.indices[operation.results[0]] = form
        return True

    def conditions(self, guard: Any) -> Domain:
        """The rows of a guard."""
        return parse_over(str(guard.attributes["where"]), self.over(guard, guard.operands)).rows

    def domain(self, reduction: Any, names: Sequence[str]) -> Domain:
        """The rows of a reduction, whose indices get these names."""
        bound = list(reduction.regions[0].blocks[0].arguments)
        self.indices |= zip(bound, map(Affine.var, names), strict=True)
        for lookup in lookups_of(reduction):
            self.makes_index(lookup)
            bound.append(lookup.results[0])
        dims, symbols = self.over(reduction, bound), self.over(reduction, reduction.operands)
        return parse_over(str(reduction.attributes["domain"]), dims, symbols).rows


def kind_of(reduction: Any) -> str:
    """The kind of a reduction."""
    return ir.StringAttr(reduction.attributes["kind"]).value if reduction.name == "tad.reduce" else "sum"


def exponent_of(power: Any) -> int:
    """The exponent of an integer power; raises UnsupportedIR for one that is no constant."""
    made = maker(power.operands[1], "arith.constant")
    if made is None:
        raise UnsupportedIR("the exponent of an integer power must be a constant", power.location)
    return ir.IntegerAttr(made.attributes["value"]).value


def maker(value: Any, name: str) -> Any | None:
    """The operation of this name that makes a value, if one does."""
    owner = getattr(value.owner, "operation", None) or value.owner
    return owner if isinstance(owner, ir.Operation) and owner.name == name else None
