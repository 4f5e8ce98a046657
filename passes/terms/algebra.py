"""Arithmetic on cotangents, with the trivial algebra done on the way.

A cotangent is linear in what comes in, so `0 * x` is 0 here whatever `x` is, and a factor
goes into a guard or select whose other branch is 0: the branch not taken contributes
nothing, not even a NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any, TypeGuard

from tadc.frontend.functions import REDUCTIONS
from tadc.frontend.terms import (
    Apply,
    Const,
    Domain,
    Guard,
    IndexValue,
    Reduce,
    Select,
    Term,
    Terms,
    Where,
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
        self.heads: dict[int, Term] = {}
        self.changed: dict[tuple[str, int], Term] = {}
        self.vanishing: dict[int, tuple[Term, ...]] = {}

    def const(self, value: int | float) -> Const:
        """A literal; integral floats as ints."""
        return self.terms.const(int(value) if float(value).is_integer() and abs(value) < 2**53 else value)

    def apply(self, function: str, *below: Term) -> Term:
        """A function as it is."""
        return self.terms.apply(function, below)

    def add(self, x: Term, y: Term) -> Term:
        """`x + y`; what is taken away is subtracted."""
        if is_const(x, 0):
            return y
        if is_const(y, 0):
            return x
        if x is y:
            return self.mul(self.const(2), x)
        match x, y:
            case Const(value=int(a)), Const(value=int(b)):
                return self.const(a + b)
            case _ if self.is_negative(y):
                return self.sub(x, self.neg(y))
            case _ if self.is_negative(x):
                return self.sub(y, self.neg(x))
            case _:
                return self.apply("add", x, y)

    def sub(self, x: Term, y: Term) -> Term:
        """`x - y`; of a term and itself 0, also where it is infinite."""
        if is_const(y, 0):
            return x
        if is_const(x, 0):
            return self.neg(y)
        if x is y:
            return self.zero
        match x, y:
            case Const(value=int(a)), Const(value=int(b)):
                return self.const(a - b)
            case _ if self.is_negative(y):
                return self.add(x, self.neg(y))
            case _:
                return self.apply("sub", x, y)

    def neg(self, x: Term) -> Term:
        """`-x`, the sign in front of the first factor."""
        return self.mul(self.const(-1), x)

    def mul(self, x: Term, y: Term) -> Term:
        """`x * y`, one literal in front, zeros outside guards."""
        if is_const(x, 0) or is_const(y, 0):
            return self.zero
        for one, other in ((x, y), (y, x)):
            if isinstance(one, Guard | Select) and is_const(one.otherwise, 0):
                then = self.mul(one.then, other) if one is x else self.mul(other, one.then)
                return self.branch(one, then)
        (a, rest_x), (b, rest_y) = self.split(x), self.split(y)
        if is_const(rest_x, 1) or is_const(rest_y, 1):
            rest = rest_y if is_const(rest_x, 1) else rest_x
        else:
            rest = self.apply("mul", rest_x, rest_y)
        return self.scaled(a * b, rest)

    def div(self, x: Term, y: Term) -> Term:
        """`x / y`."""
        if is_const(x, 0):
            return self.zero
        if is_const(y, 1):
            return x
        if isinstance(x, Guard | Select) and is_const(x.otherwise, 0):
            return self.branch(x, self.div(x.then, y))
        return self.apply("div", x, y)

    def split(self, term: Term) -> tuple[int | float, Term]:
        """The literal in front of a product and the rest: `-2 * x * y` is -2 and `x * y`."""
        node = self.head(term)
        if not (isinstance(node, Const) or (isinstance(node, Apply) and node.function == "neg")):
            return 1, term
        value = node.value if isinstance(node, Const) else -1
        return value, self.over(
            term, "", lambda first: self.one if isinstance(first, Const) else first.operands[0]
        )

    def over(self, term: Term, change: str, first: Callable[[Any], Term]) -> Term:
        """The product with `first` of its first factor in the place of that.

        `change` names `first`. What is found is kept: a chain of products is differentiated by parts of
        it that begin alike, and each from the start would be quadratic.
        """
        spine: list[Apply] = []
        while (change, term.number) not in self.changed and is_product(term):
            spine.append(term)
            term = term.operands[0]
        found = self.changed.get((change, term.number)) or first(term)
        for product in reversed(spine):
            other = product.operands[1]
            if product.function == "mul" and is_const(found, 1):
                found = other
            else:
                found = self.apply(product.function, found, other)
            self.changed[change, product.number] = found
        return found

    def head(self, term: Term) -> Term:
        """The first factor of a product; products are long where a chain of them is differentiated."""
        new: list[int] = []
        while term.number not in self.heads and is_product(term):
            new.append(term.number)
            term = term.operands[0]
        found = self.heads.get(term.number, term)
        self.heads.update(dict.fromkeys(new, found))
        return found

    def is_negative(self, term: Term) -> bool:
        """Whether a term is written with a minus in front."""
        match self.head(term):
            case Const(value=value):
                return value < 0
            case Apply(function="neg"):
                return True
            case _:
                return False

    def factors(self, term: Term) -> tuple[Term, ...]:
        """Terms of which one is 0 where the term is 0: what is multiplied, without signs and literals.

        Only short lists are kept: those of all parts of one long product would take quadratic space.
        """
        found: dict[Term, None] = {}
        stack = [term]
        while stack:
            node = stack.pop()
            if node.number in self.vanishing:
                found.update(dict.fromkeys(self.vanishing[node.number]))
                continue
            match node:
                case Apply(function="mul"):
                    stack += reversed(node.operands)
                case Apply(function="neg" | "div"):
                    stack.append(node.operands[0])
                case Const() if node.value:
                    pass
                case _:
                    found[node] = None
        if len(found) <= _SHORT:
            self.vanishing[term.number] = tuple(found)
        return tuple(found)

    def scaled(self, value: int | float, term: Term) -> Term:
        """`value * term` for a term without a literal in front."""
        if value == 1:
            return term
        if is_const(term, 1):
            return self.const(value)

        def first(factor: Term) -> Term:
            if is_const(factor, 1):
                return self.const(value)
            return self.apply("neg", factor) if value == -1 else self.apply("mul", self.const(value), factor)

        return self.over(term, repr(value), first)

    def power(self, x: Term, n: int) -> Term:
        """`x**n`."""
        if n == 0:
            return self.one
        return x if n == 1 else self.apply("pow", x, self.terms.const(n))

    def branch(self, node: Guard | Select, then: Term) -> Term:
        """The guard or select with another first branch and 0 in the second."""
        if isinstance(node, Guard):
            return self.guard(node.conditions, then, self.zero, node.span)
        return self.select(node.relation, node.lhs, node.rhs, then, self.zero)

    def guard(
        self, conditions: Iterable[Constraint], then: Term, otherwise: Term, span: Where | None = None
    ) -> Term:
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
            return self.terms.guard([*kept, *then.conditions], then.then, otherwise, span)
        return self.terms.guard(kept, then, otherwise, span)

    def select(self, relation: str, lhs: Term, rhs: Term, then: Term, otherwise: Term) -> Term:
        """Choose by value."""
        return then if then is otherwise else self.terms.select(relation, lhs, rhs, then, otherwise)

    def neutral(self, kind: str) -> Const:
        """What a reduction over no point gives."""
        return self.terms.const(REDUCTIONS[kind])

    def sum(
        self,
        binders: Sequence[str],
        domain: Domain,
        body: Term,
        hints: Sequence[str] = (),
        span: Where | None = None,
    ) -> Term:
        """The sum over a domain."""
        return self.zero if is_const(body, 0) else self.reduction("sum", binders, domain, body, hints, span)

    def reduction(
        self,
        kind: str,
        binders: Sequence[str],
        domain: Domain,
        body: Term,
        hints: Sequence[str] = (),
        span: Where | None = None,
    ) -> Term:
        """A reduction over a domain; over no index, its one element where the domain holds."""
        if not binders:
            return self.guard(domain, body, self.neutral(kind), span)
        named = hints or ("",) * len(binders)
        return self.terms.reduce(binders, domain, body, kind=kind, hints=named, span=span)

    def masked(
        self, cotangent: Term, product: Callable[[Term], Term], nonzero: frozenset[Term] = frozenset()
    ) -> Term:
        """`product(cotangent)`, a multiple of it by a partial that may be infinite; 0 where it is 0.

        Only factors that are not known to be non-zero are tested, those of enclosing tests
        among the known: a chain of such products tests each factor once.
        """
        if isinstance(cotangent, Guard | Select) and is_const(cotangent.otherwise, 0):
            if isinstance(cotangent, Select) and cotangent.relation == "!=" and is_const(cotangent.rhs, 0):
                nonzero |= frozenset(self.factors(cotangent.lhs))
            return self.branch(cotangent, self.masked(cotangent.then, product, nonzero))
        unknown = [f for f in self.factors(cotangent) if f not in nonzero and not is_positive(f)]
        if not unknown:
            return product(cotangent)
        tested = reduce(self.mul, unknown)
        return self.select("!=", tested, self.zero, product(cotangent), self.zero)


def is_product(term: Term) -> TypeGuard[Apply]:
    """Whether a term is a product or a quotient."""
    return isinstance(term, Apply) and term.function in ("mul", "div")


#: How many factors are remembered of a term.
_SHORT = 16
_DEPTH = 12  # a deeper look would be exponential on shared terms


def is_positive(term: Term, depth: int = _DEPTH) -> bool:
    """Whether a term is > 0 for all finite inputs, as far as a shallow look tells."""
    if not depth:
        return False
    down = depth - 1
    match term:
        case Const():
            return term.value > 0
        case IndexValue(form=form):
            return form.is_constant and form.constant > 0
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
