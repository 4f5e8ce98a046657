"""The functions and reductions of the language: one record each, of what all layers know about it.

scalar_function   what a record says
elementary        exponentials, angles, roots, steps, and operators
and a file for each further function or family of functions, which is found here by itself

What a layer of its own does with some of them is a table in that layer. `complete` looks, when the layer is
imported, that the table lacks none.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import TypeVar

from tadc.frontend.functions import elementary
from tadc.frontend.functions.scalar_function import TRANSCENDENTAL, Reduction, ScalarFunction, Trait

T = TypeVar("T")

__all__ = ["TRANSCENDENTAL", "Reduction", "ScalarFunction", "Trait"]

_OWN = ("elementary", "scalar_function")
_FURTHER = tuple(sorted(module.name for module in iter_modules(__path__) if module.name not in _OWN))

#: Functions a program may call.
FUNCTIONS: dict[str, ScalarFunction] = {
    f.name: f
    for records in (
        elementary.FUNCTIONS,
        *(import_module(f"{__name__}.{name}").FUNCTIONS for name in _FURTHER),
    )
    for f in records
}

#: Functions of one argument, and of two.
UNARY, BINARY = (tuple(name for name, f in FUNCTIONS.items() if f.arity == n) for n in (1, 2))

#: Other spellings that are read; the printer writes the name on the right.
ALIASES = {"sgn": "sign"}

#: Operators as terms: `x - y` is `Apply("sub", (x, y))`. `pow` is `**` and `pow(x, y)`.
OPERATORS = {"+": "add", "-": "sub", "*": "mul", "/": "div", "%": "mod", "**": "pow"}

#: What a term may apply: the functions and the operators.
APPLIED: dict[str, ScalarFunction] = FUNCTIONS | {f.name: f for f in elementary.OPERATORS}

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
