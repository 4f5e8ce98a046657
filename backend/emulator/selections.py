"""Comparisons, choices and moves."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial

import numpy as np

from tadc.backend.emulator.arithmetic import DTYPES, Operation, same
from tadc.backend.emulator.global_memory import Array

_COMPARE: dict[str, Callable[[Array, Array], Array]] = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt,
    "ge": operator.ge, "lo": operator.lt, "ls": operator.le, "hi": operator.gt, "hs": operator.ge,
}  # fmt: skip
#: True also where an operand is NaN.
_UNORDERED = {"equ": "eq", "neu": "ne", "ltu": "lt", "leu": "le", "gtu": "gt", "geu": "ge"}


def selection(name: str, rest: list[str]) -> Operation | None:
    """The operation of a comparison, a choice or a move, or None."""
    type = rest[-1] if rest else ""
    if type not in DTYPES:
        return None
    if name == "selp" and len(rest) == 1:
        return Operation((type, type, "pred"), type, _chosen)
    if name == "mov" and len(rest) == 1:
        return same(type, 1, np.copy)
    if name == "setp" and len(rest) == 2:
        comparison = _comparison(rest[0], type)
        return comparison and Operation((type, type), "pred", comparison)
    return None


def _chosen(a: Array, b: Array, condition: Array) -> Array:
    return np.where(condition, a, b)


def _comparison(word: str, type: str) -> Callable[[Array, Array], Array] | None:
    if type[0] != "f":
        return _COMPARE.get(word)
    if word == "ne":
        # Ordered, unlike NumPy's.
        return lambda a, b: (a < b) | (a > b)
    if word in _UNORDERED:
        return partial(_unordered, _COMPARE[_UNORDERED[word]])
    if word in ("num", "nan"):
        return lambda a, b: (np.isnan(a) | np.isnan(b)) == (word == "nan")
    return _COMPARE.get(word)


def _unordered(compare: Callable[[Array, Array], Array], a: Array, b: Array) -> Array:
    return compare(a, b) | np.isnan(a) | np.isnan(b)
