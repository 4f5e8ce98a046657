"""Jacobians and Hessians of functions of sparse elements, entry by entry, against all of their elements."""

from __future__ import annotations

import numpy as np
import pytest

import tadc

pytest.importorskip("scipy.sparse")

HEAD = "row: index[E] in N; col: index[E] in M\nA: f64[N, M] at (row, col)\nx: f64[M]\n"
RANDOM = np.random.default_rng(0)
N, M, E = 5, 4, 14
GIVEN = {
    "row": RANDOM.integers(1, N, E),
    "col": RANDOM.integers(0, M, E),
    "A": RANDOM.normal(size=E),
    "x": RANDOM.normal(size=M),
    "N": N,
}
PROGRAMS = [
    "z = sum{i, j} (A[i, j]**3 * x[j])",
    "z = sum{i, j} (sin(A[i, j]) * x[j])",
    "let q[i: N] = sum{j} (A[i, j]**2 * x[j]); z = sum{i} (q[i]**2)",
    "let B[i, j] = A[i, j] * x[j]; z = sum{i, j} (B[i, j]**4)",
    "z[i: N] = sum{j} (A[i, j]**2 * x[j])",
    "C: at (row, col); C[i, j] = sin(A[i, j]) * x[j]",
]


@pytest.mark.parametrize("wrt", ["A", "x"])
@pytest.mark.parametrize("text", PROGRAMS)
def test_entries(text: str, wrt: str) -> None:
    f = tadc.function(HEAD + text)
    for derivative in [tadc.jacobian, *([tadc.hessian] if "z = " in text else [])]:
        made = derivative(f, wrt)
        found = made.toscipy(**GIVEN).toarray()
        np.testing.assert_allclose(found, np.asarray(made(**GIVEN)).reshape(found.shape), atol=1e-12)


def test_entries_of_squares_are_few() -> None:
    """Those of elements at one place, of which few patterns have several."""
    entries = 9000
    many = {"row": RANDOM.integers(0, 3000, entries), "col": RANDOM.integers(0, 2500, entries)}
    values = {"A": RANDOM.normal(size=entries), "x": RANDOM.normal(size=2500)}
    hessian = tadc.hessian(tadc.function(HEAD + PROGRAMS[0]), "A")
    assert hessian.toscipy(**many, **values, N=3000).nnz < 2 * entries
    with pytest.raises(tadc.ArgumentError, match="size `N` is missing"):
        hessian.toscipy(**many, **values)
