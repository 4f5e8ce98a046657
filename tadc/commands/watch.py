"""Watching a command at work: `--time`, and progress on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager

from tadc.backend.compile_steps import Listener, listening
from tadc.caller.progress import Progress, is_watched
from tadc.commands.options import Arguments
from tadc.commands.times import Times


@contextmanager
def watched(arguments: Arguments) -> Generator[None]:
    """Show what takes long inside the block while it does, and with `--time` all steps at its end."""
    times = Times() if arguments.time else None
    progress = Progress() if _shows_progress(arguments) else None
    listeners: list[Listener] = [each for each in (times, progress) if each is not None]
    try:
        with listening(*listeners):
            yield
    finally:
        if progress is not None:
            progress.close()
        if times is not None:
            print(times.table(), file=sys.stderr)


def _shows_progress(arguments: Arguments) -> bool:
    """Only where a person looks, and nothing else is written there meanwhile."""
    quiet = arguments.error_format == "json" or arguments.prints_ir
    return not quiet and is_watched()
