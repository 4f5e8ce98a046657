"""Programs of many definitions: what is done once for a program, and not for each definition."""

from __future__ import annotations

import gc
import re
from typing import Any

import numpy as np
import pytest

import tadc
from bench.deep_programs import chained, coupling, layers, lstm
from bench.random_programs import random_program
from tadc.compiler.garbage import NEW_OBJECTS, fewer_collections
from tadc.frontend import program
from tadc.frontend.program import allowed
from tadc.passes.cpu.passing_on import MANY
from tadc.passes.derivatives import cancel
from tadc.passes.maps import chains
from tadc.passes.rewrites import collected_powers
from tadc.passes.terms import alike


def chain(length: int) -> str:
    """Definitions that each read the one before."""
    steps = [f"let h{n + 1}[i] = sin(h{n}[i])*x[i]" for n in range(length)]
    return "\n".join(["x: f64[N]", "let h0[i] = x[i]", *steps, f"f = sum{{i}} (h{length}[i])"])


def test_facts_of_sizes_are_derived_once_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """As often for a long program and its gradient as for a short one."""
    derived: list[Any] = []

    def counted(*arguments: Any) -> Any:
        derived.append(arguments)
        return allowed(*arguments)

    monkeypatch.setattr(program, "allowed", counted)
    counts: list[int] = []
    for length in (5, 25):
        f = tadc.function(chain(length))
        derived.clear()
        tadc.value_and_grad(f).lower().as_text("hoist")
        counts.append(len(derived))
    assert 0 < counts[0] == counts[1]


def test_equal_sums_are_solved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A layer more has no new equality to solve."""
    solved: list[Any] = []

    def counted(*arguments: Any, **options: Any) -> Any:
        solved.append(arguments)
        return solve(*arguments, **options)

    solve = cancel.solve
    monkeypatch.setattr(cancel, "solve", counted)
    counts: list[int] = []
    for depth in (10, 20):
        solved.clear()
        tadc.value_and_grad(tadc.function(layers(depth))).lower().as_text("cancel")
        counts.append(len(solved))
    assert 0 < counts[0] == counts[1]


@pytest.mark.parametrize("text", [layers(9), lstm(3), coupling(4), *map(random_program, range(40))])
def test_definitions_that_are_alike_are_as_if_each_were_rewritten(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Gradients are the same text, whether equal definitions are rewritten once or each."""
    texts: list[str] = []
    for few in (0, 1000):
        monkeypatch.setattr(alike, "FEW", few)
        texts.append(tadc.vjp(tadc.function(text)).lower().as_text("hoist"))
    assert texts[0] == texts[1]


def test_equal_maps_of_a_chain_have_one_function(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice as long a chain has as many loops, and the values of NumPy."""
    monkeypatch.setattr(chains, "LEAST_BYTES", 1)
    monkeypatch.setattr(chains, "NEAR", 1 << 12)
    monkeypatch.setattr(collected_powers, "LONGEST", 0)  # each step is a tensor
    counts: list[int] = []
    for length in (96, 192):
        f = tadc.value_and_grad(tadc.function(chained(length)))
        text = f.lower().as_text("loops")
        assert ".rows" in text
        counts.append(len(re.findall(r"func.func private @tad_\w+?\.\d+\(", text)))
        a = np.linspace(-2, 2, 100)
        value, gradient = f(a)
        slope = np.ones(100)
        for _ in range(length):
            slope, a = slope * np.cos(a), np.sin(a)
        np.testing.assert_allclose(value, a.sum(), rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(gradient, slope, rtol=1e-12)
    assert counts[0] == counts[1]


def test_many_buffers_are_passed_on() -> None:
    """An entry with many buffers is left as it is by LLVM, and calls the loops with the right ones."""
    depth = MANY
    f = tadc.value_and_grad(tadc.function(layers(depth)))
    assert "optnone" in f.lower().as_text("llvm")
    assert "optnone" not in tadc.value_and_grad(tadc.function(layers(3))).lower().as_text("llvm")
    random = np.random.default_rng(0)
    h = [random.uniform(-1, 1, (8, 16)).astype(np.float32)]
    ws = [random.uniform(-0.5, 0.5, (16, 16)).astype(np.float32) for _ in range(depth)]
    value, dh, *dws = f(h[0], *ws)
    for w in ws:
        h.append(np.tanh(h[-1] @ w))
    slope = np.ones((8, 16), np.float32)
    np.testing.assert_allclose(value, h[-1].sum(), rtol=1e-3, atol=1e-4)
    for n in reversed(range(depth)):
        slope = slope * (1 - h[n + 1] ** 2)
        np.testing.assert_allclose(dws[n], h[n].T @ slope, rtol=1e-3, atol=1e-4)
        slope = slope @ ws[n].T
    np.testing.assert_allclose(dh, slope, rtol=1e-3, atol=1e-4)


def test_collections_of_garbage_are_as_before() -> None:
    """Blocks in each other change the threshold once, and the last one gives it back; a larger one stays."""
    before = gc.get_threshold()
    try:
        gc.set_threshold(NEW_OBJECTS - 1)
        with fewer_collections():
            assert gc.get_threshold()[0] == NEW_OBJECTS
            with fewer_collections():
                pass
            assert gc.get_threshold()[0] == NEW_OBJECTS
        assert gc.get_threshold()[0] == NEW_OBJECTS - 1
        gc.set_threshold(10 * NEW_OBJECTS)
        with fewer_collections():
            assert gc.get_threshold()[0] == 10 * NEW_OBJECTS
    finally:
        gc.set_threshold(*before)
