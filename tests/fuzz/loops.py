"""A program's value by loops, one element at a time: the reference of the reference."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tests.fuzz.tree import RELATIONS, Apply, Form, Guard, Literal, Node, Program, Read, Relation, Sum, Value

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
    "select <": lambda a, b, x, y: x if a < b else y,
    "select <=": lambda a, b, x, y: x if a <= b else y,
    "select >": lambda a, b, x, y: x if a > b else y,
    "select >=": lambda a, b, x, y: x if a >= b else y,
}


def run(program: Program, arguments: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Outputs by name."""
    known = dict(arguments)
    for definition in program.definitions:
        result = np.zeros(definition.shape)
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
            return float(_integer(form, env))
        case Read(tensor, indices):
            point = tuple(_integer(form, env) for form in indices)
            assert all(0 <= p < size for p, size in zip(point, known[tensor].shape, strict=True)), node
            return float(known[tensor][point])
        case Apply(op, operands):
            return FUNCTIONS[op](*[value(o, env, known) for o in operands])
        case Guard(conditions, then, otherwise):
            return value(then if all(_holds(c, env) for c in conditions) else otherwise, env, known)
        case Sum():
            lower = max(_integer(form, env) for form in node.lower)
            upper = min(_integer(form, env) for form in node.upper)
            return sum(value(node.body, {**env, node.name: k}, known) for k in range(lower, upper + 1))


def _integer(form: Form, env: Mapping[str, int]) -> int:
    return sum(c * env[name] for name, c in form.terms) + form.constant


def _holds(condition: Relation, env: Mapping[str, int]) -> bool:
    return RELATIONS[condition.op](_integer(condition.left, env), _integer(condition.right, env))
