"""Memory of tensors where maps over the entries of rows run in the loop of a map over rows."""

from __future__ import annotations

import numpy as np

import tadc

TEXT = """ptr: index[N + 1] in E + 1 increasing
col: index[E] in N
v: f64[E]; x: f64[N]; z: f64[N]
let b[j: N] = sin(z[j])
w[e: E] = x[col[e]]*b[col[e]]
let y[i: N] = sum{e}_(ptr[i])^(ptr[i + 1] - 1) (v[e]*x[col[e]])
q[n: N] = sum{e}_(ptr[n])^(ptr[n + 1] - 1) (w[e]*y[col[e]])
d[j: N] = sum{e: col[e] = j} (w[e])
"""


def test_what_a_map_of_entries_reads_is_there_while_it_runs_with_another_one() -> None:
    random, n, e = np.random.default_rng(0), 50, 300
    ptr, col = np.sort(random.integers(0, e + 1, n + 1)), random.integers(0, n, e)
    v, x, z = (random.normal(size=size) for size in (e, n, n))

    def rows(values: np.ndarray) -> np.ndarray:
        return np.array([values[ptr[i] : ptr[i + 1]].sum() for i in range(n)])

    f = tadc.function(TEXT)
    sizes = {"N": n, "E": e}
    assert "at e 1: y, w" in f.lower(sizes=sizes).schedule
    found = tadc.compile(f, sizes=sizes)(ptr=ptr, col=col, v=v, x=x, z=z)
    w = x[col] * np.sin(z)[col]
    np.testing.assert_allclose(found.w, w)
    np.testing.assert_allclose(found.q, rows(w * rows(v * x[col])[col]), rtol=1e-9, atol=1e-12)
