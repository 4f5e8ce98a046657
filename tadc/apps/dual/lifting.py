"""Python functions made to compute with numbers that are no floats, their code unchanged.

A lifted function is its code over other globals: `math`, what was imported from it, `float`, `max` and
`min` are those of `substitutes`, and functions that it calls are lifted too. NumPy stays itself: its
element-wise functions ask the numbers (`__array_ufunc__`).
"""

from __future__ import annotations

import functools
import math
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

from tadc.apps.dual.substitutes import BUILTINS, FUNCTIONS, MATH
from tadc.toolkit.reporting import usage

#: Modules whose functions are left as they are.
_LEFT = frozenset(sys.stdlib_module_names) | {"numpy", "scipy", "tadc"}


def lifted(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function, to be called with numbers in the place of floats.

    It sees the globals and closures of `fn` as they are now. Changes of `nonlocal` names reach them, those of
    `global` names do not. Raises TypeError for what is no Python function: there is no code to lift.
    """
    found = _Lifting().value(fn)
    if fn in (abs, pow, sum) or getattr(fn, "__module__", "") == "_operator":
        return found  # these ask the numbers
    if found is fn and not isinstance(fn, types.FunctionType):
        name = getattr(fn, "__name__", type(fn).__name__)
        help = "the derivative of a program is `tadc.jvp(f)`" if name == "Function" else ""
        raise usage(f"`{name}` is not a function written in Python: it has no code to lift", help)
    return found


class _Lifting:
    """One lifting: what is lifted already, and the globals that functions of a module share."""

    def __init__(self) -> None:
        self._functions: dict[int, types.FunctionType] = {}
        self._globals: dict[int, dict[str, Any]] = {}
        self._cells: dict[int, types.CellType] = {}
        self._kept: list[Any] = []

    def value(self, x: Any) -> Any:
        """What takes the place of a value of globals or closures."""
        if x is math:
            return MATH
        if id(x) in FUNCTIONS:
            return FUNCTIONS[id(x)]
        match x:
            case types.FunctionType() if not _is_left(x.__module__):
                return self._function(x)
            case types.MethodType() if not _is_left(x.__func__.__module__):
                return types.MethodType(self.value(x.__func__), x.__self__)
            case functools.partial():
                keywords = {name: self.value(v) for name, v in x.keywords.items()}
                return functools.partial(self.value(x.func), *map(self.value, x.args), **keywords)
            case functools._lru_cache_wrapper():  # pyright: ignore[reportPrivateUsage]
                return self.value(x.__wrapped__)
            case types.ModuleType() if not _is_left(x.__name__):
                return _Module(x, self)
            case _:
                return self._object(x)

    def _object(self, x: object) -> Any:
        """An object that is called by a method of its class; other objects stay."""
        call: Any = getattr(type(x), "__call__", None)
        if isinstance(x, type) or not isinstance(call, types.FunctionType) or _is_left(call.__module__):
            return x
        return types.MethodType(self.value(call), x)

    def _function(self, fn: types.FunctionType) -> types.FunctionType:
        found = self._functions.get(id(fn))
        if found is not None:
            return found
        self._kept.append(fn)
        cells = tuple(self._cell(cell) for cell in fn.__closure__ or ())
        globals_ = self._globals.setdefault(id(fn.__globals__), {"__builtins__": BUILTINS})
        made = types.FunctionType(fn.__code__, globals_, fn.__name__, None, cells)
        self._functions[id(fn)] = made
        functools.update_wrapper(made, fn)
        made.__defaults__ = tuple(map(self.value, fn.__defaults__)) if fn.__defaults__ else None
        if fn.__kwdefaults__:
            made.__kwdefaults__ = {name: self.value(v) for name, v in fn.__kwdefaults__.items()}
        for cell, old in zip(cells, fn.__closure__ or (), strict=True):
            self._fill(cell, old)
        for name in _names(fn.__code__):
            if name in fn.__globals__ and name not in globals_:
                globals_[name] = self.value(fn.__globals__[name])
        return made

    def _cell(self, cell: types.CellType) -> types.CellType:
        """The cell itself, so that both sides see what is assigned; another where its value is replaced."""
        if id(cell) not in self._cells:
            try:
                held = cell.cell_contents
            except ValueError:  # not assigned yet
                held = None
            self._kept.append(cell)
            replaced = held is math or id(held) in FUNCTIONS or callable(held) or _is_module(held)
            self._cells[id(cell)] = types.CellType() if replaced else cell
        return self._cells[id(cell)]

    def _fill(self, cell: types.CellType, old: types.CellType) -> None:
        if cell is not old:
            try:
                cell.cell_contents
            except ValueError:
                cell.cell_contents = self.value(old.cell_contents)


class _Module:
    """A module whose functions are lifted as they are asked for."""

    def __init__(self, module: types.ModuleType, lifting: _Lifting) -> None:
        self._module = module
        self._lifting = lifting

    def __getattr__(self, name: str) -> Any:
        return self._lifting.value(getattr(self._module, name))


def _is_module(x: Any) -> bool:
    return isinstance(x, types.ModuleType) and not _is_left(x.__name__)


def _is_left(module: str | None) -> bool:
    top = (module or "").partition(".")[0]
    return top in _LEFT


def _names(code: types.CodeType) -> Iterator[str]:
    """The names that code and the functions in it may look up."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)
