"""`--fix`: does what errors say where they name one edit, and writes the program back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from tadc.commands.files import Sink
from tadc.commands.messages import report, report_text
from tadc.commands.options import Arguments
from tadc.frontend.diagnostics import CompileError, Diagnostic, Edit
from tadc.frontend.source import Source

#: How often edits are made; each may uncover errors that have edits themselves.
_ROUNDS = 20


def fix(arguments: Arguments, source: Source) -> int:
    """Write the program with the edits of its errors, to its file, or to stdout where it has none.

    Edits are made as long as they leave fewer errors. What is left is reported; the exit code is that of a
    check of the result.
    """
    source, problems, said = fixed(source, dict(arguments.sizes))
    in_place = arguments.file is not None and arguments.file != "-" and arguments.output is None
    if in_place and said:
        assert arguments.file
        _write_back(arguments.file, source.text)
    elif not in_place:
        Sink(arguments.output or "-").write(source.text)
    if said and arguments.error_format == "human":
        report_text("\n".join(said))
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


def fixed(source: Source, sizes: Mapping[str, int]) -> tuple[Source, list[Diagnostic], list[str]]:
    """The program after edits, what is still wrong with it, and what was done, a line for each edit.

    An edit may uncover errors with edits of their own, so they are made again and again; the first text with
    the fewest errors is what comes of it.
    """
    problems, changes, seen = problems_of(source, sizes), list[str](), {source.text}
    best = source, problems, changes
    for _ in range(_ROUNDS):
        edits = _edits(problems)
        changes = changes + [_change(edit, code, source) for edit, code in edits]
        source = Source(applied(source.text, [edit for edit, _ in edits]), source.name)
        if source.text in seen:
            break
        seen.add(source.text)
        problems = problems_of(source, sizes)
        if len(problems) < len(best[1]):
            best = source, problems, changes
    return best


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
    """What an edit did, for a person."""
    line, column = source.position(edit.span.start)
    old, new = source.text[edit.span.start : edit.span.end], edit.replacement
    what = f"`{old}` -> `{new}`" if old and new else f"`{new}` added" if new else f"`{old}` left out"
    return f"fixed {source.name}:{line}:{column}: {' '.join(what.split())} ({code})"


def _write_back(file: str, text: str) -> None:
    """Replace a file, with its line ends and its mode."""
    path = Path(file)
    raw, mode = path.read_bytes(), path.stat().st_mode & 0o7777
    ends = b"\r\n" if b"\r\n" in raw else b"\n"
    Sink(file).write(text.encode().replace(b"\n", ends))
    path.chmod(mode)
