"""The logarithm of the gamma function and its derivatives, for all real numbers.

`polygamma<n>` is derivative n + 1 of `lgamma`: digamma, trigamma, polygamma2, polygamma3, …
Of positive arguments lgamma and trigamma err by 4 units in the last place at most, digamma by 5, of negative
ones by 5 of the greatest of the terms that reflection adds, and of 1 (DLMF 5.5.3, 5.5.4, 5.15.6): near zeros
there, the value has fewer digits.
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

#: lgamma(x) / ((x - 1) (x - 2)) in x - 1, for 1 <= x <= 3.
_LGAMMA: dict[str, Quotient] = {
    # 2**-28.5
    "f32": ((0.5772156715393066, 0.6709730625152588, 0.17006175220012665), (1.5873171091079712,
     0.6997750401496887, 0.06935249269008636, -0.0020428721327334642, 0.00015431817155331373,
     -7.784580702718813e-06)),
    # 2**-57.7
    "f64": ((0.5772156649015329, 1.7912111213757471, 2.1731352025964727, 1.3079375264915076,
     0.409681605938594, 0.06411925104429007, 0.004368939715173286, 9.03384116417468e-05),
     (3.528079041731701, 4.994610031009634, 3.6375219286415312, 1.4543305728839326, 0.31600666314106496,
     0.03468422871174361, 0.0016205010420905137, 2.0537470929861178e-05, -3.000113685266424e-08)),
}  # fmt: skip
#: What Stirling's formula lacks, times x, in 1 / x**2, for x >= 8.
_STIRLING = {
    # 2**-30.2
    "f32": (0.0833333358168602, -0.0027776984497904778, 0.0007800346938893199),
    # 2**-56.9
    "f64": (0.08333333333333333, -0.002777777777773988, 0.0007936507897524059, -0.0005952365845057049,
     0.0008414700852503147, -0.001890382993887715, 0.005065905360156132),
}  # fmt: skip
#: digamma(x) / (x - its zero), for 1 <= x <= 3.
_DIGAMMA: dict[str, Quotient] = {
    # 2**-28.3
    "f32": ((853.4998168945312, 2015.6533203125, 773.46337890625, 43.863731384277344), (1240.04736328125,
     1401.01123046875, 297.2552185058594, 8.97375774383545)),
    # 2**-58.5
    "f64": ((38791895.65691633, 121009344.9668405, 101882886.70580006, 30094031.708982695,
     2684553.3381972085), (56699469.654750265, 105351495.19696712, 60362089.09824285, 12402426.006919656,
     690070.8701601631, -7290.113892684156, 303.7435003145605, -13.481536823463085, 0.4697498141419821,
     -0.008894110516685746)),
}  # fmt: skip
#: digamma(x) / (x - its zero), for 3 <= x <= 8.
_BEYOND: dict[str, Quotient] = {
    # 2**-27.9
    "f32": ((20.56545639038086, 29.527982711791992, 5.437472820281982, 0.130154550075531),
     (25.85627555847168, 16.00347137451172, 1.6650590896606445, 0.022803062573075294)),
    # 2**-59.2
    "f64": ((17780.822637835634, 54110.5818269169, 43442.73813511865, 12522.316399882708, 1321.06850228231,
     40.60914494006403), (25982.44130794097, 46331.21853716093, 25344.70454115473, 5270.5838115826255,
     404.8044358353873, 8.355096500126585, -0.023662502149358253, 0.0002739323374054937,
     -2.951511216031905e-06, 1.8378560241429054e-08)),
}  # fmt: skip
#: (log(x) - 1 / (2 x) - digamma(x)) x**2 in 1 / x**2, for x >= 8.
_ASYMPTOTIC = {
    # 2**-27.4
    "f32": (0.0833333358168602, -0.008332783356308937, 0.0038735882844775915),
    # 2**-53.1
    "f64": (0.08333333333333333, -0.008333333333278636, 0.0039682539119537084, -0.0041666448230497,
     0.007571689620283902, -0.020697987372370493, 0.06362150587634356),
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
        let near = s * (s - 1) * ({quotient("s", _LGAMMA[type])})
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
        let ratio = select(b < 3, {quotient("u", _DIGAMMA[type])}, {quotient("u", _BEYOND[type])})
        let near = (u - {high} - {low}) * ratio
        let w = 1 / b
        let far = log(b) - 0.5 * w - w * w * ({polynomial("w * w", _ASYMPTOTIC[type])})
        let above = select(b < 1, near - w, select(b < 8, near, far))
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
    sums = " + ".join(f"1 / (b + {k})**{n + 1}" for k in range(first))
    series = [_BERNOULLI[k - 1] * factorial(2 * k + n - 1) / factorial(2 * k) for k in range(1, terms + 1)]
    far = f"w**{n} * ({factorial(n - 1)} + w * ({factorial(n) / 2} + w * ({polynomial('w * w', series)})))"
    cotangents = polynomial("c", [c * math.pi ** (n + 1 - k) for k, c in enumerate(_cotangents(n))])
    reflected = f"{'-' if n % 2 else ''}above - ({cotangents})"
    return f"""
        {_COTANGENT}
        let b = select(x < 0, 1 - x, x)
        let w = 1 / (b + {first})
        let above = {sign} * ({float(factorial(n))} * ({sums}) + {far})
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
