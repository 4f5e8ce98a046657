"""Libraries that a kernel names: their functions take arrays of a program where they are called with them.

NumPy asks its arguments what to do; `math`, JAX and SciPy do not. So the code of a kernel, and of functions
that it calls, is run with other objects behind the names of these libraries, which call the library itself
for anything that is no part of a program.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

from tadc.building.array_rules import call_named, has_operand
from tadc.caller.boundary import public

#: Methods of NumPy's and JAX's ufuncs.
_METHODS = ("accumulate", "at", "outer", "reduce", "reduceat")
#: Libraries whose functions and modules are stood in for.
_LIBRARIES = ("math", "numpy", "jax", "scipy")


def with_arrays(function: FunctionType) -> FunctionType:
    """The function, which calls those of libraries with arrays of a program; itself where it names none."""
    return _Rebinding().function(function)


class _Rebinding:
    """Functions that are run with other names, each made once."""

    def __init__(self) -> None:
        self.made: dict[int, FunctionType] = {}

    def function(self, function: FunctionType) -> FunctionType:
        """See with_arrays."""
        if id(function) in self.made:
            return self.made[id(function)]
        self.made[id(function)] = function  # one that calls itself keeps its names there
        named = {
            name: function.__globals__[name]
            for name in _names(function.__code__)
            if name in function.__globals__
        }
        others = {name: other for name, value in named.items() if (other := self.value(value)) is not value}
        cells = function.__closure__ or ()
        closure = tuple(map(self.cell, cells))
        if not others and closure == cells:
            return function
        names = {**function.__globals__, **others}
        made = FunctionType(
            function.__code__, names, function.__name__, function.__defaults__, closure or None
        )
        made.__kwdefaults__ = function.__kwdefaults__
        self.made[id(function)] = made
        return made

    def cell(self, cell: CellType) -> CellType:
        """What a function refers to of the one around it."""
        try:
            value = cell.cell_contents
        except ValueError:  # not assigned yet
            return cell
        other = self.value(value)
        return cell if other is value else CellType(other)

    def value(self, value: Any) -> Any:
        """What stands for a value in the code of a kernel."""
        if isinstance(value, ModuleType):
            return StandIn(value) if _is_library(value.__name__) else value
        if isinstance(value, FunctionType) and _is_own(value):
            return self.function(value)
        if (
            callable(value)
            and _is_library(getattr(value, "__module__", None))
            and not isinstance(value, type)
        ):
            return _standing_for(value, getattr(value, "__name__", ""), _module_of(value))
        return value


def _names(code: CodeType) -> set[str]:
    """The names that code reads, and functions in it do."""
    return set(code.co_names).union(*(_names(c) for c in code.co_consts if isinstance(c, CodeType)))


def _is_library(name: Any) -> bool:
    return isinstance(name, str) and name.partition(".")[0] in _LIBRARIES


def _is_own(function: FunctionType) -> bool:
    """Whether it is the user's: neither tadc's nor of a package that is installed."""
    module = sys.modules.get(function.__module__)
    file = getattr(module, "__file__", None) or ""
    return function.__module__.partition(".")[0] != "tadc" and "site-packages" not in file


def _module_of(function: Any) -> str:
    """The public module of a function: JAX's say where they are written."""
    module = function.__module__
    return (
        "jax"
        if module.startswith("jax._src")
        else "scipy.special"
        if module.startswith("scipy.special")
        else module
    )


class StandIn:
    """A library in the code of a kernel."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._module, name)
        if isinstance(value, ModuleType):
            return StandIn(value) if _is_library(value.__name__) else value
        if callable(value) and not isinstance(value, type):
            return _standing_for(value, name, self._module.__name__)
        return value


def _standing_for(function: Callable[..., Any], name: str, module: str) -> Any:
    def called(*given: Any, **named: Any) -> Any:
        if has_operand(given) or has_operand(tuple(named.values())):
            return call_named(name, module, given, named)
        return function(*given, **named)

    functools.update_wrapper(called, function, updated=())
    for method in _METHODS:
        if hasattr(function, method) and not name.endswith(method):
            setattr(called, method, _standing_for(getattr(function, method), f"{name}.{method}", module))
    return public(called)
