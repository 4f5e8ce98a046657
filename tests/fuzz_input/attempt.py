"""One input through the command, as far as it goes: what may not happen."""

from __future__ import annotations

import contextlib
import io
import json
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from tadc.cli import main

#: No input of a few kilobytes may take longer.
SECONDS = 30

#: What a printed derivative may exceed when it is read again, and what no derivative can be taken of.
_LIMITS = {"TAD0107", "TAD0112", "TAD0314", "TAD0113"}


class Slow(BaseException):
    """The time is up; no `Exception`, which the command would take for a bug of its own."""


def failure(data: bytes, file: Path) -> str:
    """What is wrong with the command's answers to an input, which `file` is to hold; empty if nothing is."""
    file.write_bytes(data)
    try:
        code, printed, said = _run(str(file))
        if code:
            return _wrong_errors(code, said, file)
        again = file.with_suffix(".again.tad")
        again.write_text(printed)
        code, second, said = _run(str(again))
        if code or second != printed:
            return f"what is printed is not read back:\n{printed}\n{second}{said}"
        for argv in (("--wrt", "*"), ("--emit", "opt"), ("--wrt", "*", "--emit", "loops")):
            code, printed, said = _run(str(file), *argv)
            if code and (wrong := _wrong_errors(code, said, file, *argv)):
                return wrong
            if not code and argv == ("--wrt", "*"):
                again.write_text(printed)
                code, _, said = _run(str(again))
                if code and not _codes(said) <= _LIMITS:
                    return f"the printed derivative is not read back:\n{printed}\n{said}"
    except Slow:
        return f"no answer within {SECONDS} s"
    return ""


def _wrong_errors(code: int, said: str, file: Path, *argv: str) -> str:
    """What is wrong with errors as text and as JSON."""
    found = _codes(said)
    if code != 1 or not found:
        return f"exit code {code} for {argv}:\n{said}{_traceback(said)}"
    code, _, lines = _run(str(file), *argv, "--error-format", "json")
    as_json = {json.loads(line)["code"] for line in lines.splitlines()}
    return "" if as_json == found else f"as text {found}, as JSON {as_json}"


def _traceback(said: str) -> str:
    """The file that the command left about a bug, removed."""
    place = re.search(r"traceback are in (\S+)", said)
    if not place:
        return ""
    left = Path(place.group(1))
    text = left.read_text()
    left.unlink()
    return text


def _codes(said: str) -> set[str]:
    return set(re.findall(r"^(?:error|warning)\[(TAD\d{4})\]", said, re.MULTILINE))


def _run(*argv: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), _time_limit():
        code = main(list(argv))
    return code, out.getvalue(), err.getvalue()


@contextlib.contextmanager
def _time_limit() -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        raise Slow

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
