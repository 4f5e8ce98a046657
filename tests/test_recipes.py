"""The recipes of docs/recipes.md, against NumPy and SciPy."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.ndimage
import scipy.spatial
import scipy.special

import tadc
from tests.pages import ROOT

PAGE = (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8")
RECIPES = dict(re.findall(r"^## (.*?)$.*?```tad\n(.*?)```", PAGE, re.MULTILINE | re.DOTALL))

_random = np.random.default_rng(0)
X, W, A, B = (_random.normal(size=size) for size in (8, 3, (4, 6), (6, 5)))
IDX, OTHER = np.array([1, 0, 3, 3, 6]), np.array([4, 4, 0, 2, 1])


def normalised(x: Any) -> Any:
    """Rows with mean 0 and variance 1."""
    return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)


def scattered(idx: Any, v: Any, size: int) -> Any:
    """Sums of elements by their index."""
    made = np.zeros(size)
    np.add.at(made, idx, v)
    return made


def multiplied(row: Any, col: Any, v: Any, x: Any, size: int) -> Any:
    """A sparse matrix by a vector."""
    return scattered(row, v * x[col], size)


#: For each recipe its arguments, sizes, and the same with NumPy.
EXPECTED: dict[str, tuple[tuple[Any, ...], dict[str, int], Callable[..., Any]]] = {
    "Convolution": ((X, W), {}, lambda x, w: np.correlate(x, w, "valid")),
    "Padding": ((X, W), {}, lambda x, w: np.convolve(x, w, "full")),
    "Stencil": ((A,), {}, lambda u: scipy.ndimage.laplace(u)[1:-1, 1:-1]),
    "Periodic boundary": ((X,), {}, lambda x: np.roll(x, -1)),
    "Finite difference": ((X,), {}, np.diff),
    "Pooling": ((A,), {}, lambda x: x.reshape(2, 2, 3, 2).mean((1, 3))),
    "Upsampling": ((X,), {}, lambda x: np.repeat(x, 2)),
    "Matrix product": ((A, B), {}, np.matmul),
    "Transpose": ((A,), {}, np.transpose),
    "Reshape": ((X,), {}, lambda x: x.reshape(-1, 4)),
    "Broadcasting": ((X, W), {}, lambda x, y: x[:, None] + y[None, :]),
    "Trace and diagonal": ((A[:, :4],), {}, lambda a: (np.trace(a), np.diag(a))),
    "Softmax": ((A,), {}, lambda x: scipy.special.softmax(x, axis=1)),
    "Layer normalisation": ((A,), {}, normalised),
    "Pairwise distances": ((A, B.T), {}, scipy.spatial.distance.cdist),
    "Gather": ((IDX, X), {}, lambda idx, x: x[idx]),
    "Scatter": ((IDX, A[0, :5]), {"N": 7}, lambda idx, v: scattered(idx, v, 7)),
    "Sparse matrix": (
        (IDX, OTHER, A[0, :5], X),
        {"N": 7},
        lambda r, c, v, x: multiplied(r, c, v, x, 7),
    ),
    "Cumulative sum": ((X,), {}, np.cumsum),
    "Mask": ((X,), {}, lambda x: np.where(x > 0, x, 0.01 * x)),
}


@pytest.mark.parametrize("name", RECIPES)
def test_recipes_compute_what_numpy_computes(name: str) -> None:
    arguments, sizes, expected = EXPECTED[name]
    found = tadc.function(RECIPES[name])(*arguments, **sizes)
    wanted = expected(*arguments)
    if not isinstance(wanted, tuple):
        found, wanted = (found,), (wanted,)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_all_recipes_are_compared() -> None:
    assert set(RECIPES) == set(EXPECTED)
