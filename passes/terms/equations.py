"""Equations of products, quotients, roots and powers: what one factor is as several, with its exponents.

A line says that `left**a` is the product of what stands right, each to the power of `a` times a number, or
times the literal `b` of the line, where its condition holds. An exponent is a multiple of 1/2. The conditions
keep NaN: `sqrt(x)**2` is x only where x is known to be at least 0, and `x / x` is 1 only where x is not 0.
What is infinite, or too large or small for its type on the way, may come out finite. A test compares both
sides of each line in high precision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property

from tadc.frontend.formula_values import program_of
from tadc.frontend.terms import Apply, Const, Read, Term
from tadc.lattice.late_dataclasses import dataclass
from tadc.passes.terms.algebra import Algebra
from tadc.passes.terms.value_intervals import ValueInterval

Condition = Callable[[Fraction, Fraction, Mapping[str, ValueInterval]], bool]
"""Of the exponent a, of the literal b (1 where there is none), and of the values of x and y."""

Operands = Mapping[str, Term]
"""What x and y are."""

ONE, HALF = Fraction(1), Fraction(1, 2)


def is_whole(a: Fraction) -> bool:
    """Whether an exponent is an integer."""
    return a.denominator == 1


def whole(a: Fraction, b: Fraction, values: Mapping[str, ValueInterval]) -> bool:
    """Whether a is an integer."""
    return is_whole(a)


def whole_or_not_negative(a: Fraction, b: Fraction, values: Mapping[str, ValueInterval]) -> bool:
    """Whether a is an integer, or no operand is below 0."""
    return is_whole(a) or all(found.is_nonnegative for found in values.values())


def keeps_root(a: Fraction, b: Fraction, values: Mapping[str, ValueInterval]) -> bool:
    """Whether (x**b)**a is defined where x**(a*b) is: a root stays one, or x is not below 0."""
    if values["x"].is_nonnegative:
        return True
    return is_whole(a) and (is_whole(b) or not is_whole(a * b))


def keeps_square_root(a: Fraction, b: Fraction, values: Mapping[str, ValueInterval]) -> bool:
    """Whether sqrt(x)**a is defined where x**(a/2) is."""
    return keeps_root(a, HALF, values)


def even(a: Fraction, b: Fraction, values: Mapping[str, ValueInterval]) -> bool:
    """Whether a is an even integer."""
    return is_whole(a / 2)


def divides(a: Fraction, b: Fraction, values: Mapping[str, ValueInterval]) -> bool:
    """Whether it is divided by."""
    return a < 0


@dataclass(frozen=True)
class PowerEquation:
    """A line: texts of the language over x and y; b is the literal exponent of a power."""

    left: str
    right: tuple[tuple[str, Fraction | None], ...]
    holds: Condition

    @cached_property
    def function(self) -> str:
        """The function that stands left."""
        pattern = program_of(self.left)[-1][1]
        assert isinstance(pattern, Apply)
        return pattern.function

    def match(self, term: Apply) -> Operands | None:
        """What x and y are if a term stands left; of a power with a literal exponent, its base alone."""
        if self.function == "pow" and isinstance(term.operands[1], Const):
            return {"x": term.operands[0]} if self.has_literal else None
        return None if self.has_literal else matched(self.left, term)

    @cached_property
    def has_literal(self) -> bool:
        """Whether it says what a power with a literal exponent is."""
        pattern = program_of(self.left)[-1][1]
        return self.function == "pow" and isinstance(pattern.below[1], Const)

    def factors(
        self, algebra: Algebra, operands: Operands, a: Fraction, b: Fraction
    ) -> Iterator[tuple[Term, Fraction]]:
        """What stands right, for what x and y are."""
        for text, times in self.right:
            yield written(algebra, text, operands), a * (b if times is None else times)


@dataclass(frozen=True)
class PairEquation:
    """A line: the product of two texts over x, one to the power of `times`, is a third, and so are powers."""

    left: tuple[str, str]
    right: str
    times: Fraction = ONE

    def match(self, algebra: Algebra, first: Term, second: Term) -> Term | None:
        """What the product of two terms is."""
        found = matched(self.left[0], first)
        if found is None or written(algebra, self.left[1], found) is not second:
            return None
        return written(algebra, self.right, found)


def matched(text: str, term: Term) -> Operands | None:
    """What x and y are if a term is what a text of the language says; summands and factors in any order."""
    found: dict[str, Term] = {}
    return found if _match(program_of(text)[-1][1], term, found) else None


def _match(pattern: Term, term: Term, found: dict[str, Term]) -> bool:
    match pattern, term:
        case Read(tensor=name), _:
            return found.setdefault(name, term) is term
        case Const(value=value), Const(value=other):
            return value == other
        case Apply(function=function, operands=below), Apply(operands=parts) if function == term.function:
            orders = [parts, parts[::-1]] if function in ("add", "mul") else [parts]
            return any(all(map(_match, below, order, [found] * len(below))) for order in orders)
        case _:
            return False


def written(algebra: Algebra, text: str, operands: Operands) -> Term:
    """The term of a text, for what x and y are."""
    return _over(algebra, program_of(text)[-1][1], operands)


def _over(algebra: Algebra, text: Term, operands: Operands) -> Term:
    match text:
        case Read(tensor=name):
            return operands[name]
        case Apply(function="neg", operands=(inner,)):
            return algebra.neg(_over(algebra, inner, operands))
        case Apply(function="mul", operands=(x, y)):
            return algebra.mul(*(_over(algebra, t, operands) for t in (x, y)))
        case Apply(function=function, operands=below):
            return algebra.apply(function, *(_over(algebra, t, operands) for t in below))
        case _:
            return text if not isinstance(text, Const) else algebra.const(text.value)


#: `left**a = right[0]**(a*k) * …`, and where.
EQUATIONS = (
    PowerEquation("x * y", (("x", ONE), ("y", ONE)), whole_or_not_negative),
    PowerEquation("x / y", (("x", ONE), ("y", -ONE)), whole_or_not_negative),
    PowerEquation("-x", (("-1", ONE), ("x", ONE)), whole),
    PowerEquation("sqrt(x)", (("x", HALF),), keeps_square_root),
    PowerEquation("x**2", (("x", None),), keeps_root),
    PowerEquation("x**y", (("x**(-y)", -ONE),), divides),
    PowerEquation("abs(x)", (("x", ONE),), even),
    PowerEquation("exp(x)", (("exp(-x)", -ONE),), divides),
    PowerEquation("1 + exp(x)", (("sigmoid(-x)", -ONE),), divides),
    PowerEquation("exp(x) + exp(-x)", (("2", ONE), ("cosh(x)", ONE)), whole),
    PowerEquation("exp(x) - exp(-x)", (("2", ONE), ("sinh(x)", ONE)), whole),
)
BY_FUNCTION: Mapping[str, Sequence[PowerEquation]] = {
    function: tuple(equation for equation in EQUATIONS if equation.function == function)
    for function in dict.fromkeys(equation.function for equation in EQUATIONS)
}

#: `left[0]**a * left[1]**(a*k) = right**a`.
PAIRS = (
    PairEquation(("exp(x)", "sigmoid(-x)"), "sigmoid(x)"),
    PairEquation(("exp(x) - 1", "sigmoid(-x)"), "tanh(0.5*x)"),
    PairEquation(("1 - exp(-x)", "sigmoid(x)"), "tanh(0.5*x)"),
    PairEquation(("sinh(x)", "cosh(x)"), "tanh(x)", -ONE),
)


def joins(a: Fraction, b: Fraction, x: ValueInterval) -> bool:
    """Whether `x**a * x**b = x**(a + b)`: no root of a negative number is lost, no pole at 0."""
    if not x.is_nonnegative and is_whole(a + b) and not is_whole(a):
        return False
    return a * b > 0 or x.is_nonzero
