"""Arithmetic on cotangents, with the trivial algebra done on the way.

A cotangent is linear in what comes in, so `0 * x` is 0 here whatever `x` is, and a factor
goes into a guard or select whose other branch is 0: the branch not taken contributes
nothing, not even a NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeGuard

from tadc.frontend.functions import REDUCTIONS
from tadc.frontend.terms import Apply, Const, Domain, Guard, Reduce, Select, Term, Terms, Where
from tadc.lattice.affine import Constraint
from tadc.passes.terms.value_ranges import ValueRanges

#: Functions of which a method here makes a term.
ARITHMETIC = frozenset(("add", "sub", "mul", "div", "neg", "safe"))

#: What holds of a number that is not 0, and what does not.
_NOT_ZERO, _ZERO = ("!=", ">", "<"), ("=", ">=", "<=")


def is_const(term: Term, value: int) -> bool:
    """Whether a term is this literal."""
    return isinstance(term, Const) and term.value == value


class Algebra:
    """Simplifying constructors over a table of terms; `values` tell which values terms take."""

    def __init__(self, terms: Terms, values: ValueRanges | None = None) -> None:
        self.terms = terms
        self.values = values or ValueRanges()
        self.zero = terms.const(0)
        self.one = terms.const(1)
        self.heads: dict[int, Term] = {}
        self.changed: dict[tuple[str, int], Term] = {}
        #: What is not 0 where a term stands that is being made.
        self.nonzero: list[Term] = []

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
            case Guard(), Guard() if self.are_zero_together(x, y):
                return self.guard(x.conditions, self.add(x.then, y.then), self.zero)
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
            case Guard(), Guard() if self.are_zero_together(x, y):
                return self.guard(x.conditions, self.sub(x.then, y.then), self.zero)
            case _ if self.is_negative(y):
                return self.add(x, self.neg(y))
            case _:
                return self.apply("sub", x, y)

    def are_zero_together(self, x: Guard, y: Guard) -> bool:
        """Whether two guards have the same conditions, and both are 0 where these do not hold."""
        return x.conditions == y.conditions and is_const(x.otherwise, 0) and is_const(y.otherwise, 0)

    def neg(self, x: Term) -> Term:
        """`-x`, the sign in front of the first factor."""
        return self.mul(self.const(-1), x)

    def mul(self, x: Term, y: Term) -> Term:
        """`x * y`, one literal in front, zeros outside guards."""
        if is_const(x, 0) or is_const(y, 0):
            return self.zero
        if chooses_zero(x):
            return self.inside(x, lambda inner: self.mul(inner, y))
        if chooses_zero(y):
            return self.inside(y, lambda inner: self.mul(x, inner))
        (a, rest_x), (b, rest_y) = self.split(x), self.split(y)
        if is_const(rest_x, 1) or is_const(rest_y, 1):
            rest = rest_y if is_const(rest_x, 1) else rest_x
        elif is_safe(rest_x):
            rest = self.safe(rest_x.operands[0], self.further(rest_x.operands[1], rest_y))
        elif is_safe(rest_y):
            rest = self.safe(rest_y.operands[0], self.further(rest_y.operands[1], rest_x))
        else:
            rest = self.apply("mul", rest_x, rest_y)
        return self.scaled(a * b, rest)

    def safe(self, x: Term, y: Term) -> Term:
        """`x * y`, 0 where x is 0 also where y is infinite; a plain product where y is proven finite.

        It is linear in x and in y, so its derivative is one of each: no branch is taken by a value.
        """
        if is_const(x, 0) or is_const(y, 0):
            return self.zero
        if chooses_zero(x):
            return self.inside(x, lambda inner: self.safe(inner, y))
        if chooses_zero(y):
            return self.inside(y, lambda inner: self.safe(x, inner))
        (a, rest_x), (b, rest_y) = self.split(x), self.split(y)
        if is_safe(rest_x) and self.values.of(rest_x.operands[1]).is_nonzero:
            first, second = rest_x.operands
            return self.scaled(a * b, self.safe(first, self.product(second, rest_y)))
        if self.values.of(rest_y).finite or self.values.of(rest_x).is_nonzero:
            return self.product(x, y)
        return self.scaled(a * b, self.apply("safe", rest_x, rest_y))

    def further(self, x: Term, y: Term) -> Term:
        """`x * y`; where x is a quotient, above the line."""
        if isinstance(x, Apply) and x.function == "div":
            return self.div(self.mul(x.operands[0], y), x.operands[1])
        return self.mul(x, y)

    def product(self, x: Term, y: Term) -> Term:
        """`x * y`; by a quotient it is one quotient."""
        if isinstance(y, Apply) and y.function == "div":
            return self.div(self.mul(x, y.operands[0]), y.operands[1])
        return self.mul(x, y)

    def div(self, x: Term, y: Term) -> Term:
        """`x / y`."""
        if is_const(x, 0):
            return self.zero
        if is_const(y, 1):
            return x
        if chooses_zero(x):
            return self.inside(x, lambda inner: self.div(inner, y))
        scale, rest = self.split(x)
        if is_safe(rest):
            return self.scaled(scale, self.safe(rest.operands[0], self.div(rest.operands[1], y)))
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

    def inside(self, node: Guard | Select, change: Callable[[Term], Term]) -> Term:
        """What `change` makes of the branch that is not 0, in the same choice: what it brings along adds
        nothing where that branch is not taken, not even a NaN."""
        if isinstance(node, Guard):
            if is_const(node.otherwise, 0):
                return self.branch(node, change(node.then))
            return self.guard(node.conditions, self.zero, change(node.otherwise), node.span)
        first = is_const(node.otherwise, 0)
        tells = is_const(node.rhs, 0) and node.relation in (_NOT_ZERO if first else _ZERO)
        self.nonzero += [node.lhs] if tells else []
        made = change(node.then if first else node.otherwise)
        del self.nonzero[len(self.nonzero) - tells :]
        if first:
            return self.branch(node, made)
        return self.select(node.relation, node.lhs, node.rhs, self.zero, made)

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

    def first(self, cases: Sequence[tuple[Domain, Term]], otherwise: Term) -> Term:
        """The term of the first case whose conditions hold; what stands for none of them else."""
        for rows, term in reversed(cases):
            otherwise = self.guard(rows, term, otherwise)
        return otherwise

    def select(
        self, relation: str, lhs: Term, rhs: Term, then: Term, otherwise: Term, span: Where | None = None
    ) -> Term:
        """Choose by value; conditions on indices outside of which both branches are 0 come first."""
        if then is otherwise:
            return then
        for inner, other in ((then, otherwise), (otherwise, then)):
            if isinstance(inner, Guard) and is_const(inner.otherwise, 0) and is_const(other, 0):
                pair = (inner.then, other) if inner is then else (other, inner.then)
                chosen = self.select(relation, lhs, rhs, *pair, span)
                return self.guard(inner.conditions, chosen, self.zero, inner.span)
        return self.terms.select(relation, lhs, rhs, then, otherwise, span)

    def rebuild(self, node: Term, below: Sequence[Term]) -> Term:
        """The node over other operands."""
        match node:
            case Apply(function=function) if function in ARITHMETIC:
                return getattr(self, function)(*below)
            case Reduce(kind="sum") if is_const(below[0], 0):
                return self.zero
            case Guard():
                return self.guard(node.conditions, below[0], below[1], node.span)
            case Select():
                return self.select(node.relation, *below, node.span)  # type: ignore[call-arg]
            case _:
                return self.terms.rebuild(node, below)

    def neutral(self, kind: str) -> Const:
        """What a reduction over no point gives."""
        return self.terms.const(REDUCTIONS[kind].nothing)

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


def chooses_zero(term: Term) -> TypeGuard[Guard | Select]:
    """Whether a term is 0 in one branch of a choice."""
    return isinstance(term, Guard | Select) and (is_const(term.otherwise, 0) or is_const(term.then, 0))


def left_out(term: Term, nothing: int = 0) -> tuple[list[Domain], Term]:
    """Conditions under each of which a term is nothing, 0 or what is said, and the term elsewhere."""
    found: list[Domain] = []
    while isinstance(term, Guard) and is_const(term.then, nothing):
        found.append(term.conditions)
        term = term.otherwise
    return found, term


def choice_of(node: Guard | Select) -> tuple[object, ...]:
    """What a choice asks, and which branch of it is 0."""
    asked = node.conditions if isinstance(node, Guard) else (node.relation, node.lhs.number, node.rhs.number)
    return (asked, is_const(node.otherwise, 0))


def is_product(term: Term) -> TypeGuard[Apply]:
    """Whether a term is a product or a quotient."""
    return isinstance(term, Apply) and term.function in ("mul", "div")


def is_safe(term: Term) -> TypeGuard[Apply]:
    """Whether a term is a product that is 0 where its first factor is."""
    return isinstance(term, Apply) and term.function == "safe"
