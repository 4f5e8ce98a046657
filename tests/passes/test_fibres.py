"""Sums with elements of index arrays in their domains become loops over fibres: none runs over all places."""

from __future__ import annotations

import numpy as np
import pytest

import tadc
from tadc.analysis.statistics import compiled_form, compiled_work
from tadc.frontend.terms import Guard, Reduce, reachable

SIZES = {"E": 600, "N": 60, "M": 40, "K": 3}
EDGES = "src: index[E] in N; dst: index[E] in N; x: f64[N]; w: f64[E]; size N;"

PAIR = (
    "size N; row: index[E] in N; col: index[E] in M; r: index[E] in N; c: index[E] in M;"
    "A: f64[N, M] at (row, col); B: f64[N, M] at (r, c); x: f64[M];"
)

PROGRAMS = {
    "elements of two": f"{PAIR} z[i] = sum{{j}} (A[i, j] * B[i, j] * sin x[j])",
    "products of two": f"{PAIR} C: at (row, r); C[i, k] = sum{{j}} (A[i, j] * B[k, j] * sin x[j])",
    "not linear": f"{PAIR} z = sum{{i, j}} (A[i, j]**2 * x[j] + sin(B[i, j]))",
    "messages": f"{EDGES} m[n: N] = sum{{e: dst[e] = n}} (w[e] * sin x[src[e]])",
    "rows": "ptr: index[N + 1] in E + 1 increasing; col: index[E] in M; x: f64[M]; v: f64[E];"
    "y[n: N] = sum{e}_(ptr[n])^(ptr[n + 1] - 1) (v[e] * sin x[col[e]])",
    "stride": "i: index[E] in N; x: f64[2*N + 2]; y[e: E, k: 3] = sin x[2*i[e] + k]",
    "remainder": "size N; i: index[E] in N; x: f64[7]; y[e: E] = sin x[i[e] % 7]",
    "nested": "i: index[E] in N; p: index[E] in E; x: f64[N + 1]; y[e: E] = sin x[i[p[e]] + 1]",
    "added": "i: index[E] in N; j: index[E] in N; x: f64[2*N]; y[e: E] = sin x[i[e] + j[e]]",
    "corners": "q: index[E, K] in N; x: f64[N]; y[e: E, k: K] = sin x[q[e, k]]",
    "ordered": "i: index[E] in N increasing; x: f64[N]; y[e: E] = sin x[i[e]]",
    "sums in a sum": "size N; row: index[E] in N; col: index[E] in M; v: f64[E]; x: f64[M];"
    "z[n: N] = sum{m: M} (sum{e: row[e] = n and col[e] = m} (v[e]) * sin x[m])",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_work_is_that_of_the_places(name: str) -> None:
    """A gradient takes a few operations for each place, whose sines and cosines weigh most."""
    text = PROGRAMS[name].replace(" size N;", "").replace("src:", "size N; src:")
    f = tadc.function(text)
    program = f.at({size: SIZES[size] for size in f.program.sizes}).program
    wrt = f.differentiable
    form = compiled_form(program, "value-and-vjp", wrt)
    rows = [
        row
        for d in form.definitions
        for t in reachable([d.body])
        if isinstance(t, Reduce)
        for row in t.domain
    ]
    assert not [str(row) for row in rows if row.equality]
    value, gradients = (compiled_work(program, mode, wrt) for mode in ("value", "value-and-vjp"))
    assert gradients.weighted <= 4 * value.weighted + 20 * SIZES["E"]
    assert gradients.weighted <= 400 * SIZES["E"]


def test_names_of_arrays_that_the_inspector_makes() -> None:
    f = tadc.function(f"{EDGES[:-7]} m[e] = w[e] * x[src[e]]")
    program = compiled_form(tadc.vjp(f, wrt="x").program, "value")
    made = {a.name: a.inspected for a in program.arguments if a.inspected is not None}
    assert {name: about.kind for name, about in made.items()} == {"src.ptr": "ptr", "src.perm": "perm"}


def test_sums_of_elements_of_no_array() -> None:
    """An array of `2*first[n] - n` has no element either, and numbers that these are less than."""
    f = tadc.function(
        "size E; size N; first: index[N] in E; a: f64[2*E + N]\n"
        "g[m: 6] = sum{n: N} (a[2*first[n] - n + N - 1]**2)"
    )
    assert tadc.vjp(f)(first=np.zeros(0, int), a=np.zeros(0), dg=np.ones(6), E=0, N=0).shape == (0,)


def test_an_element_of_a_remainder_of_an_element() -> None:
    """The quotient is a loop, which has both bounds though the elements imply one, around a fibre of `i`."""
    f = tadc.function("p: index[N] in M; i: index[E] in N; x: f64[M]; y[e: E] = x[p[i[e] % 2]]**2")
    p, i, x = np.array([1, 0, 1]), np.array([2, 0, 1, 2]), np.array([2.0, 3.0])
    gradient = tadc.vjp(f)
    assert gradient(p=p, i=i, x=x, dy=np.ones(4)).tolist() == [4.0, 18.0]
    bodies = [d.body for d in compiled_form(gradient.program, "value").definitions]
    rows = [row for term in reachable(bodies) if isinstance(term, Guard) for row in term.conditions]
    assert not [str(row) for row in rows if row.equality and row.form.has_lookups]


def test_elements_of_two_arrays_at_a_place_that_is_an_element() -> None:
    """Each step takes something apart: what is asked at the place is asked of the places with the key."""
    f = tadc.function(
        "i: index[E] in N; j: index[E] in N; p: index[N] in E; x: f64[E]\n"
        "y[n: N] = sum{e: i[p[i[e]]] = n and j[p[i[e]]] = 1} (x[e]**2)"
    )
    random = np.random.default_rng(0)
    i, j, p, x = *random.integers(0, 3, (2, 9)), random.integers(0, 9, 3), random.normal(size=9)
    want = [np.sum(x[(i[p[i]] == n) & (j[p[i]] == 1)] ** 2) for n in range(3)]
    np.testing.assert_allclose(f(i=i, j=j, p=p, x=x), want)
