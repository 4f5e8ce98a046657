"""The verdict on every read of random programs, against running over all points."""

from __future__ import annotations

import operator
import random
import re
from collections import defaultdict
from itertools import combinations, product

import pytest

from tadc.frontend import syntax
from tadc.frontend.checker import check
from tadc.frontend.diagnostics import CompileError, Diagnostic
from tadc.frontend.parser import parse
from tadc.frontend.source import Source

RELATIONS = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
OPERATORS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
}
Environment = dict[str, int]


class Reference:
    """Runs a definition point by point and records each index that leaves its dimension."""

    def __init__(self, module: syntax.Module) -> None:
        self.shapes: dict[str, list[int]] = {}
        #: By start of the index expression: the points of failing reads, and all values.
        self.failures: dict[int, list[Environment]] = defaultdict(list)
        self.values: dict[int, set[int]] = defaultdict(set)
        for statement in module.statements:
            if isinstance(statement, syntax.Declare):
                self.shapes[statement.name] = [self.integer(e, {}) for e in statement.shape]
            elif isinstance(statement, syntax.Define):
                sizes = [self.integer(spec.size, {}) for spec in statement.indices if spec.size]
                for point in product(*map(range, sizes)):
                    names = [spec.name for spec in statement.indices]
                    self.run(statement.body, dict(zip(names, point, strict=True)))

    def integer(self, expr: syntax.Expr, env: Environment) -> int:
        match expr:
            case syntax.Number(value=int(value)):
                return value
            case syntax.Name(id=name):
                return env[name]
            case syntax.Unary():
                return -self.integer(expr.operand, env)
            case syntax.Binary():
                return OPERATORS[expr.operator](self.integer(expr.lhs, env), self.integer(expr.rhs, env))
            case _:
                raise AssertionError(expr)

    def run(self, expr: syntax.Expr, env: Environment) -> None:
        match expr:
            case syntax.Subscript():
                for index, size in zip(expr.indices, self.shapes[expr.tensor], strict=True):
                    value = self.integer(index, env)
                    self.values[index.span.start].add(value)
                    if not 0 <= value < size:
                        self.failures[index.span.start].append(dict(env))
            case syntax.Binary():
                self.run(expr.lhs, env)
                self.run(expr.rhs, env)
            case syntax.IfExpr():
                holds = all(
                    RELATIONS[c.operator](self.integer(c.lhs, env), self.integer(c.rhs, env))
                    for c in expr.conditions
                )
                self.run(expr.then if holds else expr.otherwise, env)
            case syntax.ReduceExpr():
                low = max(self.integer(e, env) for e in expr.lower)
                high = min(self.integer(e, env) for e in expr.upper)
                for value in range(low, high + 1):
                    self.run(expr.body, env | {expr.indices[0].name: value})
            case _:
                pass


class Generator:
    """Random programs whose reads are in and out of range about equally often."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def program(self) -> str:
        r = self.random
        sizes = [r.choice([0, 1, 2, 3, 4, 5]), r.randint(1, 4)]
        head = ", ".join(f"{name}: {size}" for name, size in zip("ij", sizes, strict=True))
        shape = f"{r.randint(2, 9)}, {r.randint(1, 6)}"
        return f"x: f64[{r.randint(1, 9)}]\ny: f64[{shape}]\nf[{head}] = {self.value(['i', 'j'], 3)}"

    def value(self, names: list[str], depth: int) -> str:
        r = self.random
        kind = r.choice(["read", "add", "if", "if", "sum"]) if depth else "read"
        if kind == "read":
            if r.random() < 0.6:
                return f"x[{self.form(names)}]"
            return f"y[{self.form(names)}, {self.form(names)}]"
        if kind == "add":
            return f"({self.value(names, depth - 1)} + {self.value(names, depth - 1)})"
        if kind == "if":
            conditions = " and ".join(self.condition(names) for _ in range(r.randint(1, 2)))
            then, otherwise = self.value(names, depth - 1), self.value(names, depth - 1)
            return f"if {{{conditions}}} then ({then}) else ({otherwise})"
        name = r.choice(["k", "l", "i"])
        body = self.value([*(n for n in names if n != name), name], depth - 1)
        return f"sum{{{name}}}_{self.bound(names, 'max')}^{self.bound(names, 'min')} ({body})"

    def bound(self, names: list[str], several: str) -> str:
        r = self.random
        low = 0 if several == "max" else 2
        if r.random() < 0.5:
            return str(r.randint(low, low + 2))
        if r.random() < 0.5:
            return f"({r.choice(names)} + {r.randint(low, low + 1)})"
        return f"({several} [{r.choice(names)} - {r.randint(0, 2)}; {r.randint(low, low + 1)}])"

    def condition(self, names: list[str]) -> str:
        return f"{self.form(names)} {self.random.choice(list(RELATIONS))} {self.random.randint(-1, 4)}"

    def form(self, names: list[str]) -> str:
        r = self.random
        parts = [f"{r.choice([1, 1, 1, 2, -1])}*{name}" for name in r.sample(names, r.randint(1, 2))]
        text = " + ".join(parts)
        if r.random() < 0.6:
            text += f" + {r.randint(-2, 2)}"
        if r.random() < 0.2:
            return f"({text}) // {r.randint(1, 3)}"
        return f"({text}) % {r.randint(1, 5)}" if r.random() < 0.2 else text


def errors_of(module: syntax.Module, source: Source) -> list[Diagnostic]:
    try:
        check(module, source)
    except CompileError as error:
        return error.diagnostics
    return []


@pytest.mark.parametrize("seed", range(150))
def test_reads_are_rejected_exactly_where_a_point_fails(seed: int) -> None:
    source = Source(Generator(seed).program())
    module = parse(source)
    reference = Reference(module)
    errors = {e.primary.span.start: e for e in errors_of(module, source) if e.primary}
    assert {e.code for e in errors.values()} <= {"TAD0302"}
    assert set(errors) == set(reference.failures), source.text
    for start, error in errors.items():
        assert error.primary
        values = reference.values[start]
        if span := re.fullmatch(r"takes values (-?\d+)\.\.(-?\d+) here", error.primary.text):
            assert (int(span[1]), int(span[2])) == (min(values), max(values)), source.text
        else:
            value = re.fullmatch(r"takes the value (-?\d+) here", error.primary.text)
            assert value
            assert int(value[1]) in values
        shown = dict(re.findall(r"(\w+) = (-?\d+)", error.notes[0])) if error.notes else {}
        point = {name: int(value) for name, value in shown.items()}
        assert any(point.items() <= env.items() for env in reference.failures[start]), source.text


def table(cases: int, first: int) -> str:
    """A read of `x[i - first]` behind so many branches, one for each i from 0 on."""
    branches = "".join(f"if {{i = {k}}} then ({k}) else (" for k in range(cases))
    return f"x: f64[999]\ny[i: 999] = {branches}x[i - {first}]{')' * cases}"


def test_long_tables_are_read() -> None:
    source = Source(table(120, 120))
    assert errors_of(parse(source), source) == []
    source = Source(table(120, 121))
    assert [error.code for error in errors_of(parse(source), source)] == ["TAD0302"]


def test_five_indices_that_differ() -> None:
    pairs = " and ".join(f"{a} != {b}" for a, b in combinations("ijklm", 2))
    for least, code in ((10, []), (11, ["TAD0302"])):  # 0 + 1 + 2 + 3 + 4
        head = "x: f64[40]\nf[i: 9, j: 9, k: 9, l: 9, m: 9]"
        source = Source(f"{head} = if {{{pairs}}} then (x[i+j+k+l+m - {least}]) else (0)")
        assert [error.code for error in errors_of(parse(source), source)] == code
