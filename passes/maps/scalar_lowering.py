"""Scalar functions that upstream lacks, in arith and math: the formulas of their records, and a remainder."""

from __future__ import annotations

from collections.abc import Callable

from tadc.dialect.mlir import ir
from tadc.dialect.ops import SCALAR_FUNCTIONS
from tadc.dialect.scalar_ops import PREDICATES, UPSTREAM
from tadc.frontend.formula_values import OPERANDS, by_squaring, evaluate
from tadc.frontend.functions import APPLIED, OfFunctions, ScalarFunction, complete
from tadc.passes.maps.lower_body import BodyLowering

_RELATIONS = {**PREDICATES, "unordered": 14}


class Scalars:
    """Arithmetic at a point, on values of one float type or vectors of one."""

    def __init__(self, builder: BodyLowering, point: ir.InsertionPoint, type: ir.Type) -> None:
        self.builder, self.point, self.type = builder, point, type

    @property
    def truth(self) -> ir.Type:
        """The type of a comparison."""
        one = ir.IntegerType.get_signless(1, self.builder.context)
        return ir.VectorType.get(self.type.shape, one) if isinstance(self.type, ir.VectorType) else one

    @property
    def element(self) -> str:
        """The name of the float type."""
        return str(self.type.element_type if isinstance(self.type, ir.VectorType) else self.type)

    def logic(self, name: str, x: ir.Value, y: ir.Value) -> ir.Value:
        """An operation on two comparisons."""
        return self.builder.create(name, [self.truth], [x, y], self.point).results[0]

    def op(self, name: str, *operands: ir.Value) -> ir.Value:
        """An operation of one result of the type."""
        return self.builder.create(name, [self.type], operands, self.point).results[0]

    def const(self, value: float) -> ir.Value:
        """A constant."""
        return self.builder.constant(self.type, value, self.point)

    def compare(self, relation: str, x: ir.Value, y: ir.Value) -> ir.Value:
        """An `arith.cmpf`."""
        whole = ir.IntegerType.get_signless(64, self.builder.context)
        number = ir.IntegerAttr.get(whole, _RELATIONS[relation])
        made = self.builder.create("arith.cmpf", [self.truth], [x, y], self.point, {"predicate": number})
        return made.results[0]

    def select(self, condition: ir.Value, x: ir.Value, y: ir.Value) -> ir.Value:
        """An `arith.select`."""
        return self.builder.create("arith.select", [self.type], [condition, x, y], self.point).results[0]


def _mod(s: Scalars, x: ir.Value, y: ir.Value) -> ir.Value:
    """The floored remainder, with the sign of y, as in Python."""
    zero = s.const(0.0)
    rest = s.op("arith.remf", x, y)
    shifted = s.op("arith.addf", rest, y)
    opposite = s.compare("<", s.op("math.copysign", s.const(1.0), rest), zero)
    below = s.compare("<", y, zero)
    differs = s.logic("arith.xori", opposite, below)
    whole = s.compare("=", rest, zero)
    return s.select(whole, s.op("math.copysign", zero, y), s.select(differs, shifted, rest))


def _extremum(relation: str) -> Callable[..., ir.Value]:
    def expand(s: Scalars, x: ir.Value, y: ir.Value) -> ir.Value:
        """NaN if either is, as in NumPy; `maximumf` has no lowering on older GPUs."""
        best = s.select(s.compare(relation, x, y), x, y)
        return s.select(s.compare("unordered", x, x), x, best)

    return expand


_WRITTEN: dict[str, Callable[..., ir.Value]] = {
    "mod": _mod,
    "arith.maximumf": _extremum(">"),
    "arith.minimumf": _extremum("<"),
}


def _by_formula(f: ScalarFunction) -> Callable[..., ir.Value]:
    def expand(s: Scalars, *operands: ir.Value) -> ir.Value:
        given = dict(zip(OPERANDS, operands, strict=False))
        return evaluate(f.formula_for(s.element), given, InOperations(s))

    return expand


class InOperations:
    """Values of MLIR as the numbers of formulas."""

    def __init__(self, scalars: Scalars) -> None:
        self.scalars = scalars

    def const(self, value: float) -> ir.Value:
        """A constant."""
        return self.scalars.const(value)

    def apply(self, function: str, *operands: ir.Value) -> ir.Value:
        """A function: an operation, or what it expands to."""
        operation = UPSTREAM.get(function, function)
        expansion = EXPANSIONS.get(operation)
        return expansion(self.scalars, *operands) if expansion else self.scalars.op(operation, *operands)

    def power(self, x: ir.Value, n: int) -> ir.Value:
        """A power with a literal exponent."""
        return by_squaring(x, n, self)

    def select(
        self, relation: str, x: ir.Value, y: ir.Value, then: ir.Value, otherwise: ir.Value
    ) -> ir.Value:
        """A choice by a comparison."""
        return self.scalars.select(self.scalars.compare(relation, x, y), then, otherwise)


EXPANSIONS: dict[str, Callable[..., ir.Value]] = OfFunctions(
    {**{name: _by_formula(APPLIED[name]) for name in SCALAR_FUNCTIONS if APPLIED[name].formula}, **_WRITTEN},
    _by_formula,
)
complete("what it expands to", EXPANSIONS, SCALAR_FUNCTIONS)
