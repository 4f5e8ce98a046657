"""The value of a term of literals."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from tadc.frontend.terms import Apply, Const, Term


def _quotient(x: float, y: float) -> float:
    return x / y


def _safe(x: float, y: float) -> float:
    return x * y if x else 0.0


def _pinv(x: float) -> float:
    return 1 / x if x else 0.0


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


_OPERATORS: dict[str, Callable[..., Any]] = {
    **{name: getattr(operator, name) for name in ("add", "sub", "mul", "neg")},
    "div": _quotient,
    "safe": _safe,
    "pinv": _pinv,
    "sigmoid": _sigmoid,
}


def literal_value(node: Term, below: list[float | None]) -> float | None:
    """The value of a term by those of its operands; None where it has none."""
    if isinstance(node, Const):
        return float(node.value)
    function = _OPERATORS.get(node.function) if isinstance(node, Apply) else None
    function = function or (getattr(math, node.function, None) if isinstance(node, Apply) else None)
    if function is None or any(x is None for x in below):
        return None
    try:
        found = function(*below)
    except (ValueError, ZeroDivisionError, OverflowError):
        return None
    return found if isinstance(found, float) else None
