"""The command `tadc`.

Exit codes: 0 done, 1 the program, a file or an array is wrong, 2 wrong usage, 70 a bug of the
compiler (a file to reproduce it is written), 130 interrupted. Results go to stdout, all else
to stderr. Nothing of MLIR is imported before a program has passed the checks.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import NoReturn

from tadc.commands.command_line import parse_arguments
from tadc.commands.messages import report, report_text, wanted_format
from tadc.commands.option_parser import BadUsage
from tadc.commands.options import Arguments
from tadc.frontend.diagnostics import CompileError
from tadc.frontend.packages import other_package
from tadc.lattice.late_dataclasses import replace

#: The folder that has `tadc/`.
PLACE = os.path.dirname(os.path.dirname(__file__))
BUG = 70
INTERRUPTED = 130
#: How many new objects there are before cycles among them are looked for.
OBJECTS = 200_000


def main(argv: list[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    arguments: Arguments | None = None
    words = sys.argv[1:] if argv is None else argv
    error_format = wanted_format(words)
    if not hasattr(sys.modules["tadc"], "__version__") and (other := other_package(PLACE)):
        report([replace(other, severity="error")], error_format)
        return 1
    try:
        arguments = parse_arguments(words)
        if arguments is None:
            return 0
        from tadc.api.bug_scripts import without_scripts
        from tadc.commands import main as commands
        from tadc.commands.watch import watched

        with collecting_rarely(), watched(arguments), without_scripts():
            return commands.execute(arguments)
    except BadUsage as problem:
        report([problem.diagnostic], error_format)
        return 2
    except CompileError as problem:
        report(problem.diagnostics, error_format)
        return 1
    except MemoryError as problem:
        from tadc.frontend.diagnostics import Diagnostic

        message = f"too little memory: {problem}".removesuffix(": ")
        helps = ["give smaller arrays, or smaller values by `--size`"]
        report([Diagnostic("TAD0506", message, helps=helps)], error_format)
        return 1
    except BrokenPipeError:
        # The reader of our output has gone; there is no one to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        report_text("interrupted", error_format)
        return INTERRUPTED
    except Exception as bug:
        from tadc.commands.reproducer import write_reproducer

        report([write_reproducer(bug, arguments, argv)], error_format)
        return BUG


@contextmanager
def collecting_rarely() -> Generator[None]:
    """Look for cycles less often inside the block: programs are large graphs without any."""
    before = gc.get_threshold()
    gc.set_threshold(OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def opt_script() -> NoReturn:
    """The entry point of the installed command `tad-opt`."""
    from tadc.commands.tad_opt import translated

    script(translated(sys.argv[1:]))


def script(argv: list[str] | None = None) -> NoReturn:
    """The entry point of the installed command, and of `python -m tadc`."""
    code = main(argv)
    if code == INTERRUPTED:
        # Native code may still be at work on what the end of Python would take away.
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, AttributeError):
                stream.flush()
        os._exit(code)
    sys.exit(code)
