"""Sparse Jacobians and Hessians of reads at places that are forms of lookups, against JAX's dense ones: which
entries there are, and their values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tadc
from tadc.frontend.extents import as_form

pytest.importorskip("scipy.sparse")

RANDOM = np.random.default_rng(5)
N, E = 9, 14
S, D = RANDOM.integers(0, N, (2, E))

Case = tuple[str, tuple[Any, ...], Callable[..., Any]]


def normal(*shape: int) -> Any:
    return RANDOM.normal(size=shape)


def at(*forms: Any) -> Any:
    return np.broadcast_arrays(*forms)


K3 = np.arange(3)

#: Programs of y; the Hessian is that of the sum of its squares.
CASES: dict[str, Case] = {
    "a stride": ("s: index[E] in N; x: f64[2*N + 2]; y[e] = x[2*s[e] + 1]**2", (S, normal(20)),
                 lambda s, x: x[2 * s + 1] ** 2),
    "a window": ("s: index[E] in N; x: f64[N + 3]; y[e] = sum{k: 3} (x[s[e] + k]**2)", (S, normal(12)),
                 lambda s, x: (x[s[:, None] + K3] ** 2).sum(1)),
    "a window of outputs": ("s: index[E] in N; x: f64[N + 3]; y[e, k: 3] = x[s[e] + k]**2", (S, normal(12)),
                            lambda s, x: x[s[:, None] + K3] ** 2),
    "a window of a size": ("s: index[E] in N; w: f64[K]; x: f64[N + K]\n"
                           "y[e] = sum{k} (w[k] * x[s[e] + k]**2)",
                           (S, normal(3), normal(12)), lambda s, w, x: (w * x[s[:, None] + K3] ** 2).sum(1)),
    "a stride and a window": ("s: index[E] in N; x: f64[2*N + 2]; y[e] = sum{k: 3} (x[2*s[e] + k]**2)",
                              (S, normal(20)), lambda s, x: (x[2 * s[:, None] + K3] ** 2).sum(1)),
    "a window with a stride": ("s: index[E] in N; x: f64[2*N + 6]; y[e] = sum{k: 3} (x[2*s[e] + 2*k + 1]**2)",
                               (S, normal(24)), lambda s, x: (x[2 * s[:, None] + 2 * K3 + 1] ** 2).sum(1)),
    "two dimensions": ("i: index[E] in N; j: index[E] in N; u: f64[N, N + 1]; y[e] = u[i[e], j[e] + 1]**2",
                       (S, D, normal(9, 10)), lambda i, j, u: u[i, j + 1] ** 2),
    "two lookups": ("i: index[E] in N; j: index[E] in N; x: f64[3*N]; y[e] = x[i[e] - 2*j[e] + 2*N - 1]**2",
                    (S, D, normal(27)), lambda i, j, x: x[i - 2 * j + 17] ** 2),
    "backwards": ("s: index[E] in N; x: f64[2*N + 2]; y[e, k: 3] = x[2*N - 1 - 2*s[e] + k]**2",
                  (S, normal(20)), lambda s, x: x[17 - 2 * s[:, None] + K3] ** 2),
    "quotient and remainder": ("s: index[E] in 3*N; x: f64[N, 3]; y[e] = x[s[e] // 3, s[e] % 3]**2",
                               (3 * S + D % 3, normal(9, 3)), lambda s, x: x[s // 3, s % 3] ** 2),
    "neighbours, but at ends": (
        "s: index[E] in N; x: f64[N]\n"
        "y[e] = if {s[e] >= 1 and s[e] < N - 1} then (x[s[e] + 1] * x[s[e] - 1]) else (x[s[e]]**2)",
        (S, normal(9)),
        lambda s, x: jnp.where(
            (s >= 1) & (s < N - 1), x[jnp.minimum(s + 1, N - 1)] * x[jnp.maximum(s - 1, 0)], x[s] ** 2
        ),
    ),
    "a batch": ("s: index[E] in N; x: f64[B, 2*N + 2]; y[b, e] = x[b, 2*s[e] + 1]**2 * x[b, 2*s[e]]",
                (S, normal(2, 20)), lambda s, x: x[:, 2 * s + 1] ** 2 * x[:, 2 * s]),
    "windows of a grid": ("s: index[E] in N; x: f64[N + 2, 5]\n"
                          "y[e, j: 3] = sum{p: 3, o: 3} (x[s[e] + p, j + o]**2)", (S, normal(11, 5)),
                          lambda s, x: (x[at(s[:, None, None, None] + K3[:, None],
                                             K3[:, None, None] + K3)] ** 2).sum((2, 3))),
    "places of sums": ("d: index[E] in N; s: index[E] in N; x: f64[N]\n"
                       "y[n: 2*N] = sum{e: 2*d[e] + 1 = n} (x[s[e]]**2)", (D, S, normal(9)),
                       lambda d, s, x: jnp.zeros(18).at[2 * d + 1].add(x[s] ** 2)),
    "windows of sums": ("d: index[E] in N; s: index[E] in N; x: f64[N]\n"
                        "y[n: N + 2] = sum{e: d[e] <= n and n <= d[e] + 2} (x[s[e]]**2)", (D, S, normal(9)),
                        lambda d, s, x: jnp.zeros(11).at[d[:, None] + K3].add(x[s][:, None] ** 2)),
    "logarithms of sums": ("d: index[N] in N; s: index[N] in N; x: f64[2*N]\n"
                           "y[n] = logsumexp{e: d[e] = d[n]} (x[2*s[e] + 1])", (D[:N], S[:N], normal(18)),
                           lambda d, s, x: jnp.log(jnp.zeros(N).at[d].add(jnp.exp(x[2 * s + 1])))[d]),
}  # fmt: skip

#: That a factor is 0 where none of several conditions holds is not seen.
ROUGH = ("neighbours, but at ends", 2)


def matches(found: Any, dense: Any) -> None:
    """The same values, and no entry where there is none."""
    expected = np.reshape(dense, found.shape)
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-9, atol=1e-9)
    assert found.nnz == np.count_nonzero(expected)


@pytest.mark.parametrize(("name", "order"), [(n, o) for n in CASES for o in (1, 2) if (n, o) != ROUGH])
def test_entries_are_where_arrays_say(name: str, order: int) -> None:
    text, args, y = CASES[name]
    by = "u" if "u: f64" in text else "x"
    place = len(args) - 1
    given = (*args[:-1], jnp.asarray(args[-1]))
    if order == 1:
        found, expected = tadc.jacobian(tadc.function(text), by), jax.jacobian(y, place)(*given)
    else:
        head, definition = text.rsplit("y[", 1)
        indices = [part.split(":")[0] for part in definition[: definition.index("]")].split(", ")]
        squares = f"let y[{definition}\nq = sum{{{', '.join(indices)}}} (y[{', '.join(indices)}]**2)"
        found = tadc.hessian(tadc.function(f"{head.rstrip('; ')}\n{squares}"), by)
        expected = jax.hessian(lambda *args: (y(*args) ** 2).sum(), place)(*given)
    matches(found.toscipy(*args), expected)


def test_what_would_not_fit_is_not_tried() -> None:
    """The square of a sum over all edges: any two nodes have an entry."""
    h = tadc.hessian(tadc.function("s: index[E] in N; x: f64[N]; q = (sum{e} (x[s[e]]**2))**2"))
    with pytest.raises(tadc.ArgumentError, match="80000200000 entries, take") as raised:
        h.toscipy(np.zeros(200_000, np.int32), np.zeros(400_000))
    assert "has an entry for each of [N, E]" in str(raised.value)
    assert "`hvp` by a Hessian" in str(raised.value)


@pytest.mark.parametrize(
    ("inner", "lists"),
    [
        ("x[s[e] % 3 + k + 2]**2", ["9, 3"]),
        ("sin(x[s[e] // 2 + k])*x[2*s[e] + k]", None),
        ("x[s[e] + d[e] + k]*x[s[e] % 3 + k + 2]", None),
    ],
)
def test_quotients_and_remainders_are_told(inner: str, lists: list[str] | None) -> None:
    """Each list has entries for edges, and none for each two of a node and an edge."""
    text = f"s: index[9] in 5; d: index[9] in 4; x: f64[40]\nlet y[e, k: 3] = {inner}\n"
    text += "q = sum{e, k} (y[e, k]**2)"
    made = tadc.hessian(tadc.function(text), "x").compressed().program.outputs
    assert all(math.prod(as_form(size).constant for size in one.shape) < 9 * 40 for one in made)
    if lists is not None:
        assert [", ".join(map(str, one.shape)) for one in made] == lists


def test_no_pair_of_two_places_of_none() -> None:
    text = "s: index[E] in N; w: f64[E]; x: f64[N]\n"
    text += "let l[n: N] = prod{e: s[e] = n} (w[e]*x[s[e]]); u = sum{n} (l[n])"
    none = np.zeros(0, np.int32), np.zeros(0), np.ones(6)
    assert tadc.hessian(tadc.function(text), "x").toscipy(*none).nnz == 0
