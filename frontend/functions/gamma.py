"""The logarithm of the gamma function and its derivatives, for all real numbers.

`polygamma<n>` is derivative n + 1 of `lgamma`: digamma, trigamma, polygamma2, polygamma3, …
Of positive arguments lgamma, digamma and trigamma err by 4 units in the last place at most, of negative ones
by 4 of the greatest of the terms that reflection adds, and of 1 (DLMF 5.5.3, 5.5.4, 5.15.6): near zeros
there, the value has fewer digits. Near its positive zero digamma is a distance in two parts, and what a
quotient adds to it, as in Boost; from 2 on it is what a quotient takes from log(x) - 1 / (2 x).
"""

from __future__ import annotations

import math

from tadc.frontend.functions.scalar_function import (
    ALL,
    POSITIVE,
    TRANSCENDENTAL,
    Course,
    Family,
    ScalarFunction,
    by_type,
)
from tadc.frontend.functions.texts import Quotient, polynomial, quotient

#: lgamma(x) / ((x - 1) (x - 2)) - 1 / 2 in x - 1, for 1 <= x <= 3.
_LGAMMA: dict[str, Quotient] = {
    # 2**-28.6
    "f32": ((0.07721566408872604, -0.12357120215892792, -0.17692090570926666, -0.035913947969675064),
     (1.575846552848816, 0.7009690403938293, 0.08014123886823654, -0.0002494438085705042)),
    # 2**-56.7
    "f64": ((0.07721566490153287, 0.015408761473085767, -0.3242055664223192, -0.4620837648068383,
     -0.25633865469336686, -0.06433994955197202, -0.0067991159447531105, -0.0002208244373156),
     (3.3757415717143178, 4.510294749120351, 3.037114616214932, 1.0869487473714006, 0.20011479485058367,
     0.016742592547431663, 0.0004555152232025624, -1.0818301400593685e-07)),
}  # fmt: skip
#: What Stirling's formula lacks, times x, in 1 / x**2, for x >= 8.
_STIRLING = {
    # 2**-30.2
    "f32": (0.0833333358168602, -0.0027776984497904778, 0.0007800346938893199),
    # 2**-56.9
    "f64": (0.08333333333333333, -0.002777777777773988, 0.0007936507897524059, -0.0005952365845057049,
     0.0008414700852503147, -0.001890382993887715, 0.005065905360156132),
}  # fmt: skip
#: digamma(x) / (x - its zero) - 1 in x - 3 / 2, for 1 <= x <= 2.
_DIGAMMA: dict[str, Quotient] = {
    # 2**-29.4
    "f32": ((-0.04894412308931351, -0.4805813431739807, -0.2710026800632477, -0.030980948358774185),
     (1.1636518239974976, 0.3798276484012604, 0.03224899247288704)),
    # 2**-58.4
    "f64": ((-0.04894412396816712, -0.5010015987912646, -0.47284774087082243, -0.15721931731409114,
     -0.02056345852392627, -0.0008431694755565962), (1.580867553378373, 0.8926787639475238,
     0.22305026868493616, 0.024121643894304285, 0.0008618254745987319, -2.241670673296572e-07)),
}  # fmt: skip
#: (log(x) - 1 / (2 x) - digamma(x)) x**2 in 1 / x**2, for x >= 2.
_ASYMPTOTIC: dict[str, Quotient] = {
    # 2**-33.6
    "f32": ((0.08333330601453781, 0.12976793944835663, 0.017259588465094566), (1.6571975946426392,
     0.32556837797164917)),
    # 2**-59.4
    "f64": ((0.08333333333332875, 1.243275937777547, 5.68184856753822, 9.434932807743266, 5.165208087366187,
     0.5662432884415824, -0.009904255267215884), (15.019311253310471, 69.63649489085049, 119.51763769570277,
     71.27830204394112, 10.600722399869168)),
}  # fmt: skip
#: The zero of digamma in two parts.
_ZERO = {
    "f32": ("1.4616321325302124", "1.2438149938918909e-08"),
    "f64": ("1.4616321449683622", "9.549995429965697e-17"),
}

#: How far x is from a whole number, for the sine of pi x; and pi times its cotangent, by a / tan(a), to which
#: the rounding of a matters least.
_FRACTION = "let r = x - floor(x + 0.5)"
_COTANGENT = f"{_FRACTION}\nlet a = pi * r\nlet c = select(r = 0, 1 / 0, a / tan(a) / r)"


def _lgamma(type: str) -> str:
    """Of b = x or 1 - x below 8, a number between 1 and 3 and a product; else Stirling's formula."""
    steps = " * ".join(f"select(b >= {j + 2}, b - {j}, 1)" for j in range(1, 6))
    return f"""
        {_FRACTION}
        let b = select(x < 0, 1 - x, x)
        let s = select(b < 1, b, select(b < 3, b - 1, b - floor(b) + 1))
        let near = s * (s - 1) * (0.5 + ({quotient("s", _LGAMMA[type])}))
        let l = log(select(b < 1, b, select(b < 8, {steps}, b)))
        let w = 1 / b
        let lacking = w * ({polynomial("w * w", _STIRLING[type])})
        let far = (b - 0.5) * (l - 1) + {0.5 * math.log(2 * math.pi) - 0.5!r} + lacking
        let above = select(b < 1, near - l, select(b < 8, near + l, far))
        let below = select(r = 0, 1 / 0, {math.log(math.pi)!r} - log(abs(sin(pi * r))) - above)
        select(abs(x) = 1 / 0, 1 / 0, select(x < 0, below, above))
    """


def _digamma(type: str) -> str:
    high, low = _ZERO[type]
    return f"""
        {_COTANGENT}
        let b = select(x < 0, 1 - x, x)
        let u = select(b < 1, b + 1, b)
        let t = u - 1.5
        let d = u - {high} - {low}
        let near = d + d * ({quotient("t", _DIGAMMA[type])})
        let w = 1 / b
        let v = w * w
        let far = log(b) - (0.5 * w + v * ({quotient("v", _ASYMPTOTIC[type])}))
        let above = select(b < 1, near - w, select(b < 2, near, far))
        select(x < 0, select(r = 0, 0 / 0, above - c), above)
    """


#: Numbers of Bernoulli, the second, the fourth and so on.
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798)
#: Where the series in 1 / x**2 begins, and how many of its terms are taken.
_SERIES = {"f32": (5, 4), "f64": (11, 9)}


def _cotangents(n: int) -> list[int]:
    """The derivative n of the cotangent as a polynomial in the cotangent, the lowest degree first."""
    found = [0, 1]
    for _ in range(n):
        slope = [k * c for k, c in enumerate(found)][1:]
        found = [-(a + b) for a, b in zip([*slope, 0, 0], [0, 0, *slope], strict=True)]
    return found


def _polygamma(n: int, type: str) -> str:
    """(-1)**(n + 1) n! times the sum of 1 / (x + k)**(n + 1), the last ones by a series (DLMF 5.15.8)."""
    first, terms = _SERIES[type]
    first += n // 2
    sign = 1 if n % 2 else -1
    factorial = math.factorial
    series = [_BERNOULLI[k - 1] * factorial(2 * k + n - 1) / factorial(2 * k) for k in range(1, terms + 1)]
    scaled = polynomial("w * w", [term / factorial(n) for term in series])
    far = f"w**{n} * ({1 / n!r} + w * (0.5 + w * ({scaled})))"
    # The least is added first, which loses least.
    sums = " + ".join(f"1 / (b + {k})**{n + 1}" for k in reversed(range(first)))
    cotangents = polynomial("c", [c * math.pi ** (n + 1 - k) for k, c in enumerate(_cotangents(n))])
    reflected = f"{'-' if n % 2 else ''}above - ({cotangents})"
    return f"""
        {_COTANGENT}
        let b = select(x < 0, 1 - x, x)
        let w = 1 / (b + {first})
        let above = {sign * float(factorial(n))} * ({far} + ({sums}))
        select(x < 0, {reflected}, above)
    """


def polygamma(n: int) -> ScalarFunction:
    """Derivative n of digamma."""
    odd = n % 2 == 1
    course = Course(
        POSITIVE,
        POSITIVE if odd else (-math.inf, 0.0),
        rises=not odd,
        is_open=True,
        goes_on=True,
        zeros=(),
        ulps=8 + 2 * n,
    )
    return ScalarFunction(
        "trigamma" if n == 1 else f"polygamma{n}",
        1,
        16 * TRANSCENDENTAL,
        f"derivative {n} of digamma",
        (f"polygamma{n + 1}(x)",),
        rf"\psi^{{({n})}}",
        course,
        formula=by_type(lambda type: _polygamma(n, type)),
        numpy=f"polygamma{n}",
        is_reserved=False,
    )


_LEAST = ((1.4616321449683622, 1.4616321449683625), (-0.1214862905358497, -0.12148629053584958))

FUNCTIONS = (
    ScalarFunction(
        "lgamma",
        1,
        3 * TRANSCENDENTAL,
        "the logarithm of the absolute value of the gamma function",
        ("digamma(x)",),
        r"\log\left|\Gamma\right|",
        Course(
            POSITIVE, ALL, rises=False, turns=(_LEAST,), zeros=(1.0, 2.0), is_open=True, goes_on=True, ulps=8
        ),
        formula=by_type(_lgamma),
        numpy="gammaln",
        elsewhere=("gammaln", "loggamma"),
        is_reserved=False,
    ),
    ScalarFunction(
        "digamma",
        1,
        3 * TRANSCENDENTAL,
        "the derivative of lgamma",
        ("trigamma(x)",),
        r"\psi",
        Course(POSITIVE, ALL, is_open=True, goes_on=True, ulps=8),
        formula=by_type(_digamma),
        numpy="psi",
        elsewhere=("psi",),
        is_reserved=False,
    ),
    polygamma(1),
)
FAMILIES = (Family("polygamma", 2, polygamma),)
