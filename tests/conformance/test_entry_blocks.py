"""Sparse Hessians whose lists are computed some rows at a time, in parts of the rows, and added at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tadc
from tadc.api import assembly, entry_parts
from tadc.api.entry_parts import EntryParts
from tadc.compiler.nonzeros import entries

RANDOM = np.random.default_rng(7)
N, E = 9, 45

SPRINGS = """i: index[E] in N; j: index[E] in N; x: f64[N, 3]; rest: f64[E]; k: f64
let l[e] = sum{c} ((x[i[e], c] - x[j[e], c])**2)
u = sum{e} (k * (l[e] - rest[e])**2)"""


@pytest.fixture(autouse=True)
def blocks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Blocks of eight rows, and several parts, however few numbers there are."""
    monkeypatch.setattr(assembly, "LEAST_NUMBERS", 0)
    monkeypatch.setattr(assembly, "BLOCK", 64)
    monkeypatch.setattr(entry_parts, "PART", 400)
    before = tadc.get_num_threads()
    yield
    tadc.set_num_threads(before)


def springs() -> tuple[Any, ...]:
    i, j = RANDOM.integers(0, N, E), RANDOM.integers(0, N - 1, E)
    return i, np.where(j == i, N - 1, j), RANDOM.normal(size=(N, 3)), RANDOM.uniform(size=E), 1.5


def energy(i: Any, j: Any, x: Any, rest: Any, k: Any) -> Any:
    return (k * (((x[i] - x[j]) ** 2).sum(1) - rest) ** 2).sum()


@pytest.mark.parametrize("dtype", ["f64", pytest.param("f32", marks=pytest.mark.sweep)])
def test_parts_add_up(dtype: str) -> None:
    """Blocks of which the last is moved back, and nodes that several parts have entries of."""
    h = tadc.hessian(tadc.function(SPRINGS.replace("f64", dtype)), "x")
    i, j, x, rest, k = springs()
    kind = dtype.replace("f", "float")
    given = i, j, x.astype(kind), rest.astype(kind), np.asarray(k, kind)
    expected = np.asarray(jax.hessian(energy, 2)(i, j, *map(jnp.asarray, given[2:]))).reshape(3 * N, 3 * N)
    found = []
    for threads in (1, 2, 3, 2):
        tadc.set_num_threads(threads)
        found.append(h.toscipy(*given))
    np.testing.assert_allclose(found[0].toarray(), expected, rtol=0, atol=1e-11 if dtype == "f64" else 1e-3)
    assert all(np.array_equal(made.data, found[0].data) for made in found)
    kernel, parts = h.compressed()._last.blocks  # pyright: ignore[reportAttributeAccessIssue]
    assert kernel.rows == (8 if dtype == "f64" else 16)
    assert E % kernel.rows
    assert len(parts.runs.starts) == (5 if dtype == "f64" else 3)
    assert parts.runs.length == 3
    assert parts.others.size > 0
    # Other values, and other index arrays.
    twice = h.toscipy(i, j, given[2], given[3], 2 * given[4])
    np.testing.assert_allclose(twice.data, 2 * found[0].data, rtol=1e-4)
    turned = h.toscipy(j, i, *given[2:])
    np.testing.assert_allclose(turned.toarray(), found[0].toarray(), rtol=0, atol=1e-3)


def test_lists_of_several_jacobians() -> None:
    """One kernel computes them all; errors are those of other calls."""
    text = """s: index[E] in N; x: f64[N, 2]; w: f64[E]; v: f64[N]
    y[e, c] = w[e] * x[s[e], c]**2 + if {c = 1} then (v[s[e]]) else (0)"""
    j = tadc.jacobian(tadc.function(text), ("x", "v"))
    given = RANDOM.integers(0, N, E), RANDOM.normal(size=(N, 2)), RANDOM.normal(size=E), RANDOM.normal(size=N)

    def y(s: Any, x: Any, w: Any, v: Any) -> Any:
        return w[:, None] * x[s] ** 2 + v[s][:, None] * jnp.array([0, 1])

    wanted = jax.jacobian(y, (1, 3))(*map(jnp.asarray, given))
    for made, expected in zip(j.toscipy(*given), wanted, strict=True):
        np.testing.assert_allclose(made.toarray(), np.reshape(expected, made.shape), rtol=1e-12, atol=1e-12)
    assert j.compressed()._last.blocks is not None  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(tadc.ArgumentError, match="must be below N = 9"):
        j.toscipy(np.full(E, 9), *given[1:])
    with pytest.raises(tadc.ArgumentError, match="`w`"):
        j.toscipy(given[0], given[1], given[2][1:], given[3])


def test_slots_of_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each slot belongs to one part, and what it stands for is the slot that was given; runs are found."""
    monkeypatch.setattr(entry_parts, "PART", 25)
    runs = 3 * RANDOM.integers(0, 20, (50, 4, 1)) + np.arange(3)
    single = RANDOM.integers(0, 60, (50, 2))
    for slots, length in (([runs], 3), ([runs.swapaxes(1, 2)], 3), ([runs, single], 1), ([single], 1)):
        parts = EntryParts.of([own.astype(np.int32) for own in slots], [0, 96][: len(slots)], 60, 8)
        owned = parts.runs.slots[:, :, None] + np.arange(length)
        for begin, end in zip(parts.runs.starts[:-1], parts.runs.starts[1:], strict=True):
            rest = np.concatenate([owned[:begin].reshape(-1), owned[end:].reshape(-1)])
            assert not np.intersect1d(owned[begin:end], rest).size
        assert parts.runs.starts.size > 4
        target = np.concatenate([np.arange(60), parts.others])
        assert parts.runs.length == length
        flat = np.concatenate([own.reshape(50, -1) for own in slots], 1)
        np.testing.assert_array_equal(np.sort(target[owned].reshape(50, -1)), np.sort(flat))


@pytest.mark.parametrize(
    ("text", "by", "rows"),
    [
        (SPRINGS, "x", ("i", "j", "rest")),
        # What a node has is not in the row of an edge.
        (
            "s: index[E] in N; d: index[E] in N; x: f64[N]\n"
            "let l[n: N] = sum{e: d[e] = n} (x[s[e]]**2); q = sum{e} (l[s[e]]**2)",
            "x",
            None,
        ),
        # Neighbours are in other rows.
        ("s: index[E] in N; w: f64[E + 1]; x: f64[N]; q = sum{e} (w[e + 1]*x[s[e]]**2)", "x", None),
        ("s: index[E] in N; w: f64[E]; x: f64[N]; q = sum{e} (w[E - 1 - e]*x[s[e]]**2)", "x", None),
        ("s: index[E] in N; x: f64[N]; q = sum{e} (e*x[s[e]]**2)", "x", None),
    ],
)
def test_what_has_rows(text: str, by: str, rows: tuple[str, ...] | None) -> None:
    found = entries(tadc.hessian(tadc.function(text), by).program)[1].rows
    assert (found and found.arguments) == rows


def test_other_values_of_a_fixed_size_are_refused() -> None:
    given = springs()
    second = tadc.hessian(tadc.function(SPRINGS), "x").at({"N": N})
    second.toscipy(*given, N=N)
    for value in (N + 1, N + 0.7):
        with pytest.raises(tadc.ArgumentError, match="TAD0508"):
            second.toscipy(*given, N=value)
