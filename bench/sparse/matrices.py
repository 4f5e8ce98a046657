"""Products of sparse matrices and tensors with dense ones; gradients by their values in the same pattern."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

from bench.sparse.drawing import Drawn, by_row, owners
from bench.workloads.workload import Arrays, Prepared, Workload, prange


def _vector_data(sizes: Mapping[str, int]) -> Arrays:
    drawn, (n, m, e) = Drawn(), (sizes[name] for name in "NME")
    ptr, col = by_row(*drawn.places(n, m, e), n)
    return ptr, col, drawn.floats(e), drawn.floats(m), drawn.floats(n)


def _with_rows(ptr: Any, col: Any) -> Arrays:
    return ptr, col, owners(ptr)


def _vector_jax(jax: Any, ptr: Any, col: Any, row: Any, v: Any, x: Any) -> Any:
    return jax.ops.segment_sum(v * x[col], row, len(ptr) - 1, indices_are_sorted=True)


def _vector_bcoo(jax: Any, ptr: Any, col: Any, row: Any, v: Any, x: Any) -> Any:
    sparse: Any = import_module("jax.experimental.sparse")
    places = jax.numpy.stack([row, col], 1)
    return sparse.BCOO((v, places), shape=(len(ptr) - 1, len(x)), indices_sorted=True) @ x


def _vector_torch(torch: Any, ptr: Any, col: Any, row: Any, v: Any, x: Any) -> Any:
    return torch.zeros(len(ptr) - 1, dtype=x.dtype).index_add(0, row, v * x[col])


def _vector_torch_csr(torch: Any, ptr: Any, col: Any, v: Any, x: Any) -> Any:
    return torch.sparse_csr_tensor(ptr, col, v, (len(ptr) - 1, len(x))) @ x


def _vector_scipy(ptr: Any, col: Any, row: Any, v: Any, x: Any, dy: Any) -> Arrays:
    matrix = import_module("scipy.sparse").csr_array((v, col, ptr), shape=(len(dy), len(x)))
    return matrix @ x, dy[row] * x[col], matrix.T @ dy


def _vector_numba(ptr: Any, col: Any, v: Any, x: Any, dy: Any) -> Arrays:
    y, dv, dx = np.empty_like(dy), np.empty_like(v), np.zeros_like(x)
    for i in prange(len(dy)):
        total = dy[0] * 0
        for e in range(ptr[i], ptr[i + 1]):
            total += v[e] * x[col[e]]
            dv[e] = dy[i] * x[col[e]]
        y[i] = total
    for i in range(len(dy)):
        for e in range(ptr[i], ptr[i + 1]):
            dx[col[e]] += v[e] * dy[i]
    return y, dv, dx


def _messages_data(sizes: Mapping[str, int]) -> Arrays:
    drawn, (n, e, c) = Drawn(), (sizes[name] for name in "NEC")
    return (*drawn.places(n, n, e), drawn.floats(e), drawn.floats(n, c), drawn.floats(n, c))


def _messages_jax(jax: Any, src: Any, dst: Any, w: Any, x: Any) -> Any:
    return jax.ops.segment_sum(w[:, None] * x[src], dst, len(x))


def _messages_bcoo(jax: Any, src: Any, dst: Any, w: Any, x: Any) -> Any:
    sparse: Any = import_module("jax.experimental.sparse")
    return sparse.BCOO((w, jax.numpy.stack([dst, src], 1)), shape=(len(x), len(x))) @ x


def _messages_torch(torch: Any, src: Any, dst: Any, w: Any, x: Any) -> Any:
    return torch.zeros_like(x).index_add(0, dst, w[:, None] * x[src])


def _messages_torch_coo(torch: Any, places: Any, w: Any, x: Any) -> Any:
    matrix = torch.sparse_coo_tensor(places, w, (len(x), len(x)), check_invariants=False)
    return torch.sparse.mm(matrix, x)


def _messages_scipy(src: Any, dst: Any, w: Any, x: Any, dy: Any) -> Arrays:
    n = len(x)
    matrix = import_module("scipy.sparse").csr_array((w, (dst, src)), shape=(n, n))
    return matrix @ x, np.einsum("ec,ec->e", dy[dst], x[src]), matrix.T @ dy


def _messages_numba(src: Any, dst: Any, w: Any, x: Any, dy: Any) -> Arrays:
    y, dw, dx = np.zeros_like(x), np.empty_like(w), np.zeros_like(x)
    for e in prange(len(w)):
        total = w[0] * 0
        for c in range(x.shape[1]):
            total += dy[dst[e], c] * x[src[e], c]
        dw[e] = total
    for e in range(len(w)):
        for c in range(x.shape[1]):
            y[dst[e], c] += w[e] * x[src[e], c]
            dx[src[e], c] += w[e] * dy[dst[e], c]
    return y, dw, dx


def _factors_data(sizes: Mapping[str, int]) -> Arrays:
    drawn, (j, k, e, r) = Drawn(), (sizes[name] for name in "JKER")
    places = drawn.indices(j, e), drawn.indices(j, e), drawn.indices(k, e)
    return (*places, drawn.floats(e), drawn.floats(j, r), drawn.floats(k, r), drawn.floats(j, r))


def _factors_torch(torch: Any, i: Any, j: Any, k: Any, v: Any, b: Any, c: Any) -> Any:
    return torch.zeros_like(b).index_add(0, i, v[:, None] * b[j] * c[k])


def _factors_numba(i: Any, j: Any, k: Any, v: Any, b: Any, c: Any, da: Any) -> Arrays:
    a, dv, db, dc = np.zeros_like(da), np.empty_like(v), np.zeros_like(b), np.zeros_like(c)
    for e in prange(len(v)):
        total = v[0] * 0
        for r in range(b.shape[1]):
            total += da[i[e], r] * b[j[e], r] * c[k[e], r]
        dv[e] = total
    for e in range(len(v)):
        for r in range(b.shape[1]):
            a[i[e], r] += v[e] * b[j[e], r] * c[k[e], r]
            db[j[e], r] += v[e] * da[i[e], r] * c[k[e], r]
            dc[k[e], r] += v[e] * da[i[e], r] * b[j[e], r]
    return a, dv, db, dc


def _bags_data(sizes: Mapping[str, int]) -> Arrays:
    drawn, (b, k, v, c) = Drawn(), (sizes[name] for name in "BKVC")
    return drawn.indices(v, b, k), drawn.floats(b, k), drawn.floats(v, c), drawn.floats(b, c)


def _bags_torch(torch: Any, words: Any, w: Any, t: Any) -> Any:
    return torch.nn.functional.embedding_bag(words, t, mode="sum", per_sample_weights=w)


def _bags_numba(words: Any, w: Any, t: Any, dy: Any) -> Arrays:
    y, dw, dt = np.empty_like(dy), np.empty_like(w), np.zeros_like(t)
    for b in prange(w.shape[0]):
        y[b] = 0
        for k in range(w.shape[1]):
            total = dy[0, 0] * 0
            for c in range(t.shape[1]):
                y[b, c] += w[b, k] * t[words[b, k], c]
                total += dy[b, c] * t[words[b, k], c]
            dw[b, k] = total
    for b in range(w.shape[0]):
        for k in range(w.shape[1]):
            for c in range(t.shape[1]):
                dt[words[b, k], c] += w[b, k] * dy[b, c]
    return y, dw, dt


MATRICES = (
    Workload(
        "spmv",
        "sparse matrix times vector",
        """ptr: index[N + 1] in E + 1 increasing
col: index[E] in M
v: f64[E]
x: f64[M]
y[i: N] = sum{e}_(ptr[i])^(ptr[i + 1] - 1) (v[e]*x[col[e]])""",
        {"N": 200_000, "M": 200_000, "E": 2_000_000},
        {"N": 9, "M": 7, "E": 20},
        {
            "JAX": Prepared(_vector_jax, _with_rows),
            "JAX, BCOO": Prepared(_vector_bcoo, _with_rows),
            "PyTorch": Prepared(_vector_torch, _with_rows),
            "PyTorch, CSR": _vector_torch_csr,
            "SciPy": Prepared(_vector_scipy, _with_rows),
            "numba": _vector_numba,
        },
        fixed=2,
        data=_vector_data,
    ),
    Workload(
        "spmm",
        "weighted messages along edges",
        """src: index[E] in N
dst: index[E] in N
w: f64[E]
x: f64[N, C]
m[n: N, c] = sum{e: dst[e] = n} (w[e]*x[src[e], c])""",
        {"N": 50_000, "E": 500_000, "C": 32},
        {"N": 9, "E": 20, "C": 3},
        {
            "JAX": _messages_jax,
            "JAX, BCOO": _messages_bcoo,
            "PyTorch": _messages_torch,
            "PyTorch, COO": Prepared(_messages_torch_coo, lambda src, dst: (np.stack([dst, src]),)),
            "SciPy": _messages_scipy,
            "numba": _messages_numba,
        },
        fixed=2,
        data=_messages_data,
    ),
    Workload(
        "sparse-mttkrp",
        "sparse tensor times Khatri-Rao product",
        """i: index[E] in J
j: index[E] in J
k: index[E] in K
v: f64[E]
b: f64[J, R]
c: f64[K, R]
a[n: J, r] = sum{e: i[e] = n} (v[e]*b[j[e], r]*c[k[e], r])""",
        {"J": 20_000, "K": 5_000, "E": 500_000, "R": 16},
        {"J": 4, "K": 3, "E": 20, "R": 2},
        {
            "JAX": lambda jax, i, j, k, v, b, c: jax.ops.segment_sum(v[:, None] * b[j] * c[k], i, len(b)),
            "PyTorch": _factors_torch,
            "numba": _factors_numba,
        },
        fixed=3,
        data=_factors_data,
    ),
    Workload(
        "embedding-bag",
        "weighted sums of rows of a table",
        """words: index[B, K] in V
w: f64[B, K]
t: f64[V, C]
y[b, c] = sum{k} (w[b, k]*t[words[b, k], c])""",
        {"B": 16_384, "K": 20, "V": 50_000, "C": 32},
        {"B": 5, "K": 3, "V": 7, "C": 4},
        {
            "JAX": lambda jax, words, w, t: jax.numpy.einsum("bk,bkc->bc", w, t[words]),
            "PyTorch": _bags_torch,
            "PyTorch, sums": lambda torch, words, w, t: torch.einsum("bk,bkc->bc", w, t[words]),
            "numba": _bags_numba,
        },
        fixed=1,
        data=_bags_data,
    ),
)
