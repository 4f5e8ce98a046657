"""Which values terms take: the intervals against values, and what is proven of programs."""

from __future__ import annotations

import itertools
import math
from typing import Any

import mpmath
import pytest

import tadc
from tadc.frontend.functions import UNARY
from tadc.passes.terms import value_intervals as intervals
from tadc.passes.terms.value_intervals import ANY, FINITE, NONNEGATIVE, POSITIVE, ValueInterval, exactly
from tadc.passes.terms.value_ranges import ValueRanges, read_under
from tests.conformance.test_intervals import EXACT

UNIT = ValueInterval(-1, 1, finite=True)
POINTS = [-1e3, -7.5, -2, -1.5, -1, -0.5, -1e-9, 0, 1e-9, 0.25, 1, 1.5, 2, 3, 50, 1e3]
OPERANDS = [
    ANY, FINITE, NONNEGATIVE, POSITIVE, UNIT, exactly(0), exactly(2), exactly(-0.5), ValueInterval(-1, 0),
    ValueInterval(0, 1, finite=True, nonzero=True), ValueInterval(1, math.inf, finite=True),
    ValueInterval(-math.inf, -2),
]  # fmt: skip


def holds(values: ValueInterval, x: float) -> bool:
    """Whether a value is one of an interval; a zero of a nonzero interval is none."""
    return values.low <= x <= values.high and not (x == 0 and values.is_nonzero)


def check(found: ValueInterval, result: Any, what: object) -> None:
    """What is known of a value against the value, None where it is undefined or infinite."""
    if result is None or isinstance(result, mpmath.mpc) or not mpmath.isfinite(result):
        assert not found.finite, what
    else:
        # Bounds are rounded; whether a value is 0 is exact.
        slack = mpmath.mpf(10) ** -12 * (1 + abs(result))
        assert found.low - slack <= result <= found.high + slack, what
        assert result != 0 or not found.is_nonzero, what


def exact(name: str, *operands: float) -> Any:
    """The value of a function at numbers, to 50 digits; None where it has none."""
    if name == "safe" and operands[0] == 0:
        return mpmath.mpf(0)
    try:
        with mpmath.workdps(50):
            return mpmath.mpmathify(EXACT[name](*map(mpmath.mpf, operands)))
    except (ZeroDivisionError, ValueError, TypeError, OverflowError):
        return None


@pytest.mark.parametrize("name", [*UNARY, "neg"])
def test_unary(name: str) -> None:
    """Every value of an operand in an interval lies in the interval of the function."""
    for operand in OPERANDS:
        found = intervals.UNARY[name](operand)
        for x in filter(lambda x: holds(operand, x), POINTS):
            if not (name in ("exp", "exp2", "expm1", "sinh", "cosh", "tan") and abs(x) > 100):
                check(found, exact(name, x), (name, operand, x))


@pytest.mark.parametrize("name", sorted(intervals.BINARY))
def test_binary(name: str) -> None:
    """The same of two operands."""
    for a, b in itertools.product(OPERANDS, OPERANDS):
        found = intervals.BINARY[name](a, b)
        for x, y in itertools.product(POINTS, POINTS):
            if holds(a, x) and holds(b, y) and not (name == "pow" and abs(y) > 9):
                check(found, exact(name, x, y), (name, a, b, x, y))


@pytest.mark.parametrize("exponent", [-3, -2, -1, -0.5, 0, 0.5, 1, 1.5, 2, 3])
def test_power(exponent: float) -> None:
    """The same of a literal exponent."""
    for operand in OPERANDS:
        found = intervals.power(operand, exponent)
        for x in filter(lambda x: holds(operand, x), POINTS):
            check(found, exact("pow", x, exponent), (operand, x, exponent))


@pytest.mark.parametrize("relation", ["<", "<=", ">", ">=", "!="])
@pytest.mark.parametrize("bound", [-1, 0, 0.5])
def test_a_value_that_was_compared(relation: str, bound: float) -> None:
    """`select(x > 0, x, 1)` is positive, and the like."""
    f = tadc.function(f"x: f64\ny = select(x {relation} {bound}, x, {bound + 1.25})").program
    found = ValueRanges(f).tensor("y").values
    for x in POINTS:
        taken = {"<": x < bound, "<=": x <= bound, ">": x > bound, ">=": x >= bound, "!=": x != bound}[
            relation
        ]
        check(found, mpmath.mpf(x if taken else bound + 1.25), (relation, bound, x))


SIGNS = """
size N
x: f64[N, M]
a: f64
scan{t} up[t: M] = if {t = 0} then (exp(a)) else (2*up[t - 1] + a**2)
scan{t} any[t: M] = if {t = 0} then (a) else (any[t - 1] / 2 - a)
scan{t} over[t: M] = if {t = 0} then (a) else (1 / any[t])
let e[i: N, j: M] = exp(x[i, j])
let total[i: N] = sum{j} (e[i, j])
let three = sum{j: 3} (exp(a*j))
let top[i: N] = max{j} (x[i, j])
let width = sqrt(N + 1)
let root[i: N] = e[i, 0] / sqrt(M)
let quotient = 1 / a
let soft = select(a > 0, a, 1)
y[i: N, j: M] = up[j] + any[j] + over[j] + total[i] + three + top[i] + width + root[i] + quotient + soft
"""


def test_programs() -> None:
    """Signs and finiteness through definitions, reductions and recurrences."""
    ranges = ValueRanges(tadc.function(SIGNS).program)

    def of(name: str) -> ValueInterval:
        return ranges.tensor(name).values

    assert of("up").is_positive
    assert of("up").finite
    assert of("any") == FINITE
    assert not of("over").finite
    assert of("e").is_positive
    assert of("e").finite
    assert not of("total").is_positive, "M may be 0"
    assert of("total").is_nonnegative
    assert of("three").is_positive
    assert not of("top").finite
    assert of("width").is_positive
    assert not of("quotient").finite
    assert of("soft").is_positive
    filled, where = ranges.tensor("total").filled
    assert where.is_positive
    assert [str(row) for row in filled] == ["M - 1 >= 0"]
    assert ranges.tensor("root").numbers[1].finite
    assert not ranges.tensor("root").filled[1].finite


@pytest.mark.parametrize(("other", "positive"), [("j >= 1", True), ("j >= 2", False)])
def test_sums_under_conditions(other: str, positive: bool) -> None:
    """What is added up where conditions hold is positive if one of them always does."""
    program = tadc.function(f"""r: f64[N, M]; size W
    let t[i: N, j: M] = if {{i - j <= W and j - i <= W}} then (if {{i = 0 and j = 0}} then (1) else (
      if {{i >= 1 and i - 1 - j <= W and j - i + 1 <= W}} then (exp(r[i - 1, j])) else (0)
      + if {{j >= 1 and i - j + 1 <= W and j - 1 - i <= W}} then (exp(r[i, j - 1])) else (0)
      + if {{i >= 1 and {other}}} then (exp(r[i - 1, j - 1])) else (0))) else (1)
    f = sum{{i, j}} (log(t[i, j]))""").program
    assert ValueRanges(program).tensor("t").values.is_positive == positive


def test_sizes_where_a_tensor_is_read() -> None:
    """A sum over j < M is read under indices below M: there it has a point."""
    program = tadc.function(
        "x: f64[N, M]\nlet total[i: N] = sum{j} (exp(x[i, j]))\ny[i: N, j: M] = x[i, j] / total[i]"
    ).program
    assert {str(row) for row in read_under(program)["total"]} == {"N - 1 >= 0", "M - 1 >= 0"}


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("x: f64[N, M]\nlet t[i] = sum{j} (exp(x[i, j]))\ny[i, j] = exp(x[i, j]) / t[i]", False),
        ("x: f64[5]\nlet t = sum{j} (exp(x[j]))\ny = log(t)", False),
        ("x: f64[N]\nlet t = sum{j} (exp(x[j]))\ny = log(t)", False),
        ("x: f64[N]\ny[i] = sqrt(1 + x[i]**2)", False),
        ("x: f64[N]\ny[i] = log(1 + abs(x[i]))", False),
        ("x: f64[N]\ny[i] = x[i] / (2 + sin(x[i]))", False),
        ("x: f64[N]\ny[i] = log(select(x[i] > 0, x[i], 1))", False),
        (
            "x: f64[N]\nscan{t} s[t] = if {t = 0} then (1) else (s[t - 1] + x[t]**2)\ny[i: N] = sqrt(s[i])",
            False,
        ),
        ("x: f64[N]\ny[i] = log(x[i])", True),
        ("x: f64[N]\ny[i] = sqrt(x[i]**2)", False),
        ("x: f64[N]\ny[i] = 1 / (1 + x[i])", True),
        ("x: f64[N]\nlet t = sum{j} (x[j]**2)\ny = sqrt(t)", False),
    ],
)
def test_where_products_are_safe(text: str, safe: bool) -> None:
    """A gradient has a safe product where its partial may be infinite, and nowhere else."""
    assert ("safe(" in str(tadc.vjp(tadc.function(text)))) == safe
