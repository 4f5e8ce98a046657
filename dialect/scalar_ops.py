"""Which operation spells which function of the language, in one table."""

from __future__ import annotations

from tadc.frontend.functions import APPLIED

#: Function -> upstream operation; the rest is `tad.apply`, but for integer powers.
UPSTREAM: dict[str, str] = {
    f.name: f.operation for f in APPLIED.values() if f.operation and f.operation != "tad.apply"
}

FUNCTION_OF: dict[str, str] = {operation: name for name, operation in UPSTREAM.items()}

INTEGER_POWER = "math.fpowi"

ONE_ROUNDING = "math.fma"
"""A product and a sum in one rounding, where maps add up a sum: in a program these are two operations."""

#: `arith.cmpf` predicates of relations: ordered, but for `!=`, as in NumPy.
PREDICATES: dict[str, int] = {"=": 1, ">": 2, ">=": 3, "<": 4, "<=": 5, "!=": 13}
RELATION_OF: dict[int, str] = {number: relation for relation, number in PREDICATES.items()}


def opposite(relation: str) -> str:
    """The function that holds where a relation does not, NaN included."""
    number = _BOTH - PREDICATES[relation]
    return RELATION_OF.get(number, f"cmpf {number}")


_BOTH = 14
"""What the predicates of a relation and of its opposite add up to."""
