"""Products of two sparse matrices at a pattern row by row: values, bits, and where it pays."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

import tadc

PRODUCT = """
ar: index[E] in N; ac: index[E] in M
br: index[F] in M; bc: index[F] in K
cr: index[G] in N; cc: index[G] in K
A: f64[N, M] at (ar, ac)
B: f64[M, K] at (br, bc)
C: f64[N, K] at (cr, cc)
C[i, k] = sum{j} (A[i, j] * B[j, k])
"""
SIZES = {"N": 100, "M": 90, "K": 110, "E": 5000, "F": 4800, "G": 5200}
ENDS = {"ar": "EN", "ac": "EM", "br": "FM", "bc": "FK", "cr": "GN", "cc": "GK"}


class _Matrices:
    """Matrices in no order, which have places twice, and an empty first and last row; so has the pattern."""

    def __init__(self, sizes: dict[str, int]) -> None:
        self.sizes, self.random = sizes, np.random.default_rng(3)
        self.places = {
            name: self.random.integers(1, sizes[below] - 1, sizes[count])
            for name, (count, below) in ENDS.items()
        }
        self.told = {name: sizes[name] for name in "NMK"}
        self.values = {name: self.random.normal(size=sizes[n]) for name, n in (("A", "E"), ("B", "F"))}

    def dense(self, name: str, values: Any) -> Any:
        """What is stored at the places of a matrix."""
        made = np.zeros([self.sizes[ENDS[f"{name}{end}"][1]] for end in "rc"])
        np.add.at(made, (self.places[f"{name}r"], self.places[f"{name}c"]), values)
        return made

    def stored(self, name: str, whole: Any) -> Any:
        """What a dense one has at the places of a matrix."""
        return whole[self.places[f"{name}r"], self.places[f"{name}c"]]


def test_values_row_by_row() -> None:
    f, given = tadc.function(PRODUCT), _Matrices(SIZES)
    expected = given.stored("c", given.dense("a", given.values["A"]) @ given.dense("b", given.values["B"]))
    np.testing.assert_allclose(
        np.asarray(f(**given.places, **given.values, **given.told)), expected, atol=1e-12
    )


def test_more_columns_than_a_buffer_has() -> None:
    """Rows are in parts, of groups of columns; what is computed is the whole product."""
    n, m, k = 50_000, 50_000, 40_000
    random = np.random.default_rng(1)
    a, b = (
        sparse.coo_array((random.normal(size=e), [random.integers(0, end, e) for end in shape]), shape)
        for e, shape in ((50_000, (n, m)), (60_000, (m, k)))
    )
    c = sparse.coo_array(a @ b)
    f = tadc.function(PRODUCT)
    sizes = {"N": n, "M": m, "K": k, "E": a.nnz, "F": b.nnz, "G": c.nnz}
    assert "stage C_rows_row: f64[32768]" in f.lower(sizes=sizes).as_text("scheduled-nest")
    found = tadc.compile(f, sizes=sizes)(*a.coords, *b.coords, *c.coords, a.data, b.data)
    np.testing.assert_allclose(np.asarray(found), c.data, atol=1e-12)


def test_derivatives_row_by_row() -> None:
    """First ones, which search rows of the pattern, and a second one, which is the sum of two products.

    What is infinite and meets nothing is in no sum.
    """
    sizes = {**SIZES, "G": 40_000}
    given = _Matrices(sizes)
    given.places["bc"][0], given.values["B"][0] = 0, np.inf
    more = {n: given.random.normal(size=sizes[size]) for n, size in (("dC", "G"), ("ddA", "E"), ("ddB", "F"))}
    twice = tadc.value_and_vjp(tadc.vjp(tadc.function(PRODUCT)), wrt="dC")
    lowered = twice.lower(sizes=sizes)
    assert lowered.schedule.count("scatter") == 4
    assert lowered.as_text("scheduled-nest").count("_row_of: f64") == 2
    found = twice(**given.places, **given.values, **more, **given.told)
    given.values["B"][0] = 0
    a, b = (given.dense(name, given.values[name.upper()]) for name in "ab")
    da, db, c = (given.dense(name, more[of]) for name, of in (("a", "ddA"), ("b", "ddB"), ("c", "dC")))
    wholes = (c @ b.T, "a"), (a.T @ c, "b"), (da @ b + a @ db, "c")
    for value, (whole, name) in zip(found, wholes, strict=True):
        np.testing.assert_allclose(np.asarray(value), given.stored(name, whole), atol=1e-11)


def test_a_large_product_is_the_same_by_two_threads() -> None:
    sizes = {"N": 900, "M": 800, "K": 1000, "E": 6000, "F": 6000, "G": 90_000}
    given, f = _Matrices(sizes), tadc.value_and_vjp(tadc.function(PRODUCT), wrt="A")
    slopes = given.random.normal(size=sizes["G"])
    assert f.lower(sizes=sizes).schedule.count("scatter") == 2
    compiled = tadc.compile(f, sizes=sizes)
    before, found = tadc.get_num_threads(), list[Any]()
    try:
        for threads in (1, 2):
            tadc.set_num_threads(threads)
            made = compiled(**given.places, **given.values, dC=slopes)
            found.append([np.asarray(value) for value in made])
    finally:
        tadc.set_num_threads(before)
    assert all(map(np.array_equal, *found))
    a, b = given.dense("a", given.values["A"]), given.dense("b", given.values["B"])
    np.testing.assert_allclose(found[0][0], given.stored("c", a @ b), atol=1e-12)
    np.testing.assert_allclose(found[0][1], given.stored("a", given.dense("c", slopes) @ b.T), atol=1e-11)


def test_few_elements_are_looked_for() -> None:
    """Where rows of the pattern have less than those of the second factor."""
    sizes = {"N": 500, "M": 400, "K": 300, "E": 400, "F": 90_000, "G": 5000}
    assert "scatter" not in tadc.function(PRODUCT).lower(sizes=sizes).schedule


def test_a_tensor_in_between_has_to_be_allowed() -> None:
    f = tadc.function(PRODUCT)
    for stored in (f.storing("never"), f.storing(memory_limit=8 * SIZES["G"] - 1)):
        assert "scatter" not in stored.lower(sizes=SIZES).schedule
    assert "scatter" in f.storing(memory_limit=8 * SIZES["G"]).lower(sizes=SIZES).schedule


def test_lookups_in_rows_are_not_tested() -> None:
    """The bounds of a row that is loaded before a loop hold in it."""
    code = tadc.function(PRODUCT).lower().as_text("loops")
    assert code.count("scf.if") == 1
