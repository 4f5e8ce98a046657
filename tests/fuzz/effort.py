"""What compiling a program takes, counted: calls of Python, beside the length of the loops that are made.

    python -m tests.fuzz.effort 0 100 --order 2 --seconds 10

compiles large programs by their seeds, and shows those that take longer than that, with where they were then.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType, TracebackType
from typing import Any

import tadc
from tests.fuzz.large import Large


class Excess(Exception):
    """More calls than a program may take."""


@dataclass
class Calls:
    """How many functions of Python were called."""

    count: int = 0


@contextmanager
def counted(most: int) -> Generator[Calls]:
    """Count the calls in this block. Raises Excess where there are more."""
    calls, before = Calls(), sys.gettrace()

    def enter(frame: FrameType, event: str, argument: Any) -> None:
        calls.count += 1
        if calls.count > most:
            raise Excess(f"more than {most:,} calls, in {frame.f_code.co_qualname}")

    sys.settrace(enter)
    try:
        yield calls
    finally:
        sys.settrace(before)


def loops(text: str, order: int) -> str:
    """The loops of a program, or of as many gradients of gradients."""
    f = tadc.function(text)
    for _ in range(order):
        f = tadc.vjp(f)
    return f.lower().as_text("loops")


class _Late(BaseException):
    """Beyond the time that is given."""


@contextmanager
def timed(seconds: float) -> Generator[None]:
    """Raise _Late where processor time runs out."""

    def late(number: int, frame: FrameType | None) -> None:
        raise _Late

    signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _where(trace: TracebackType | None) -> str:
    """The functions of the compiler that were being called, the outermost first."""
    names = [frame.name for frame in traceback.extract_tb(trace) if "/tests/" not in frame.filename]
    return " > ".join(name for n, name in enumerate(names) if name != (names[n - 1] if n else ""))


def main() -> None:
    """Try the programs of some seeds."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.effort", description=__doc__)
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    parser.add_argument("--order", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=10)
    given = parser.parse_args()
    warnings.simplefilter("ignore", tadc.CompileWarning)
    late = 0
    for seed in range(given.first, given.last + 1):
        program, start = Large(seed), time.process_time()
        try:
            with timed(3 * given.seconds):
                loops(program.text, given.order)
            where = "compiled"
        except _Late:
            where = _where(sys.exc_info()[2])
        except tadc.CompileError as error:
            where = str(error)
        seconds = time.process_time() - start
        if seconds > given.seconds or where.startswith("error"):
            late += 1
            print(
                f"seed {seed}, {program.family}: {seconds:.1f} s", program.text, where, sep="\n", end="\n\n"
            )
    print(f"{late} of {given.last - given.first + 1} programs")


if __name__ == "__main__":
    main()
