"""Random recurrences: compiled against an element-by-element run, derivatives against each other."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.random import Generator
from numpy.typing import NDArray

import tadc
from tests.reference.counting import Run

INDICES = "ijk"
SEEDS = range(40)


def recurrence(
    random: Generator, rank: int, sizes: tuple[int, int] = (1, 7), along: int = 0
) -> tuple[str, dict[str, NDArray[np.float64]], dict[str, int]]:
    """A program, its inputs, and the values of its sizes; each read of itself is guarded to be in range.

    `sizes` are the least and the greatest; the order is a form of so many indices or more as `along` says.
    """
    names = INDICES[:rank]
    values = {name.upper(): int(random.integers(sizes[0], sizes[1] + 1)) for name in names}
    while True:
        order = random.integers(-2, 3, rank)
        back = [o for o in product(range(-2, 3), repeat=rank) if np.dot(o, order) < 0]
        if back and np.count_nonzero(order) >= along:
            break
    terms = [f"x[{', '.join(names)}]"]
    for n in random.permutation(len(back))[: random.integers(1, 4)]:
        at = ", ".join(f"{name} + {by}" for name, by in zip(names, back[n], strict=True))
        rows = [f"{name} + {by} >= 0" for name, by in zip(names, back[n], strict=True) if by < 0]
        rows += [
            f"{name} + {by} <= {name.upper()} - 1" for name, by in zip(names, back[n], strict=True) if by > 0
        ]
        read = [f"0.4*f[{at}]", f"sin(f[{at}])", f"0.3*f[{at}]*x[{', '.join(names)}]"][random.integers(3)]
        terms.append(f"if {{{' and '.join(rows)}}} then ({read}) else (0.1)")
    plain = [n for n in range(rank) if order[n] > 0 and all(o == 0 for m, o in enumerate(order) if m != n)]
    if plain and random.random() < 0.5:
        # All earlier elements along the one index that the recurrence goes along.
        at = ", ".join("s" if n == plain[0] else name for n, name in enumerate(names))
        terms.append(f"sum{{s}}_0^({names[plain[0]]} - 1) (0.1*f[{at}])")
    form = " + ".join(f"{k}*{name}" for k, name in zip(order, names, strict=True) if k)
    head = ", ".join(names)
    shape = ", ".join(map(str.upper, names))
    program = f"x: f64[{shape}]\nscan{{{form}}} f[{head}] = {' + '.join(f'({term})' for term in terms)}"
    return program, {"x": random.uniform(-1, 1, tuple(values.values()))}, values


@pytest.mark.parametrize("seed", SEEDS)
def test_values_and_derivatives(seed: int) -> None:
    """Any sizes and known ones; the gradient's own program; J v and J^T w."""
    random = np.random.default_rng(seed)
    check(random, *recurrence(random, int(random.integers(1, 4))))


@pytest.mark.parametrize("seed", SEEDS)
def test_wavefronts(seed: int) -> None:
    """Tensors that are wide enough to be stored by their order."""
    random = np.random.default_rng(seed)
    rank = 2 + seed % 2
    check(random, *recurrence(random, rank, (24 // rank, 48 // rank), along=2))


def check(
    random: Generator, text: str, inputs: dict[str, NDArray[np.float64]], sizes: dict[str, int]
) -> None:
    """A recurrence of x against what it says, element by element, and its derivatives."""
    f = tadc.function(text)
    fixed = f.at(sizes)
    expected = Run(fixed.program, inputs, 12).arrays["f"]
    np.testing.assert_allclose(f(**inputs), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(fixed(**inputs), expected, rtol=1e-12, atol=1e-12)
    assert str(tadc.function(str(f))) == str(f)
    w, v = (random.uniform(-1, 1, expected.shape) for _ in range(2))
    g = tadc.vjp(f)
    assert str(tadc.function(str(g))) == str(g)
    gradient = g(**inputs, df=w)
    run = Run(tadc.vjp(fixed).program, {**inputs, "df": w}, 12)
    np.testing.assert_allclose(gradient, run.arrays["dx"], rtol=1e-11, atol=1e-11)
    tangent = tadc.jvp(f)(**inputs, x_dot=v).f_dot
    np.testing.assert_allclose((tangent * w).sum(), (gradient * v).sum(), rtol=1e-9, atol=1e-10)
    step = 1e-6
    there, here = (f(x=inputs["x"] + side * step * v) for side in (1, -1))
    np.testing.assert_allclose((there - here) / (2 * step), tangent, rtol=1e-5, atol=1e-6)
