"""Random steps that say where tensors are computed: the same results, or an error at the step."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import tadc
from tadc.frontend.extents import shape_at

PROGRAMS = {
    "rows": """x: f64[30, 17]
let m[i: 30] = max{j} (x[i, j])
let e[i: 30, j: 17] = exp(x[i, j] - m[i])
let s[i: 30] = sum{j} (e[i, j])
let c[j: 17] = sum{i} (e[i, j])
y[i, j] = e[i, j] / s[i] + c[j]
z[j: 17, i: 30] = y[i, j] * e[i, j]""",
    "square": """x: f64[20, 3]
let r[i: 20, j: 20] = sqrt(sum{d} ((x[j, d] - x[i, d])**2) + 0.1)
let w[i: 20, j: 20] = cos(i + 2*j)
a[i] = sum{j} (w[i, j] / r[i, j]**3)
b[j: 20] = sum{i} (r[i, j] * r[j, i])""",
    "graph": """src: index[60] in 20
dst: index[60] in 20
s: f64[20]
x: f64[20, 5]
let l[e] = max(s[src[e]], 0.2*s[dst[e]])
let z[n: 20] = logsumexp{e: dst[e] = n} (l[e])
y[n: 20, c] = sum{e: dst[e] = n} (exp(l[e] - z[n])*x[src[e], c])""",
    "steps": """x: f64[40]
let scan{t} u[t: 30, i: 40] = if {t >= 1} then (0.9*sin(u[t - 1, 39 - i])) else (x[i])
let scan{t} v[t: 30, i: 40] = if {t >= 2} then (0.5*v[t - 2, i] + u[t - 1, i]) else (u[t, i])
y[i: 40] = v[29, i]
e[s: 15] = sum{i} (v[2*s, i] * u[2*s + 1, i])""",
    "bands": """p: f64[20]
j[a: 20, i: 20] = if {a = i} then (p[i]) else (if {a = i - 1} then (2*p[i]) else (0))""",
}


def random_step(chance: random.Random, names: list[str], arguments: list[str], indices: list[str]) -> str:
    """A step, most often one that does not fit."""

    def some(most: int) -> str:
        return ", ".join(chance.sample(names, min(chance.randint(1, most), len(names))))

    most = ", ".join(name for name in names if chance.random() < 0.7) or names[0]
    count = chance.choice([1, 2, 3, 5, 8, 20])
    return chance.choice(
        [
            f"inline {some(1)}",
            f"merge {some(3)}",
            f"keep {some(1)}",
            f"fill {some(1)}",
            f"at {chance.choice(indices)} {count}: {some(3)}",
            f"at {chance.choice(indices)} {count}: {most}",
            f"window {some(1)} {count}",
            f"tape {some(1)} {count} by {chance.choice([1, 2, 40])}",
            f"copy {chance.choice([*names, *arguments])} last {chance.choice([0, 0, 1])}: {some(2)}",
            f"order {some(1)} {', '.join(chance.sample(indices, min(len(indices), 2)))}",
        ]
    )


def fitting(f: tadc.Function, lines: list[str], target: str) -> Any:
    """What the steps make, without those that do not fit: each of these is an error at its place."""
    name = f.program.symbol
    while True:
        text = "\n".join([f"function {name}", *lines])
        try:
            return tadc.compile(f, target=target, schedule=text)
        except tadc.CompileError as error:
            (found,) = error.diagnostics
            assert found.code == "TAD0612"
            assert found.primary is not None
            del lines[text.count("\n", 0, found.primary.span.start) - 1]


@pytest.mark.parametrize("seed", range(80))
def test_random_steps_give_the_same_results(seed: int) -> None:
    chance, numbers = random.Random(seed), np.random.default_rng(seed)
    f = tadc.function(PROGRAMS[chance.choice(list(PROGRAMS))])
    f = chance.choice([lambda f: f, tadc.vjp, tadc.value_and_vjp])(f)
    target = chance.choice(["cpu", "cpu", "cpu", "emulated:sm_90"])
    shown = f.lower(target=target).schedule.split("\n\n")[0].splitlines()[1:]
    definitions = f.program.definitions
    names = [d.name for d in definitions]
    indices = sorted({index for d in definitions for index in d.indices})
    lines = [line for line in shown if chance.random() < 0.6]
    lines += [random_step(chance, names, list(f.inputs), indices) for _ in range(4)]
    chance.shuffle(lines)
    arrays = [
        numbers.uniform(-1, 1, shape_at(a.shape, {}))
        if a.type == "f64"
        else numbers.integers(0, 20, shape_at(a.shape, {}), dtype="i4")
        for a in f.program.arguments
    ]
    found, wanted = (
        made if isinstance(made, tuple) else (made,)
        for made in (fitting(f, lines, target)(*arrays), f(*arrays))
    )
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-10)
