"""Arithmetic on cotangents, with the trivial algebra done on the way.

A cotangent is linear in what comes in, so `0 * x` is 0 here whatever `x` is, and a factor
goes into a guard or select whose other branch is 0: the branch not taken contributes
nothing, not even a NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce

from tadc.frontend.terms import (
    Apply,
    Const,
    Domain,
    Guard,
    Reduce,
    Select,
    Term,
    Terms,
)
from tadc.lattice.affine import Constraint


def is_const(term: Term, value: int) -> bool:
    """Whether a term is this literal."""
    return isinstance(term, Const) and term.value == value


class Algebra:
    """Simplifying constructors over a table of terms."""

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self.zero = terms.const(0)
        self.one = terms.const(1)

    def const(self, value: int | float) -> Const:
        """A literal; integral floats as ints."""
        return self.terms.const(int(value) if float(value).is_integer() and abs(value) < 2**53 else value)

    def apply(self, function: str, *below: Term) -> Term:
        """A function as it is."""
        return self.terms.apply(function, below)

    def add(self, x: Term, y: Term) -> Term:
        """`x + y`."""
        if is_const(x, 0):
            return y
        if is_const(y, 0):
            return x
        if x is y:
            return self.mul(self.const(2), x)
        match x, y:
            case Const(value=int(a)), Const(value=int(b)):
                return self.const(a + b)
            case _, Apply(function="neg", operands=(z,)):
                return self.sub(x, z)
            case Apply(function="neg", operands=(z,)), _:
                return self.sub(y, z)
            case _:
                return self.apply("add", x, y)

    def sub(self, x: Term, y: Term) -> Term:
        """`x - y`."""
        if is_const(y, 0):
            return x
        if is_const(x, 0):
            return self.neg(y)
        if x is y:
            return self.zero
        match x, y:
            case Const(value=int(a)), Const(value=int(b)):
                return self.const(a - b)
            case _, Apply(function="neg", operands=(z,)):
                return self.add(x, z)
            case _:
                return self.apply("sub", x, y)

    def neg(self, x: Term) -> Term:
        """`-x`."""
        match x:
            case Const():
                return self.const(-x.value)
            case Apply(function="neg", operands=(z,)):
                return z
            case Apply(function="mul", operands=(Const() as c, z)):
                return self.mul(self.const(-c.value), z)
            case Guard() | Select() if is_const(x.otherwise, 0):
                return self.branch(x, self.neg(x.then))
            case _:
                return self.apply("neg", x)

    def mul(self, x: Term, y: Term) -> Term:
        """`x * y`, literals in front, signs outside, zeros outside guards."""
        if is_const(x, 0) or is_const(y, 0):
            return self.zero
        if is_const(x, 1):
            return y
        if is_const(y, 1):
            return x
        if is_const(x, -1):
            return self.neg(y)
        if is_const(y, -1):
            return self.neg(x)
        match x, y:
            case Const(), Const():
                return self.const(x.value * y.value)
            case _, Const():
                return self.mul(y, x)
            case Const(), Apply(function="mul", operands=(Const() as c, z)):
                return self.mul(self.const(x.value * c.value), z)
            case ((Guard() | Select()), _) if is_const(x.otherwise, 0):
                return self.branch(x, self.mul(x.then, y))
            case _, (Guard() | Select()) if is_const(y.otherwise, 0):
                return self.branch(y, self.mul(x, y.then))
            case Apply(function="neg", operands=(z,)), _:
                return self.neg(self.mul(z, y))
            case _, Apply(function="neg", operands=(z,)):
                return self.neg(self.mul(x, z))
            case Apply(function="mul", operands=(Const() as c, z)), _:
                return self.mul(c, self.mul(z, y))
            case _, Apply(function="mul", operands=(Const() as c, z)):
                return self.mul(c, self.mul(x, z))
            case _:
                return self.apply("mul", x, y)

    def div(self, x: Term, y: Term) -> Term:
        """`x / y`."""
        if is_const(x, 0):
            return self.zero
        if is_const(y, 1):
            return x
        match x:
            case Guard() | Select() if is_const(x.otherwise, 0):
                return self.branch(x, self.div(x.then, y))
            case Apply(function="neg", operands=(z,)):
                return self.neg(self.div(z, y))
            case _:
                return self.apply("div", x, y)

    def power(self, x: Term, n: int) -> Term:
        """`x**n`."""
        if n == 0:
            return self.one
        return x if n == 1 else self.apply("pow", x, self.terms.const(n))

    def branch(self, node: Guard | Select, then: Term) -> Term:
        """The guard or select with another first branch and 0 in the second."""
        if isinstance(node, Guard):
            return self.guard(node.conditions, then, self.zero)
        return self.select(node.relation, node.lhs, node.rhs, then, self.zero)

    def guard(self, conditions: Iterable[Constraint], then: Term, otherwise: Term) -> Term:
        """Choose by index values; conditions decided at once, nested guards merged."""
        kept: list[Constraint] = []
        for row in conditions:
            if not row.form.is_constant:
                kept.append(row)
            elif not row.holds({}):
                return otherwise
        if not kept or then is otherwise:
            return then
        if isinstance(then, Guard) and then.otherwise is otherwise:
            return self.terms.guard([*kept, *then.conditions], then.then, otherwise)
        return self.terms.guard(kept, then, otherwise)

    def select(self, relation: str, lhs: Term, rhs: Term, then: Term, otherwise: Term) -> Term:
        """Choose by value."""
        return then if then is otherwise else self.terms.select(relation, lhs, rhs, then, otherwise)

    def sum(self, binders: Sequence[str], domain: Domain, body: Term, hints: Sequence[str] = ()) -> Term:
        """The sum over a domain; over no index, its one term where the domain holds."""
        if is_const(body, 0):
            return self.zero
        if not binders:
            return self.guard(domain, body, self.zero)
        return self.terms.reduce(binders, domain, body, hints=hints or ("",) * len(binders))

    def masked(
        self, cotangent: Term, product: Callable[[Term], Term], nonzero: frozenset[Term] = frozenset()
    ) -> Term:
        """`product(cotangent)`, a multiple of it by a partial that may be infinite; 0 where it is 0.

        Only factors that are not known to be non-zero are tested, those of enclosing tests
        among the known: a chain of such products tests each factor once.
        """
        if isinstance(cotangent, Guard | Select) and is_const(cotangent.otherwise, 0):
            if isinstance(cotangent, Select) and cotangent.relation == "!=" and is_const(cotangent.rhs, 0):
                nonzero |= frozenset(factors(cotangent.lhs))
            return self.branch(cotangent, self.masked(cotangent.then, product, nonzero))
        unknown = [f for f in factors(cotangent) if f not in nonzero and not is_positive(f)]
        if not unknown:
            return product(cotangent)
        tested = reduce(self.mul, unknown)
        return self.select("!=", tested, self.zero, product(cotangent), self.zero)


def factors(term: Term) -> list[Term]:
    """Terms of which one is 0 where the term is 0: what is multiplied, without signs and literals."""
    found: dict[Term, None] = {}
    stack = [term]
    while stack:
        node = stack.pop()
        match node:
            case Apply(function="mul"):
                stack += reversed(node.operands)
            case Apply(function="neg" | "div"):
                stack.append(node.operands[0])
            case Const() if node.value:
                pass
            case _:
                found[node] = None
    return list(found)


_DEPTH = 12  # a deeper look would be exponential on shared terms


def is_positive(term: Term, depth: int = _DEPTH) -> bool:
    """Whether a term is > 0 for all finite inputs, as far as a shallow look tells."""
    if not depth:
        return False
    down = depth - 1
    match term:
        case Const():
            return term.value > 0
        case Apply(function="exp" | "exp2" | "cosh" | "sigmoid"):
            return True
        case Apply(function="add", operands=(x, y)):
            if is_positive(x, down):
                return is_nonnegative(y, down)
            return is_positive(y, down) and is_nonnegative(x, down)
        case Apply(function="mul" | "div" | "min", operands=(x, y)):
            return is_positive(x, down) and is_positive(y, down)
        case Apply(function="max", operands=(x, y)):
            return is_positive(x, down) or is_positive(y, down)
        case Apply(function="sqrt" | "cbrt" | "pow", operands=(x, *_)):
            return is_positive(x, down)
        case _:
            return False


def is_nonnegative(term: Term, depth: int = _DEPTH) -> bool:
    """Whether a term is >= 0 for all finite inputs, as far as a shallow look tells."""
    if not depth:
        return False
    down = depth - 1
    match term:
        case Const():
            return term.value >= 0
        case Apply(function="abs" | "sqrt" | "relu"):
            return True
        case Apply(function="pow", operands=(_, Const(value=int(n)))) if n % 2 == 0:
            return True
        case Apply(function="mul", operands=(x, y)) if x is y:
            return True
        case Apply(function="add" | "mul" | "div" | "min", operands=(x, y)):
            return is_nonnegative(x, down) and is_nonnegative(y, down)
        case Apply(function="max", operands=(x, y)):
            return is_nonnegative(x, down) or is_nonnegative(y, down)
        case Reduce():
            return term.kind == "sum" and is_nonnegative(term.body, down)
        case _:
            return is_positive(term, down)
