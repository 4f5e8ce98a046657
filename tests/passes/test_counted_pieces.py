"""Counts from pieces of quasi-polynomials against counts that walk every index."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

import tadc
from bench.workloads import WORKLOADS
from tadc.analysis.statistics import compiled_form
from tadc.frontend.program import Program
from tadc.lattice.sums import Amount, Value, sum_of_pieces
from tadc.passes.terms import operation_counts
from tadc.passes.terms.operation_counts import Work, count_program

BY_NAME = {w.name: w for w in WORKLOADS}
#: Sizes at which ranges are longer than what pieces ask for, and can still be walked.
MIDDLE = {
    "banded": {"N": 90, "W": 8},
    "fir": {"N": 120, "K": 9},
    "autocorrelation": {"N": 90, "L": 30},
    "conv1d": {"B": 1, "C": 2, "N": 60, "F": 2, "K": 3},
    "stencil": {"N": 40, "M": 30},
    "log_sum": {"N": 50},
    "paper": {"I": 30, "J": 25, "K": 6},
    "hessian_500": {"N": 30},
}


class Values:
    """Sums of pieces, and how many values they were told."""

    def __init__(self) -> None:
        self.asked = 0

    def of_pieces(
        self, value: Value, low: int, high: int, zones: Sequence[tuple[int, int]], period: int, degree: int
    ) -> Amount:
        return sum_of_pieces(self.watched(value), low, high, zones, period, degree)

    def of_all(
        self, value: Value, low: int, high: int, zones: Sequence[tuple[int, int]], period: int, degree: int
    ) -> Amount:
        rows = [self.watched(value)(n) for n in range(low, high + 1)]
        return tuple(map(sum, zip(*rows, strict=True)))

    def watched(self, value: Value) -> Value:
        def ask(n: int) -> Amount:
            self.asked += 1
            return value(n)

        return ask


def both(program: Program, monkeypatch: pytest.MonkeyPatch) -> tuple[Work, int, Work, int]:
    pieces, walk = Values(), Values()
    monkeypatch.setattr(operation_counts, "sum_of_pieces", pieces.of_pieces)
    found = count_program(program)
    monkeypatch.setattr(operation_counts, "sum_of_pieces", walk.of_all)
    return found, pieces.asked, count_program(program), walk.asked


@pytest.mark.parametrize("name", MIDDLE)
def test_workloads(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = compiled_form(BY_NAME[name].function("f64", MIDDLE[name]).program, "value-and-vjp")
    found, few, expected, _ = both(program, monkeypatch)
    assert found == expected
    assert few < 2500


@pytest.mark.parametrize("name", BY_NAME)
def test_full_sizes_need_few_values(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    workload = BY_NAME[name]
    program = compiled_form(workload.function("f64", workload.sizes).program, "value-and-vjp")
    values = Values()
    monkeypatch.setattr(operation_counts, "sum_of_pieces", values.of_pieces)
    assert count_program(program).weighted > 0
    assert values.asked < 20_000


class Random:
    """A program of sums in sums and choices, whose bounds and conditions are any quasi-affine forms."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.size = self.random.randint(20, 50)
        indices = self.random.choice([["i"], ["i", "j"]])
        stated = ", ".join(f"{name}: {self.size}" for name in indices)
        self.text = f"x: f64; y: f64\nf[{stated}] = {self.body(indices, 3)}"

    def form(self, names: Sequence[str]) -> str:
        r = self.random
        parts = [f"{r.choice([1, 1, 1, -1, -1, 2, -2, 3])}*{n}" for n in names if r.random() < 0.6]
        form = " + ".join([*parts, str(r.randint(-self.size // 2, self.size))])
        return r.choice([form] * 6 + [f"({form}) // {r.choice([2, 3])}", f"({form}) % {r.choice([2, 4])}"])

    def condition(self, names: Sequence[str]) -> str:
        return f"{self.form(names)} {self.random.choice(['=', '!=', '<', '>='])} {self.form(names)}"

    def body(self, names: Sequence[str], depth: int) -> str:
        r = self.random
        if not depth:
            return r.choice(["x", "x * x", "exp(x)", "x / y", f"{names[-1]} * x"])
        inner = f"k{depth}"
        match r.choice(["if", "sum", "sum", "add"]):
            case "if":
                then, other = self.body(names, depth - 1), self.body(names, depth - 1)
                return f"(if {{{self.condition(names)}}} then ({then}) else ({other}))"
            case "add":
                return f"({self.body(names, 0)} + {self.body(names, depth - 1)})"
            case _:
                low, high = (f"[{self.form(names)}; {self.form(names)}]" for _ in range(2))
                return f"sum{{{inner}}}_(max {low})^(min {high}) ({self.body([*names, inner], depth - 1)})"


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found, few, expected, many = both(tadc.function(Random(seed).text).program, monkeypatch)
    assert found == expected
    assert few <= many


def test_random_programs_have_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above compares two ways to count."""
    programs = [tadc.function(Random(seed).text).program for seed in range(0, 40, 2)]
    asked = [(few, many) for _, few, _, many in (both(p, monkeypatch) for p in programs)]
    assert sum(few < many for few, many in asked) >= 5
