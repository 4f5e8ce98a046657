"""Operations of MLIR on numbers, as functions of the language."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from tadc.frontend.functions import FUNCTIONS
from tadc.passes.linalg.elements import (
    ONE,
    Chosen,
    Compared,
    Float,
    Integer,
    Scalar,
    Value,
    applied,
    as_condition,
    as_value,
    both,
    by_cases,
    chosen,
    compared,
    either,
    is_whole,
    negated,
)
from tadc.passes.linalg.index_forms import IndexForm, divided, is_never_negative, number, product, remainder
from tadc.passes.linalg.index_tables import by_table

Operation = Callable[..., Scalar]


def _function(name: str) -> Operation:
    return lambda *operands: applied(name, *map(as_value, operands))


def _whole(make: Callable[[IndexForm, IndexForm], IndexForm | None], otherwise: Operation) -> Operation:
    """An operation on integers: on index expressions case by case, else on numbers."""

    def operation(left: Scalar, right: Scalar) -> Scalar:
        one, two = as_value(left), as_value(right)
        if is_whole(one) and is_whole(two):
            made = _cases(one, two, make)
            if made is not None:
                return made
        return otherwise(one, two)

    return operation


def _cases(
    left: Value, right: Value, make: Callable[[IndexForm, IndexForm], IndexForm | None]
) -> Value | None:
    failed: list[bool] = []

    def one(a: IndexForm) -> Value:
        def two(b: IndexForm) -> Value:
            found = make(a, b)
            failed.append(found is None)
            return Integer(found or number(0))

        return by_cases(right, two)

    made = by_cases(left, one)
    return None if any(failed) else made


def _greater(left: IndexForm, right: IndexForm) -> Value:
    if is_never_negative(left - right):
        return Integer(left)
    if is_never_negative(right - left):
        return Integer(right)
    return chosen(compared("<", Integer(left), Integer(right)), Integer(right), Integer(left))


def _extreme(name: str, is_least: bool) -> Operation:
    """The greater or smaller of two integers."""

    def operation(left: Scalar, right: Scalar) -> Value:
        one, two = as_value(left), as_value(right)
        if not (is_whole(one) and is_whole(two)):
            return applied(name, one, two)

        def choose(a: IndexForm, b: IndexForm) -> Value:
            best = _greater(a, b)
            if not is_least:
                return best
            other = {a: Integer(b), b: Integer(a)}
            if isinstance(best, Integer):
                return other[best.form]
            assert isinstance(best, Chosen)
            return chosen(best.condition, Integer(a), Integer(b))

        return by_cases(one, lambda a: by_cases(two, lambda b: choose(a, b)))

    return operation


def _divided(left: IndexForm, right: IndexForm) -> IndexForm | None:
    return divided(left, right) if is_never_negative(left) and is_never_negative(right.plus(-1)) else None


def _floored(left: IndexForm, right: IndexForm) -> IndexForm | None:
    return divided(left, right) if is_never_negative(right.plus(-1)) else None


def _remainder(left: IndexForm, right: IndexForm) -> IndexForm | None:
    return remainder(left, right) if is_never_negative(left) and is_never_negative(right.plus(-1)) else None


def _truncated_quotient(left: Value, right: Value) -> Value:
    """Division of integers toward 0, of numbers that are no index expressions."""
    quotient = applied("/", left, right)
    floor, ceil = applied("floor", quotient), applied("ceil", quotient)
    return chosen(compared("<", quotient, Float(0.0)), ceil, floor)


def _truncated_rest(left: Value, right: Value) -> Value:
    """The rest of a division toward 0; it has the sign of the dividend."""
    rest = applied("%", applied("abs", left), applied("abs", right))
    return applied("*", applied("sign", left), rest)


def _rounded(name: str) -> Operation:
    """Division of integers, rounded by a function."""
    return lambda *operands: applied(name, applied("/", *map(as_value, operands)))


_QUOTIENT = _whole(_divided, _truncated_quotient)


def _rest(*operands: Scalar) -> Scalar:
    """The rest of a division toward 0; of a small number by a size, a choice between sizes."""
    left, right = map(as_value, operands)
    dividend = left.form.number if isinstance(left, Integer) else None
    if dividend is None or not isinstance(right, Integer) or not 0 < abs(dividend) <= _SMALL:
        return _whole_rest(left, right)
    size = right.form
    if size.number is not None or not is_never_negative(size.plus(-1)):
        return _whole_rest(left, right)
    found: Value = left
    for value in range(abs(dividend), 0, -1):
        rest = (abs(dividend) % value) * (1 if dividend > 0 else -1)
        found = chosen(compared("=", right, Integer(number(value))), Integer(number(rest)), found)
    return found


#: A dividend beyond this would be a choice between too many sizes.
_SMALL = 3
_whole_rest = _whole(_remainder, _truncated_rest)
_REST = _rest


def select(condition: Scalar, then: Scalar, other: Scalar) -> Scalar:
    """One of two by a condition; of conditions again one."""
    test = as_condition(condition)
    if isinstance(then, Value) and isinstance(other, Value):
        relu = _rectified(test, then, other)
        return relu if relu is not None else chosen(test, then, other)
    return either(both(test, as_condition(then)), both(negated(test), as_condition(other)))


def _rectified(test: Scalar, then: Value, other: Value) -> Value | None:
    """`x if x > 0 else 0` is `relu(x)`: so torch-mlir writes that."""
    zero = Float(0.0)
    is_relu = isinstance(test, Compared) and other == zero and test == compared(">", then, zero)
    return applied("relu", then) if is_relu else None


def _logic(make: Callable[..., Scalar]) -> Operation:
    """An operation on bits: on conditions, or numbers of which only one bit counts."""

    def operation(left: Scalar, right: Scalar) -> Scalar:
        return make(as_condition(left), as_condition(right))

    return operation


def _exclusive(left: Scalar, right: Scalar) -> Scalar:
    one, two = as_condition(left), as_condition(right)
    return either(both(one, negated(two)), both(negated(one), two))


def _round_to_even(value: Scalar) -> Value:
    """The nearest whole number, halves to the even one."""
    x = as_value(value)
    below = applied("floor", applied("+", x, Float(0.5)))
    is_half = compared("=", applied("-", below, x), Float(0.5))
    even = applied("*", Float(2.0), applied("floor", applied("/", below, Float(2.0))))
    return chosen(is_half, even, below)


def _round_away(value: Scalar) -> Value:
    x = as_value(value)
    up = applied("floor", applied("+", applied("abs", x), Float(0.5)))
    return applied("*", applied("sign", x), up)


def _truncated(value: Scalar) -> Value:
    x = as_value(value)
    if is_whole(x):
        return x
    found = by_table(x)
    if found is not None:
        return found
    return applied("*", applied("sign", x), applied("floor", applied("abs", x)))


def _absolute(value: Scalar) -> Value:
    x = as_value(value)
    if not is_whole(x):
        return applied("abs", x)
    zero = Integer(number(0))
    return by_cases(x, lambda f: chosen(compared("<", Integer(f), zero), Integer(f.scaled(-1)), Integer(f)))


def _copy_sign(left: Scalar, right: Scalar) -> Value:
    x, y = as_value(left), as_value(right)
    size = applied("abs", x)
    return chosen(compared("<", y, Float(0.0)), applied("-", size), size)


def _same(value: Scalar, *_: Scalar) -> Scalar:
    return value


def _float_of(value: Scalar) -> Value:
    found = as_value(value)
    if isinstance(found, Integer) and found.form.number is not None:
        return Float(float(found.form.number))
    return found


def power(left: Scalar, right: Scalar) -> Value:
    """A power; whole exponents are written as integers, and 1/2 as a root."""
    x, n = as_value(left), _float_of(right)
    if isinstance(n, Float) and n.value == 0.5:
        return applied("sqrt", x)
    if isinstance(n, Float) and n.value == int(n.value) and abs(n.value) < 64:
        if n.value == 1:
            return x
        if n.value < 0:
            return applied("/", ONE, power(x, Float(-n.value)))
        return applied("**", x, Integer(number(int(n.value))))
    return applied("**", x, n)


def _is_finite(value: Scalar) -> Scalar:
    return compared("<", applied("abs", as_value(value)), Float(math.inf))


def _is_infinite(value: Scalar) -> Scalar:
    return compared("=", applied("abs", as_value(value)), Float(math.inf))


def _is_nan(value: Scalar) -> Scalar:
    return compared("!=", as_value(value), as_value(value))


def _reciprocal_root(value: Scalar) -> Value:
    return applied("/", ONE, applied("sqrt", as_value(value)))


def _multiply_add(a: Scalar, b: Scalar, c: Scalar) -> Value:
    return applied("+", applied("*", as_value(a), as_value(b)), as_value(c))


def _scaled_bessel(value: Scalar) -> Value:
    x = as_value(value)
    return applied("*", applied("exp", applied("-", applied("abs", x))), applied("i1", x))


def _square(value: Scalar) -> Value:
    return power(value, Float(2.0))


def _ceiled(left: IndexForm, right: IndexForm) -> IndexForm | None:
    return _floored(left + right.plus(-1), right)


def _sum(left: IndexForm, right: IndexForm) -> IndexForm:
    return left + right


def _difference(left: IndexForm, right: IndexForm) -> IndexForm:
    return left - right


#: By the name of an operation what it does to its operands; a comparison is by its predicate, too.
OPERATIONS: Mapping[str, Operation] = {
    **{f.operation: _function(name) for name, f in FUNCTIONS.items() if f.operation},
    "arith.addf": _function("+"),
    "arith.subf": _function("-"),
    "arith.mulf": _function("*"),
    "arith.divf": _function("/"),
    "arith.negf": _function("-"),
    "arith.maximumf": _function("max"),
    "arith.maxnumf": _function("max"),
    "arith.minimumf": _function("min"),
    "arith.minnumf": _function("min"),
    "arith.remf": _REST,
    "arith.addi": _whole(_sum, _function("+")),
    "arith.subi": _whole(_difference, _function("-")),
    "arith.muli": _whole(product, _function("*")),
    "arith.divsi": _QUOTIENT,
    "arith.divui": _QUOTIENT,
    "arith.floordivsi": _whole(_floored, _rounded("floor")),
    "arith.ceildivsi": _whole(_ceiled, _rounded("ceil")),
    "arith.ceildivui": _whole(_ceiled, _rounded("ceil")),
    "arith.remsi": _REST,
    "arith.remui": _REST,
    "arith.maxsi": _extreme("max", is_least=False),
    "arith.maxui": _extreme("max", is_least=False),
    "arith.minsi": _extreme("min", is_least=True),
    "arith.minui": _extreme("min", is_least=True),
    "arith.andi": _logic(both),
    "arith.ori": _logic(either),
    "arith.xori": _exclusive,
    "arith.select": select,
    "arith.index_cast": _same,
    "arith.index_castui": _same,
    "arith.extsi": _same,
    "arith.extui": _same,
    "arith.trunci": _same,
    "arith.extf": _same,
    "arith.truncf": _same,
    "arith.sitofp": _float_of,
    "arith.uitofp": _float_of,
    "arith.fptosi": _truncated,
    "arith.fptoui": _truncated,
    "math.absf": _function("abs"),
    "math.absi": _absolute,
    "math.ceil": _function("ceil"),
    "math.rsqrt": _reciprocal_root,
    "math.powf": power,
    "math.fpowi": power,
    "math.ipowi": power,
    "math.roundeven": _round_to_even,
    "math.round": _round_away,
    "math.trunc": _truncated,
    "math.copysign": _copy_sign,
    "math.isfinite": _is_finite,
    "math.isinf": _is_infinite,
    "math.isnan": _is_nan,
    "math.fma": _multiply_add,
    "math.logaddexp": _function("logaddexp"),
}

#: The operations of CHLO on arrays, element by element.
ELEMENTWISE: Mapping[str, Operation] = {
    "chlo.acos": _function("acos"),
    "chlo.acosh": _function("acosh"),
    "chlo.asin": _function("asin"),
    "chlo.asinh": _function("asinh"),
    "chlo.atan": _function("atan"),
    "chlo.atanh": _function("atanh"),
    "chlo.bessel_i1e": _scaled_bessel,
    "chlo.cosh": _function("cosh"),
    "chlo.digamma": _function("digamma"),
    "chlo.erf": _function("erf"),
    "chlo.erfc": _function("erfc"),
    "chlo.is_inf": _is_infinite,
    "chlo.lgamma": _function("lgamma"),
    "chlo.sinh": _function("sinh"),
    "chlo.square": _square,
    "chlo.tan": _function("tan"),
    "stablehlo.cbrt": _function("cbrt"),
    "stablehlo.tan": _function("tan"),
}

#: The relations of comparisons, by the names of MLIR's predicates without what they say of NaN and signs.
RELATIONS = {"eq": "=", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
