"""Texts of records over any kind of numbers: terms, floats, values of MLIR, intervals.

A text is the body of a program of the language over scalars: lines `let name = …`, and the value last.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Protocol, TypeVar

from tadc.frontend.checker import check
from tadc.frontend.parser import parse
from tadc.frontend.source import Source
from tadc.frontend.terms import Apply, Const, Read, Select, Term, integer_exponent, reachable

N = TypeVar("N")

#: What stands for the operands in a text, and for the value of the function.
OPERANDS, VALUE = ("x", "y"), "f"


class Arithmetic(Protocol[N]):
    """What numbers of one kind do."""

    def const(self, value: float, /) -> N:
        """A literal."""
        ...

    def apply(self, function: str, /, *operands: N) -> N:
        """A function or an operator by name."""
        ...

    def power(self, x: N, n: int, /) -> N:
        """A power with a literal exponent."""
        ...

    def select(self, relation: str, x: N, y: N, then: N, otherwise: N, /) -> N:
        """A choice by a relation of values."""
        ...


def by_squaring(x: N, n: int, numbers: Arithmetic[N]) -> N:
    """`x**n` by repeated squaring; the reciprocal of a power where n is negative."""
    found: N | None = None
    square, rest = x, abs(n)
    while rest:
        if rest & 1:
            found = square if found is None else numbers.apply("mul", found, square)
        rest >>= 1
        if rest:
            square = numbers.apply("mul", square, square)
    if found is None:
        return numbers.const(1.0)
    return found if n > 0 else numbers.apply("div", numbers.const(1.0), found)


@cache
def program_of(text: str) -> tuple[tuple[str, Term], ...]:
    """The definitions of a text in order, the value last. Raises CompileError where it is no formula."""
    *lets, value = (line for line in text.splitlines() if line.strip())
    declared = (f"{name}: f64" for name in (*OPERANDS, VALUE))
    source = Source("\n".join([*declared, *lets, f"result = {value}"]), f"<{text}>")
    return tuple((d.name, d.body) for d in check(parse(source), source).definitions)


def evaluate(text: str, given: Mapping[str, N], numbers: Arithmetic[N]) -> N:
    """The value of a text, with numbers for the operands and the value of the function by name."""
    named = dict(given)
    values: dict[int, N] = {}
    found: N | None = None
    for name, body in program_of(text):
        found = named[name] = value_of(body, named, numbers, values)
    assert found is not None
    return found


def value_of(body: Term, named: Mapping[str, N], numbers: Arithmetic[N], values: dict[int, N]) -> N:
    """The value of a term of a formula; `values` are those of its terms that are known by their numbers."""
    for term in sorted(reachable([body]), key=lambda term: term.number):
        if term.number in values:
            continue
        below = [values[t.number] for t in term.below]
        n = integer_exponent(term)
        match term:
            case Const(value=value):
                found = numbers.const(value)
            case Read(tensor=name):
                found = named[name]
            case Apply() if n is not None:
                found = numbers.power(below[0], n)
            case Apply(function=function):
                found = numbers.apply(function, *below)
            case Select(relation=relation):
                found = numbers.select(relation, *below)
            case _:
                raise TypeError(f"no formula has {term!r}")
        values[term.number] = found
    return values[body.number]
