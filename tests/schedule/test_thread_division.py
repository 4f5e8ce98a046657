"""Threads have as much to do each, and the results of one: which index is divided, and in which tiles."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import tadc
from tadc.frontend.extents import shape_at
from tadc.passes.maps.map import Map
from tadc.passes.schedule.cpu_machine import CpuMachine
from tadc.passes.schedule.plans import NestPlan, plan_of
from tadc.passes.schedule.thread_division import ThreadDivision
from tests.nest.programs import maps_of_program

MACHINE = CpuMachine(64, 32, 1 << 18)

SUMS: tuple[tuple[str, Callable[..., np.ndarray]], ...] = (
    (
        "x: f32[5000]\nm: f32[{n}]\ny[k] = sum{{i}} (exp(-(x[i] - m[k])**2) * x[i])",
        lambda x, m: (np.exp(-((x - m[:, None]) ** 2)) * x).sum(axis=1),
    ),
    (
        "a: f32[32, 40, 36]\nd: f32[32, 40, {n}]\ny[l: {n}, m: 36] = sum{{i, k}} (a[i, k, m] * d[i, k, l])",
        lambda a, d: np.einsum("ikm,ikl->lm", a, d),
    ),
    ("a: f32[3000, 30]\nb: f32[3000, {n}]\ny[i, j] = sum{{k}} (a[k, i] * b[k, j])", lambda a, b: a.T @ b),
)


@pytest.fixture(autouse=True)
def threads_as_before() -> Iterator[None]:
    """Other tests see the number of threads that they would see without these."""
    before = tadc.get_num_threads()
    yield
    tadc.set_num_threads(before)


def planned(text: str) -> tuple[Map, NestPlan]:
    """The first map of a program that a thread shares, and its plan."""
    function = maps_of_program(text, "value")
    found = ((item, plan_of(item, function, MACHINE)) for item in function.maps)
    return next((item, plan) for item, plan in found if plan.threads)


def tiles(item: Map, plan: NestPlan) -> int:
    """The tiles of the index that is divided."""
    extents = dict(zip(item.indices, item.extents, strict=True))
    grain = ThreadDivision(item.indices, item.extents, plan.tiling, plan.work).grain(plan.threads[0])
    return math.ceil(extents[plan.threads[0]].constant / grain)


@pytest.mark.parametrize("n", [15, 20, 21, 30, 33])
def test_few_sums_are_in_an_even_number_of_tiles(n: int) -> None:
    item, plan = planned(SUMS[0][0].format(n=n))
    assert tiles(item, plan) % 2 == 0 or tiles(item, plan) >= 8


def test_no_three_tiles_where_another_index_has_an_even_number() -> None:
    """What is packed for lanes counts tiles that are moved back too."""
    item, plan = planned(
        "d: f32[32, 40, 36]\na: f32[32, 24, 40, 20]\n"
        "b[l: 20, j: 24, m: 36] = sum{i, k} (d[i, k, m] * a[i, j, k, l])"
    )
    assert tiles(item, plan) != 3


@pytest.mark.parametrize("seed", range(6))
def test_any_number_of_threads_computes_the_same(seed: int) -> None:
    """As NumPy does, with the same bits."""
    chance, rng = random.Random(seed), np.random.default_rng(seed)
    text, expected = SUMS[seed % 3]
    f = tadc.function(text.format(n=chance.choice([3, 7, 9, 11, 15, 20, 33, 35, 50])))
    given = [rng.uniform(-1, 1, shape_at(a.shape, {})).astype("f4") for a in f.program.arguments]
    found: list[np.ndarray] = []
    for count in (5, 3, 2, 1):
        tadc.set_num_threads(count)
        found.append(f(*given))
    assert all(np.array_equal(one, found[0]) for one in found)
    np.testing.assert_allclose(found[0], expected(*(a.astype("f8") for a in given)), rtol=1e-4, atol=1e-3)
