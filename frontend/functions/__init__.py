"""The functions and reductions of the language: one record each, of what all layers know about it.

scalar_function    what a record says
elementary         exponentials, angles, roots, steps, and operators
reduction_records  sums and the like
and a file for each further function or family of functions, which is found here by itself

What a layer of its own does with some of them is a table in that layer. `complete` looks, when the layer is
imported, that the table lacks none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, TypeVar

from tadc.frontend.functions import elementary, reduction_records
from tadc.frontend.functions.reduction_records import Reduction
from tadc.frontend.functions.scalar_function import TRANSCENDENTAL, Family, ScalarFunction, Trait

T = TypeVar("T")

__all__ = ["TRANSCENDENTAL", "Reduction", "ScalarFunction", "Trait"]

_OWN = ("elementary", "reduction_records", "scalar_function", "texts")
_FURTHER = tuple(
    import_module(f"{__name__}.{module.name}")
    for module in sorted(iter_modules(__path__), key=lambda module: module.name)
    if module.name not in _OWN
)
FAMILIES: tuple[Family, ...] = tuple(f for module in _FURTHER for f in getattr(module, "FAMILIES", ()))


@cache
def of_family(name: str) -> ScalarFunction | None:
    """The function of a family that has a name."""
    return next((f for family in FAMILIES if (f := family.member(name)) is not None), None)


class OfFunctions(dict[str, T]):
    """A table of functions, in which those of families are found too: of each, `make` makes the entry."""

    def __init__(self, entries: Mapping[str, T], make: Callable[[ScalarFunction], T]) -> None:
        super().__init__(entries)
        self.make = make
        self.made: dict[str, T] = {}

    def __missing__(self, name: str) -> T:
        if name not in self.made:
            found = of_family(name)
            if found is None:
                raise KeyError(name)
            self.made[name] = self.make(found)
        return self.made[name]

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or (isinstance(name, str) and of_family(name) is not None)

    def get(self, name: str, default: Any = None) -> Any:
        """As that of a dictionary."""
        return self[name] if name in self else default


def _itself(f: ScalarFunction) -> ScalarFunction:
    return f


#: Functions a program may call.
FUNCTIONS: dict[str, ScalarFunction] = OfFunctions(
    {f.name: f for module in (elementary, *_FURTHER) for f in module.FUNCTIONS}, _itself
)

#: Functions of one argument, and of two.
UNARY, BINARY = (tuple(name for name, f in FUNCTIONS.items() if f.arity == n) for n in (1, 2))

#: Other spellings that are read; the printer writes the name on the right.
ALIASES = {"sgn": "sign"}

#: Operators as terms: `x - y` is `Apply("sub", (x, y))`. `pow` is `**` and `pow(x, y)`.
OPERATORS = {"+": "add", "-": "sub", "*": "mul", "/": "div", "%": "mod", "**": "pow"}

#: What a term may apply: the functions and the operators.
APPLIED: dict[str, ScalarFunction] = OfFunctions(
    {**FUNCTIONS, **{f.name: f for f in elementary.OPERATORS}}, _itself
)

#: What a reduction may compute.
REDUCTIONS: dict[str, Reduction] = {r.name: r for r in reduction_records.REDUCTIONS}

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
