"""Random formulas of roots, norms, powers, logarithms and quotients at points where factors vanish.

A derivative along a direction is compared with the limit of a difference quotient, which mpmath takes at
steps of 1e-200 and less. Where there is a limit, tadc's derivative is that, or NaN with a warning.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import mpmath
import numpy as np

import tadc
from tests.fuzz.compare import Skipped

MP: Any = mpmath.mp
Values = Mapping[str, Any]

#: Digits, and the exponents of the steps of the first, second and third quotient: what one is off by its
#: step is little in the next.
DIGITS, STEPS = 2300, (-1100, -500, -200)
TOLERANCE = 1e-9


class Formula(NamedTuple):
    """In tadc's language, and in Python's with the functions of `NAMES`."""

    text: str
    python: str


#: What vanishes at the point: of x, which is 0 or more; of y, of any sign; of vectors u and v.
SMALL = [
    *("x", "sqrt(x)", "x**0.5", "cbrt(x)", "x**1.5", "acos(1 - x)", "acosh(1 + x)", "sqrt(x + x**2)"),
    *("asin(sqrt(x))", "sqrt(l*x)", "x/l", "x**p", "(x/l)**p", "sqrt(x)**p", "sqrt(sin(x))", "x**2"),
]
SMALL_OF_ANY = ["y", "abs(y)", "abs(y)**p", "abs(y)**1.5", "y*abs(y)", "sqrt(y**2)", "y**2", "cbrt(y)**3"]
SMALL_OF_VECTORS = [
    *("NORM(u)", "NORM(u)", "NORM(u)", "NORM(v)", "SQUARE(u)", "sqrt(SQUARE(u))", "SQUARE(u)**0.75"),
    *("NORM(u)**p", "acosh(1 + SQUARE(u))", "2*asin(sqrt(SQUARE(u)))", "(NORM(u) + NORM(v))", "NORM(u)"),
    *("acos(1 - SQUARE(u))", "u[0]", "sqrt(SQUARE(u) + SQUARE(v))", "log(1 + NORM(u))", "u[1]**2"),
]
#: Smooth functions, and those with an end or a kink elsewhere.
AROUND = [
    *("sin({})", "cos({})", "tanh({})", "exp({})", "exp(-({}))", "({})**2", "({})**3", "1/(2 + {})"),
    *("log(1 + {})", "sqrt(1 + {})", "sigmoid({})", "erf({})", "({})**p", "cosh({})", "atan({})"),
    *("max({}, 0.3)", "relu({} - 0.3)", "min({0}, 0.3)*({0})", "l*({})", "({0})**2/(l + {0})"),
]
#: Reductions over an index I, and guards.
OTHERS = [
    ("sum{{I: 3}} (({})**I)", "SUM(3, lambda I: ({})**I)"),
    ("sum{{I: 3}} (({})**(2*I))", "SUM(3, lambda I: ({})**(2*I))"),
    ("prod{{I: 2}} ({})", "PROD(2, lambda I: {})"),
    ("prod{{I: 3}} ({} + I)", "PROD(3, lambda I: {} + I)"),
    ("cos(sum{{I: 3}} ({}*I))", "cos(SUM(3, lambda I: {}*I))"),
    ("sum{{I: 2}} (tanh({}*(I + 1))**2)", "SUM(2, lambda I: tanh({}*(I + 1))**2)"),
    ("select({0} = 0, 1, sin({0})/({0}))", "(1 if {0} == 0 else sin({0})/({0}))"),
    ("select({0} != 0, tanh({0})/({0}), 1)", "(1 if {0} == 0 else tanh({0})/({0}))"),
    ("select({0} > 0, (exp({0}) - 1)/({0}), 1)", "((exp({0}) - 1)/({0}) if {0} > 0 else 1)"),
]
NAMES: dict[str, Any] = {
    name: getattr(MP, name) for name in "sin cos tanh exp log sqrt cbrt erf acos acosh asin atan cosh".split()
}
NAMES |= {
    "abs": abs,
    "max": max,
    "min": min,
    "sigmoid": lambda t: 1 / (1 + MP.exp(-t)),
    "relu": lambda t: max(t, 0),
    "cbrt": lambda t: MP.cbrt(t) if t >= 0 else -MP.cbrt(-t),
    "SQUARE": lambda t: sum(e**2 for e in t),
    "NORM": lambda t: MP.sqrt(sum(e**2 for e in t)),
    "SUM": lambda n, body: sum(body(i) for i in range(n)),
    "PROD": lambda n, body: MP.fprod(body(i) for i in range(n)),
}


class Generated(NamedTuple):
    """A program with one output, the same in Python, what it is differentiated by, and a point."""

    text: str
    value: Callable[[Values], Any]
    wrt: str
    point: dict[str, Any]


class Generator:
    """One random program."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.indices = rng, 0
        self.wrt = rng.choice(("x", "y", "u", "u"))
        self.small = {"x": SMALL, "y": SMALL_OF_ANY, "u": SMALL_OF_VECTORS}[self.wrt]
        self.lets: list[tuple[str, Formula]] = []

    def formula(self, depth: int) -> Formula:
        """A formula of what vanishes, which may become a definition."""
        rng = self.rng
        if depth == 0:
            atom = rng.choice(self.small if rng.random() < 0.85 else ["2", "l", "p"])
            return Formula(atom, atom)
        kind = rng.random()
        if kind < 0.4:
            around = rng.choice(AROUND)
            found = _filled((around, around), self.formula(depth - 1))
        elif kind < 0.6:
            self.indices += 1
            text, python = (part.replace("I", f"k{self.indices}") for part in rng.choice(OTHERS))
            found = _filled((text, python), self.formula(depth - 1))
        else:
            joined = f"({{}} {rng.choice('**+-')} {{}})"
            found = _filled((joined, joined), self.formula(depth - 1), self.formula(depth - 1))
        if rng.random() < 0.25:
            name = f"n{len(self.lets)}"
            self.lets.append((name, found))
            return Formula(name, name)
        return found

    def program(self) -> Generated:
        """The program and its point."""
        rng = self.rng
        found = self.formula(rng.choice((1, 2, 2, 3)))
        definitions = [*self.lets, ("f", found)]
        point = {
            **{"x": 0.0, "y": 0.0, "u": [0.0, 0.0], "v": rng.choice(([0.0, 0.0], [0.6, 0.8]))},
            **{"p": rng.choice((0.5, 1.0, 1.5, 2.0, 2.0, 3.0, 4.0)), "l": rng.choice((1.0, 2.0, 0.5))},
        }
        lets = "; ".join(f"{'let ' * (name != 'f')}{name} = {_text(body)}" for name, body in definitions)
        codes = [(name, compile(body.python, name, "eval")) for name, body in definitions]

        def value(values: Values) -> Any:
            names = {**NAMES, **values}
            for name, code in codes:
                names[name] = eval(code, names)
            return names["f"]

        arguments = "x: f64; y: f64; u: f64[2]; v: f64[2]; p: f64; l: f64; "
        return Generated(arguments + lets, value, self.wrt, point)


def _filled(template: tuple[str, str], *parts: Formula) -> Formula:
    text, python = template
    return Formula(text.format(*(p.text for p in parts)), python.format(*(p.python for p in parts)))


def _text(formula: Formula) -> str:
    text = formula.text
    for vector in "uv":
        text = text.replace(f"NORM({vector})", f"norm{{i}} ({vector}[i])")
        text = text.replace(f"SQUARE({vector})", f"sum{{i}} ({vector}[i]**2)")
    return text


# -- limits --------------------------------------------------------------------------------------


def limits(generated: Generated, direction: Any, order: int) -> list[float] | None:
    """The value and derivatives along a direction, as far as there are any: from both sides, or from the one
    on which the formula has a value. None where it has none at the point. An infinite one is the last."""
    with mpmath.workdps(DIGITS):
        start = _value(generated, direction, MP.mpf(0))
        if start is None:
            return None
        above, below = (_quotients(generated, direction, start, side, order) for side in (1, -1))
    if above is None or below is None:
        return above or below
    found: list[float] = []
    for one, other in zip(above, below, strict=False):
        if not (one == other or abs(one - other) <= TOLERANCE * (1 + abs(one))):
            break
        found.append(one)
    return found


def _value(generated: Generated, direction: Any, step: Any) -> Any:
    """The formula at a step from the point; None where that is no finite real number."""
    values = {
        name: [MP.mpf(e) for e in v] if isinstance(v, list) else MP.mpf(v)
        for name, v in generated.point.items()
    }
    moved = values[generated.wrt]
    values[generated.wrt] = (
        [e + step * d for e, d in zip(moved, direction, strict=True)]
        if isinstance(moved, list)
        else moved + step * direction
    )
    try:
        found = MP.mpmathify(generated.value(values))
    except (ZeroDivisionError, ValueError, TypeError):
        return None
    return found if isinstance(found, MP.mpf) and MP.isfinite(found) else None


def _quotients(generated: Generated, direction: Any, start: Any, side: int, order: int) -> list[float] | None:
    """The derivatives from one side; None where there is no value on it."""
    taylor, found = [start], [float(start)]
    for k, exponent in zip(range(1, order + 1), STEPS, strict=False):
        quotients = list[Any]()
        for e in (exponent, exponent - 40):
            step = side * MP.mpf(10) ** e
            value = _value(generated, direction, step)
            if value is None:
                return None
            quotients.append((value - sum(c * step**j for j, c in enumerate(taylor))) / step**k)
        first, second = quotients
        if abs(second) > 1e9 * (1 + abs(first)) or abs(second) > 1e12:
            return [*found, float(MP.sign(second)) * np.inf]
        if abs(first - second) > TOLERANCE * (1 + abs(second)):
            # Logarithms grow slowly.
            return (
                [*found, float(MP.sign(second)) * np.inf] if abs(second) > 1.02 * abs(first) > 10 else found
            )
        taylor.append(second)
        found.append(float(second * MP.factorial(k)))
    return found


def forms(generated: Generated, order: int, rng: random.Random) -> tuple[Any, list[float] | None]:
    """A direction and the derivatives along it, as far as they are those of a polynomial in the direction."""
    if not isinstance(generated.point[generated.wrt], list):
        direction: Any = rng.choice((1.0, 2.0)) if generated.wrt == "x" else rng.choice((1.0, -2.0))
        return direction, limits(generated, direction, order)
    a, b = (np.round([rng.uniform(-2, 2), rng.uniform(-2, 2)], 2) for _ in range(2))
    known: list[list[float]] = []
    for d in (a, b, a + b, a - b, a + 2 * b):
        along = limits(generated, d.tolist(), order)
        if along is None:
            return a.tolist(), None
        known.append(along)
    found = known[0][:1]
    for k, values in enumerate(zip(*known, strict=False)):
        va, vb, plus, minus, far = values
        off = [0, plus - va - vb, plus + minus - 2 * va - 2 * vb, far - 3 * plus + 3 * va - minus - 6 * vb][k]
        if k and not abs(off) <= 1e-6 * (1 + max(map(abs, values))):
            break
        if k:
            found.append(va)
    return a.tolist(), found


# -- derivatives by tadc -------------------------------------------------------------------------


def derivative(generated: Generated, direction: Any, modes: Sequence[str]) -> tuple[float, bool]:
    """The derivative along a direction by some modes; whether there was a warning."""
    given, wrt = dict(generated.point), generated.wrt
    is_vector = isinstance(direction, list)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        f = tadc.function(generated.text)
        output, whole, scalars = "f", False, ("f",)
        for mode in modes:
            if mode == "vjp":
                f = tadc.vjp(f, wrt=wrt)
                for name, cotangent in f.cotangents.items():
                    given[cotangent] = 0.0 if name in scalars else [0.0, 0.0]
                given[f.cotangents[output]] = direction if whole else 1.0
                output, whole = f.gradients[wrt], True
                scalars = () if is_vector else (output,)
            else:
                f = tadc.jvp(f, wrt=wrt)
                given[f.tangents[wrt]] = direction
                output = f.output_tangents[output]
                scalars = f.outputs if not whole else scalars and f.outputs
        found: Any = f(**{name: given[name] for name in f.inputs})
    found = found if len(f.outputs) == 1 else getattr(found, output)
    told = any("TAD0412" in str(warning.message) for warning in seen)
    return float(np.vdot(found, direction)) if whole else float(found), told


def generate(seed: int) -> Generated:
    """The program of a seed."""
    return Generator(random.Random(seed)).program()


def judged(seed: int, order: int) -> tuple[str, str]:
    """What a derivative of a program is, and which; Skipped where it has none.

    It is right, told (NaN with a warning), silent (NaN without), or wrong; or endless, which is NaN without a
    warning where an infinite one is right.
    """
    generated, rng = generate(seed), random.Random(seed)
    direction, known = forms(generated, order, rng)
    if not known or len(known) < order or (len(known) == order and np.isfinite(known[-1])):
        raise Skipped("no derivative")
    modes, want = rng.choices(("vjp", "jvp"), k=order), known[-1]
    found, told = derivative(generated, direction, modes)
    point = {
        name: value for name, value in generated.point.items() if name in generated.text.split("; ", 6)[6]
    }
    about = (
        f"{generated.text}\n  by {generated.wrt} along {direction} at {point}: {modes}: {found}, not {want}"
    )
    if found == want or abs(found - want) <= 1e-8 * (1 + abs(want)):
        return "right", about
    if np.isfinite(found):
        return "wrong", about
    if np.isinf(want):
        return "right" if told or np.isinf(found) else "endless", about
    return "told" if told and np.isnan(found) else "silent", about


def failure(seed: int, order: int) -> str | None:
    """What is wrong with a derivative of a program."""
    what, about = judged(seed, order)
    return f"seed {seed}, {what}: {about}" if what in ("wrong", "silent") else None
