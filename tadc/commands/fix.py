"""`--fix`: does what errors say where they have edits, and writes the program back."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias

from tadc.commands.files import Sink, write_back
from tadc.commands.messages import report, report_text
from tadc.commands.options import Arguments
from tadc.frontend.diagnostics import CompileError, Diagnostic, Edit
from tadc.frontend.source import Source

#: How often edits are made; each may uncover errors that have edits themselves.
_ROUNDS = 20

#: A program, its errors, and what was done to it.
_Made: TypeAlias = tuple[Source, list[Diagnostic], list[str]]


def fix(arguments: Arguments, source: Source) -> int:
    """Write the program with the edits of its errors, to its file, or to stdout where it has none.

    Edits that are guesses are made with `--unsafe`, and else said. What is left is reported; the exit code is
    that of a check of the result.
    """
    source, problems, said = fixed(source, dict(arguments.sizes), unsafe=arguments.unsafe)
    in_place = arguments.file is not None and arguments.file != "-" and arguments.output is None
    if in_place and said:
        assert arguments.file
        write_back(arguments.file, source.text)
    elif not in_place:
        Sink(arguments.output or "-").write(source.text)
    guesses = [] if arguments.unsafe else [p for p in problems if not p.is_safe]
    left = [
        f"left alone {_change(edit, p.code, source)}: a guess, which `--unsafe` makes"
        for p in guesses
        for edit in p.edits
    ]
    if arguments.error_format == "human" and (lines := [f"fixed {line}" for line in said] + left):
        report_text("\n".join(lines))
    if problems:
        report(problems, arguments.error_format)
    elif not said:
        report_text("nothing to fix", arguments.error_format)
    return 1 if problems else 0


def problems_of(source: Source, sizes: Mapping[str, int]) -> list[Diagnostic]:
    """The errors of a program."""
    from tadc.frontend.per_value import read_program

    try:
        read_program(source, sizes)
    except CompileError as error:
        return error.diagnostics
    return []


def fixed(
    source: Source, sizes: Mapping[str, int], *, unsafe: bool = False
) -> tuple[Source, list[Diagnostic], list[str]]:
    """The program after edits, what is still wrong with it, and what was done, a line for each edit.

    An edit may uncover errors with edits of their own, so they are made again. Safe edits stay; where
    guesses may be made, `unsafe`, what comes of them is the first text with the fewest errors.
    """
    best = source, problems_of(source, sizes), list[str]()
    for best in _rounds(best, sizes, guess=False):
        pass
    if unsafe:
        best = min((best, *_rounds(best, sizes, guess=True)), key=lambda made: len(made[1]))
    return best


def _rounds(made: _Made, sizes: Mapping[str, int], *, guess: bool) -> Generator[_Made]:
    """What comes of a program in each round of edits, as long as there are any and no text comes again."""
    (source, problems, changes), seen = made, {made[0].text}
    for _ in range(_ROUNDS):
        edits = _edits([problem for problem in problems if guess or problem.is_safe])
        changes = changes + [_change(edit, code, source) for edit, code in edits]
        source = Source(applied(source.text, [edit for edit, _ in edits]), source.name)
        if source.text in seen:
            return
        seen.add(source.text)
        problems = problems_of(source, sizes)
        yield source, problems, changes


def applied(text: str, edits: Sequence[Edit]) -> str:
    """A text after edits in the order of their places, none of which overlap."""
    parts: list[str] = []
    at = 0
    for edit in edits:
        parts += [text[at : edit.span.start], edit.replacement]
        at = edit.span.end
    return "".join([*parts, text[at:]])


def _edits(problems: Sequence[Diagnostic]) -> list[tuple[Edit, str]]:
    """The edits of errors with their codes, in order of place; an error of which one overlaps waits."""
    chosen: list[tuple[Edit, str]] = []
    for problem in problems:
        made = [*chosen, *((edit, problem.code) for edit in problem.edits)]
        made.sort(key=lambda item: (item[0].span.start, item[0].span.end))
        if all(
            first.span.end <= second.span.start and first.span != second.span
            for (first, _), (second, _) in pairwise(made)
        ):
            chosen = made
    return chosen


def _change(edit: Edit, code: str, source: Source) -> str:
    """What an edit does, for a person."""
    line, column = source.position(edit.span.start)
    old, new = source.text[edit.span.start : edit.span.end], edit.replacement
    what = f"`{old}` -> `{new}`" if old and new else f"`{new}` added" if new else f"`{old}` left out"
    return f"{source.name}:{line}:{column}: {' '.join(what.split())} ({code})"
