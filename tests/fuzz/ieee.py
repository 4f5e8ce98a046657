"""Values of programs that have infinities and NaN among their inputs, against NumPy."""

from __future__ import annotations

import math
import operator
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf, erfc, expit

import tadc
from tests.fuzz.compare import failing
from tests.fuzz.evaluate import Evaluator
from tests.fuzz.forms import RELATIONS, Integers
from tests.fuzz.gathering import EMPTY
from tests.fuzz.generate import generate as plain
from tests.fuzz.lanes import padded
from tests.fuzz.options import ON_CPU
from tests.fuzz.special import Special
from tests.fuzz.styles import WIDE
from tests.fuzz.tree import Program

Array = NDArray[np.float64]

#: What inputs are, beside numbers between -1 and 1.
VALUES = (np.nan, np.inf, -np.inf, 0.0, 0.0, 1.0, -1.0, 2.0)

FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in "exp log sqrt sin cos tan sinh cosh tanh exp2 expm1".split()},
    **{name: getattr(np, name) for name in "log1p log2 log10 cbrt abs sign floor ceil".split()},
    **{name: getattr(np, f"arc{name[1:]}") for name in "asin acos atan asinh acosh atanh atan2".split()},
    **{f"pow{n}": lambda x, n=n: np.power(x, float(n)) for n in (0, 1, 2, 3, 4, 5, -1, -2)},
    **{name: getattr(operator, name) for name in ("add", "sub", "mul", "neg")},
    "div": operator.truediv,
    "mod": np.mod,
    "pow": np.power,
    "erf": erf,
    "erfc": erfc,
    "sigmoid": expit,
    "relu": lambda x: np.maximum(x, 0),
    "pinv": lambda x: np.where(x == 0, 0, 1 / x),
    "safe": lambda x, y: np.where(x == 0, 0, x * y),
    "max": np.maximum,
    "min": np.minimum,
    **{f"select {op}": lambda a, b, x, y, op=op: np.where(RELATIONS[op](a, b), x, y) for op in RELATIONS},
}
REDUCTIONS: dict[str, np.ufunc] = {
    "sum": np.add,
    "prod": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "logsumexp": np.logaddexp,
}
NOTHING = {"sum": 0.0, "prod": 1.0, **EMPTY}


class NumpyEvaluator(Evaluator):
    """The function that a program is, on flat arrays of NumPy."""

    def numbers(self, values: Array) -> Array:
        """See Evaluator."""
        return values

    def element(self, tensor: Array, address: Integers) -> Array:
        """See Evaluator."""
        return tensor[address]

    def apply(self, op: str, operands: Sequence[Array]) -> Array:
        """See Evaluator."""
        return FUNCTIONS[op](*operands)

    def choose(self, taken: NDArray[np.bool_], yes: Array, no: Array) -> Array:
        """See Evaluator."""
        return np.where(taken, yes, no)

    def reduce(self, kind: str, values: Array, parents: Integers, active: NDArray[np.bool_]) -> Array:
        """See Evaluator."""
        found = np.full(len(active) + 1, NOTHING[kind])
        REDUCTIONS[kind].at(found, parents, values)
        return found[:-1]

    def stored(self, value: Array, type: str) -> Array:
        """See Evaluator."""
        return value


def generate(seed: int) -> Program:
    """The program of a seed: of every second one functions leave their domains."""
    if seed % 2:
        return replace(plain(seed, small=seed % 4 == 1, style=WIDE), narrow=frozenset())
    rng = random.Random(seed)
    return replace(Special(rng, branches=seed % 4 == 0).program(), narrow=frozenset())


def inputs(program: Program, seed: int) -> dict[str, Array]:
    """Of each argument a part, up to half, of the values are not between -1 and 1."""
    rng = np.random.default_rng(seed)
    found: dict[str, Array] = {}
    for name, shape in program.arguments.items():
        odd = rng.random(shape) < rng.choice((0.05, 0.2, 0.5))
        found[name] = np.where(odd, rng.choice(VALUES, shape), rng.uniform(-1, 1, shape))
    return found


def failure(seed: int, order: int) -> str | None:
    """What is wrong with the values of the program of a seed, alone or beside their tangents."""
    return failing(generate(seed), lambda program: compare(program, seed, order), f"seed {seed}")


def compare(program: Program, seed: int, order: int) -> None:
    """Assert the values that NumPy finds, its infinities and NaN among them.

    Factors are taken out of sums, and sums are not taken of what is 0 everywhere: so what is infinity less
    infinity, or 0 times infinity, as written may be anything.
    """
    arrays = inputs(program, seed)
    f, tangents = tadc.function(str(program)), dict[str, Array]()
    for _ in range(order):
        f = tadc.jvp(f)
        tangents |= {name: np.zeros_like((arrays | tangents)[of]) for of, name in f.tangents.items()}
    found: Any = ON_CPU[seed % len(ON_CPU)](f)(**{name: (arrays | tangents)[name] for name in f.inputs})
    results = dict(zip(f.outputs, found if len(f.outputs) > 1 else (found,), strict=True))
    expected = values(program, arrays)
    bounded = values(program, {name: np.clip(array, -3, 3) for name, array in arrays.items()})
    for name, want in expected.items():
        got = np.asarray(results[name])
        either = np.isnan(want) & ~np.isnan(bounded[name])
        if not np.allclose(np.where(either, 0, got), np.where(either, 0, want), 1e-9, 1e-9, equal_nan=True):
            shown = "\n".join(f"{n} = {a.tolist()}" for n, a in arrays.items())
            raise AssertionError(f"{name} is\n{got}, not\n{want}\n{shown}")


def values(program: Program, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Outputs by name."""
    flat = {n: np.pad(a.reshape(-1), (0, padded(a.size) - a.size)) for n, a in arrays.items()}
    with np.errstate(all="ignore"):
        found = NumpyEvaluator(program)(flat)
    return {name: found[name][: math.prod(s)].reshape(s) for name, s in program.outputs.items()}
