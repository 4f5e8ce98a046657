"""What is known of a function of the language, as data.

Texts are of the language: `x` and `y` are the operands, `f` the value of the function. Layers read records,
and have code for what no text says alone: slopes that are infinite somewhere, operators, periods.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Literal

from tadc.lattice.late_dataclasses import dataclass, field

#: What an exponential and the like cost, in additions.
TRANSCENDENTAL = 10

#: `flat`: f'(x) = 0 wherever there is one. `odd`: f(-x) = -f(x). `even`: f(-x) = f(x). `zero at 0`: f(0) = 0.
#: `singular`: where a slope is no finite number, 0 times it is 0. `jumps`: its values jump somewhere.
Trait = Literal["flat", "odd", "even", "zero at 0", "singular", "jumps"]

#: The greatest order of a family. What it is to compute grows with the order.
MOST = 24

Ends = tuple[float, float]

ALL: Ends = (-math.inf, math.inf)
POSITIVE: Ends = (0.0, math.inf)
UNIT: Ends = (-1.0, 1.0)


@dataclass(frozen=True)
class Course:
    """How a function of one argument runs over the numbers, from which intervals of its values are found.

    It is defined over `domain`, whose finite ends are not of it where it `is_open`, and takes values between
    those of `values`; where it `goes_on`, it has others beyond, of which nothing is said. From the least
    argument on it `rises` or falls, and does the other after each of its `turns`: the place of one and the
    value there, each between two floats. Where it goes up and down without end, `rises` is None, and
    `steepest` the greatest slope. `zeros` are all of its zeros, or None. Floats that compute it err by at
    most so many `ulps` and an `error` beside. One of two arguments `rises` in both.
    """

    domain: Ends = ALL
    values: Ends = ALL
    rises: bool | None = True
    turns: tuple[tuple[Ends, Ends], ...] = ()
    zeros: tuple[float, ...] | None = None
    is_open: bool = False
    goes_on: bool = False
    steepest: float = math.inf
    ulps: int = 4
    error: float = 0.0


@dataclass(frozen=True)
class ScalarFunction:
    """A function that a program calls by name, or an operator.

    `cost` is in additions. `slopes` are its derivatives by each operand; None where
    `passes/derivatives/derivative_table.py` has a rule. It is the `operation` of MLIR, or computed by a
    `formula`, lines `let name = …` and a value: one for all element types, or one for each. `numpy` is what
    NumPy calls it. `latex` has a `#` for each operand, or is a name in front of these. `inverse` makes of the
    value, as `x`, the operand, for a function that takes each value once. `course` is None where the layers
    of intervals have code. `elsewhere` are names that other libraries have for it. `help` says what it is. A
    name that is not `is_reserved` is one like others where no parenthesis follows.
    """

    name: str
    arity: int
    cost: int
    help: str
    slopes: tuple[str, ...] | None
    latex: str
    course: Course | None
    operation: str | None = None
    formula: str | Mapping[str, str] | None = None
    inverse: str | None = None
    numpy: str = ""
    traits: frozenset[Trait] = field(default_factory=frozenset[Trait])
    elsewhere: tuple[str, ...] = ()
    is_reserved: bool = True

    def __post_init__(self) -> None:
        """Raises TypeError, which says what a record lacks."""
        lacking = [
            what
            for what, is_there in (
                ("a derivative", self.slopes is None or len(self.slopes) == self.arity),
                ("an operation or a formula", bool(self.operation or self.formula)),
                ("LaTeX", bool(self.latex)),
                ("a help", bool(self.help)),
            )
            if not is_there
        ]
        if lacking:
            raise TypeError(f"{', '.join(lacking)} is missing for {self.name}")

    def formula_for(self, type: str) -> str:
        """The text of the formula for an element type."""
        formula = self.formula
        assert formula is not None
        return formula if isinstance(formula, str) else formula[type]


@dataclass(frozen=True)
class Family:
    """Functions `prefix0`, `prefix1`, …, of which one from order `first` on is made when it is asked for."""

    prefix: str
    first: int
    make: Callable[[int], ScalarFunction]

    def member(self, name: str) -> ScalarFunction | None:
        """The function of a name."""
        order = name.removeprefix(self.prefix)
        if order == name or not order.isdecimal() or order != str(int(order)):
            return None
        return self.make(int(order)) if self.first <= int(order) <= MOST else None


def by_type(formula: Callable[[str], str]) -> dict[str, str]:
    """A formula for each element type that is computed with."""
    return {type: formula(type) for type in ("f32", "f64")}
