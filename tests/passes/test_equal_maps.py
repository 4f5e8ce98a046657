"""Equal maps have their loops once: which maps are equal, and what they compute."""

from __future__ import annotations

import re
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tadc
from tadc.passes.maps.map import Map
from tadc.passes.schedule import vector_fusion
from tadc.passes.schedule.accesses import Accesses
from tadc.passes.schedule.cpu_machine import CpuMachine
from tadc.passes.schedule.search import least_cost

LAYERS = 4


def network(layers: int) -> str:
    """A network in which layer n is of width `Nn`."""
    lines = ["x: f64[B, N0]", *(f"w{n}: f64[N{n}, N{n + 1}]" for n in range(layers))]
    for n in range(layers):
        before = f"h{n - 1}" if n else "x"
        lines.append(f"let h{n}[i, o] = tanh(sum{{k}} ({before}[i, k] * w{n}[k, o]))")
    return "\n".join([*lines, f"loss = sum{{i, o}} (h{layers - 1}[i, o]**2)"])


def loops(f: tadc.Function) -> list[str]:
    """The functions with loops of a program, by number."""
    return re.findall(r"func.func private @tad_\w+?\.(\d+)\(", f.lower().as_text("loops"))


def test_deep_networks_have_the_loops_of_shallow_ones() -> None:
    """A layer more adds no loops, to the value and to the gradients."""
    for made in (tadc.function, lambda text: tadc.value_and_grad(tadc.function(text))):
        assert len(loops(made(network(LAYERS)))) == len(loops(made(network(LAYERS + 3))))


def test_equal_maps_are_priced_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A layer more costs fusion no new schedule."""
    priced: list[Map] = []

    def counted(accesses: Accesses, machine: CpuMachine) -> tuple[float, int]:
        priced.append(accesses.map)
        return least_cost(accesses, machine)

    monkeypatch.setattr(vector_fusion, "least_cost", counted)
    counts: list[int] = []
    for layers in (LAYERS, LAYERS + 3):
        loops(tadc.value_and_grad(tadc.function(network(layers))))
        counts.append(len(priced))
        priced.clear()
    assert counts[0] == counts[1] > 0


@pytest.mark.parametrize("widths", [[3, 4, 5, 6, 7], [40, 9, 70, 33, 1], [2, 0, 3, 1, 5]])
@pytest.mark.parametrize("sizes", [False, True])
def test_each_layer_has_its_own_tensors_and_sizes(widths: list[int], sizes: bool) -> None:
    """Loops that several layers share give each its own values."""
    random = np.random.default_rng(sum(widths))
    x = random.uniform(-1, 1, (37, widths[0]))
    ws = [random.uniform(-1, 1, pair) for pair in pairwise(widths)]

    def loss(x: jax.Array, *ws: jax.Array) -> jax.Array:
        for w in ws:
            x = jnp.tanh(x @ w)
        return (x**2).sum()

    known = {f"N{n}": width for n, width in enumerate(widths)} if sizes else {}
    f = tadc.function(network(LAYERS), sizes=known)
    value, *gradients = tadc.value_and_grad(f)(x, *ws)
    wanted, slopes = jax.jit(jax.value_and_grad(loss, argnums=range(LAYERS + 1)))(x, *ws)
    np.testing.assert_allclose(value, wanted, rtol=1e-12)
    for found, slope in zip(gradients, slopes, strict=True):
        np.testing.assert_allclose(found, slope, rtol=1e-11, atol=1e-13)


def test_one_tensor_in_two_places() -> None:
    """A map that reads one tensor twice is not one that reads two, nor is one with other numbers."""
    f = tadc.function(
        """x: f64[50]; y: f64[50]
        a[i] = sum{k} (x[i] * y[k])
        b[i] = sum{k} (x[i] * x[k])
        c[i] = sum{k} (y[i] * x[k])
        d[i] = sum{k} (y[i] * x[k] * 3)
        e[i] = sum{k} (y[i] * x[k] * 5)"""
    )
    x, y = np.random.default_rng(1).uniform(-1, 1, (2, 50))
    total = {"a": y.sum() * x, "b": x.sum() * x, "c": x.sum() * y}
    found = f(x=x, y=y)._asdict()
    for name, wanted in {**total, "d": 3 * total["c"], "e": 5 * total["c"]}.items():
        np.testing.assert_allclose(found[name], wanted, rtol=1e-12, err_msg=name)


def test_what_is_known_of_sizes_is_part_of_a_map() -> None:
    """Loops for a size of at least 9 are none for any."""
    maps = "x: f64[N]; y: f64[M]\na[i] = exp(x[i])\nb[i] = exp(y[i])\n"
    assert len(loops(tadc.function(maps))) == 1
    assert len(loops(tadc.function(f"{maps}c[i: N - 9] = x[i]"))) == 3


def test_recurrences() -> None:
    f = tadc.function(
        """x: f64[N]; y: f64[M]
        scan{t} a[t] = if {t = 0} then (x[0]) else (a[t - 1]*x[t] + 1)
        scan{t} b[t] = if {t = 0} then (y[0]) else (b[t - 1]*y[t] + 1)"""
    )
    assert loops(f) == ["0"]
    x, y = np.full(5, 2.0), np.full(7, 3.0)
    a, b = f(x, y)
    np.testing.assert_array_equal(a, [2, 5, 11, 23, 47])
    np.testing.assert_array_equal(b, [3, 10, 31, 94, 283, 850, 2551])
