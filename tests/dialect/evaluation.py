"""Terms evaluated by their definition, in double precision, for comparisons."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from tadc.frontend.extents import shape_at
from tadc.frontend.program import Program
from tadc.frontend.terms import Apply, Const, Guard, IndexValue, Read, Reduce, Select, Term

Env = Mapping[str, int]

FUNCTIONS: dict[str, Callable[..., float]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": lambda x, y: x / y if y else math.inf,
    "mod": lambda x, y: x - math.floor(x / y) * y if y and abs(x) < 1e9 else 0.5,
    "neg": lambda x: -x,
    "abs": lambda x: abs(x),
    "max": max,
    "min": min,
    "sign": lambda x: float(x > 0) - float(x < 0),
    "relu": lambda x: max(x, 0.0),
    "safe": lambda x, y: x * y if x else 0.0,
    "pinv": lambda x: 1 / x if x else 0.0,
}
RELATIONS = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def outputs(program: Program) -> dict[str, list[float]]:
    """Every element of every output, in order."""
    return {
        d.name: [
            evaluate(d.body, dict(zip(d.indices, point, strict=True)), program)
            for point in itertools.product(*map(range, shape_at(d.shape, {})))
        ]
        for d in program.outputs
    }


def evaluate(term: Term, env: Env, program: Program) -> float:
    """A term where its indices have these values."""

    def below(inner: Term, inner_env: Env = env) -> float:
        return evaluate(inner, inner_env, program)

    match term:
        case Const():
            return float(term.value)
        case IndexValue():
            return float(term.form.evaluate(env))
        case Read():
            return _element(term.tensor, tuple(form.evaluate(env) for form in term.indices), program)
        case Apply():
            return FUNCTIONS[term.function](*map(below, term.operands))
        case Guard():
            return below(term.then if all(c.holds(env) for c in term.conditions) else term.otherwise)
        case Select():
            holds = RELATIONS[term.relation](below(term.lhs), below(term.rhs))
            return below(term.then if holds else term.otherwise)
        case Reduce():
            points = itertools.product(range(-1, 6), repeat=len(term.binders))
            envs = ({**env, **dict(zip(term.binders, point, strict=True))} for point in points)
            return reduced(
                term.kind, [below(term.body, e) for e in envs if all(c.holds(e) for c in term.domain)]
            )
        case _:
            raise TypeError(term)


def reduced(kind: str, elements: Sequence[float]) -> float:
    """A reduction of some elements."""
    match kind:
        case "sum":
            return sum(elements)
        case "prod":
            return math.prod(elements)
        case "max":
            return float(np.max(elements, initial=-math.inf))
        case "min":
            return float(np.min(elements, initial=math.inf))
        case _:
            return float(np.logaddexp.reduce([-math.inf, *elements]))


def _element(tensor: str, point: tuple[int, ...], program: Program) -> float:
    for d in program.definitions:
        if d.name == tensor and all(0 <= i < n for i, n in zip(point, shape_at(d.shape, {}), strict=True)):
            return evaluate(d.body, dict(zip(d.indices, point, strict=True)), program)
    # Elements of arguments, and what lies outside: any fixed value will do.
    seed = sum(ord(c) for c in tensor)
    for i in point:
        seed = (seed * 31 + i * 7 + 3) % 1009
    return seed / 250 - 2
