"""Points of domains with index arrays, against all points one by one."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tadc.apps.blocks.domain_points import DomainPoints
from tadc.toolkit.language import Affine, Constraint, Lookup, at_least_zero, equals_zero

q, n, x, k, N, E = map(Affine.var, "qnxkNE")


def element(array: str, *at: Affine) -> Affine:
    return Affine.atom(Lookup(array, at, E + 1 if array == "ptr" else N))


COL = element("col", q)

#: Of these a domain has some.
ROWS = [
    at_least_zero(q - element("ptr", n)),
    at_least_zero(element("ptr", n + 1) - 1 - q),
    at_least_zero(element("ptr", n) - q),
    at_least_zero(element("ptr", n + 1) - 3),
    equals_zero(COL - x),
    at_least_zero(COL - 2),
    at_least_zero(COL * 2 - q - 1),
    at_least_zero(element("src", q) - COL),
    equals_zero(element("two", q, k) - x),
    equals_zero(x - k * 2),
    at_least_zero((q + n).floordiv(2) - x),
    at_least_zero(x + n - 2),
    at_least_zero(q * 2 - n * 3 + 1),
]


@pytest.mark.parametrize("seed", range(3))
def test_points_are_all_at_which_rows_hold(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(8):
        edges, nodes = int(rng.integers(0, 6)), int(rng.integers(1, 4))
        arrays = {
            "ptr": np.sort(rng.integers(0, edges + 1, nodes + 1)),
            "two": rng.integers(0, nodes, (edges, 2)),
            **{name: rng.integers(0, nodes, edges) for name in ("col", "src")},
        }
        extents = {"q": edges, "n": nodes, "x": nodes, "k": 2}
        rows = [ROWS[r] for r in rng.choice(len(ROWS), 3, replace=False)]
        lists = {"q": np.arange(0, edges, 2)} if rng.integers(2) else {}
        domain = DomainPoints(arrays, {"E": edges, "N": nodes}, {"ptr"}, {})
        box = [at_least_zero(side) for name, size in extents.items() for side in _sides(name, size)]
        found = domain.points([*rows, *box], extents, lists)
        want = [
            point
            for point in product(*map(range, extents.values()))
            if _holds(domain, rows, point) and ("q" not in lists or point[0] in lists["q"])
        ]
        assert sorted(zip(*(found[name].tolist() for name in extents), strict=True)) == want


def _sides(name: str, size: int) -> tuple[Affine, Affine]:
    return Affine.var(name), Affine.const(size - 1) - Affine.var(name)


def _holds(domain: DomainPoints, rows: list[Constraint], point: tuple[int, ...]) -> bool:
    at = {name: np.array([value]) for name, value in zip("qnxk", point, strict=True)}
    values = [(row, int(np.ravel(domain.value(row.form, at))[0])) for row in rows]
    return all(value == 0 if row.equality else value >= 0 for row, value in values)
