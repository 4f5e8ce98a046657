"""Programs that are drawn agree with their peers; a program means the same in each spelling."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import tadc
from bench.breadth import contenders, respelled
from bench.contenders import TADC
from bench.drawn import CLASSES, drawn
from bench.drawn.rows import Row, Rows, pages, worst
from bench.drawn.table import COMMAND, _timed
from bench.everyday import EVERYDAY
from bench.publish import markers
from bench.spellings import spellings
from bench.workloads import WORKLOADS

ROOT = Path(__file__).parents[2]
EACH = 6


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("name", CLASSES)
def test_what_is_drawn_agrees_with_its_peers(name: str, place: int) -> None:
    workload = drawn(36, place + 1)[name][place]
    assert set(contenders(workload, "f64", small=True)) > {TADC}


@pytest.mark.parametrize("place", range(3, EACH))
@pytest.mark.parametrize("name", CLASSES)
def test_more_that_is_drawn_agrees_with_its_peers(name: str, place: int) -> None:
    workload = drawn(36, place + 1)[name][place]
    assert set(contenders(workload, "f64", small=True)) > {TADC}


def test_what_is_drawn_is_of_the_language() -> None:
    for seed in range(8):
        for workload in (each for own in drawn(seed, 4).values() for each in own):
            workload.function("f32", workload.small)


def test_a_seed_draws_the_same_programs_however_many() -> None:
    few, more = drawn(1, 2), drawn(1, 5)
    assert {name: [w.program for w in own] for name, own in few.items()} == {
        name: [w.program for w in own[:2]] for name, own in more.items()
    }
    other = drawn(2, 5)
    same = [w.program == o.program for name in CLASSES for w, o in zip(more[name], other[name], strict=True)]
    assert sum(same) < len(same) / 4


@pytest.mark.parametrize("workload", [*EVERYDAY, *WORKLOADS][::3], ids=lambda workload: workload.name)
def test_spellings_mean_the_same(workload: object) -> None:
    assert isinstance(workload, type(EVERYDAY[0]))
    given = workload.inputs(workload.small)
    expected, *others = (
        own.function("f64", sizes)
        for own, sizes in [
            (workload, workload.small),
            *((own, {}) for own in respelled(workload, workload.small).values()),
        ]
    )
    arrays = [a.astype(float) for a in given[: len(expected.inputs)]]
    for made in others:
        np.testing.assert_allclose(made(*arrays), expected(*arrays), rtol=1e-12, atol=1e-13)


def test_spellings_differ() -> None:
    text = "x: f64[N, K]\nlet n[i] = sqrt(sum{k} (x[i, k]**2))\nf[i] = sum{j, k} (x[i, k]*x[j, k]) / n[i]"
    made = spellings(tadc.function(text).program)
    assert "let n[i: N] = norm{k}_0^(K - 1) (x[i, k])\n" in made["written"]
    assert "let" not in made["formulas"]
    assert "* (sum{k}_0^(K - 1) (x[i, k] * x[i, k]))**-0.5\n" in made["formulas"]
    assert "let n_sum[i: N] = sum{k}_0^(K - 1) (x[i, k]**2)\n" in made["tensors"]
    assert made["tensors"].endswith("f[i] = f_sum[i] / n[i]\n")


@pytest.fixture
def rows() -> Rows:
    return Rows({"cpu": "a", "cores": 2, "date": "d", "python": "3", "versions": {}}, 5, [*_made()])


def _made() -> Iterator[Row]:
    for threads in (1, 2):
        yield Row("grids", "s-0", "one", threads, False, ms={"tadc": 2.0, "JAX": 4.0, "numba": 3.0})
        yield Row("grids", "s-1", "two", threads, False, ms={"tadc": 2.0, "JAX": 1.0, "JAX, tuned": 0.5})
        yield Row("maps", "m-0", "three", threads, False, failed="no memory")


def test_the_pages_tell_means_and_the_worst(rows: Rows) -> None:
    (_, _, page), _, (_, _, line) = pages(rows)
    assert "| grids | 0.61 | 0.61 |" in page
    assert "| only JAX | 0.71 | 0.71 |" in page
    assert "| below 0.9 | 1 of 2 | 1 of 2 |" in page
    assert "no memory" in page
    assert "0.61 on 1 thread; 0.61 on 2 threads" in line
    assert next(worst(rows))[1] == "s-1"


def test_pages_have_the_marks(rows: Rows) -> None:
    for name, mark, _ in pages(rows):
        text = (ROOT / name).read_text(encoding="utf-8")
        begin, end = markers(mark, COMMAND)
        assert begin in text
        assert end in text


def test_programs_are_timed_in_processes() -> None:
    options = argparse.Namespace(classes=["grids"], each=1, dtype="f32")
    (row,) = _timed(options, 1, 1, True)
    assert not row.failed
    assert row.ratio() > 0
