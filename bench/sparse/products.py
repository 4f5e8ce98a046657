"""The product of two sparse matrices at the places of a third; its gradients are such products too."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

from bench.sparse.drawing import Drawn
from bench.workloads.workload import Arrays, Prepared, Workload, prange

#: Rows are computed in so many ranges, each with a buffer of its own.
_RANGES = 16


def _data(sizes: Mapping[str, int]) -> Arrays:
    """Matrices row by row; the third has places of their product, as many as asked for."""
    drawn, (n, m, k, e, f, g) = Drawn(), (sizes[name] for name in "NMKEFG")
    first, second = (_sorted(*drawn.places(*shape)) for shape in ((n, m, e), (m, k, f)))
    sparse = import_module("scipy.sparse")
    ones = [
        sparse.csr_array((np.ones(len(places[0])), places), shape=shape)
        for places, shape in ((first, (n, m)), (second, (m, k)))
    ]
    places = (ones[0] @ ones[1]).tocoo().coords
    kept = drawn.random.permutation(len(places[0]))[:g]
    third = _sorted(*(each[kept].astype(np.int32) for each in places))
    return (*first, *second, *third, drawn.floats(e), drawn.floats(f), drawn.floats(g))


def _sorted(row: Any, column: Any) -> tuple[Any, Any]:
    order = np.lexsort((column, row))
    return row[order], column[order]


def _starts(row: Any, count: int) -> Any:
    return np.concatenate([[0], np.cumsum(np.bincount(row, minlength=count))]).astype(np.int32)


def _scipy(ar: Any, ac: Any, br: Any, bc: Any, cr: Any, cc: Any, a: Any, b: Any, dc: Any) -> Arrays:
    sparse = import_module("scipy.sparse")
    n, m, k = max(ar.max(), cr.max()) + 1, max(ac.max(), br.max()) + 1, max(bc.max(), cc.max()) + 1
    first, second, third = (
        sparse.csr_array((values, (row, column)), shape=shape)
        for values, row, column, shape in ((a, ar, ac, (n, m)), (b, br, bc, (m, k)), (dc, cr, cc, (n, k)))
    )
    products = first @ second, third @ second.T.tocsr(), first.T.tocsr() @ third
    for product in products:
        product.sort_indices()
    places = (cr, cc), (ar, ac), (br, bc)
    return tuple(np.asarray(whole[at]).ravel() for whole, at in zip(products, places, strict=True))


def _by_rows(ar: Any, ac: Any, br: Any, bc: Any, cr: Any, cc: Any) -> Arrays:
    n, m = max(ar.max(), cr.max()) + 1, max(ac.max(), br.max()) + 1
    return _starts(ar, n), ac, _starts(br, m), bc, _starts(cr, n), cc


def _numba(ap: Any, ac: Any, bp: Any, bc: Any, cp: Any, cc: Any, a: Any, b: Any, dc: Any) -> Arrays:
    c, da, db = np.empty_like(dc), np.empty_like(a), np.zeros_like(b)
    rows, columns = len(ap) - 1, max(bc.max(), cc.max()) + 1
    for part in prange(_RANGES):
        sums, slopes = np.zeros(columns, a.dtype), np.zeros(columns, a.dtype)
        for i in range(part * rows // _RANGES, (part + 1) * rows // _RANGES):
            for p in range(cp[i], cp[i + 1]):
                sums[cc[p]] = 0
                slopes[cc[p]] = dc[p]
            for q in range(ap[i], ap[i + 1]):
                total = a[0] * 0
                for t in range(bp[ac[q]], bp[ac[q] + 1]):
                    sums[bc[t]] += a[q] * b[t]
                    total += slopes[bc[t]] * b[t]
                da[q] = total
            for p in range(cp[i], cp[i + 1]):
                c[p] = sums[cc[p]]
                slopes[cc[p]] = 0
    slopes = np.zeros(columns, a.dtype)
    for i in range(rows):
        for p in range(cp[i], cp[i + 1]):
            slopes[cc[p]] = dc[p]
        for q in range(ap[i], ap[i + 1]):
            for t in range(bp[ac[q]], bp[ac[q] + 1]):
                db[t] += a[q] * slopes[bc[t]]
        for p in range(cp[i], cp[i + 1]):
            slopes[cc[p]] = 0
    return c, da, db


PRODUCTS = (
    Workload(
        "spgemm",
        "product of sparse matrices at a pattern",
        """ar: index[E] in N
ac: index[E] in M
br: index[F] in M
bc: index[F] in K
cr: index[G] in N
cc: index[G] in K
A: f64[N, M] at (ar, ac)
B: f64[M, K] at (br, bc)
C: f64[N, K] at (cr, cc)
C[i, k] = sum{j} (A[i, j] * B[j, k])""",
        {"N": 20_000, "M": 20_000, "K": 20_000, "E": 200_000, "F": 200_000, "G": 1_900_000},
        {"N": 9, "M": 8, "K": 7, "E": 30, "F": 30, "G": 25},
        {"SciPy": _scipy, "numba": Prepared(_numba, _by_rows)},
        fixed=6,
        data=_data,
    ),
)
