"""A program's value by loops, one element at a time: the reference of the reference."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from tests.fuzz.forms import RELATIONS
from tests.fuzz.tree import Apply, Guard, Literal, Node, Program, Read, Sum, Value

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "neg": operator.neg,
    "pow2": lambda x: x * x,
    "pow3": lambda x: x * x * x,
    "pow5": lambda x: x**5,
    "pow-1": lambda x: 1 / x,
    "pow-2": lambda x: 1 / (x * x),
    "pow": math.pow,
    "exp": math.exp,
    "log": math.log,
    "sqrt": math.sqrt,
    "sin": math.sin,
    "cos": math.cos,
    "tanh": math.tanh,
    "atan": math.atan,
    "erf": math.erf,
    "erfc": math.erfc,
    "asinh": math.asinh,
    "sinh": math.sinh,
    "cosh": math.cosh,
    "exp2": math.exp2,
    "expm1": math.expm1,
    "log1p": math.log1p,
    "cbrt": math.cbrt,
    "atan2": math.atan2,
    "abs": abs,
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "max": max,
    "min": min,
    "mod": lambda x, y: x - y * math.floor(x / y),
    **{f"select {op}": lambda a, b, x, y, op=op: x if RELATIONS[op](a, b) else y for op in RELATIONS},
}

REDUCTIONS: dict[str, Callable[[list[float]], float]] = {
    "sum": sum,
    "prod": math.prod,
    "max": max,
    "min": min,
    "logsumexp": lambda elements: math.log(sum(map(math.exp, elements))),
}


def run(program: Program, arguments: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Outputs by name."""
    known = dict(arguments)
    for definition in program.definitions:
        result = np.zeros(definition.shape, program.types[definition.name].replace("f", "float"))
        for point in itertools.product(*map(range, definition.shape)):
            result[point] = value(definition.body, dict(zip(definition.indices, point, strict=True)), known)
        known[definition.name] = result
    return {name: known[name] for name in program.outputs}


def value(node: Node, env: Mapping[str, int], known: Mapping[str, np.ndarray]) -> float:
    """The value of a node at one point."""
    match node:
        case Literal(number):
            return number
        case Value(form):
            return float(form.at(env, 0))
        case Read(tensor, indices):
            point = tuple(form.at(env, 0) for form in indices)
            assert all(0 <= p < size for p, size in zip(point, known[tensor].shape, strict=True)), node
            return float(known[tensor][point])
        case Apply(op, operands):
            return FUNCTIONS[op](*[value(o, env, known) for o in operands])
        case Guard(conditions, then, otherwise):
            return value(then if all(c.holds(env, 0) for c in conditions) else otherwise, env, known)
        case Sum():
            return REDUCTIONS[node.kind](list(_elements(node, env, known)))


def _elements(node: Sum, env: Mapping[str, int], known: Mapping[str, np.ndarray]) -> Iterator[float]:
    lower = max(form.at(env, 0) for form in node.lower)
    upper = min(form.at(env, 0) for form in node.upper)
    for k in range(lower, upper + 1):
        inner = {**env, node.name: k}
        if not all(condition.holds(inner, 0) for condition in node.where):
            continue
        if node.style == "joined":
            assert isinstance(node.body, Sum)
            yield from _elements(node.body, inner, known)
        else:
            yield value(node.body, inner, known)
