"""Operations of values: how they are written, and what they compute."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array

from tests.fuzz.forms import RELATIONS


@dataclass(frozen=True)
class Operation:
    """How an operation is written, how tightly it binds (4: as tightly as a read), and what it computes.

    `needs` is how tightly each operand must bind to stand there without parentheses.
    """

    text: str
    binds: int
    needs: tuple[int, ...]
    function: Callable[..., Array]


def _call(name: str, function: Callable[..., Array], operands: int = 1) -> Operation:
    return Operation(f"{name}({', '.join(['{}'] * operands)})", 4, (0,) * operands, function)


def _select(op: str) -> Operation:
    function: Callable[..., Array] = lambda a, b, x, y: jnp.where(RELATIONS[op](a, b), x, y)  # noqa: E731
    return Operation(f"select({{}} {op} {{}}, {{}}, {{}})", 4, (0, 0, 0, 0), function)


#: Functions that JAX has by these names.
UNARY = "tan asin acos acosh atanh sign floor ceil".split()

OPERATIONS: dict[str, Operation] = {
    "add": Operation("{} + {}", 1, (1, 2), jax.lax.add),
    "sub": Operation("{} - {}", 1, (1, 2), jax.lax.sub),
    "mul": Operation("{}*{}", 2, (2, 3), jax.lax.mul),
    "div": Operation("{} / {}", 2, (2, 3), jax.lax.div),
    "mod": Operation("{} % {}", 2, (2, 3), lambda x, y: x - y * jnp.floor(x / y)),
    "neg": Operation("-{}", 1, (3,), jax.lax.neg),
    **{
        f"pow{n}": Operation(f"{{}}**{n}", 3, (4,), lambda x, n=n: jax.lax.integer_pow(x, n))
        for n in (0, 1, 2, 3, 4, 5, -1, -2)
    },
    "pow": Operation("{}**{}", 3, (4, 3), jax.lax.pow),
    "exp": _call("exp", jax.lax.exp),
    "log": _call("log", jax.lax.log),
    "sqrt": _call("sqrt", jax.lax.sqrt),
    "sin": _call("sin", jax.lax.sin),
    "cos": _call("cos", jax.lax.cos),
    "tanh": _call("tanh", jax.lax.tanh),
    "atan": _call("atan", jax.lax.atan),
    "erf": _call("erf", jax.lax.erf),
    "erfc": _call("erfc", jax.lax.erfc),
    "abs": _call("abs", jax.lax.abs),
    "sigmoid": _call("sigmoid", jax.lax.logistic),
    "asinh": _call("asinh", jax.lax.asinh),
    "sinh": _call("sinh", jax.lax.sinh),
    "cosh": _call("cosh", jax.lax.cosh),
    "exp2": _call("exp2", jax.lax.exp2),
    "expm1": _call("expm1", jax.lax.expm1),
    "log1p": _call("log1p", jax.lax.log1p),
    "cbrt": _call("cbrt", jax.lax.cbrt),
    **{name: _call(name, getattr(jax.lax, name)) for name in UNARY},
    "log2": _call("log2", jnp.log2),
    "log10": _call("log10", jnp.log10),
    "relu": _call("relu", jax.nn.relu),
    "pinv": _call("pinv", lambda x: jnp.where(x == 0, 0, 1 / x)),
    "safe": _call("safe", lambda x, y: jnp.where(x == 0, 0, x * y), 2),
    "atan2": _call("atan2", jax.lax.atan2, 2),
    "max": _call("max", jax.lax.max, 2),
    "min": _call("min", jax.lax.min, 2),
    **{f"select {op}": _select(op) for op in RELATIONS},
}
