"""What several sums compute of the elements of index arrays is computed once, or read where it is held."""

from __future__ import annotations

import numpy as np
import pytest

import tadc
from tadc.analysis.statistics import compiled_work
from tadc.passes.maps.map import Fold
from tests.nest.programs import maps_of_program

EDGES = """src: index[20] in 9
dst: index[20] in 9
x: f64[9, 4]
w: f64[6, 4]
b: f64[6]
y[n: 9, f] = sum{e: dst[e] = n} (relu(b[f] + sum{c} (w[f, c]*(x[src[e], c] - x[n, c]))))"""

ATTENTION = """src: index[20] in 9
dst: index[20] in 9
l: f64[20]
x: f64[9, 4]
let z[n: 9] = logsumexp{e: dst[e] = n} (l[e])
y[n: 9, c] = sum{e: dst[e] = n} (exp(l[e] - z[n])*x[src[e], c])"""


def _folds(text: str, kind: str) -> list[Fold]:
    function = maps_of_program(text)
    lets = (let.value for item in function.maps for let in item.body.all_lets())
    return [value for value in lets if isinstance(value, Fold) and value.kind == kind]


def test_messages_are_computed_once() -> None:
    """Of the 32 features of an edge each stands in one map: gradients read them."""
    sums = [fold for fold in _folds(EDGES, "sum") if any("c" in index for index in fold.indices)]
    assert len(sums) == 1


def test_what_a_tensor_holds_is_read_at_elements() -> None:
    """The gradient of what is added in `z` reads `z[dst[e]]`."""
    assert len(_folds(ATTENTION, "logsumexp")) == 1


SUMS = "src: index[5000] in 300; dst: index[5000] in 300; x: f64[300, 4]; w: f64[4]\n"
SPELLINGS = {
    "sums in another order": (
        "z[e: 5000] = sum{f: 4} (exp(x[src[e], f] - x[dst[e], f])*w[f])",
        "y[n: 300] = sum{e: dst[e] = n} (sum{f: 4} (exp(x[src[e], f] - x[n, f])*w[f]))",
        "y[n: 300] = sum{f: 4} (sum{e: dst[e] = n} (exp(x[src[e], f] - x[n, f])*w[f]))",
    ),
    "another sign": (
        "z[e: 5000] = select(x[src[e], 0] > x[dst[e], 0], exp(x[src[e], 1]*x[dst[e], 1]), 0)",
        "y[n: 300] = -sum{e: dst[e] = n} (select(x[src[e], 0] > x[n, 0], exp(x[src[e], 1]*x[n, 1]), 0))",
        "y[n: 300] = sum{e: dst[e] = n} (select(x[src[e], 0] > x[n, 0], -exp(x[src[e], 1]*x[n, 1]), 0))",
    ),
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_what_a_sum_shares_does_not_depend_on_its_spelling(name: str) -> None:
    shared, *texts = SPELLINGS[name]
    one, other = (compiled_work(tadc.function(f"{SUMS}{y}\n{shared}").program, "value") for y in texts)
    assert one == other


def test_gradients() -> None:
    """Against central differences."""
    random = np.random.default_rng(0)
    src, dst = (random.integers(0, 9, 20, dtype=np.int32) for _ in range(2))
    for text, shapes in ((EDGES, ((9, 4), (6, 4), (6,))), (ATTENTION, ((20,), (9, 4)))):
        f = tadc.function(text)
        inputs = [random.normal(size=shape) for shape in shapes]
        cotangent = random.normal(size=np.asarray(f(src, dst, *inputs)).shape)
        gradients = tadc.vjp(f, f.inputs[2:])(src, dst, *inputs, cotangent)
        for number, gradient in enumerate(gradients):
            direction = random.normal(size=shapes[number])

            def at(step: float, number: int = number, direction: np.ndarray = direction) -> float:
                moved = [x + step * direction if n == number else x for n, x in enumerate(inputs)]
                return float((np.asarray(f(src, dst, *moved)) * cotangent).sum())

            expected = (at(1e-5) - at(-1e-5)) / 2e-5
            np.testing.assert_allclose((gradient * direction).sum(), expected, rtol=1e-6, atol=1e-8)


def test_numbers_from_index_arrays_are_made_in_each_call() -> None:
    """They are expensive and of no tensor, but not the same in all calls."""
    f = tadc.function("src: index[300] in 9\ny[e, k: 3] = exp(src[e]*0.1)*k")
    for start in (0, 1):
        src = (np.arange(start, start + 300) % 9).astype(np.int32)
        np.testing.assert_allclose(np.asarray(f(src)), np.exp(src * 0.1)[:, None] * np.arange(3))
