"""Maxima over two indices share ties over all of their points, so text has one reduction for them, with the
conditions under which elements of index arrays are looked up."""

from __future__ import annotations

import numpy as np
import pytest

import tadc

HEAD = "i: index[4] in 4\nx: f64[4, 3]\ny: f64[5]\n\ny[n] = "
SAID = {
    "max{k: 4, l: 3: k >= l and i[k - l] = n} (x[k, l])": "max{k, l: i[k - l] = n and k >= l} (x[k, l])",
    "max{k: 4, l: 3: k + l <= 3 and i[k + l] = n} (x[k, l])": (
        "max{k, l: i[k + l] = n and k + l <= 3} (x[k, l])"
    ),
    "max{k: 4, l: 3: k + 1 >= n and k + 1 <= n + 3 and i[k - n + 1] = l} (x[k, l])": (
        "max{k, l: i[k - n + 1] = l and k + 1 >= n and n + 2 >= k} (x[k, l])"
    ),
    "max{k: 4, l: 3: i[k] >= l and i[i[k] - l] = n} (x[k, l])": (
        "max{k, l: i[i[k] - l] = n and i[k] >= l} (x[k, l])"
    ),
    "max{k: 4, l: 3: k >= 1 and i[k - 1] = n} (x[k, l])": "max{k: 3, l: i[k] = n} (x[k + 1, l])",
}  # fmt: skip


@pytest.mark.parametrize("body", SAID)
def test_conditions_of_elements_stand_with_those_that_they_need(body: str) -> None:
    f = tadc.function(f"i: index[4] in 4; x: f64[4, 3]; y[n: 5] = {body}")
    assert str(f) == f"{HEAD}{SAID[body]}\n"
    assert str(tadc.function(str(f))) == str(f)
    gradient = tadc.vjp(f, wrt="x")
    assert str(tadc.function(str(gradient))) == str(gradient)
    assert r"\max_{" in f.latex()


@pytest.mark.filterwarnings("ignore::tadc.CompileWarning")
def test_values_where_few_places_are_looked_up() -> None:
    f = tadc.function(str(tadc.function(f"i: index[4] in 4; x: f64[4, 3]; y[n: 5] = {next(iter(SAID))}")))
    i, x = np.array([2, 0, 2, 1]), np.random.default_rng(0).normal(size=(4, 3))
    points = [[x[k, m] for k in range(4) for m in range(min(k + 1, 3)) if i[k - m] == n] for n in range(5)]
    assert f(i=i, x=x).tolist() == [max(each, default=-np.inf) for each in points]
