"""Scalar functions that upstream lacks, spelt in arith and math, in one table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tadc.dialect.mlir import ir
from tadc.dialect.ops import SCALAR_FUNCTIONS
from tadc.dialect.scalar_ops import PREDICATES
from tadc.frontend.functions import complete
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


def _sign(s: Scalars, x: ir.Value) -> ir.Value:
    """-1, 0, 1; NaN and signed zeros stay what they are."""
    unit = s.op("math.copysign", s.const(1.0), x)
    keep = s.logic("arith.ori", s.compare("=", x, s.const(0.0)), s.compare("unordered", x, x))
    return s.select(keep, x, unit)


def _sigmoid(s: Scalars, x: ir.Value) -> ir.Value:
    """1 / (1 + exp(-x)) without overflow: e = exp(-|x|), then 1 or e over 1 + e."""
    one = s.const(1.0)
    e = s.op("math.exp", s.op("arith.negf", s.op("math.absf", x)))
    above = s.select(s.compare("<", x, s.const(0.0)), e, one)
    return s.op("arith.divf", above, s.op("arith.addf", one, e))


def _relu(s: Scalars, x: ir.Value) -> ir.Value:
    """0 below 0, else x, NaN included."""
    zero = s.const(0.0)
    return s.select(s.compare("<=", x, zero), zero, x)


def _safe(s: Scalars, x: ir.Value, y: ir.Value) -> ir.Value:
    """`x * y`; 0 where x is 0, whatever y is."""
    zero = s.const(0.0)
    return s.select(s.compare("!=", x, zero), s.op("arith.mulf", x, y), zero)


def _pinv(s: Scalars, x: ir.Value) -> ir.Value:
    """`1 / x`; 0 where x is 0."""
    zero = s.const(0.0)
    return s.select(s.compare("=", x, zero), zero, s.op("arith.divf", s.const(1.0), x))


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


EXPANSIONS: dict[str, Callable[..., ir.Value]] = {
    "sign": _sign,
    "sigmoid": _sigmoid,
    "relu": _relu,
    "mod": _mod,
    "safe": _safe,
    "pinv": _pinv,
    "arith.maximumf": _extremum(">"),
    "arith.minimumf": _extremum("<"),
}
complete("what it expands to", EXPANSIONS, SCALAR_FUNCTIONS)


def integer_power(s: Scalars, x: ir.Value, n: int) -> ir.Value:
    """`x**n` by repeated squaring."""
    result: Any = None
    square, rest = x, abs(n)
    while rest:
        if rest & 1:
            result = square if result is None else s.op("arith.mulf", result, square)
        rest >>= 1
        if rest:
            square = s.op("arith.mulf", square, square)
    if result is None:
        return s.const(1.0)
    return result if n > 0 else s.op("arith.divf", s.const(1.0), result)
