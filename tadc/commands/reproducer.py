"""What the command does about a bug of the compiler: a file that shows it again."""

from __future__ import annotations

import shlex
import sys
from contextlib import suppress

from tadc.api.bug_scripts import commented, write_file
from tadc.commands.files import read_source
from tadc.commands.given_program import is_ir
from tadc.commands.options import Arguments
from tadc.commands.spelling import spelled
from tadc.frontend.diagnostics import CompileError, Diagnostic


def write_reproducer(bug: BaseException, arguments: Arguments | None, argv: list[str] | None) -> Diagnostic:
    """Write the program to a file, the traceback in comments before it; what to tell the user.

    The command that it tells repeats the bug on that file, with all options, wherever the program was.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    text, suffix, comment = "", ".tad", "#"
    if arguments is not None:
        if arguments.source is None and arguments.file != "-":
            with suppress(CompileError):
                arguments.source = read_source(arguments.file, arguments.expression)
        if arguments.source is not None:
            text = arguments.source.text
            if is_ir(arguments, arguments.source):
                suffix, comment = ".mlir", "//"
    head = f"tadc met a bug of its own. The command was:\n  tadc {shlex.join(words)}"
    content = f"{commented(bug, head, comment)}\n{text}\n"
    file = write_file(suffix, content)
    if file is not None and text and arguments is not None:
        words = spelled(arguments, file)
    where = f"the program and the traceback are in {file}" if file else content
    summary = f"{type(bug).__name__}: {bug}".splitlines()[0]
    helps = [f"run it again with `tadc {shlex.join(words)}`, and please report it with that file"]
    return Diagnostic("", f"bug of the compiler: {summary}", notes=[where], helps=helps)
