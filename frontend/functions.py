"""The functions and reductions of the language: one record each, of what several layers know about it.

What a layer of its own does with each, such as a derivative, a lowering or bounds, is a table in that layer.
`complete` looks, when the layer is imported, that the table lacks none.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar

T = TypeVar("T")

#: What an exponential and the like cost, in additions.
TRANSCENDENTAL = 10

#: `flat`: f'(x) = 0 wherever there is one. `odd`: f(-x) = -f(x). `even`: f(-x) = f(x). `zero at 0`: f(0) = 0.
Trait = Literal["flat", "odd", "even", "zero at 0"]


@dataclass(frozen=True)
class Function:
    """A function that a program calls by name, or an operator, with its number of arguments.

    `weight` is what it costs, in additions; `traits` are those of functions of one argument. A name that is
    not `reserved` is one like others where no parenthesis follows.
    """

    name: str
    arity: int
    weight: int
    traits: frozenset[Trait]
    reserved: bool


@dataclass(frozen=True)
class Reduction:
    """A reduction. `nothing` is its value over no point, `exponentials` are those that a step takes.

    `ties_share`: elements that tie share its derivative evenly. So one over two indices has another
    derivative than one over the first of one over the second, though both have the same value.
    """

    name: str
    nothing: int | float
    ties_share: bool
    exponentials: int


def _function(name: str, arity: int, weight: int, *traits: Trait, reserved: bool = True) -> Function:
    return Function(name, arity, weight, frozenset(traits), reserved)


#: Functions a program may call.
FUNCTIONS: dict[str, Function] = {
    f.name: f
    for f in (
        _function("exp", 1, TRANSCENDENTAL),
        _function("exp2", 1, TRANSCENDENTAL),
        _function("expm1", 1, TRANSCENDENTAL, "zero at 0"),
        _function("log", 1, TRANSCENDENTAL),
        _function("log2", 1, TRANSCENDENTAL),
        _function("log10", 1, TRANSCENDENTAL),
        _function("log1p", 1, TRANSCENDENTAL, "zero at 0"),
        _function("sqrt", 1, 4, "zero at 0"),
        _function("cbrt", 1, TRANSCENDENTAL, "zero at 0", "odd"),
        _function("erf", 1, TRANSCENDENTAL, "zero at 0", "odd"),
        _function("erfc", 1, TRANSCENDENTAL),
        _function("sin", 1, TRANSCENDENTAL, "zero at 0", "odd"),
        _function("cos", 1, TRANSCENDENTAL, "even"),
        _function("tan", 1, TRANSCENDENTAL, "zero at 0", "odd"),
        _function("asin", 1, TRANSCENDENTAL, "zero at 0", "odd"),
        _function("acos", 1, TRANSCENDENTAL),
        _function("atan", 1, TRANSCENDENTAL, "zero at 0", "odd"),
        _function("sinh", 1, TRANSCENDENTAL, "zero at 0", "odd"),
        _function("cosh", 1, TRANSCENDENTAL, "even"),
        _function("tanh", 1, TRANSCENDENTAL, "zero at 0", "odd"),
        _function("asinh", 1, TRANSCENDENTAL, "zero at 0", "odd"),
        _function("acosh", 1, TRANSCENDENTAL),
        _function("atanh", 1, TRANSCENDENTAL, "zero at 0", "odd"),
        _function("abs", 1, 1, "zero at 0", "even"),
        _function("sign", 1, 1, "zero at 0", "odd", "flat"),
        _function("floor", 1, 1, "zero at 0", "flat"),
        _function("ceil", 1, 1, "zero at 0", "flat"),
        _function("sigmoid", 1, TRANSCENDENTAL),
        _function("relu", 1, 1, "zero at 0"),
        _function("atan2", 2, TRANSCENDENTAL),
        _function("pow", 2, TRANSCENDENTAL),
        _function("max", 2, 1),
        _function("min", 2, 1),
        # x * y, and 0 where x is 0: a product and a comparison.
        _function("safe", 2, 2, reserved=False),
        # 1 / x, and 0 where x is 0: the pseudo-inverse of Moore and Penrose of a number.
        _function("pinv", 1, 5, "zero at 0", "odd", reserved=False),
    )
}

#: Functions of one argument, and of two.
UNARY, BINARY = (tuple(name for name, f in FUNCTIONS.items() if f.arity == n) for n in (1, 2))

#: Other spellings that are read; the printer writes the name on the right.
ALIASES = {"sgn": "sign"}

#: Operators as terms: `x - y` is `Apply("sub", (x, y))`. `pow` is `**` and `pow(x, y)`.
OPERATORS = {"+": "add", "-": "sub", "*": "mul", "/": "div", "%": "mod", "**": "pow"}

#: What a term may apply: the functions and the operators.
APPLIED: dict[str, Function] = FUNCTIONS | {
    f.name: f
    for f in (
        _function("add", 2, 1),
        _function("sub", 2, 1),
        _function("mul", 2, 1),
        _function("div", 2, 4),
        _function("mod", 2, 4),
        _function("neg", 1, 1, "zero at 0", "odd"),
    )
}

#: What a reduction may compute.
REDUCTIONS: dict[str, Reduction] = {
    r.name: r
    for r in (
        Reduction("sum", nothing=0, ties_share=False, exponentials=0),
        Reduction("prod", nothing=1, ties_share=False, exponentials=0),
        Reduction("max", nothing=-math.inf, ties_share=True, exponentials=0),
        Reduction("min", nothing=math.inf, ties_share=True, exponentials=0),
        Reduction("logsumexp", nothing=-math.inf, ties_share=False, exponentials=1),
    )
}

#: A formula with a reduction that has a spelling of its own: `norm{i} (e)` is `sqrt(sum{i} (e**2))`.
NORM = "norm"

#: What is written as a reduction.
SPELLED_REDUCTIONS = (*REDUCTIONS, NORM)

#: The relations of `select` and of conditions between indices.
RELATIONS = ("=", "!=", "<", "<=", ">", ">=")


def having(trait: Trait) -> frozenset[str]:
    """The names of the functions and operators that have a trait."""
    return frozenset(name for name, f in APPLIED.items() if trait in f.traits)


def complete(what: str, table: Mapping[str, T], names: Iterable[str]) -> dict[str, T]:
    """A table of one layer, which has an entry for each of the names: functions, operators or reductions.

    Tables are made where their module is imported, so what is missing shows before anything is compiled.
    Raises TypeError, which says what is missing.
    """
    missing = [name for name in names if name not in table]
    if missing:
        raise TypeError(f"{what} is missing for {', '.join(missing)}")
    return dict(table)
