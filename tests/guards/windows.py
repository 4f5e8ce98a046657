"""Random programs whose reads need masks: windows that stand over an edge, bands, triangles, reversals."""

from __future__ import annotations

import random

#: What is taken of the elements under a window, and of one element.
_REDUCTIONS = ("sum", "sum", "sum", "sum", "max", "min", "logsumexp")
_ELEMENTS = ("{}", "{}", "{}", "{}*{}", "sin({})", "exp({})", "sqrt({}*{} + 1)")


def generate(seed: int) -> str:
    """The program of a seed, in f64."""
    rng = random.Random(seed)
    return rng.choice((_window, _window, _window, _triangle, _band, _two_maps))(rng)


def _extent(rng: random.Random, least: int = 1) -> int:
    return max(
        least, rng.choice((rng.randint(1, 9), rng.randint(10, 40), rng.choice((16, 17, 31, 33, 56, 65))))
    )


def _along(rng: random.Random, index: str, tap: str, taps: int) -> tuple[str, int, int]:
    """A subscript under a window, the extent it is in range for, and the windows that there are."""
    extent, stride, step = _extent(rng, 2), rng.choice((1, 1, 1, 1, 2, 3)), rng.choice((1, 1, 1, 2))
    before = rng.randint(0, step * (taps - 1) + 1)
    windows = rng.randint(1, (extent + before) // stride + 1)
    backwards = rng.random() < 0.15
    form = f"{stride}*{index} + {step}*{tap} - {before}"
    return (f"{extent - 1} - ({form})" if backwards else form), extent, windows


def _element(rng: random.Random, read: str) -> str:
    return rng.choice(_ELEMENTS).format(*[read] * 2)


def _window(rng: random.Random) -> str:
    """A convolution, or another reduction, in one or two dimensions, whose window may be over an edge."""
    dimensions, kind = rng.choice((1, 1, 2, 2)), rng.choice(_REDUCTIONS)
    channels = rng.choice(("", "", "c", "o"))
    taps = [rng.randint(1, 5) for _ in range(dimensions)]
    along = [_along(rng, "ij"[n], "pq"[n], taps[n]) for n in range(dimensions)]
    count = rng.randint(1, 5)
    lead = {"": [], "c": ["c"], "o": ["o"]}[channels]
    guard = " and ".join(f"0 <= {form} and {form} <= {extent - 1}" for form, extent, _ in along)
    read = f"x[{', '.join([*lead[:1], *(form for form, _, _ in along)])}]".replace("x[o", "x[c")
    weight = f"w[{', '.join([*(['o', 'c'] if channels == 'o' else lead), *'pq'[:dimensions]])}]"
    inner = ["c: " + str(count)] if channels == "o" else []
    taken = [f"{tap}: {size}" for tap, size in zip("pq", taps, strict=False)]
    body = f"if {{{guard}}} then ({_element(rng, read)}*{weight}) else (0)"
    shape = [str(count)] * (channels != "") + [str(extent) for _, extent, _ in along]
    weights = [str(count)] * (2 if channels == "o" else len(lead)) + [str(size) for size in taps]
    result = [f"{name}: {count}" for name in lead]
    result += [f"{name}: {windows}" for name, (_, _, windows) in zip("ij", along, strict=False)]
    return (
        f"x: f64[{', '.join(shape)}]; w: f64[{', '.join(weights)}]\n"
        f"f[{', '.join(result)}] = {kind}{{{', '.join([*inner, *taken])}}} ({body})"
    )


def _triangle(rng: random.Random) -> str:
    """Sums up to, or from, a place that another index gives."""
    n, m = _extent(rng, 2), _extent(rng)
    low, high = rng.choice((("0", "i"), ("i", str(n - 1)), ("max [0; i - 3]", "i"), ("0", f"{n - 1} - i")))
    read, other = rng.choice(
        (("x[i, k]", "y[k, j]"), ("x[k, i]", "y[k, j]"), ("x[i, k]", f"y[{n - 1} - k, j]"))
    )
    kind = rng.choice(_REDUCTIONS)
    return (
        f"x: f64[{n}, {n}]; y: f64[{n}, {m}]\n"
        f"f[i: {n}, j: {m}] = {kind}{{k}}_({low})^({high}) ({_element(rng, read)}*{other})"
    )


def _band(rng: random.Random) -> str:
    """A banded matrix times a vector, stored by diagonals or by rows."""
    n, half = _extent(rng, 2), rng.randint(0, 6)
    width = 2 * half + 1
    stored, shape = rng.choice((("b[m, i]", f"{width}, {n}"), ("b[i, m]", f"{n}, {width}")))
    return (
        f"b: f64[{shape}]; x: f64[{n}]\n"
        f"f[i: {n}] = sum{{m}}_(max [0; {half} - i])^(min [{width - 1}; {n + half - 1} - i]) "
        f"({_element(rng, f'x[i + m - {half}]')}*{stored})"
    )


def _two_maps(rng: random.Random) -> str:
    """A tensor in between that two maps read under masks."""
    n, shift, taps = _extent(rng, 3), rng.randint(1, 3), rng.randint(1, 4)
    return (
        f"x: f64[{n}]; w: f64[{taps}]\n"
        f"let h[i: {n}] = sum{{k: {taps}}} "
        f"(if {{0 <= i - k and i - k <= {n - 1}}} then (w[k]*{_element(rng, 'x[i - k]')}) else (0))\n"
        f"f[i: {n}] = if {{i - {shift} >= 0}} then (h[i - {shift}]*h[i]) else (exp(h[i]))\n"
        f"g[i: {n + shift}] = if {{i <= {n - 1}}} then (h[{n - 1} - i]) else (1)"
    )
