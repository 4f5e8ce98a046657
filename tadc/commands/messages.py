"""What the command says on stderr: diagnostics for people, or as JSON, an object a line."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise

from tadc.frontend.diagnostics import Diagnostic
from tadc.frontend.render import render, render_json

FORMATS = ("human", "json")


_collected: ContextVar[list[Diagnostic] | None] = ContextVar("collected", default=None)


@contextmanager
def collecting() -> Generator[list[Diagnostic]]:
    """In this block diagnostics are kept in a list, and not printed."""
    found: list[Diagnostic] = []
    token = _collected.set(found)
    try:
        yield found
    finally:
        _collected.reset(token)


def report(diagnostics: Sequence[Diagnostic], error_format: str = "human") -> None:
    """Print diagnostics to stderr; for people in colours on a terminal, and with where to read more."""
    collected = _collected.get()
    if collected is not None:
        collected += diagnostics
        return
    if error_format == "json":
        for diagnostic in diagnostics:
            print(json.dumps(render_json(diagnostic)), file=sys.stderr)
        return
    color = use_color()
    print("\n\n".join(render(d, color) for d in diagnostics), file=sys.stderr)
    errors = [d for d in diagnostics if d.severity == "error"]
    if len(errors) > 1:
        print(f"\n{len(errors)} errors", file=sys.stderr)
    codes = list(dict.fromkeys(d.code for d in errors if d.code))
    if codes:
        others = f" (or {', '.join(codes[1:])})" if codes[1:] else ""
        these = "these errors" if others else "this error"
        print(f"\nfor more about {these}: tadc --explain {codes[0]}{others}", file=sys.stderr)


def report_text(message: str, error_format: str = "human") -> None:
    """Print what has no code and no place."""
    if error_format == "json":
        report([Diagnostic("", message)], error_format)
    else:
        print(message, file=sys.stderr)


def wanted_format(argv: Sequence[str]) -> str:
    """The format that a command line asks for, which its own errors too are to have."""
    joined = [word.removeprefix("--error-format=") for word in argv if word.startswith("--error-format=")]
    apart = [after for word, after in pairwise(argv) if word == "--error-format"]
    return "json" if "json" in (*joined, *apart) else "human"


def use_color() -> bool:
    """NO_COLOR (https://no-color.org), then FORCE_COLOR, then whether stderr is a terminal."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
