"""The command `tadc`.

Exit codes: 0 done, 1 the program, a file or an array is wrong, 2 wrong usage, 70 a bug of the
compiler (a file to reproduce it is written), 130 interrupted. Results go to stdout, all else
to stderr. Nothing of MLIR is imported before a program has passed the checks.
"""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from tadc.cli_options import Arguments, UsageError, parse_arguments
from tadc.frontend.diagnostics import CompileError, Diagnostic
from tadc.frontend.render import render

BUG = 70
INTERRUPTED = 130


def main(argv: list[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    arguments: Arguments | None = None
    try:
        arguments = parse_arguments(sys.argv[1:] if argv is None else argv)
        if arguments is None:
            return 0
        from tadc.commands import execute

        return execute(arguments)
    except UsageError as problem:
        print(problem, file=sys.stderr)
        return 2
    except CompileError as problem:
        report(problem.diagnostics)
        return 1
    except BrokenPipeError:
        # The reader of our output has gone; there is no one to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except Exception as bug:
        from tadc.reproducer import write_reproducer

        print(write_reproducer(bug, arguments, argv), file=sys.stderr)
        return BUG


def report(diagnostics: list[Diagnostic]) -> None:
    """Print diagnostics to stderr, in colours on a terminal."""
    color = use_color()
    print("\n\n".join(render(d, color) for d in diagnostics), file=sys.stderr)
    errors = sum(d.severity == "error" for d in diagnostics)
    if errors > 1:
        print(f"\n{errors} errors", file=sys.stderr)


def use_color() -> bool:
    """NO_COLOR (https://no-color.org), then FORCE_COLOR, then whether stderr is a terminal."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def script() -> NoReturn:
    """The entry point of the installed command."""
    sys.exit(main())
