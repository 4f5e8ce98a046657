"""`tadc check --watch`: checks a program again whenever its file changes."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from tadc.commands.messages import report, report_text
from tadc.commands.options import Arguments
from tadc.frontend.diagnostics import CompileError

#: How many seconds pass between looks at the file: less than one notices, and next to no work.
_POLL = 0.2


def check_on_change(arguments: Arguments, check: Callable[[Arguments], int]) -> NoReturn:
    """Check the file now and after each change, until Ctrl-C: raises KeyboardInterrupt."""
    assert arguments.file
    path, seen = Path(arguments.file), (-1, -1)
    while True:
        found = _state(path)
        if found != seen:
            seen = found
            _check_once(arguments, check)
        time.sleep(_POLL)


def _check_once(arguments: Arguments, check: Callable[[Arguments], int]) -> None:
    """Check, and say what is wrong, and when that was."""
    if sys.stdout.isatty():
        print("\x1b[2J\x1b[H", end="")  # a clear screen, from its top
    try:
        # What a check notes in its arguments is of one text.
        check(replace(arguments))
        sys.stdout.flush()
    except CompileError as error:
        report(error.diagnostics, arguments.error_format)
    if arguments.error_format == "human":
        report_text(f"checked at {time.strftime('%H:%M:%S')}; Ctrl-C ends")


def _state(path: Path) -> tuple[int, int]:
    """What differs where a file was written again; nothing while an editor puts another in its place."""
    try:
        found = path.stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_ino
