"""Nests and schedules with a few words changed: they read, or a diagnostic says why not.

Kernels by schedules that are taken have the usual values.
"""

from __future__ import annotations

import random
import re
from functools import cache

import numpy as np
import pytest

import tadc
from tadc.frontend.diagnostics import CompileError
from tadc.frontend.extents import shape_at
from tadc.frontend.source import Source
from tadc.passes.nest.nest_reader import read_nests
from tadc.passes.nest.nest_verifier import verify_read

PROGRAMS = (
    "a: f64[20, 24]; b: f64[24, 40]; c[i, j] = sum{k} (a[i, k] * b[k, j])",
    "x: f64[24, 128]\nm[i] = max{j} (x[i, j])\ne[i, j] = exp(x[i, j] - m[i])\n"
    "z[i] = sum{j} (e[i, j])\ny[i, j] = e[i, j] / z[i]",
    "x: f64[N]; w: f64[3]; y[i: N - 2] = sum{k} (w[k] * x[i + k])",
    "x: f64[64, 64]; y[i] = sum{j}_0^i (x[i, j])",
    # Only a CPU has recurrences.
    "x: f64[50]; scan{t} y[t] = if {t = 0} then (x[0]) else (0.5 * y[t - 1] * x[t])",
)
TAKEN = {"cpu": PROGRAMS, "emulated:sm_90": PROGRAMS[:-1]}
WORDS = """
split peel residues reorder reverse jam lane unroll grid block thread in_blocks cut steps
warp stage transpose interleave stream prefetch threads rows points fits when
flatten register merge teams inside map for if else at know compute nest out in to step
sum where [ ] { } ( ) = -> + - * // %0 %1 %3 i j k i0 x y c m 0 1 3 8 33 -1 99999999999999999999
1e400 <= and true shared overlap guard""".split()


@cache
def texts(stage: str, target: str) -> tuple[str, ...]:
    """The texts of a stage, of each program with its gradients."""
    found: list[str] = []
    for program in TAKEN[target]:
        lowered = tadc.value_and_vjp(tadc.function(program)).lower(target=target)
        found.append(lowered.as_text(stage))
    return tuple(found)


def changed(text: str, choice: random.Random) -> str:
    """The text with words lost, added, exchanged or moved, or with other numbers."""
    words = re.findall(r"\n *|[\w.]+|[^\w\s]| ", text)
    for _ in range(choice.choice((1, 1, 2, 3))):
        at, other = choice.randrange(len(words)), choice.randrange(len(words))
        match choice.randrange(5):
            case 0:
                words[at] = ""
            case 1:
                words[at] = f" {choice.choice(WORDS)} "
            case 2:
                words[at] += f" {choice.choice(WORDS)} "
            case 3:
                words[at], words[other] = words[other], words[at]
            case _:
                numbers = [n for n, word in enumerate(words) if word.isdigit()] or [at]
                words[choice.choice(numbers)] = str(choice.choice((0, 1, 2, 3, 5, 16, 64, 1000)))
    return "".join(words)


def check_nests(seed: int) -> bool:
    """Whether a changed nest is right; what is wrong is a diagnostic."""
    choice = random.Random(f"nest {seed}")
    text = changed(choice.choice(texts("scheduled-nest", choice.choice(list(TAKEN)))), choice)
    try:
        return not any(found for read in read_nests(Source(text)) for found in verify_read(read))
    except CompileError:
        return False


def check_schedule(seed: int) -> bool:
    """Whether a changed schedule is taken, for the values of the usual one."""
    choice = random.Random(f"schedule {seed}")
    target = choice.choice(list(TAKEN))
    number = choice.randrange(len(TAKEN[target]))
    f = tadc.value_and_vjp(tadc.function(PROGRAMS[number]))
    text = changed(texts("schedule", target)[number], choice)
    try:
        kernel = tadc.compile(f, target=target, schedule=text)
    except CompileError as error:
        if error.diagnostics[0].code not in ("TAD0611", "TAD0612"):
            raise
        return False
    sizes = {name: choice.choice((3, 20, 33)) for name in f.program.sizes}
    values = np.random.default_rng(seed)
    given = [values.uniform(0.2, 1, shape_at(a.shape, sizes)) for a in f.program.arguments]
    for one, other in zip(kernel(*given), f(*given), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)
    return True


def test_changed_nests() -> None:
    right = [check_nests(seed) for seed in range(150)]
    assert 0 < sum(right) < len(right)


@pytest.mark.parametrize("part", range(2))
def test_changed_schedules(part: int) -> None:
    taken = [check_schedule(seed) for seed in range(40 * part, 40 * part + 40)]
    assert 0 < sum(taken) < len(taken)


@pytest.mark.slow
def test_many_changed_texts() -> None:
    for seed in range(1000, 4000):
        check_nests(seed)
        check_schedule(seed)
