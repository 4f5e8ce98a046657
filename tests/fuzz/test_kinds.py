"""Some programs of every kind; Taylor arithmetic against mpmath, and on programs against JAX."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import mpmath
import numpy as np
import pytest

import tadc
from tests.fuzz.compare import Skipped
from tests.fuzz.evaluate import Evaluator, Flat
from tests.fuzz.generate import generate
from tests.fuzz.ieee import NumpyEvaluator, inputs
from tests.fuzz.jets import Calculus, Long, Precise
from tests.fuzz.kinds import KINDS
from tests.fuzz.special_compare import compare
from tests.fuzz.taylor import Chain
from tests.fuzz.tree import Apply, Definition, Literal, Program, Read
from tests.reference.autodiff import pullback

pytestmark = pytest.mark.filterwarnings("ignore::tadc.CompileWarning")

#: Seeds that are tried of a kind at an order.
FAST = {
    ("f32", 2): (1,),
    ("floors", 2): (2,),
    ("rows", 1): (0, 1, 2),
    ("rows", 2): (1,),
    ("tiny", 1): (0, 1),
    ("sized-floors", 1): (0,),
    ("sized-tiny", 1): (0,),
    ("special", 1): (0, 1),
    ("special", 2): (3,),
    ("special", 3): (0,),
    ("branches", 2): (0, 1),
    ("ieee", 0): range(8),
    ("options", 0): (1, 2),
    ("blocks", 0): range(6),
    ("blocks", 1): range(6, 10),
    ("blocks", 2): (1, 2),
}


def failures(kind: str, order: int, seeds: Iterable[int]) -> list[str]:
    found: list[str] = []
    for seed in seeds:
        try:
            found += filter(None, [KINDS[kind].failure(seed, order)])
        except Skipped:
            continue
    return found


@pytest.mark.parametrize(("kind", "order"), FAST)
def test_programs(kind: str, order: int) -> None:
    assert not failures(kind, order, FAST[kind, order])


@pytest.mark.slow
@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("first", range(1000, 1300, 25))
@pytest.mark.parametrize("kind", sorted(KINDS.keys() - {"plain", "sized"}))
def test_many(kind: str, first: int, order: int) -> None:
    """300 more of every kind at every order."""
    assert not failures(kind, order, range(first, first + 25))


#: Functions by mpmath, and points where they are smooth.
SMOOTH: list[tuple[str, Callable[..., Any], tuple[float, ...]]] = [
    *[
        (name, getattr(mpmath, name), (0.375,))
        for name in "exp sqrt sin cos tan sinh cosh tanh erf erfc cbrt".split()
    ],
    *[
        (name, getattr(mpmath, name), (-0.375,))
        for name in "asin acos atan asinh atanh expm1 log1p sign".split()
    ],
    *[(name, getattr(mpmath, name), (1.75,)) for name in ("log", "acosh", "log10", "floor", "ceil")],
    *[(f"pow{n}", lambda x, n=n: x**n, (-1.5,)) for n in (0, 1, 2, 3, 4, 5, -1, -2)],
    ("cbrt", lambda x: -mpmath.cbrt(-x), (-1.5,)),
    ("log2", lambda x: mpmath.log(x, 2), (3.0,)),
    ("exp2", lambda x: mpmath.mpf(2) ** x, (-1.5,)),
    ("sigmoid", lambda x: 1 / (1 + mpmath.exp(-x)), (0.5,)),
    ("abs", lambda x: -x, (-2.0,)),
    ("relu", lambda x: 0 * x, (-2.0,)),
    ("relu", lambda x: x, (2.0,)),
    *[("atan2", mpmath.atan2, point) for point in itertools.product((-1.5, 0.5), (-1.0, 2.0))],
    ("atan2", mpmath.atan2, (1.0, 0.0)),
    ("pow", lambda x, y: x**y, (1.5, -0.5)),
    ("pow", lambda x, y: x**y, (2.0, 0.0)),
    ("div", lambda x, y: x / y, (0.0, 4.0)),
    ("mod", lambda x, y: x - 3 * y, (7.0, 2.0)),
    ("max", lambda x, y: y, (1.0, 2.0)),
    ("min", lambda x, y: (x + y) / 2, (2.0, 2.0)),
]


@pytest.mark.parametrize("numbers", [Long(), Precise()], ids=["long", "precise"])
@pytest.mark.parametrize(("name", "function", "at"), SMOOTH, ids=[f"{n} {at}" for n, _, at in SMOOTH])
def test_jets(name: str, function: Callable[..., Any], at: tuple[float, ...], numbers: Long) -> None:
    """All partial derivatives up to the third order."""
    calculus = Calculus(numbers)
    for along in itertools.product(range(len(at)), repeat=3):
        jets = [calculus.constant([x], 3) for x in at]
        for direction, place in enumerate(along):
            jets[place].parts[1 << direction, 0] += 1
        with np.errstate(all="ignore"):
            found = calculus.apply(name, [calculus.jet(jet.parts, active=True) for jet in jets])
        assert not found.singular.any()
        for directions, got in enumerate(found.parts[:, 0]):
            orders = tuple(
                sum(p == n and directions >> d & 1 for d, p in enumerate(along)) for n in range(len(at))
            )
            want = mpmath.diff(function, at, orders) if any(orders) else function(*map(mpmath.mpf, at))
            assert abs(float(got) - float(want)) < 1e-12 * (1 + abs(want)), (orders, got, want)


def test_taylor_arithmetic_and_jax_agree_on_programs() -> None:
    """The second gradients, as one number."""
    for seed in range(2):
        program = replace(generate(seed, small=True), narrow=frozenset())
        rng = np.random.default_rng(seed)
        functions = [tadc.function(str(program))]
        arrays = {name: rng.uniform(-1, 1, shape) for name, shape in program.arguments.items()}
        reference, shapes = Evaluator(program), dict(program.outputs)
        for _ in range(2):
            functions.append(tadc.vjp(functions[-1]))
            last = functions[-1]
            reference = pullback(reference, last.cotangents, last.gradients)
            arrays |= {name: rng.uniform(-1, 1, shapes[output]) for output, name in last.cotangents.items()}
            shapes = {gradient: arrays[name].shape for name, gradient in last.gradients.items()}
        weights = {name: rng.uniform(-1, 1, shape) for name, shape in shapes.items()}
        found = reference({name: Flat().encode(array) for name, array in arrays.items()})
        want = sum(float((Flat().decode(found[n], s) * weights[n]).sum()) for n, s in shapes.items())
        got = float(Chain(program, functions, Long()).contracted(arrays, weights))
        assert abs(got - want) < 1e-9 * (1 + abs(want)), program


def test_numpy_and_jax_agree_on_programs() -> None:
    """On values that are finite."""
    for seed in range(10):
        program = replace(generate(seed, small=True), narrow=frozenset())
        flat = {
            n: Flat().encode(np.nan_to_num(a, posinf=3, neginf=-3)) for n, a in inputs(program, seed).items()
        }
        found = NumpyEvaluator(program)({name: np.asarray(array) for name, array in flat.items()})
        expected = Evaluator(program)(flat)
        for name, shape in program.outputs.items():
            got, want = (Flat().decode(values[name], shape) for values in (found, expected))
            np.testing.assert_allclose(got, want, 1e-12, 1e-12)


def test_a_point_without_all_derivatives_is_skipped() -> None:
    root = Apply("sqrt", (Apply("abs", (Read("x", ()),)),))
    program = Program({"x": ()}, (Definition("f", (), (), Apply("add", (root, Literal(0.0))), True),))
    outcomes: set[str] = set()
    for point in range(12):
        try:
            compare(program, ["vjp"], point)
        except Skipped:
            outcomes.add("skipped")
        else:
            outcomes.add("compared")
    assert outcomes == {"skipped", "compared"}


def test_a_kink_has_no_second_derivatives_of_its_own() -> None:
    """That of abs(x)**2 at 0 is 2, which no slope of abs at 0 tells."""
    body = Apply("mul", (absolute := Apply("abs", (Read("x", ()),)), absolute))
    program = Program({"x": ()}, (Definition("f", (), (), body, True),))
    for modes in (["vjp"], ["vjp", "jvp"]):
        for point in range(12):
            with suppress(Skipped):
                compare(program, modes, point)
