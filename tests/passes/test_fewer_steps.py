"""Sums and additions without the points at which nothing is added: same values, fewer operations."""

from __future__ import annotations

import random

import numpy as np
import pytest

import tadc
from tadc.analysis.statistics import compiled_form
from tadc.frontend.printer import print_program
from tadc.frontend.program import Program
from tadc.frontend.terms import Guard, Reduce, reachable
from tadc.passes.rewrites import factor
from tadc.passes.terms.operation_counts import count_program
from tests.reference.counting import Run


def outputs(program: Program) -> list[np.ndarray]:
    draw = np.random.default_rng(0)
    arrays = {a.name: draw.uniform(0.5, 1.5, [int(str(n)) for n in a.shape]) for a in program.arguments}
    run = Run(program, arrays, 24)
    return [run.arrays[d.name] for d in program.outputs]


def improved(text: str) -> tuple[int, int, str]:
    """Operations before and after, and the program after, whose values are the same."""
    written = tadc.function(text).program
    compiled = compiled_form(written, "value")
    for one, other in zip(outputs(written), outputs(compiled), strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-12)
    return count_program(written).weighted, count_program(compiled).weighted, print_program(compiled)


#: Programs, their operations, and those where nothing is added in vain.
SUMS = {
    "unequal": ("f[i: 5] = sum{j: 5} (if {i = j} then (0) else (x[j] * y[j]))", 45, 30),
    "one residue of two": ("f[i: 4] = sum{j: 8} (if {(i + j) % 2 = 0} then (0) else (x[j] * y[i]))", 48, 20),
    "residues of three": (
        "f[i: 4] = sum{j: 9} (if {(j + 2) % 3 = 2} then (0) else (x[i + j] * y[j]))", 60, 52,
    ),
    "two conditions": ("f[i: 6] = sum{j: 6} (if {j >= i and j >= 2} then (0) else (x[j] * y[i]))", 54, 31),
    "a chain": (
        "f[i: 5] = sum{j: 5} (if {i >= j} then (0) else (if {j > 3} then (0) else (x[j] * y[i])))", 31, 9,
    ),
    "beside another": ("f[i: 6] = sum{j: 6} (if {i > j} then (0) else (x[j] * y[i]) + x[j])", 93, 39),
}  # fmt: skip
ADDITIONS = {
    "an if and its else": ("(if {i = 3} then (x[i]) else (0)) + (if {i = 3} then (0) else (y[i]))", 9, 0),
    "one in another": ("(if {i < 2} then (x[i]) else (0)) + (if {i < 4} then (y[i]) else (0))", 9, 4),
    "apart": ("(if {i < 2} then (x[i]) else (0)) - (if {i > 4} then (y[i]) else (0))", 9, 4),
    "left out twice": (
        "(if {i % 3 = 1} then (0) else (x[i])) - (if {i % 3 = 1} then (0) else (y[i]))", 9, 6,
    ),
    "three": (
        "(if {i < 2} then (x[i]) else (0)) + (if {i = 1} then (y[i]) else (0)) "
        "+ (if {i > 5} then (y[i]) else (0))", 18, 2,
    ),
}  # fmt: skip
CASES = {**SUMS, **{name: (f"f[i: 9] = {text}", *n) for name, (text, *n) in ADDITIONS.items()}}
TENSORS = "x: f64[24]; y: f64[24]\n"


@pytest.mark.parametrize("name", CASES)
def test_fewer_operations(name: str) -> None:
    text, before, after = CASES[name]
    assert improved(TENSORS + text)[:2] == (before, after)


def test_a_large_sum_keeps_its_diagonal() -> None:
    """One step of very many is not worth a second loop."""
    program = tadc.function("x: f64[N]\nf[i: N] = sum{j: N} (if {i = j} then (0) else (x[j]))").program
    (definition,) = compiled_form(program, "value").definitions
    assert isinstance(definition.body, Reduce)
    assert isinstance(definition.body.body, Guard)


@pytest.mark.parametrize("name", ["beside another", "two conditions"])
def test_what_takes_too_long_to_count_is_not_taken_apart(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds do not tell what is cheaper."""
    text, before, after = SUMS[name]
    monkeypatch.setattr(factor, "COUNTED", 60)
    assert after < improved(TENSORS + text)[1] <= before


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("f[i: 9] = if {i >= 2} then (max{k}_0^(i - 2) (x[k])) else (0)\n"
         "g[j: 5] = max{k}_0^j (x[k]) * y[j]", "f[j + 2]"),
        ("f[i: 9] = exp(x[i] * y[i])\ng[j: 5] = select(x[j] > 1, 2 * exp(x[j] * y[j]), 0)", "f[j]"),
        ("f[i: 9, j: 4] = exp(x[i + j + 3] * y[j])\n"
         "g[j: 3] = sum{k: 4} (exp(x[j + k + 5] * y[k]))", "f[j + 2, k]"),
    ],
)  # fmt: skip
def test_values_that_are_known(text: str, read: str) -> None:
    _, _, program = improved(TENSORS + text)
    assert read in program.partition("\ng[")[2]


def test_values_out_of_range_are_not_read() -> None:
    """`f` holds what g needs at its first elements only, and 0 at others."""
    text = "f[i: 4] = exp(x[i] * y[i])\ng[j: 9] = exp(x[j] * y[j])\n"
    text += "h[i: 9] = if {i > 5} then (sin(x[i])) else (0)\nm[i: 9] = sin(x[i])"
    after = improved(TENSORS + text)[2]
    assert "g[j] = exp(" in after or "f[i] = g[i]" in after
    assert "m[i] = h[i]" not in after


@pytest.mark.parametrize("seed", range(30))
def test_random_guards(seed: int) -> None:
    """Values and gradients of sums of guards are those of the program as written."""
    draw = random.Random(seed)

    def condition(*names: str) -> str:
        rows = [
            f"{draw.choice(names)} {draw.choice(['=', '<', '>=', '>'])} {draw.randint(0, 6)}",
            f"{names[0]} {draw.choice(['=', '<', '>='])} {names[-1]} + {draw.randint(-2, 2)}",
            f"({names[0]} + {draw.randint(0, 3)}) % {draw.randint(2, 3)} = {draw.randint(0, 1)}",
        ]
        return " and ".join(draw.sample(rows, draw.choice([1, 1, 2])))

    def part(*names: str) -> str:
        value = f"x[{draw.choice(names)}] * y[{draw.choice(names)} + {draw.randint(0, 2)}]"
        inner = f"if {{{condition(*names)}}} then (0) else ({value})"
        first, second = draw.choice([(value, "0"), ("0", value), ("0", inner)])
        return f"(if {{{condition(*names)}}} then ({first}) else ({second}))"

    inner = " + ".join(part("i", "k") for _ in range(draw.randint(1, 3)))
    outer = draw.choice([" + ", " - "]).join(part("i", "j") for _ in range(draw.randint(1, 4)))
    text = f"{TENSORS}f[i: 7, j: 5] = {outer} + sum{{k: 6}} ({inner})"
    before, after, _ = improved(text)
    assert after <= before
    written = tadc.function(text)
    derived = tadc.vjp(written).program
    for one, other in zip(outputs(derived), outputs(compiled_form(derived, "value")), strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-12)


def test_random_guards_are_sums() -> None:
    """The test above has something to take apart."""
    text = f"{TENSORS}f[i: 5] = sum{{j: 8}} (if {{(i + j) % 2 = 0}} then (0) else (x[j]))"
    (definition,) = compiled_form(tadc.function(text).program, "value").definitions
    assert not any(isinstance(t, Guard) for t in reachable([definition.body]))
