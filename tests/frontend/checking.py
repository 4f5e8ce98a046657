"""Checks programs and shows errors as plain values."""

from __future__ import annotations

from dataclasses import dataclass

from tadc.frontend.checker import check
from tadc.frontend.diagnostics import CompileError, Diagnostic
from tadc.frontend.parser import parse, read_statements
from tadc.frontend.printer import print_program
from tadc.frontend.program import Definition, Program
from tadc.frontend.source import Source


@dataclass(frozen=True)
class Problem:
    """A diagnostic with the text of its places: `line:column text`."""

    code: str
    message: str
    at: str
    label: str
    others: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    helps: tuple[str, ...]


def checked(text: str) -> Program:
    """Parse and check a program."""
    source = Source(text, "f.tad")
    return check(parse(source), source)


def printed(text: str) -> str:
    """The last line of the checked program in print."""
    return print_program(checked(text)).rstrip().splitlines()[-1]


def definition(text: str, name: str = "f") -> Definition:
    """One definition of a program."""
    return next(d for d in checked(text).definitions if d.name == name)


def problems(text: str) -> list[Problem]:
    """The errors of a program that the parser accepts."""
    parse(Source(text, "f.tad"))
    return all_problems(text)


def all_problems(text: str) -> list[Problem]:
    """The errors of a program, the parser's too."""
    source = Source(text, "f.tad")
    module = read_statements(source)
    try:
        check(module, source)
    except CompileError as error:
        return [_problem(diagnostic, source) for diagnostic in error.diagnostics]
    return []


def problem(text: str) -> Problem:
    """The only error of a program."""
    found = problems(text)
    assert len(found) == 1, found
    return found[0]


def _problem(diagnostic: Diagnostic, source: Source) -> Problem:
    assert diagnostic.primary
    assert diagnostic.source is source

    def place(start: int, end: int) -> str:
        line, column = source.position(start)
        return f"{line}:{column} {source.text[start:end]}"

    return Problem(
        diagnostic.code,
        diagnostic.message,
        place(diagnostic.primary.span.start, diagnostic.primary.span.end),
        diagnostic.primary.text,
        tuple((place(other.span.start, other.span.end), other.text) for other in diagnostic.secondary),
        tuple(diagnostic.notes),
        tuple(diagnostic.helps),
    )
