"""Exponentials, logarithms, roots, functions of angles, and steps."""

from __future__ import annotations

import math

from tadc.frontend.functions.scalar_function import (
    ALL,
    POSITIVE,
    TRANSCENDENTAL,
    UNIT,
    Course,
    Ends,
    ScalarFunction,
    Trait,
)

#: Where MLIR's name is another.
_MATH = {"abs": "absf"}


def _of_one(
    name: str,
    help: str,
    slope: str | None,
    course: Course | None,
    *traits: Trait,
    latex: str = "",
    numpy: str = "",
    cost: int = TRANSCENDENTAL,
    inverse: str | None = None,
    formula: str | None = None,
    elsewhere: str = "",
    is_reserved: bool = True,
) -> ScalarFunction:
    """One that MLIR has an operation for, of the same name, unless there is a formula."""
    return ScalarFunction(
        name,
        1,
        cost,
        help,
        None if slope is None else (slope,),
        latex or rf"\operatorname{{{name}}}",
        course,
        operation=None if formula else f"math.{_MATH.get(name, name)}",
        formula=formula,
        inverse=inverse,
        numpy=numpy or name,
        traits=frozenset(traits),
        elsewhere=tuple(elsewhere.split()),
        is_reserved=is_reserved,
    )


_HALF_PI: Ends = (-1.5707963267948968, 1.5707963267948968)
_EXPONENTIAL = Course(ALL, POSITIVE, zeros=())
_LOGARITHM = Course(POSITIVE, ALL, is_open=True, zeros=(1.0,))
_THROUGH_0, _BELOW_1 = Course(zeros=(0.0,)), Course(ALL, UNIT, zeros=(0.0,))
_STEP = Course(ulps=0)
_WAVE = Course(ALL, UNIT, rises=None, steepest=1.0)
_ANGLE = Course(UNIT, (0.0, 3.1415926535897936), rises=False, zeros=(1.0,))
_CHAIN = Course(ALL, (1.0, math.inf), rises=False, turns=(((0.0, 0.0), (1.0, 1.0)),), zeros=())
_SIZE = Course(ALL, POSITIVE, rises=False, turns=(((0.0, 0.0), (0.0, 0.0)),), zeros=(0.0,), ulps=0)

FUNCTIONS = (
    _of_one("exp", "e to the x", "f", _EXPONENTIAL, latex="e^{#}", inverse="log(x)"),
    _of_one("exp2", "2 to the x", "log(2) * f", _EXPONENTIAL, latex="2^{#}", inverse="log2(x)"),
    _of_one("expm1", "exp(x) - 1", "exp(x)", Course(ALL, (-1.0, math.inf), zeros=(0.0,)), "zero at 0",
            inverse="log1p(x)"),
    _of_one("log", "the natural logarithm", "1 / x", _LOGARITHM, latex=r"\log", inverse="exp(x)",
            elsewhere="ln loge"),
    _of_one("log2", "to base 2", "1 / (log(2) * x)", _LOGARITHM, latex=r"\log_2", inverse="exp2(x)"),
    _of_one("log10", "to base 10", "1 / (log(10) * x)", _LOGARITHM, latex=r"\log_{10}"),
    _of_one("log1p", "log(1 + x)", "1 / (1 + x)", Course((-1.0, math.inf), ALL, is_open=True, zeros=(0.0,)),
            "zero at 0", inverse="expm1(x)"),
    _of_one("sqrt", "the square root", "1 / (2 * f)", Course(POSITIVE, POSITIVE, zeros=(0.0,)), "zero at 0",
            latex=r"\sqrt{#}", cost=4, inverse="x * x"),
    _of_one("cbrt", "the cube root", "1 / (3 * f**2)", _THROUGH_0, "zero at 0", "odd", latex=r"\sqrt[3]{#}",
            inverse="x * (x * x)"),
    _of_one("erf", "the error function", "2 / sqrt(pi) * exp(-x**2)", _BELOW_1, "zero at 0", "odd"),
    _of_one("erfc", "1 - erf(x)", "-(2 / sqrt(pi) * exp(-x**2))", Course(ALL, (0.0, 2.0), False, zeros=())),
    _of_one("sin", "the sine", "cos(x)", _WAVE, "zero at 0", "odd", latex=r"\sin"),
    _of_one("cos", "the cosine", "-(sin(x))", _WAVE, "even", latex=r"\cos"),
    _of_one("tan", "the tangent", "1 + f**2", Course(rises=None), "zero at 0", "odd", latex=r"\tan"),
    _of_one("asin", "the inverse sine", "1 / sqrt((1 - x) * (1 + x))", Course(UNIT, _HALF_PI, zeros=(0.0,)),
            "zero at 0", "odd", latex=r"\arcsin", numpy="arcsin", elsewhere="arcsin"),
    _of_one("acos", "the inverse cosine", "-(1 / sqrt((1 - x) * (1 + x)))", _ANGLE, latex=r"\arccos",
            numpy="arccos", elsewhere="arccos"),
    _of_one("atan", "the inverse tangent", "1 / (1 + x**2)", Course(ALL, _HALF_PI, zeros=(0.0,)), "zero at 0",
            "odd", latex=r"\arctan", numpy="arctan", inverse="tan(x)", elsewhere="arctan"),
    _of_one("sinh", "the hyperbolic sine", "cosh(x)", _THROUGH_0, "zero at 0", "odd", latex=r"\sinh",
            inverse="asinh(x)"),
    _of_one("cosh", "the hyperbolic cosine", "sinh(x)", _CHAIN, "even", latex=r"\cosh"),
    _of_one("tanh", "the hyperbolic tangent", "1 - f**2", _BELOW_1, "zero at 0", "odd", latex=r"\tanh",
            inverse="atanh(x)"),
    _of_one("asinh", "the inverse of sinh", "1 / sqrt(1 + x**2)", _THROUGH_0, "zero at 0", "odd",
            numpy="arcsinh", inverse="sinh(x)", elsewhere="arcsinh arsinh"),
    _of_one("acosh", "the inverse of cosh", "1 / sqrt((x - 1) * (x + 1))",
            Course((1.0, math.inf), POSITIVE, zeros=(1.0,)), numpy="arccosh", elsewhere="arccosh arcosh"),
    _of_one("atanh", "the inverse of tanh", "1 / (1 - x**2)", Course(UNIT, ALL, is_open=True, zeros=(0.0,)),
            "zero at 0", "odd", numpy="arctanh", inverse="tanh(x)", elsewhere="arctanh artanh"),
    _of_one("abs", "the absolute value", None, _SIZE, "zero at 0", "even", latex=r"\left|#\right|", cost=1,
            elsewhere="absolute fabs"),
    _of_one("sign", "-1, 0 or 1", "0", Course(ALL, UNIT, ulps=0), "zero at 0", "odd", "flat", "jumps",
            cost=1, formula="select(x > 0, 1, select(x < 0, -1, x))", elsewhere="signum sgnf"),
    _of_one("floor", "the next integer below", "0", _STEP, "zero at 0", "flat", "jumps", cost=1,
            latex=r"\left\lfloor #\right\rfloor"),
    _of_one("ceil", "the next integer above", "0", _STEP, "zero at 0", "flat", "jumps", cost=1,
            latex=r"\left\lceil #\right\rceil", elsewhere="ceiling"),
    _of_one("sigmoid", "1 / (1 + exp(-x))", "f * sigmoid(-x)", Course(ALL, (0.0, 1.0), zeros=(), ulps=8),
            inverse="log(x / (1 - x))", elsewhere="logistic expit",
            formula="let e = exp(-abs(x))\nselect(x < 0, e, 1) / (1 + e)"),
    _of_one("relu", "max(x, 0), with slope 0 at 0", "select(x > 0, 1, 0)",
            Course(ALL, POSITIVE, ulps=0), "zero at 0", cost=1,
            formula="select(x <= 0, 0, x)"),
    ScalarFunction("atan2", 2, TRANSCENDENTAL, "the angle of the point (y, x)",
            ("y / (x**2 + y**2)", "-(x / (x**2 + y**2))"), r"\operatorname{atan2}", None, "math.atan2",
            numpy="arctan2", traits=frozenset(("singular",)), elsewhere=("arctan2",)),
    ScalarFunction("pow", 2, TRANSCENDENTAL, "x to the y", None, "#^{#}", None, "math.powf", numpy="power",
            elsewhere=("power", "float_power")),
    ScalarFunction("max", 2, 1, "the greater of both; they share the slope where they tie", None, r"\max",
            None, "arith.maximumf", numpy="maximum", elsewhere=("maximum",)),
    ScalarFunction("min", 2, 1, "the lesser of both; they share the slope where they tie", None, r"\min",
            None, "arith.minimumf", numpy="minimum", elsewhere=("minimum",)),
    # A product and a comparison.
    ScalarFunction("safe", 2, 2, "x * y, and 0 where x is 0", None, r"\operatorname{safe}", None,
            formula="select(x != 0, x * y, 0)", is_reserved=False),
    # The pseudo-inverse of Moore and Penrose of a number.
    _of_one("pinv", "1 / x, and 0 where x is 0", "-(f**2)", None, "zero at 0", "odd", cost=5,
            formula="select(x = 0, 0, 1 / x)", is_reserved=False),
)  # fmt: skip


#: `x - y` is `Apply("sub", (x, y))`. `pow` is `**` and `pow(x, y)`.
OPERATORS = (
    ScalarFunction("add", 2, 1, "the operator +", ("1", "1"), "# + #", None, "arith.addf"),
    ScalarFunction("sub", 2, 1, "the operator -", ("1", "-1"), "# - #", None, "arith.subf"),
    ScalarFunction("mul", 2, 1, "the operator *", ("y", "x"), r"# \, #", None, "arith.mulf"),
    ScalarFunction("div", 2, 4, "the operator /", None, r"\frac{#}{#}", None, "arith.divf"),
    ScalarFunction("mod", 2, 4, "the operator %", ("1", "-(floor(x / y))"), r"# \bmod #", None, "tad.apply",
            traits=frozenset(("singular", "jumps"))),
    ScalarFunction("neg", 1, 1, "the operator -", ("-(1)",), "-#", None, "arith.negf",
            traits=frozenset(("zero at 0", "odd"))),
)  # fmt: skip
