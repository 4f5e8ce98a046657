"""Tensors that are copied in another order: which are, against NumPy, and for any number of threads."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest

import tadc
from tests.backend.kernels import on_host

GRAM = "a: f32[400, 420]\nb: f32[400, 440]\nc[i, j] = sum{k} (a[k, i] * b[k, j])"


@pytest.fixture(autouse=True)
def threads_as_before() -> Iterator[None]:
    """Other tests see the number of threads that they would see without these."""
    before = tadc.get_num_threads()
    yield
    tadc.set_num_threads(before)


def copies(text: str) -> int:
    """How many tensors in between a program of one map has."""
    return len(on_host(tadc.compile(tadc.function(text)).kernel).temporaries)


def test_columns_that_ranges_would_pack_again() -> None:
    assert copies(GRAM) == 1


@pytest.mark.parametrize(
    "text",
    [
        # Rows.
        "a: f32[420, 400]\nb: f32[400, 440]\nc[i, j] = sum{k} (a[i, k] * b[k, j])",
        # Little to do, and columns that are near each other.
        "a: f32[70, 260]\nb: f32[70, 40]\nc[i, j] = sum{k} (a[k, i] * b[k, j])",
        "a: f32[9000, 30]\nb: f32[9000, 40]\nc[i, j] = sum{k} (a[k, i] * b[k, j])",
        # Sizes that nobody knows.
        "a: f32[K, N]\nb: f32[K, M]\nc[i, j] = sum{k} (a[k, i] * b[k, j])",
    ],
)
def test_what_stays(text: str) -> None:
    assert copies(text) == 0


def test_no_memory_in_between() -> None:
    """Where there may be none, columns are packed."""
    f = tadc.vjp(tadc.function(GRAM), memory_limit=0)
    assert len(on_host(tadc.compile(f).kernel).temporaries) == 0


def test_maps_share_a_copy() -> None:
    """And a copy of what the program computes comes after it."""
    f = tadc.function(
        "x: f32[400, 420]\nb: f32[400, 440]\nd: f32[400, 460]\nlet a[k: 400, i: 420] = exp(x[k, i]) / 2\n"
        "c[i, j] = sum{k} (a[k, i] * b[k, j])\ne[i, j] = sum{k} (a[k, i] * d[k, j])"
    )
    g = tadc.compile(f)
    assert len(on_host(g.kernel).temporaries) == 2
    rng = np.random.default_rng(0)
    x, b, d = (rng.uniform(-1, 1, (400, n)).astype("f4") for n in (420, 440, 460))
    a = np.exp(x).T / 2
    for found, other in zip(g(x, b, d), (b, d), strict=True):
        np.testing.assert_allclose(found, a @ other, rtol=1e-4, atol=1e-3)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(6))
def test_random_products(seed: int) -> None:
    """Products of two or three tensors with their indices in any order: NumPy's values, and the same bits for
    any number of threads."""
    chance = random.Random(seed)
    sizes = {
        "i": chance.randrange(300, 500),
        "j": chance.randrange(300, 500),
        "k": chance.randrange(200, 500),
    }
    if chance.random() < 0.5:
        sizes |= {"p": chance.randrange(2, 4)}
    batch = [name for name in sizes if name == "p"]
    operands = [["k", "i", *batch], ["k", "j", *batch], *([["k"]] if chance.random() < 0.3 else [])]
    for names in operands[chance.randrange(2) :]:
        chance.shuffle(names)
    out = ["i", "j", *batch]
    chance.shuffle(out)
    reads = [f"x{n}[{', '.join(names)}]" for n, names in enumerate(operands)]
    shapes = [[sizes[name] for name in names] for names in operands]
    text = "\n".join(f"x{n}: f32{shape}" for n, shape in enumerate(shapes))
    shape = ", ".join(f"{name}: {sizes[name]}" for name in out)
    g = tadc.compile(tadc.function(f"{text}\ny[{shape}] = sum{{k}} ({' * '.join(reads)})"))
    rng = np.random.default_rng(seed)
    arrays = [rng.standard_normal(shape).astype("f4") for shape in shapes]
    found: list[np.ndarray] = []
    for threads in (3, 2, 1):
        tadc.set_num_threads(threads)
        found.append(g(*arrays))
    assert all(np.array_equal(one, found[0]) for one in found)
    terms = ",".join("".join(names) for names in operands)
    expected = np.einsum(f"{terms}->{''.join(out)}", *(a.astype("f8") for a in arrays), optimize=True)
    np.testing.assert_allclose(found[0], expected, rtol=1e-4, atol=1e-3)
