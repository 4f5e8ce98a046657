"""Nests that call others: what they mean, what is wrong with them, and those of chains and recurrences."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest

import tadc
from tadc.frontend.source import Source
from tadc.passes.nest.interpret import Fault, interpret
from tadc.passes.nest.nest import For
from tadc.passes.nest.nest_reader import ReadNest, read_nests
from tadc.passes.nest.nest_text import nest_text
from tadc.passes.nest.nest_verifier import verify_read

TWICE = """
nest twice(a: f64[M], out b: f64[M]) {
    sizes M
    ranges begin, end
    known 0 <= begin <= end and end <= M
    for i = begin to end { %1 = a[i] %2 = %1 + %1 b[i] = %2 }
}
"""

CALLS = """
nest f(x: f64[N + 2], out y: f64[N + 2]) {
    sizes N
    known N >= 1
    stage t: f64[N + 2] in global
    BODY
}
"""

RIGHT = """
    call twice(x, t) for 0, N + 2 sizes N + 2
    for k = 0 to N + 2 { call twice(t, y) for k, k + 1 sizes N + 2 }
"""


def read(body: str) -> ReadNest:
    """A nest that may call `twice`."""
    return read_nests(Source(TWICE + CALLS.replace("BODY", body), "f.nest"))[1]


def test_a_call_runs_a_nest_over_other_tensors() -> None:
    made = read(RIGHT)
    assert verify_read(made) == []
    assert read(nest_text(made.nest).split("in global")[1].rsplit("}", 1)[0]).nest == made.nest
    run = interpret(made.nest, {"x": np.arange(5.0)}, {"N": 3}, called=made.above)
    np.testing.assert_array_equal(run.results["y"], 4 * np.arange(5.0))
    assert run.reads["x", 2] == run.writes["y", 4] == 1


@pytest.mark.parametrize(
    ("body", "label"),
    {
        "call thrice(x, y) for 0, N": "no nest `thrice` stands above",
        "call twice(x) for 0, N sizes N + 2": "`twice` takes 2 tensors, not 1",
        "call twice(x, y) for 0 sizes N + 2": "`twice` takes 2 values for its ranges, not 1",
        "call twice(x, y) for 0, N sizes N": "`x` has another type or shape than `a`",
        "call twice(y, x) for 0, N + 2 sizes N + 2": "`x` is not computed here",
        "call twice(x, y) for 1, N + 3 sizes N + 2": "`M >= end` of `twice` is not always so",
        "call twice(x, y) for k, N sizes N + 2": "`k` is no index or size here",
        "call twice(x, y) for 1, N + 2 sizes N + 2": "`y[0]` is never written",
    }.items(),
)
def test_a_wrong_call_is_told(body: str, label: str) -> None:
    found = verify_read(read(body))[0]
    assert found.primary is not None
    assert found.primary.text == label
    assert found.helps


def test_what_a_called_nest_knows_is_looked_at() -> None:
    made = read("at k = N call twice(x, y) for k, 0 sizes N + 2")
    with pytest.raises(Fault, match="known does not hold"):
        interpret(made.nest, {"x": np.arange(5.0)}, {"N": 3}, called=made.above)


def shown(text: str) -> list[ReadNest]:
    """The nests that code of a program is made of, which are right."""
    nests = tadc.function(text).lower().as_text("scheduled-nest")
    found = read_nests(Source(nests, "f.nest"))
    assert [wrong for each in found for wrong in verify_read(each)] == []
    return found


@pytest.mark.parametrize("rows", [49, 53])
def test_the_nest_of_a_chain_takes_what_is_left_in_the_last_rows(rows: int) -> None:
    """By ranges of threads one after the other, of which each begins where what is near does."""
    text = f"""
        x: f64[{rows}, 21]
        let e[i: {rows}, j: 21] = exp(x[i, j])
        s[i: {rows}] = sum{{j}} (e[i, j])
        y[i, j] = e[i, j]/s[i]"""
    with patch.multiple("tadc.passes.maps.chains", LEAST_BYTES=1, NEAR=12 * 21 * 8):
        chain = next(each for each in shown(text) if each.nest.name == "e_rows")
    loop = chain.nest.body[-1]
    assert isinstance(loop, For)
    last = rows // loop.step * loop.step
    x = np.random.default_rng(rows).uniform(-1, 1, (rows, 21))
    y = np.full_like(x, np.nan)
    for begin, end in ((0, loop.step), (loop.step, last - loop.step), (last - loop.step, last)):
        found = interpret(chain.nest, {"x": x}, {"begin": begin, "end": end}, called=chain.above).results["y"]
        y = np.where(np.isnan(found), y, found)
    np.testing.assert_allclose(y, np.exp(x) / np.exp(x).sum(1, keepdims=True), rtol=1e-14)


@pytest.mark.parametrize("steps", [1, 2, 7])
def test_the_nest_of_a_sweep_runs_each_map_with_its_steps(steps: int) -> None:
    """Phases of threads by turns, each with all values: the energies of all steps, every third step."""
    text = """
        x: f64[N]
        size T
        let scan{t} u[t: T, i: N] = if {t = 0} then (x[i]) else (0.5*u[t - 1, N - 1 - i])
        e[t: T] = sum{i} (u[t, i]**2)
        f[s: T // 3, i: N] = u[3*s, i]"""
    sweep = next(each for each in shown(text) if each.nest.name == "u_steps")
    u = [np.random.default_rng(0).uniform(-1, 1, 5)]
    u += [u[-1] for _ in range(steps - 1)]
    for t in range(1, steps):
        u[t] = 0.5 * u[t - 1][::-1]
    values = {"N": 5, "T": steps, "first": 0, "last": 2 * steps, "part": 0, "low": 0, "high": 5}
    results = interpret(sweep.nest, {"x": u[0]}, values, called=sweep.above).results
    np.testing.assert_allclose(results["e"], np.sum(np.square(u), 1), rtol=1e-14)
    np.testing.assert_array_equal(results["f"], np.reshape(u[: steps // 3 * 3 : 3], (-1, 5)))
