"""The functions and reductions of the language: names, numbers of arguments, values of nothing."""

from __future__ import annotations

import math

UNARY = (
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "cbrt", "erf"),
    *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    *("abs", "sign", "floor", "ceil", "sigmoid", "relu"),
)
BINARY = ("atan2", "pow", "max", "min")

#: Functions a program may call, with their number of arguments.
FUNCTIONS: dict[str, int] = {**dict.fromkeys(UNARY, 1), **dict.fromkeys(BINARY, 2)}

#: What a reduction may compute, and what it gives over no point.
REDUCTIONS: dict[str, int | float] = {
    "sum": 0,
    "prod": 1,
    "max": -math.inf,
    "min": math.inf,
    "logsumexp": -math.inf,
}

#: Other spellings that are read; the printer writes the name on the right.
ALIASES = {"sgn": "sign"}

#: Operators as terms: `x - y` is `Apply("sub", (x, y))`. `pow` is `**` and `pow(x, y)`.
OPERATORS = {"+": "add", "-": "sub", "*": "mul", "/": "div", "%": "mod", "**": "pow"}

#: The relations of `select` and of conditions between indices.
RELATIONS = ("=", "!=", "<", "<=", ">", ">=")
