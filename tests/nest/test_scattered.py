"""Sums whose summands are added where they belong: nests of all kinds of groups and keys, dense ones too."""

from __future__ import annotations

import numpy as np
import pytest

from tadc.passes.nest.interpret import interpret
from tadc.passes.nest.nest import Nest
from tadc.passes.nest.nest_reader import read_nest
from tadc.passes.nest.nest_verifier import verify
from tadc.passes.nest.primitives.apply import apply_steps
from tadc.passes.nest.primitives.rewriting import DoesNotFit
from tadc.passes.nest.steps import Scatter

SIZES = {"N": 11, "Q": 23, "T": 9, "U": 4}
HEAD = """nest S(f: f64[Q], g: f64[T], key: i32[N] below 6, src: i32[Q] below N, col: i32[Q] below 6,
    ask: i32[T] below 6, row: i32[N] below U increasing, own: i32[U + 1] below N + 1 increasing,
    ptr: i32[U + 1] below Q + 1 increasing, part: i32[U + 1] below Q + 1 increasing, out S: f64[N]) {
    sizes N, Q, T, U
    known N >= 1 and Q >= 1 and T >= 1 and U >= 4 and 3*U >= N
    for i = 0 to N {
        %9 = sum OUTER {
            BODY
        }
        S[i] = %9
    }
}"""
GROUPS = {
    "all": ("0 <= q <= Q - 1", ""),
    "blocks": ("part[i // 3] <= q <= part[i // 3 + 1] - 1", ""),
    "fibres": ("ptr[row[i]] <= q <= ptr[row[i] + 1] - 1", "own[row[i]] <= i <= own[row[i] + 1] - 1 and "),
}
TELLS = {"element": "src[q] = i", "moved": "q + t = i", "key": "col[q] = key[i]"}


def _nest(group: str, tells: str) -> Nest:
    """A sum over q and t, in one loop or two: of products that an equality says where to add."""
    bounds, own = GROUPS[group]
    rows = f"{own}{bounds} and 0 <= t <= T - 1 and {TELLS[tells]}"
    body = "%0 = f[q]\n%1 = g[t]\n%2 = %0 * %1\ngive %2"
    return read_nest(HEAD.replace("OUTER", f"q, t where {rows}").replace("BODY", body))


def _looking(group: str) -> Nest:
    """A sum of what is looked for among the q of a group."""
    bounds, own = GROUPS[group]
    inner = (
        f"%2 = sum q where {bounds} and col[q] = ask[t] {{\n%0 = f[q]\n%1 = g[t]\n%3 = %0 * %1\ngive %3\n}}"
    )
    rows = f"{own}0 <= t <= T - 1"
    return read_nest(HEAD.replace("OUTER", f"t where {rows}").replace("BODY", f"{inner}\ngive %2"))


def _arrays(seed: int) -> dict[str, np.ndarray]:
    rng, c, (n, q, t, u) = np.random.default_rng(seed), 6, SIZES.values()
    row = np.sort(rng.integers(0, u, n))
    made = {"f": rng.normal(size=q), "g": rng.normal(size=t), "row": row}
    made |= {name: rng.integers(0, high, size) for name, high, size in
             (("key", c, n), ("src", n, q), ("col", c, q), ("ask", c, t))}  # fmt: skip
    made["own"] = np.searchsorted(row, np.arange(u + 1))
    made |= {name: np.sort(rng.integers(0, q + 1, u + 1)) for name in ("ptr", "part")}
    return {name: array.astype("i4" if array.dtype.kind == "i" else "f8") for name, array in made.items()}


def _same(nest: Nest, room: str, seed: int, *, bits: bool) -> None:
    made = apply_steps(nest, [Scatter("%9", "i", "group", room)])
    assert not verify(made)
    arrays, sizes = _arrays(seed), {name: SIZES[name] for name in nest.sizes}
    expected, found = interpret(nest, arrays, sizes), interpret(made, arrays, sizes)
    compare = np.testing.assert_array_equal if bits else np.testing.assert_allclose
    compare(found.results["S"], expected.results["S"])
    assert found.reads["f", 0] <= expected.reads["f", 0] or room


@pytest.mark.parametrize("tells", TELLS)
@pytest.mark.parametrize("group", GROUPS)
def test_summands_are_added_in_the_same_order(group: str, tells: str) -> None:
    for seed in range(3):
        _same(_nest(group, tells), "room" if tells == "key" else "", seed, bits=True)


@pytest.mark.parametrize("group", GROUPS)
def test_what_is_looked_for(group: str) -> None:
    """What has one key is added up before it is multiplied."""
    for seed in range(3):
        _same(_looking(group), "room", seed, bits=False)


def test_what_does_not_fit_says_why() -> None:
    wanted = {
        ("element", "room"): "needs no room",
        ("key", ""): "needs room",
        ("key", "S"): "taken",
    }
    for (tells, room), text in wanted.items():
        with pytest.raises(DoesNotFit, match=text):
            apply_steps(_nest("all", tells), [Scatter("%9", "i", "group", room)])
    plain = "nest y(x: f64[N], out y: f64[N]) {\nsizes N\nfor i = 0 to N {\n%1 = sum k where 0 <= k <= i {\n"
    nest = read_nest(plain + "%0 = x[k]\ngive %0\n}\ny[i] = %1\n}\n}")
    with pytest.raises(DoesNotFit, match="no equality"):
        apply_steps(nest, [Scatter("%1", "i", "group")])
