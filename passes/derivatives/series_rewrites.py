"""Functions and reductions near t = 0, written as others that have series in t (`series.py`).

    max(u, v)        is  select(u >= v, u, v)
    u % v            is  u - v * floor(u / v)
    floor(u)         is  floor(c), or c - 1 where u falls from an integer c
    atan2(u, v)      is  atan2(c, d) + atan((d * u - c * v) / (c * u + d * v))
    acos(u)          is  2 * asin(sqrt((1 - u) / 2)) near 1
    u ** v           is  exp(v * log(u)), or c ** v * exp(v * log(u / c))
    prod{i} (u)      is  prod{i} (c) * exp(sum{i} (log(u / c)))
    logsumexp{i} (u) is  l + log(sum{i} (exp(u - l))), with l = logsumexp{i} (c)

where c and d are what u and v are for t = 0. A reduction over few points of numbers is that of terms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import NamedTuple

from tadc.frontend import functions
from tadc.frontend.terms import Apply, Const, IndexValue, Reduce, Term
from tadc.passes.terms.algebra import Algebra
from tadc.passes.terms.costs import COMPARED
from tadc.passes.terms.few_points import elements

#: Functions whose Taylor series is that of one side.
WITH_STEPS = frozenset({"abs", "sign", "relu", "floor", "ceil"})


class Near(NamedTuple):
    """What is known of an operand: its value for t = 0, what it grows by, and its sign for a small t > 0."""

    value: Term
    growth: Term
    sign: float | None

    @property
    def number(self) -> float | None:
        """The value where it is a literal."""
        return float(self.value.value) if isinstance(self.value, Const) else None


def rewritten(a: Algebra, node: Term, near: Sequence[Near | None]) -> Term | None:
    """A term that is equal to the node near t = 0; None where none is known."""
    known = [n for n in near if n is not None]
    found = None
    match node:
        case Apply(function=function) if len(known) == len(near):
            function_rule = FUNCTIONS.get(function)
            found = function_rule and function_rule(a, node, known)
        case Reduce(kind=kind):
            rule = REDUCTIONS.get(kind)
            found = rule(a, node, known[0]) if rule and known else None
            found = found or _one_by_one(a, node)
        case _:
            pass
    return found


# -- functions -----------------------------------------------------------------------------------


def _extremum(relation: str) -> Callable[[Algebra, Apply, Sequence[Near]], Term]:
    def rule(a: Algebra, node: Apply, near: Sequence[Near]) -> Term:
        u, v = node.operands
        return a.select(relation, u, v, u, v)

    return rule


def _relu(a: Algebra, node: Apply, near: Sequence[Near]) -> Term:
    (u,), sign = node.operands, near[0].sign
    return a.select(">", u, a.zero, u, a.zero) if sign is None else u if sign > 0 else a.zero


def _abs(a: Algebra, node: Apply, near: Sequence[Near]) -> Term:
    (u,), sign = node.operands, near[0].sign
    return a.select(">=", u, a.zero, u, a.neg(u)) if sign is None else u if sign > 0 else a.neg(u)


def _sign(a: Algebra, node: Apply, near: Sequence[Near]) -> Term:
    sign = near[0].sign
    return a.apply("sign", near[0].value) if sign is None else a.const(sign)


def _rounded(a: Algebra, node: Apply, near: Sequence[Near]) -> Term:
    up, (u,) = node.function == "ceil", near
    if u.number is None:
        return a.apply(node.function, u.value)
    at = a.const(math.ceil(u.number) if up else math.floor(u.number))
    if not u.number.is_integer():
        return at
    beside = a.const(u.number + (1 if up else -1))
    if isinstance(u.growth, Const):
        return beside if (u.growth.value > 0) == up and u.growth.value else at
    return a.select(">" if up else "<", u.growth, a.zero, beside, at)


def _mod(a: Algebra, node: Apply, near: Sequence[Near]) -> Term:
    u, v = node.operands
    return a.sub(u, a.mul(v, a.apply("floor", a.div(u, v))))


def _atan2(a: Algebra, node: Apply, near: Sequence[Near]) -> Term | None:
    (u, v), (c, d) = node.operands, (n.value for n in near)
    if c is a.zero and d is a.zero:
        return None
    center = a.apply("atan2", c, d)
    if c is a.zero and near[0].sign != 1:
        if near[1].number is None or near[1].number < 0:
            return None  # -pi, or pi
        center = a.zero
    over = a.sub(a.mul(d, u), a.mul(c, v))
    return a.add(center, a.apply("atan", a.div(over, a.add(a.mul(c, u), a.mul(d, v)))))


def _pow(a: Algebra, node: Apply, near: Sequence[Near]) -> Term | None:
    u, v = node.operands
    if isinstance(v, IndexValue) and v.form.is_constant:
        return a.apply("pow", u, a.const(int(v.form.constant)))
    if isinstance(v, Const) or near[0].number == 0:
        return None
    if near[1].growth is not a.zero:
        return a.apply("exp", a.mul(v, a.apply("log", u)))
    # Of what is negative there is a power, if v is a whole number.
    center = near[0].value
    return a.mul(a.apply("pow", center, v), a.apply("exp", a.mul(v, a.apply("log", a.div(u, center)))))


def _end(a: Algebra, function: str, u: Term) -> Term:
    """`2 * function(sqrt(u / 2))`."""
    root = a.apply("sqrt", a.mul(a.const(0.5), u))
    return a.mul(a.const(2), a.apply(function, root))


def _acos(a: Algebra, node: Apply, near: Sequence[Near]) -> Term | None:
    (u,), end = node.operands, near[0].number
    if end == 1:
        return _end(a, "asin", a.sub(a.one, u))
    return a.sub(a.const(math.pi), _end(a, "asin", a.add(a.one, u))) if end == -1 else None


def _asin(a: Algebra, node: Apply, near: Sequence[Near]) -> Term | None:
    found = _acos(a, node, near)
    return found and a.sub(a.const(math.pi / 2), found)


def _acosh(a: Algebra, node: Apply, near: Sequence[Near]) -> Term | None:
    return _end(a, "asinh", a.sub(node.operands[0], a.one)) if near[0].number == 1 else None


FUNCTIONS: Mapping[str, Callable[[Algebra, Apply, Sequence[Near]], Term | None]] = {
    "max": _extremum(">="),
    "min": _extremum("<="),
    "relu": _relu,
    "abs": _abs,
    "sign": _sign,
    "floor": _rounded,
    "ceil": _rounded,
    "mod": _mod,
    "atan2": _atan2,
    "pow": _pow,
    "acos": _acos,
    "asin": _asin,
    "acosh": _acosh,
}


# -- reductions ----------------------------------------------------------------------------------


def _prod(a: Algebra, node: Reduce, near: Near) -> Term | None:
    if near.number == 0:
        return None
    logarithm = a.apply("log", a.div(node.body, near.value))
    center = a.reduction("prod", node.binders, node.domain, near.value, node.hints)
    total = a.sum(node.binders, node.domain, logarithm, node.hints)
    return a.mul(center, a.apply("exp", total))


def _logsumexp(a: Algebra, node: Reduce, near: Near) -> Term:
    center = a.reduction("logsumexp", node.binders, node.domain, near.value, node.hints)
    element = a.apply("exp", a.sub(node.body, center))
    return a.add(center, a.apply("log", a.sum(node.binders, node.domain, element, node.hints)))


REDUCTIONS: Mapping[str, Callable[[Algebra, Reduce, Near], Term | None]] = {
    "prod": _prod,
    "logsumexp": _logsumexp,
}


#: What joins two points of a reduction.
JOINED = {r.name: r.join for r in functions.REDUCTIONS.values() if r.in_loops}


def _one_by_one(a: Algebra, node: Reduce) -> Term | None:
    """A reduction over few points of numbers as a term of its elements."""
    found = elements(a, node, COMPARED) if node.kind in JOINED else None
    return reduce(lambda x, y: a.apply(JOINED[node.kind], x, y), found) if found else None
