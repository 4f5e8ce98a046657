"""The sine cardinal sin(pi x) / (pi x), as NumPy has it, and its derivatives `sinc1`, `sinc2`, …"""

from __future__ import annotations

import math

from tadc.frontend.functions.scalar_function import ALL, TRANSCENDENTAL, Course, Family, ScalarFunction
from tadc.frontend.functions.texts import polynomial

#: The sine of pi x and its cosine, from how far x is from a whole number, and whether that is odd.
_ANGLE = """
    let n = floor(x + 0.5)
    let r = pi * (x - n)
    let turned = select(n - 2 * floor(n / 2) = 0, 1, -1)
    let s = turned * sin(r)
"""
_SINC = "select(x = 0, 1, s / (pi * x))"


def _derivative(n: int) -> str:
    """Taylor's series near 0; else x f^(n) + n f^(n - 1), which is derivative n of sin(pi x) / pi."""
    reach = (n + 1) / 4
    terms = [
        (-1) ** k * math.pi ** (2 * k) / ((2 * k + 1) * math.factorial(2 * k - n))
        for k in range((n + 1) // 2, 40)
    ]
    size = max(abs(t) * reach ** (2 * k) for k, t in enumerate(terms))
    count = next(k for k, t in enumerate(terms) if abs(t) * reach ** (2 * k) < size * 2.0**-60)
    series = f"{'x * ' * (n % 2)}({polynomial('x * x', terms[:count])})"
    waves = ("s", "c", "-s", "-c")
    steps = "\n".join(
        f"let f{k} = ({math.pi ** (k - 1)!r} * ({waves[k % 4]}) - {k} * f{k - 1}) / x"
        for k in range(1, n + 1)
    )
    return f"""
        {_ANGLE}
        let c = turned * cos(r)
        let f0 = {_SINC}
        {steps}
        select(abs(x) < {reach!r}, {series}, f{n})
    """


def sinc(n: int) -> ScalarFunction:
    """Derivative n of the sine cardinal, the mean of those of cos(pi t x) for t from 0 to 1."""
    most = math.pi**n / (n + 1) * (1 + 2.0**-50)
    return ScalarFunction(
        f"sinc{n}" if n else "sinc",
        1,
        (2 + n) * TRANSCENDENTAL,
        f"derivative {n} of sinc" if n else "sin(pi x) / (pi x), and 1 at 0, as in NumPy",
        (f"sinc{n + 1}(x)",),
        rf"\operatorname{{sinc}}^{{({n})}}" if n else r"\operatorname{sinc}",
        Course(ALL, (-most, most), rises=None, steepest=math.pi * most, error=math.pi**n * 2.0**-48),
        formula=_derivative(n) if n else f"{_ANGLE}{_SINC}",
        numpy=f"sinc{n}" if n else "sinc",
        traits=frozenset(() if n else ("even",)),
        is_reserved=False,
    )


FUNCTIONS = (sinc(0),)
FAMILIES = (Family("sinc", 1, sinc),)
