"""Programs between guard pages, in processes of their own: one that ends is a failure with a name."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.guards.programs import ROOT

#: A program that takes longer, in seconds, is left out.
_PATIENCE = 90.0


@dataclass
class Report:
    """What became of the programs of one source on one machine."""

    #: Kernels between pages, or masked loads in machine code.
    count: int = 0
    programs: int = 0
    refused: list[str] = field(default_factory=list[str])
    slow: list[str] = field(default_factory=list[str])
    failures: list[str] = field(default_factory=list[str])

    def note(self, name: str, outcome: str, rest: str) -> None:
        """Take in what the worker said of a program."""
        self.programs += 1
        if outcome == "failed":
            self.failures.append(f"{name}: {rest}")
            return
        self.count += int(rest.split()[0])
        if outcome == "refused":
            self.refused.append(f"{name}: {rest}")


def run(kind: str, source: str, machine: str, dtype: str, first: int = 1, count: int = 100) -> Report:
    """The report on programs of a source: `pages` runs them, `code` looks at their machine code."""
    report: Report = Report()
    start: int | None = 0
    while start is not None:
        start = _one_process([kind, source, machine, dtype, str(first), str(count), str(start)], report)
    return report


def _one_process(arguments: list[str], report: Report) -> int | None:
    """Run one worker; the program after the one that ended it, None if it came to its end."""
    worker = subprocess.Popen(
        [sys.executable, "-X", "faulthandler", "-m", "tests.guards.worker", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        env={**os.environ, "TADC_CACHE": "0", "TADC_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu"},
    )
    number, name, is_slow = -1, "the start", False
    for line in _lines(worker):
        if line is None:
            worker.kill()
            is_slow = True
            break
        kind, at, rest = line.split(" ", 2)
        number = int(at)
        if kind == "begin":
            name = rest
        else:
            report.note(name, *rest.split(" ", 1))
            name = f"after {name}"
    _, errors = worker.communicate()
    if worker.returncode == 0:
        return None
    report.programs += 1
    (report.slow if is_slow else report.failures).append(f"{name}: {_end(worker.returncode)}")
    if number < 0:
        raise RuntimeError(errors.decode())
    return number + 1


def _lines(worker: subprocess.Popen[bytes]) -> Iterator[str | None]:
    """The lines of a worker; None once it takes too long over one."""
    assert worker.stdout
    rest, handle, end = b"", worker.stdout.fileno(), time.monotonic() + 3 * _PATIENCE
    while True:
        if not select.select([handle], [], [], max(0.0, end - time.monotonic()))[0]:
            yield None
            return
        read = os.read(handle, 1 << 16)
        if not read:
            return
        *lines, rest = (rest + read).split(b"\n")
        yield from (line.decode() for line in lines)
        end = time.monotonic() + _PATIENCE


def _end(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"
