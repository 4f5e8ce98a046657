"""Steps of compiling: what they take, what is shown of them, and Ctrl-C in the middle."""

import hashlib
import io
import os
import re
import signal
import subprocess
import sys
import threading
import time

import pytest

import tadc.caller.progress
from tadc.backend.compile_steps import listening, step
from tadc.backend.interrupts import interruptible
from tadc.caller.progress import Progress
from tadc.cli import main
from tadc.commands.times import Times

PROGRAM = "x: f64[8]; f[i] = exp(x[i])"


def table(text: str) -> dict[str, float]:
    """The milliseconds of each line, by its first word."""
    return {name: float(ms) for name, ms in re.findall(r"^ *([\w-]+).*? ([\d.]+) +\d+ %$", text, re.M)}


@pytest.mark.parametrize(
    ("words", "steps"),
    [
        (
            ["emit", "asm", "-o", os.devnull],
            {"ast", "typed", "tad", "loops", "llvm", "asm", "optimise", "emit"},
        ),
        (["stats"], {"tad", "diff", "hoist", "fuse", "count"}),
        (["certificate"], {"tad", "diff", "cancel", "certify"}),
        (["gradcheck"], {"tad", "diff", "object", "optimise", "link", "run"}),
        (["inverse"], {"typed", "plan"}),
        (["emit", "ptx", "--target", "cuda", "-o", os.devnull], {"gpu", "nvvm", "ptx", "optimise", "emit"}),
    ],
)
def test_time_of_every_step(capsys: pytest.CaptureFixture[str], words: list[str], steps: set[str]) -> None:
    assert main([*words, "-e", PROGRAM, "--time"]) == 0
    found = table(capsys.readouterr().err)
    assert steps <= found.keys()
    whole = {name: ms for name, ms in found.items() if name not in ("optimise", "emit")}
    assert found["sum"] > 0
    for name in ("asm", "object", "ptx"):
        if name in found:
            assert 0 < found["optimise"] + found["emit"] <= found[name] + 0.2
    assert sum(whole.values()) >= found["sum"]


def test_run_is_timed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "-e", "x: f64; f = x**2", "x=3", "df=1", "--wrt", "x", "--time"]) == 0
    found = table(capsys.readouterr().err)
    assert {"cache", "diff", "arrays", "object", "optimise", "emit", "link", "run", "write"} <= found.keys()


def test_parts_stand_below_their_step() -> None:
    times = Times()
    with listening(times):
        for _ in range(2):
            with step("a"), step("b"):
                time.sleep(0.01)
        with step("c"):
            pass
    lines = [re.split(r"  +", line)[:-2] for line in times.table().splitlines()]
    assert lines[1:4] == [["a (2 times)"], ["", "b (2 times)"], ["c"]]
    assert 20 <= table(times.table())["b"] <= table(times.table())["a"]


class Terminal(io.StringIO):
    """A terminal that keeps what is written."""

    def isatty(self) -> bool:
        return True


def test_progress_is_shown_after_a_moment_and_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(tadc.caller.progress, "PATIENCE", 0.05)
    progress = Progress()
    with listening(progress):
        with step("asm"):
            assert terminal.getvalue() == ""
            time.sleep(0.2)
            with step("optimise"):
                time.sleep(0.1)
        shown = terminal.getvalue()
        with step("run"):
            time.sleep(0.1)
    progress.close()
    assert "compiling: asm" in shown
    assert "compiling: asm, optimise" in shown
    assert shown.endswith("\x1b[2K")  # the line is erased
    assert terminal.getvalue() == shown


@pytest.mark.parametrize(("terminal", "words", "is_shown"), [
    (True, [], True), (False, [], False), (True, ["--error-format", "json"], False),
])  # fmt: skip
def test_progress_is_for_people(
    monkeypatch: pytest.MonkeyPatch, terminal: bool, words: list[str], is_shown: bool
) -> None:
    stream = Terminal() if terminal else io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(tadc.caller.progress, "PATIENCE", 0.0)
    assert main(["emit", "loops", "-e", PROGRAM, "-o", os.devnull, *words]) == 0
    assert ("compiling: " in stream.getvalue()) == is_shown


def test_ctrl_c_does_not_wait_for_native_work() -> None:
    finished: list[bytes] = []

    def work() -> None:
        # It releases the GIL, and looks for no signal.
        finished.append(hashlib.pbkdf2_hmac("sha256", b"a", b"b", 3_000_000))

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    try:
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            interruptible(work)
    finally:
        signal.signal(signal.SIGINT, before)
    assert not finished


def test_a_process_ends_while_interrupted_work_goes_on() -> None:
    """At once, with the code that it chose, and all that it printed."""
    program = """
import hashlib, os, signal, sys, threading
from tadc.backend.interrupts import interruptible
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    interruptible(lambda: hashlib.pbkdf2_hmac("sha256", b"a", b"b", 50_000_000))
except KeyboardInterrupt:
    print("caught")
    sys.exit(5)
"""
    done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, timeout=10)
    assert (done.returncode, done.stdout) == (5, "caught\n")


def test_interruptible_work_returns_and_raises() -> None:
    assert interruptible(lambda: threading.current_thread().name) == "tadc-native"

    def wrong() -> None:
        raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        interruptible(wrong)


def test_work_is_done_where_no_thread_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    monkeypatch.setattr(threading.Thread, "start", start)
    assert interruptible(lambda: 3) == 3
