"""What to do about a bug of the compiler: a file that shows it again."""

from __future__ import annotations

import shlex
import sys
import tempfile
import traceback
from pathlib import Path

from tadc.commands.options import Arguments
from tadc.frontend.diagnostics import Diagnostic


def write_reproducer(bug: BaseException, arguments: Arguments | None, argv: list[str] | None) -> Diagnostic:
    """Write the input, the command and the traceback to a file; what to tell the user."""
    words = list(sys.argv[1:] if argv is None else argv)
    if arguments is not None and arguments.expression is not None:
        program = arguments.expression
    else:
        program = _read(arguments.file if arguments else None)
    command = "tadc " + shlex.join(words)
    lines = [
        "# tadc met a bug of its own. The command was:",
        f"#   {command}",
        *(f"# {line}" for line in "".join(traceback.format_exception(bug)).splitlines()),
        program,
    ]
    try:
        with tempfile.NamedTemporaryFile("w", prefix="tadc-bug-", suffix=".tad", delete=False) as file:
            file.write("\n".join(lines) + "\n")
        where = f"the program and the traceback are in {file.name}"
    except OSError:
        where = "\n".join(lines)
    summary = f"{type(bug).__name__}: {bug}".splitlines()[0]
    helps = [f"run it again with `{command}`, and please report it with that file"]
    return Diagnostic("", f"bug of the compiler: {summary}", notes=[where], helps=helps)


def _read(file: str | None) -> str:
    if not file or file == "-":
        return ""
    try:
        return Path(file).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
