"""What is written in the place of functions of other libraries has the values that they have there."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from itertools import product
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
import scipy.special

import tadc
from tadc.commands.fix import fixed, problems_of
from tadc.frontend.foreign_functions import CALLS, FORMULAS
from tadc.frontend.source import Source

jax.config.update("jax_enable_x64", True)

#: The first that has a name says what it means.
LIBRARIES: tuple[ModuleType, ...] = (np, math, scipy.special, jnp, jax.nn, jax.lax, jnp.fft, jnp.linalg)

#: Those that have another name there, or none.
MEANT: dict[str, Callable[..., Any]] = {
    "exp10": lambda x: 10.0**x,
    "mod": np.mod,
    "gelu": lambda x: jax.nn.gelu(x, approximate=False),
    **{
        name: lambda x, name=name: float(getattr(mpmath, name)(x))
        for name in ("sec csc cot sech csch coth asec acsc acot asech acsch acoth").split()
    },
}

POINTS = (-30.0, -8.0, -2.0, -0.7, -1e-9, 0.0, 1e-9, 0.3, 0.7, 1.0, 2.5, 8.0, 30.0)


def meaning(name: str) -> Callable[..., Any]:
    return MEANT.get(name) or next(getattr(m, name) for m in LIBRARIES if hasattr(m, name))


def at(function: Callable[..., Any], *point: float) -> float:
    """Its value at a point; NaN where it has none, or is no function of so many numbers."""
    try:
        with np.errstate(all="ignore"):
            value = np.asarray(function(*point))
    except Exception:  # whatever a library raises for operands that it does not take
        return math.nan
    known = not value.shape and value.dtype.kind in "fiub" and np.isfinite(value)
    return float(value) if known else math.nan


def compared(written: list[tuple[str, str]]) -> list[int]:
    """At how many points expressions in x[i] and y[i] have the values of functions; fails at other values."""
    points = np.array(list(product(POINTS, repeat=2)))
    declared = "x: f64[N]\ny: f64[N]\n"
    for_all = "\n".join(f"out_{n}[i: N] = {expression}" for n, (_, expression) in enumerate(written))
    found = tadc.function(declared + for_all + "\nall[i: N] = x[i] + y[i]")(x=points[:, 0], y=points[:, 1])
    counts = []
    for (name, expression), mine in zip(written, found, strict=False):
        given = points[:, : 1 + ("y[i]" in expression)]
        theirs = np.array([at(meaning(name), *point) for point in given])
        known = ~np.isnan(theirs)
        np.testing.assert_allclose(
            mine[known],
            theirs[known],
            rtol=1e-12,
            # NumPy multiplies by a rounded pi, so that its zeros are none.
            atol=1e-15 if name == "sinc" else 1e-300,
            err_msg=f"{name}: {expression}",
        )
        counts.append(int(known.sum()))
    return counts


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_formula_has_the_values_of_the_function() -> None:
    assert all(f"`{formula}`" in CALLS[name].help for name, formula in FORMULAS.items())
    assert min(compared([(name, in_elements(formula)) for name, formula in FORMULAS.items()])) >= 30


def in_elements(formula: str) -> str:
    return re.sub(r"\b([xy])\b", r"\1[i]", formula)


NAMES = sorted(
    {
        name
        for module in LIBRARIES
        for name, found in vars(module).items()
        if callable(found) and name.isidentifier() and not name.startswith("_")
    }
)


@pytest.mark.parametrize("part", range(3))
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_what_fix_makes_of_a_call_has_the_values_of_the_function(part: int) -> None:
    """Of every function of these libraries, called with one number and with two."""
    assert len(NAMES) > 900
    written: list[tuple[str, str]] = []
    for module, name, call in product(("", "np."), NAMES[part::3], ("(x[i])", "(x[i], y[i])")):
        text = f"x: f64[N]\ny: f64[N]\nf[i: N] = {module}{name}{call}"
        source, problems, changes = fixed(Source(text), {})
        if changes and not problems:
            written.append((name, source.text.rpartition(" = ")[2]))
    assert sum(compared(list(dict.fromkeys(written)))) > 1000


def test_what_is_called_is_no_tensor_unless_one_is_declared() -> None:
    for name in (*NAMES, "foo", "solve", "topk", "k_1"):
        for text in (f"x: f64\nf = {name}(x)", f"x: f64[3]\nf[i] = {name}(x[i], 2)"):
            for problem in problems_of(Source(text), {}):
                assert not any("brackets" in help or f"{name}[" in help for help in problem.helps), text
    (found,) = problems_of(Source("solve: f64[3]\nf[i] = solve(i)"), {})
    assert found.helps == ["an element is read with brackets: `x[i]`"]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("argmin(x)", "min{i} (x[i])"),
        ("argmax(x)", "max{i} (x[i])"),
        ("logaddexp2(x, x)", "max(x, y) + log1p(exp2(-abs(x - y))) / log(2)"),
        ("stop_gradient(x)", "an argument of its own"),
        ("solve(x, x)", "there is no linear algebra"),
        ("fft(x)", "no fast transforms"),
        ("topk(x, 2)", "no index depends on a value"),
        ("y0(x)", "not in the language"),
        ("lg(x)", "`log10(x)` and `log2(x)`"),
        ("foo(x)", "`tadc --list functions`"),
    ],
)
def test_helps_are_true(call: str, said: str) -> None:
    (found,) = problems_of(Source(f"x: f64\nf = {call}"), {})
    assert said in found.helps[0]
    assert not found.edits
