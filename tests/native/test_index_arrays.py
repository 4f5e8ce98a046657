"""Native functions with index arrays: called by C, checked, sorted in scratch."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tadc
from tests.native.programs import compiler, numbers, run

T, N, M = 30, 9, 5
RANDOM = np.random.default_rng(0)
CORNERS, GROUPS = RANDOM.integers(0, N, (T, 3), np.int32), RANDOM.integers(0, M, T, np.int32)
W, X, DY = (RANDOM.normal(size=n) for n in (T, N, M))

TEXT = """size M; t: index[T, 3] in N; d: index[T] in M; w: f64[T]; x: f64[N]
y[m: M] = sum{k: d[k] = m} (w[k] * sum{c} (x[t[k, c]]**2))
"""
SIZES = tuple(map(ctypes.c_int64, (M, T, N)))


def pointers(*arrays: Any) -> list[ctypes.c_void_p]:
    return [array.ctypes.data_as(ctypes.c_void_p) for array in arrays]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("native")
    tadc.export(tadc.function(TEXT), folder / "q.so", folder / "q.h", wrt=["w", "x"], prefix="q")
    made: Any = ctypes.CDLL(str(folder / "q.so"))
    for name in ("q_scratch", "q_vjp_scratch"):
        getattr(made, name).restype = ctypes.c_int64
    made.header = (folder / "q.h").read_text()
    return made


def call(library: Any, corners: Any, groups: Any) -> tuple[int, Any]:
    y, scratch = np.full(M, np.nan), np.zeros(library.q_scratch(*SIZES), np.uint8)
    return library.q(*pointers(corners, groups, W, X, y, scratch), *SIZES), y


def test_the_value(library: Any) -> None:
    status, y = call(library, CORNERS, GROUPS)
    assert status == 0
    np.testing.assert_allclose(y, np.bincount(GROUPS, W * (X[CORNERS] ** 2).sum(1), M))


def test_gradients(library: Any) -> None:
    dw, dx = np.zeros(T), np.zeros(N)
    scratch = np.zeros(library.q_vjp_scratch(*SIZES), np.uint8)
    assert library.q_vjp(*pointers(CORNERS, GROUPS, W, X, DY, dw, dx, scratch), *SIZES) == 0
    np.testing.assert_allclose(dw, DY[GROUPS] * (X[CORNERS] ** 2).sum(1))
    each = np.repeat(W * DY[GROUPS], 3) * 2 * X[CORNERS.ravel()]
    np.testing.assert_allclose(dx, np.bincount(CORNERS.ravel(), each, N))


@pytest.mark.parametrize("value", [N, -1, 2**31 - 1])
def test_an_index_out_of_range_is_refused(library: Any, value: int) -> None:
    corners = CORNERS.copy()
    corners[7, 2] = value
    status, y = call(library, corners, GROUPS)
    assert status == 4
    assert np.isnan(y).all()


def test_the_header(library: Any) -> None:
    assert "int q(const int32_t *t, const int32_t *d, const double *w" in library.header
    assert "#define TADC_BAD_INDEX 4" in library.header
    assert "t: index[T, 3] in N" in library.header


MAIN = """
#include "rows.h"
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  int32_t ptr[] = {0, 2, 2, 5}, col[] = {1, 0, 3, 3, 2}, falls[] = {0, 2, 1, 5};
  double v[] = {1, 2, 3, 4, 5}, x[] = {1, 10, 100, 1000}, y[3];
  void *scratch = malloc(rows_scratch(3, 5, 4));
  int i, good = rows(ptr, col, v, x, y, scratch, 3, 5, 4), bad = rows(falls, col, v, x, y, scratch, 3, 5, 4);
  for (i = 0; i < 3; ++i) printf("%g\\n", y[i]);
  printf("%d\\n%d\\n", good, bad);
  free(scratch);
  return 0;
}
"""


def test_a_program_in_c(tmp_path: Path) -> None:
    cc = compiler("cc")
    f = tadc.function(
        "ptr: index[R + 1] in E + 1 increasing; col: index[E] in N; v: f64[E]; x: f64[N]\n"
        "y[i: R] = sum{e}_(ptr[i])^(ptr[i + 1] - 1) (v[e] * x[col[e]])"
    )
    tadc.export(f, tmp_path / "rows.o", tmp_path / "rows.h", prefix="rows")
    (tmp_path / "main.c").write_text(MAIN)
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]
    run(tmp_path, cc, *strict, f"-I{tmp_path}", "main.c", "rows.o", "-o", "main", "-lm")
    assert numbers(run(tmp_path, "./main").stdout).tolist() == [12, 0, 7500, 0, 4]


def test_long_fibres(tmp_path: Path) -> None:
    """Of which the inspector counts the parts; another function takes calls without any."""
    text = (
        "ptr: index[R + 1] in E + 1 increasing; v: f64[E]\ny[r: R] = sum{e}_(ptr[r])^(ptr[r + 1] - 1) (v[e])"
    )
    tadc.export(tadc.function(text), tmp_path / "s.so", tmp_path / "s.h", wrt=["v"], prefix="s")
    made: Any = ctypes.CDLL(str(tmp_path / "s.so"))
    made.s_scratch.restype = ctypes.c_int64
    for most in (3, 4):
        ptr = np.cumsum([0, 5, 4095, 4096, 4097, 0, most * 4096 + 7], dtype=np.int32)
        sizes = tuple(map(ctypes.c_int64, (len(ptr) - 1, int(ptr[-1]))))
        v, y = np.arange(ptr[-1], dtype=np.float64), np.zeros(len(ptr) - 1)
        scratch = np.zeros(made.s_scratch(*sizes), np.uint8)
        assert made.s(*pointers(ptr, v, y, scratch), *sizes) == 0
        np.testing.assert_array_equal(y, np.diff(np.concatenate([[0], np.cumsum(v)])[ptr]))


def test_long_fibres_of_pairs(tmp_path: Path) -> None:
    """And of what asks for them: the parts of both are counted."""
    text = """
    u: f64[N]; row: index[E] in N; col: index[E] in 2; v: f64[E]
    r: index[F] in N; c: index[F] in 2; w: f64[F]
    y[i: N, j: 2] = sum{e: row[e] = i and col[e] = j} (v[e] * u[i])
    z[f: F] = sum{e: row[e] = r[f] and col[e] = c[f]} (max(v[e], w[f]))
    """
    tadc.export(tadc.function(text), tmp_path / "p.so", tmp_path / "p.h", prefix="p")
    made: Any = ctypes.CDLL(str(tmp_path / "p.so"))
    made.p_scratch.restype = ctypes.c_int64
    random, edges, rows, asked = np.random.default_rng(3), 60_000, 3, 4
    row, col = (random.integers(0, below, edges).astype(np.int32) // (below - 1) for below in (rows, 2))
    r, c = np.array([1, 0, 1, 2], np.int32), np.array([1, 0, 0, 1], np.int32)
    v, w, u = (random.uniform(size=n) for n in (edges, asked, rows))
    sizes = tuple(map(ctypes.c_int64, (rows, edges, asked)))
    y, z, scratch = np.zeros((rows, 2)), np.zeros(asked), np.zeros(made.p_scratch(*sizes), np.uint8)
    assert made.p(*pointers(u, row, col, v, r, c, w, y, z, scratch), *sizes) == 0
    pairs = [[(row == i) & (col == j) for j in range(2)] for i in range(rows)]
    np.testing.assert_allclose(y, [[v[at].sum() * u[i] for at in two] for i, two in enumerate(pairs)])
    np.testing.assert_allclose(
        z, [np.maximum(v[pairs[i][j]], w[f]).sum() for f, (i, j) in enumerate(zip(r, c, strict=True))]
    )
