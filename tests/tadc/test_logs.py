"""`TADC_LOG`, and progress of calls from Python."""

import io
import logging
import subprocess
import sys

import pytest

import tadc
import tadc.caller.progress

PROGRAM = "x: f64[8]; f[i] = exp(x[i]) + 0.125"


def said(level: str, code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", f"import os; os.environ['TADC_LOG'] = {level!r}\n{code}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stderr


def test_levels_of_the_environment() -> None:
    code = "import tadc; from tadc.backend.compile_steps import log; log(20, 'one'); log(10, 'two')"
    assert said("info", code).split("ms  ")[1:] == ["tadc: one\n"]
    assert [line.split("ms  ")[1] for line in said("debug", code).splitlines()] == ["tadc: one", "tadc: two"]
    assert said("loud", code).count("TADC_LOG=`loud` is no level and counts as none") == 1


def test_calls_are_logged_where_the_environment_asks_for_all() -> None:
    code = "import tadc; f = tadc.function('x: f64[3]; s = sum{i} (x[i])'); f([1, 2, 3])"
    assert "tadc: call of <tadc.Function (x: f64[3]) -> (s: f64)>: " in said("debug", code)
    assert "call of" not in said("info", code)


def test_kernels_and_steps_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "tadc"):
        tadc.compile(tadc.function(PROGRAM))
    infos = [record.message for record in caplog.records if record.levelno == logging.INFO]
    assert [words.split(": f64[8])")[0] for words in infos] == ["kernel of (x"]
    assert "for cpu" in infos[0]
    assert any(record.message.startswith("cache: ") for record in caplog.records)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_call_that_compiles_long_shows_its_step(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(tadc.caller.progress, "PATIENCE", 0.0)
    monkeypatch.setenv("TADC_CACHE", "0")
    tadc.function(PROGRAM)([0.0] * 8)
    assert "compiling: " in stream.getvalue()
