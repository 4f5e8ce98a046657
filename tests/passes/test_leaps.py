"""Loops that take several steps at once, a vector apart: each element adds up in an order of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import tadc
from tadc.api.execute import compile_program, evaluate
from tadc.backend.cpu import processors
from tadc.compiler.derive import derive
from tadc.frontend.extents import shape_at
from tadc.passes.schedule import leaps, plans, search
from tadc.passes.schedule.candidate import Candidate

PROGRAMS = {
    "filter": "x: f64[300]; w: f64[70]\ny[i: 231] = sum{k} (x[i + k] * w[k])",
    "filter of f32": "x: f32[400]; w: f32[100]\ny[i: 301] = sum{k} (x[i + k] * w[k]**2)",
    "backwards": "x: f64[200]; w: f64[64]\ny[i: 130] = sum{k} (x[199 - i - k] * w[k])",
    "apart": "x: f64[200]; w: f64[64]\ny[i: 130] = sum{k} (x[63 + i - k] * w[k])",
    "lags": "x: f64[300]\nr[lag: 145] = sum{n}_0^(299 - lag) (x[n] * x[n + lag])",
    "late lags": "x: f64[300]\nr[lag: 125] = sum{n}_(lag + 21)^(299 - lag) (x[n] * x[n + lag])",
    "lags but the first": "x: f64[300]\nr[lag: 145] = sum{n}_21^(299 - lag) (x[n] * x[n + lag])",
    "padded": "x: f64[230]; w: f64[65]\n"
    "y[i: 230] = sum{k}_(max [0; 32 - i])^(min [64; 261 - i]) (w[k] * x[i + k - 32])",
    "band": "b: f64[65, 130]; x: f64[130]\n"
    "y[i: 130] = sum{m}_(max [0; 32 - i])^(min [64; 161 - i]) (b[m, i] * x[i + m - 32])",
    "channels": "x: f64[3, 200]; w: f64[3, 64]\ny[i: 137] = sum{c, k} (x[c, i + k] * w[c, k])",
    "rows": "x: f64[3, 200]; w: f64[40]\ny[r: 3, i: 161] = sum{k} (x[r, i + k] * w[k])",
    "triangle": "x: f64[300]\ny[i: 150] = sum{k}_0^i (x[i + k] * x[k])",
    "greatest": "x: f64[200]; w: f64[60]\ny[i: 140] = max{k: 60} (x[i + k] - w[k])",
    "sizes": "x: f64[N]; w: f64[K]\ny[i: N - K + 1] = sum{k} (x[i + k] * w[k])",
}
SIZES = {"N": 211, "K": 51}


def results(text: str) -> Mapping[str, np.ndarray[Any, Any]]:
    """The value and all gradients of a program that is compiled anew."""
    derived = derive(tadc.function(text).program, "value-and-vjp")
    numbers = np.random.default_rng(7)
    arrays = {
        a.name: numbers.uniform(-1, 1, shape_at(a.shape, SIZES)).astype(
            "f4" if str(a.type) == "f32" else "f8"
        )
        for a in derived.arguments
    }
    return evaluate(compile_program(derived), arrays)


@pytest.mark.parametrize("name", PROGRAMS)
def test_elements_have_an_order_of_their_own(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums are right, and the same bits whatever tile an element is in."""
    # With 16 registers fewer tiles fit, and loops that do not leap add up in another order.
    monkeypatch.setattr(processors, "host_vectors", lambda: (64, 29))
    with monkeypatch.context() as plain:
        plain.setattr(plans, "tiling_of", lambda *_: None)
        expected = results(PROGRAMS[name])
    leaping: list[Candidate] = []

    def cost(accesses: Any, candidate: Candidate, *_: Any) -> float:
        leaping.extend([candidate] if candidate.leaps else [])
        return 0 if candidate.leaps else 1

    monkeypatch.setattr(search, "cost", cost)
    monkeypatch.setattr(search, "TILE_CODE", 1 << 20)
    monkeypatch.setattr(plans, "MUCH_CODE", 1 << 20)
    for steps, tiles in ((2, (1, 3)), (4, (2, 4))):
        monkeypatch.setattr(leaps, "POWERS", (1, steps))
        found: dict[str, set[bytes]] = {}
        for vectors in tiles:
            monkeypatch.setattr(leaps, "VECTORS", (vectors,))
            for key, value in results(PROGRAMS[name]).items():
                tolerance = 1e-5 if value.dtype == np.float32 else 1e-13
                np.testing.assert_allclose(value, expected[key], rtol=tolerance, atol=tolerance * 10)
                found.setdefault(key, set()).add(value.tobytes())
        assert all(len(bits) == 1 for bits in found.values())
    assert leaping


def test_leaps_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranges of threads have tiles of their own, whose elements are the same bits."""
    schedules: list[Any] = []
    choose = plans.tiling_of

    def chosen(*given: Any) -> Any:
        schedules.append(choose(*given))
        return schedules[-1]

    monkeypatch.setattr(plans, "tiling_of", chosen)
    f = tadc.function("x: f32[9000]\nr[lag: 500] = sum{n}_0^(8999 - lag) (x[n] * x[n + lag])")
    numbers = np.random.default_rng(5)
    x, dr = (numbers.uniform(-1, 1, n).astype("f4") for n in (9000, 500))
    gradient = tadc.vjp(f)
    before = tadc.get_num_threads()
    bits: set[bytes] = set()
    try:
        for count in (1, 2, 3):
            tadc.set_num_threads(count)
            bits.add(f(x).tobytes() + gradient(x, dr).tobytes())
    finally:
        tadc.set_num_threads(before)
    padded = np.pad(x.astype("f8"), (0, 499))
    want = np.correlate(padded, x, "valid"), np.correlate(padded, dr, "valid") + np.convolve(x, dr)[:9000]
    np.testing.assert_allclose(np.frombuffer(bits.pop(), "f4"), np.concatenate(want), rtol=1e-3, atol=1e-3)
    assert not bits
    assert any(schedule is not None and schedule.leaps for schedule in schedules)
