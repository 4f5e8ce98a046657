"""Truncated Taylor arithmetic in many lanes: values, and their mixed derivatives along several directions.

A jet is an element of R[e1, …, en] / (e1**2, …, en**2) in every lane: the coefficient of a product of some e
is the derivative along these directions. Nothing is ever 0 times infinity, as the derivatives of functions
are formulas of their own, by SymPy; where one is not finite, the lane is marked. At corners and ties
derivatives are those of docs/language.md.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import mpmath
import numpy as np
import sympy
from numpy.typing import NDArray
from scipy.special import erf, erfc

from tests.fuzz.forms import RELATIONS

mpmath.mp.dps = 50

X = sympy.Symbol("x", real=True)
#: What SymPy differentiates. `root3` is the cube root of what is not negative.
SMOOTH: dict[str, sympy.Expr] = {
    **{name: getattr(sympy, name)(X) for name in "exp log sqrt sin cos tan asin acos atan erf erfc".split()},
    **{name: getattr(sympy, name)(X) for name in "sinh cosh tanh asinh acosh atanh".split()},
    **{f"pow{n}": X**n for n in (0, 1, 2, 3, 4, 5, -1, -2)},
    "root3": X ** sympy.Rational(1, 3),
    "exp2": sympy.exp(X * sympy.log(2)),
    "expm1": sympy.exp(X) - 1,
    "log1p": sympy.log(1 + X),
    "log2": sympy.log(X) / sympy.log(2),
    "log10": sympy.log(X) / sympy.log(10),
    "sigmoid": 1 / (1 + sympy.exp(-X)),
}
#: Those that are exact in f64 of what is.
POLYNOMIALS = {f"pow{n}" for n in (0, 1, 2, 3, 4, 5)}

#: Slopes above make a point as good as singular: f64 loses its digits.
STEEP = 1e6

#: Values so close that rounding may exchange them, unless they are exact.
CLOSE = 1e-9

Array = NDArray[Any]


class Long:
    """Numbers with 64 bits of mantissa."""

    def array(self, values: Any) -> Array:
        """These numbers as they are in f64."""
        return np.asarray(values, np.longdouble)

    def call(self, expression: sympy.Expr, x: Array) -> Array:
        """A formula at every element, NaN where it has no real value."""
        found = _lambdified(expression, "numpy")(x)
        return np.broadcast_to(found, x.shape).astype(np.longdouble)


class Precise(Long):
    """Numbers of mpmath with 50 digits, in arrays of objects."""

    def array(self, values: Any) -> Array:
        """These numbers as they are in f64."""
        numbers = np.asarray(values, float)
        return _objects([mpmath.mpf(v) for v in numbers.flat]).reshape(numbers.shape)

    def call(self, expression: sympy.Expr, x: Array) -> Array:
        """A formula at every element, NaN where it has no real value."""
        compute = _lambdified(expression, "mpmath")

        def one(value: Any) -> Any:
            try:
                found = mpmath.mpmathify(compute(value))
            except (ZeroDivisionError, ValueError):
                return mpmath.nan
            return mpmath.nan if isinstance(found, mpmath.mpc) else found

        return _objects([one(value) for value in x])


def _objects(values: Sequence[Any]) -> Array:
    found = np.empty(len(values), object)
    found[:] = values
    return found


@functools.cache
def _lambdified(expression: sympy.Expr, module: str) -> Callable[..., Any]:
    modules: list[Any] = [
        {"erf": lambda x: erf(np.asarray(x, float)), "erfc": lambda x: erfc(np.asarray(x, float))},
        "numpy",
    ]
    return sympy.lambdify(X, expression, modules if module == "numpy" else module)


@functools.cache
def _derivative(name: str, k: int) -> sympy.Expr:
    return SMOOTH[name] if k == 0 else sympy.diff(_derivative(name, k - 1), X)


@dataclass(frozen=True)
class Jet:
    """Coefficients by the set of directions, as bits, and by lane.

    `singular` is where a derivative is needed that is not finite, or too large, or where rounding chooses
    between two values; `active` where it depends on what is differentiated by; `exact` where f64 has this
    value, in whatever order it is computed.
    """

    parts: Array
    singular: NDArray[np.bool_]
    active: NDArray[np.bool_]
    exact: NDArray[np.bool_]

    @property
    def value(self) -> Array:
        """Without derivatives."""
        return self.parts[0]

    @property
    def order(self) -> int:
        """The number of directions."""
        return len(self.parts).bit_length() - 1

    @property
    def sign(self) -> Array:
        """Of the value."""
        return np.sign(self.value.astype(float))

    def made(self, parts: Array, *others: Jet) -> Jet:
        """Of this jet and others by something that is defined everywhere."""
        every = (self, *others)
        singular = np.logical_or.reduce([jet.singular for jet in every])
        active = np.logical_or.reduce([jet.active for jet in every])
        return Jet(parts, singular, active, np.logical_and.reduce([jet.exact for jet in every]))

    def marked(self, singular: NDArray[np.bool_]) -> Jet:
        """With more that is singular."""
        return replace(self, singular=self.singular | singular)

    def __add__(self, other: Jet) -> Jet:
        return self.made(self.parts + other.parts, other)

    def __sub__(self, other: Jet) -> Jet:
        return self.made(self.parts - other.parts, other)

    def __neg__(self) -> Jet:
        return self.made(-self.parts)

    def __mul__(self, other: Jet) -> Jet:
        return self.made(product(self.parts, other.parts), other)

    def flat(self, value: Array) -> Jet:
        """A function of this with these values that is constant around."""
        parts = self.parts * 0
        parts[0] = value
        return self.made(parts)


def product(x: Array, y: Array) -> Array:
    """Of two jets' coefficients: every set of directions is split in two."""
    found = x * 0
    for whole in range(len(x)):
        part = whole
        while True:
            found[whole] = found[whole] + x[part] * y[whole ^ part]
            if part == 0:
                break
            part = (part - 1) & whole
    return found


def where(chosen: NDArray[np.bool_], x: Jet, y: Jet) -> Jet:
    """One of two in every lane, whatever the other is."""
    pairs = ((x.parts, y.parts), (x.singular, y.singular), (x.active, y.active), (x.exact, y.exact))
    return Jet(*[np.where(chosen, one, other) for one, other in pairs])


class Calculus:
    """Functions of jets with numbers of a kind."""

    def __init__(self, numbers: Long) -> None:
        self.numbers = numbers

    def jet(self, parts: Array, active: bool) -> Jet:
        """One with these coefficients, exact."""
        lanes = parts.shape[1]
        return Jet(parts, np.zeros(lanes, bool), np.full(lanes, active), np.ones(lanes, bool))

    def constant(self, values: Any, order: int) -> Jet:
        """One that does not vary."""
        parts = self.numbers.array(np.zeros((2**order, len(values))))
        parts[0] = self.numbers.array(values)
        return self.jet(parts, active=False)

    def series(self, x: Jet, derivatives: Sequence[Array], exact: NDArray[np.bool_]) -> Jet:
        """The function that has these derivatives at the value of x, from the function itself on."""
        varying = x.parts.copy()
        varying[0] = varying[0] * 0
        parts, power = x.parts * 0, None
        singular = x.singular | ~(np.abs(derivatives[0]) < STEEP).astype(bool)
        parts[0] = derivatives[0]
        for k in range(1, x.order + 1):
            power = varying if power is None else product(power, varying)
            gentle = (np.abs(derivatives[k]) < STEEP).astype(bool)
            singular = singular | (x.active & ~gentle)
            # The k-th power has every set of k directions k! times.
            parts = parts + power * np.where(gentle, derivatives[k], 0 * x.value) / math.factorial(k)
        return Jet(parts, singular, x.active, exact & x.exact)

    def smooth(self, name: str, x: Jet) -> Jet:
        """A function of SMOOTH."""
        found = [self.numbers.call(_derivative(name, k), x.value) for k in range(x.order + 1)]
        return self.series(x, found, _exact(name, x.value.astype(float), found[0].astype(float)))

    def cbrt(self, x: Jet) -> Jet:
        """The cube root: odd."""
        size = x.value * x.sign
        found = [self.numbers.call(_derivative("root3", k), size) for k in range(x.order + 1)]
        signed = [each * x.sign ** (k + 1) for k, each in enumerate(found)]
        return self.series(x, signed, np.isin(x.value.astype(float), (-1, 0, 1)))

    def power(self, x: Jet, y: Jet) -> Jet:
        """x**y for x > 0; of x = 0 what it tends to, with as many derivatives as there are."""
        found = self.smooth("exp", y * self.smooth("log", x))
        flat = self.constant(np.zeros(len(x.value)), x.order)
        tends = (x.value == 0) & (y.value > x.order)
        return where(tends, replace(flat.made(flat.parts, x, y), singular=x.singular | y.singular), found)

    def quotient(self, x: Jet, y: Jet) -> Jet:
        """x / y."""
        return x * self.smooth("pow-1", y)

    def atan2(self, y: Jet, x: Jet) -> Jet:
        """The angle, by the tangent of it or of its complement, whichever is the smaller."""
        steep = (y.value * y.sign > x.value * x.sign).astype(bool)
        over, under = where(steep, x, y), where(steep, y, x)
        found = self.smooth("atan", self.quotient(over, under))
        parts = found.parts * np.where(steep, -1, 1)
        angle: Callable[..., Any] = mpmath.atan2 if x.parts.dtype == object else np.arctan2
        values = [angle(a, b) for a, b in zip(y.value, x.value, strict=True)]
        parts[0] = np.array(values, parts.dtype)
        return replace(found, parts=parts, exact=np.zeros(len(values), bool))

    def remainder(self, x: Jet, y: Jet) -> Jet:
        """x - y*floor(x / y)."""
        return x - y * self.rounded(np.floor, self.quotient(x, y))

    def rounded(self, function: Callable[[Array], Array], x: Jet) -> Jet:
        """The floor or ceiling, constant around everywhere."""
        value = x.value.astype(float)
        unsure = ~x.exact & (np.abs(value - np.round(value)) < CLOSE)
        return replace(x.flat(self.numbers.array(function(value))), exact=~unsure).marked(unsure)

    def turning(self, x: Jet, slope: Callable[[Array], Array]) -> Jet:
        """A multiple of x that changes at 0."""
        unsure = ~x.exact & (np.abs(x.value.astype(float)) < CLOSE)
        return x.made(x.parts * slope(x.sign)).marked(unsure)

    def absolute(self, x: Jet) -> Jet:
        """|x|; where x is 0, its slope tells no second derivatives, as |x|**2 is x**2."""
        kinks = x.active & (x.value == 0).astype(bool) & (x.order > 1)
        return self.turning(x, lambda sign: sign).marked(kinks)

    def signum(self, x: Jet) -> Jet:
        """The sign."""
        unsure = ~x.exact & (np.abs(x.value.astype(float)) < CLOSE)
        return x.flat(self.numbers.array(x.sign)).marked(unsure)

    def unsure(self, x: Jet, y: Jet) -> NDArray[np.bool_]:
        """Where rounding decides how two values compare."""
        apart = np.abs((x.value - y.value).astype(float))
        return ~(apart >= CLOSE) & ~(x.exact & y.exact) | x.singular | y.singular

    def select(self, op: str, a: Jet, b: Jet, x: Jet, y: Jet) -> Jet:
        """x or y, as a and b compare."""
        taken = RELATIONS[op](a.value, b.value).astype(bool)
        return where(taken, x, y).marked(self.unsure(a, b))

    def extremum(self, sign: int, x: Jet, y: Jet) -> Jet:
        """The larger, of a sign of 1, or the smaller; ties split evenly."""
        tie = (x.value == y.value).astype(bool)
        half = (x + y).made((x + y).parts / 2)
        wins = (sign * x.value > sign * y.value).astype(bool)
        return where(tie, half, where(wins, x, y)).marked(self.unsure(x, y))

    def apply(self, op: str, operands: Sequence[Jet]) -> Jet:
        """An operation of the fuzzer's programs."""
        if op in SMOOTH:
            return self.smooth(op, operands[0])
        if op.startswith("select "):
            return self.select(op.removeprefix("select "), *operands)
        return self._others()[op](*operands)

    def _others(self) -> dict[str, Callable[..., Jet]]:
        return {
            "add": lambda x, y: x + y,
            "sub": lambda x, y: x - y,
            "mul": lambda x, y: x * y,
            "safe": lambda x, y: x * y,
            "neg": lambda x: -x,
            "div": self.quotient,
            "mod": self.remainder,
            "pow": self.power,
            "atan2": self.atan2,
            "cbrt": self.cbrt,
            "sign": self.signum,
            "abs": self.absolute,
            "relu": lambda x: self.turning(x, lambda sign: sign > 0),
            "floor": lambda x: self.rounded(np.floor, x),
            "ceil": lambda x: self.rounded(np.ceil, x),
            "max": lambda x, y: self.extremum(1, x, y),
            "min": lambda x, y: self.extremum(-1, x, y),
        }


def _exact(name: str, x: Array, y: Array) -> NDArray[np.bool_]:
    """Where f64 has the value of a function of what is exact."""
    if name in POLYNOMIALS:
        return np.ones(len(x), bool)
    if name in ("pow-1", "pow-2"):
        return np.frexp(np.abs(x))[0] == 0.5
    if name == "sqrt":
        return y * y == x
    return np.isin(x, (0, 1)) & (y == np.round(y))
