"""Reads that wrap around, `x[(i + 1) % N]`, as reads of two parts, both consecutive and no gather."""

from __future__ import annotations

from collections.abc import Mapping

from tadc.toolkit.language import (
    Affine,
    Constraint,
    Definition,
    Floor,
    Interval,
    Program,
    Read,
    Term,
    Terms,
    interval_of,
)


def unwrapped(program: Program) -> Program:
    """The program where a quotient in a read that has two values is a guard; of sizes that are numbers."""
    return program.with_bodies(_body(d, program.terms) for d in program.definitions)


def _body(definition: Definition, terms: Terms) -> Term:
    extents = zip(definition.indices, definition.shape, strict=True)
    ranges = {name: (0, size - 1) for name, size in extents if isinstance(size, int)}
    return terms.with_reads(definition.body, lambda read: _read(read, ranges, terms))


def _read(read: Read, ranges: Mapping[str, Interval], terms: Terms) -> Term:
    for form in read.indices:
        for floor in form.floors():
            if not floor.variables <= ranges.keys():
                continue
            low, high = (bound // floor.denominator for bound in interval_of(floor.numerator, ranges))
            if high == low + 1:
                above = Constraint(floor.numerator - floor.denominator * high)
                then, otherwise = (_with(read, floor, value, terms) for value in (high, low))
                return terms.guard(
                    [above], _read(then, ranges, terms), _read(otherwise, ranges, terms), read.span
                )
    return read


def _with(read: Read, floor: Floor, value: int, terms: Terms) -> Read:
    """The read where a quotient has this value."""
    assert read.type

    def rule(atom: object) -> Affine | None:
        return Affine.const(value) if atom == floor else None

    return terms.read(read.tensor, [form.replace(rule) for form in read.indices], read.type, read.span)
