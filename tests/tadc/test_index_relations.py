"""`tadc.relation`, and what functions make of index arrays in calls."""

from __future__ import annotations

import pickle
import sys
from typing import Any

import numpy as np
import pytest

import tadc

TEXT = "size N; d: index[E] in N; x: f64[E]; y[n: N] = sum{e: d[e] = n} (x[e])"


@pytest.fixture(scope="module")
def f() -> tadc.Function:
    return tadc.function(TEXT)


@pytest.mark.parametrize("kind", [list, np.int8, np.uint64, ">i2"])
def test_a_relation_stands_for_its_array(f: tadc.Function, kind: Any) -> None:
    given = [2, 0, 2] if kind is list else np.array([2, 0, 2], kind)
    relation = tadc.relation(given, 3)
    for _ in range(2):
        assert f(relation, np.array([1.0, 2, 4]), N=3).tolist() == [2, 0, 5]
    assert tadc.vjp(f)(relation, [1, 2, 4], dy=[1, 10, 100], N=3).tolist() == [100, 1, 100]
    assert tadc.compile(f)(relation, [1, 2, 4], N=3).tolist() == [2, 0, 5]


def test_a_relation_has_a_copy_of_its_own(f: tadc.Function) -> None:
    given = np.array([2, 0, 2], np.int32)
    relation = tadc.relation(given, 3)
    given[:] = 7
    assert relation.array.tolist() == [2, 0, 2]
    with pytest.raises(ValueError, match="read-only"):
        relation.array[0] = 1
    assert pickle.loads(pickle.dumps(relation)).array.tolist() == [2, 0, 2]
    assert tadc.relation(relation, 5).below == 5
    assert len(relation) == 3
    assert np.asarray(relation).dtype == np.int32


def test_a_relation_whose_elements_are_too_large_for_a_call(f: tadc.Function) -> None:
    assert f(tadc.relation([2, 0], 9), [1.0, 2.0], N=3).tolist() == [2, 0, 1]
    with pytest.raises(tadc.ArgumentError, match=r"`d\[0\]` is 2, but must be below N = 2"):
        f(tadc.relation([2, 0], 3), [1.0, 2.0], N=2)


@pytest.mark.parametrize(
    ("indices", "below", "text"),
    [
        ([0, 3], 3, r"`indices\[1\]` is 3, but must be below 3"),
        ([[0, 1], [-1, 2]], 3, r"`indices\[1, 0\]` is -1, but must be at least 0"),
        ([0.5], 3, "indices are integers"),
        ([0, 10**30], 3, r"`indices\[1\]` is 10{30}, but must be below 3"),
        ([[0, -(10**30)]], 3, r"`indices\[0, 1\]` is -10{30}, but must be at least 0"),
        ([True], 3, "indices are integers"),
        ([0], "N", "`below` is an integer, not str"),
        ([0], -1, "`below` is at least 0"),
        ([0], 2**31 + 1, "`below` is at least 0"),
    ],
)
def test_what_is_no_relation(indices: Any, below: Any, text: str) -> None:
    with pytest.raises(tadc.CompileError, match=text):
        tadc.relation(indices, below)


def test_a_relation_where_the_program_has_numbers(f: tadc.Function) -> None:
    assert f([0, 0], tadc.relation([3, 4], 5), N=1).tolist() == [7]


def test_index_arrays_have_no_derivative(f: tadc.Function) -> None:
    assert tadc.vjp(f).outputs == ("dx",)
    assert tadc.jvp(f).tangents == {"x": "x_dot"}
    with pytest.raises(tadc.CompileError, match="`d` is an index array"):
        tadc.vjp(f, "d")


def test_flat_vectors_leave_index_arrays_out() -> None:
    g = tadc.function("s: index[E] in N; x: f64[N]; q = sum{e} (x[s[e]]**2)")
    flat = tadc.flat(g, {"x": np.ones(3)}, s=[0, 2, 2])
    np.testing.assert_allclose(flat.jac([1.0, 2, 3]), [2, 0, 12])


def test_batches_of_index_arrays_and_of_others(f: tadc.Function) -> None:
    d, x = np.array([[0, 1], [1, 1]]), np.array([[1.0, 2], [4, 8]])
    assert tadc.batched(f)(d, x, N=2).tolist() == [[1, 2], [0, 12]]
    assert tadc.batched(f, "x")(d[0], x, N=2).tolist() == [[1, 2], [4, 8]]
    assert tadc.batched(f, "d")(d, x[0], N=2).tolist() == [[1, 2], [0, 3]]


def test_the_same_bits_in_every_call(f: tadc.Function) -> None:
    random = np.random.default_rng(0)
    d, x = random.integers(0, 50, 20_000), random.normal(size=20_000)
    first = f(d, x, N=50)
    order = np.concatenate([np.flatnonzero(d == n) for n in range(50)])
    for given in (d, d.astype(np.uint8), tadc.relation(d, 50)):
        assert f(given, x, N=50).tobytes() == first.tobytes()
    assert f(d[order], x[order], N=50).tobytes() == first.tobytes()


def test_a_relation_tells_a_size(f: tadc.Function) -> None:
    d = tadc.relation([2, 0], 4)
    for found in (f(d, [1.0, 2]), f(x=[1.0, 2], d=d), f(d, [1.0, 2], N=4)):
        assert found.tolist() == [2, 0, 1, 0]
    assert f(d, [1.0, 2], N=5).tolist() == [2, 0, 1, 0, 0]
    with pytest.raises(tadc.ArgumentError, match="size `N` is missing"):
        f([2, 0], [1.0, 2])


def test_what_is_made_of_index_arrays_is_not_named() -> None:
    f = tadc.function(
        "r: index[E] in N; c: index[E] in N; x: f64[E]; u: f64[N]\n"
        "y[n: N] = u[n] + sum{e: c[e] = n} (x[e] * u[r[e]])\n"
        "z[n: N, m: N] = sum{e: r[e] = n and c[e] = m} (x[e])"
    )
    with pytest.raises(tadc.ArgumentError) as found:
        f([0, 1], [0, 1, 1], np.ones(2), np.ones(3))
    assert [d.message for d in found.value.diagnostics] == ["dimension 0 of `c` has 3 elements, expected 2"]


def test_masked_indices() -> None:
    f = tadc.function("s: index[E] in N; x: f64[N]; y[e] = x[s[e]]")
    masked = np.ma.masked_array([0, 1, 2], mask=[False, True, False])
    with pytest.raises(tadc.ArgumentError, match=r"those that are not masked, `s\.compressed\(\)`"):
        f(masked, np.ones(3))
    assert f(masked.compressed(), np.ones(3)).tolist() == [1, 1]


def test_a_relation_without_jax_that_works(f: tadc.Function, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax", None)
    monkeypatch.delitem(sys.modules, "tadc.jax.relation_tree", raising=False)
    assert tadc.relation([0, 1], 2).below == 2
