"""Nests that call others: what they mean, what is wrong with them, and those of chains and recurrences."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest

import tadc
from tadc.frontend.source import Source
from tadc.passes.nest.interpret import NestFault, interpret
from tadc.passes.nest.nest import Call, For
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
        "call twice(x, y) for 0, N sizes N": "`x` has another type or number of elements than `a`",
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
    with pytest.raises(NestFault, match="known does not hold"):
        interpret(made.nest, {"x": np.arange(5.0)}, {"N": 3}, called=made.above)


def shown(text: str) -> list[ReadNest]:
    """The nests that code of a program is made of, which are right."""
    nests = tadc.function(text).lower().as_text("scheduled-nest")
    found = read_nests(Source(nests, "f.nest"))
    assert [wrong for each in found for wrong in verify_read(each)] == []
    return found


def last_of(f: tadc.Function) -> ReadNest:
    """The nest of a function, which calls those of its maps, and is right."""
    whole = read_nests(Source(f.lower().as_text("scheduled-nest"), "f.nest"))[-1]
    assert verify_read(whole) == []
    return whole


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


def test_the_nest_of_a_function_computes_all_of_it() -> None:
    """What is kept, equal maps of two sizes, rows that are one, elements in the place of others."""
    text = """
        x: f64[N, 21]
        z: f64[M, 21]
        let w[j: 21] = sum{k: 400} (sqrt(1 + j*k))
        let e[i: N, j: 21] = exp(x[i, j] - w[j]/1000)
        let s[i: N] = sum{j} (e[i, j])
        y[i, j] = e[i, j]/s[i]
        p[i: N, j: 21] = sum{k: 21} (x[i, k]*x[i, j])
        q[i: M, j: 21] = sum{k: 21} (z[i, k]*z[i, j])
        d[i: N, j: N] = if {i = j} then (s[i]) else (0)"""
    whole = last_of(tadc.function(text))
    assert whole.nest.name == "y_function"
    random = np.random.default_rng(0)
    x, z = random.uniform(-1, 1, (6, 21)), random.uniform(-1, 1, (4, 21))
    found = interpret(whole.nest, {"x": x, "z": z}, {"N": 6, "M": 4}, called=whole.above).results
    e = np.exp(x - np.sqrt(1 + np.outer(np.arange(21), np.arange(400))).sum(1) / 1000)
    wanted = {
        "y": e / e.sum(1, keepdims=True),
        "p": x.sum(1, keepdims=True) * x,
        "q": z.sum(1, keepdims=True) * z,
        "d_2": np.diag(e.sum(1)),
    }
    for name, array in wanted.items():
        np.testing.assert_allclose(found[name], array, rtol=1e-12)


def test_nests_have_names_of_their_own() -> None:
    """One of two tensors, and one of a tensor that is called as both."""
    f = tadc.function("x: f64[N]; y: f64[M]; a[i: N] = 2*x[i]; b[i: N] = 3*x[i]; a_b[j: M] = 5*y[j]")
    found = f(np.ones(3), np.ones(7))
    assert [array.tolist() for array in found] == [[2] * 3, [3] * 3, [5] * 7]
    whole = last_of(f)
    assert {call.nest for call in whole.nest.body if isinstance(call, Call)} == {"a_b", "a_b_2"}


@pytest.mark.parametrize("steps", [3, 40])
def test_the_nest_of_a_function_goes_back_over_steps(steps: int) -> None:
    """A recurrence that saves states, and its gradient."""
    text = f"""
        x: f64[7]
        let scan{{t}} u[t: {steps}, i: 7] = if {{t = 0}} then (x[i]) else (sqrt(1 + u[t - 1, 6 - i]**2))
        y = sum{{i}} (u[{steps - 1}, i])"""
    f = tadc.value_and_grad(tadc.function(text).storing(memory_limit="1KiB"))
    x = np.random.default_rng(0).uniform(0, 1, 7)
    whole = last_of(f)
    found = interpret(whole.nest, {"x": x}, called=whole.above).results
    last = np.sqrt(np.square(x) + steps - 1)
    np.testing.assert_allclose(found["y"], np.sum(last), rtol=1e-14)
    np.testing.assert_allclose(found["dx"], x / last, rtol=1e-14)
